/*
 * What a process has, by its own account: for tests of every kind that nothing grows.
 */
#ifndef DM_TESTS_SELF_H
#define DM_TESTS_SELF_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a directory, without "." and "..". Of /proc/self/fd: with the one that reads it. */
static inline int self_count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = -2;

    if (dir == NULL) {
        perror(path);
        exit(1);
    }
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static inline int self_count_files(void)
{
    return self_count_entries("/proc/self/fd");
}

/* Mappings with this in their line, as "memfd:" and what a name begins with; "": all. */
static inline int self_count_maps(const char *text)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    int n = 0;

    if (maps == NULL) {
        perror("/proc/self/maps");
        exit(1);
    }
    while (fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, text) != NULL;
    fclose(maps);
    return n;
}

#endif
