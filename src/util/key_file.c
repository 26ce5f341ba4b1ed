/*
 * Reads files of lines NAME VALUE.
 */
#include "util/key_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"

#define BLANKS " \t\r\n"

/* Cuts a line in two; *value_p points behind the name. NULL: nothing is in it. */
static char *key_file_cut(char *line, char **value_p)
{
    char *name = line + strspn(line, BLANKS);
    char *end = name + strcspn(name, "=" BLANKS);
    char *value = end + strspn(end, BLANKS);
    char *last = value + strlen(value);

    if (*name == '\0' || *name == '#')
        return NULL;
    if (*value == '=')
        value += 1 + strspn(value + 1, BLANKS);
    while (last > value && strchr(BLANKS, last[-1]) != NULL)
        *--last = '\0';
    *end = '\0';
    *value_p = value;
    return name;
}

int dm_key_file_read(const char *path, int (*take)(void *arg, const char *name, const char *value),
                     void *arg)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t len = 0;
    int err = DM_OK;

    if (f == NULL)
        return DM_FAIL(DM_ERR_INFO_VALUE, "the file %.200s: %s", path, strerror(errno));
    while (err == DM_OK && getline(&line, &len, f) >= 0) {
        char *value;
        const char *name = key_file_cut(line, &value);

        if (name != NULL)
            err = take(arg, name, value);
    }
    if (err == DM_OK && ferror(f))
        err = DM_FAIL(DM_ERR_INFO_VALUE, "the file %.200s: %s", path, strerror(errno));
    free(line);
    fclose(f);
    return err;
}
