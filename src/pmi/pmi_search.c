/*
 * Looking for a program as a launcher on this host would.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmi/pmi_impl.h"
#include "pmi/pmi_spawn.h"
#include "util/cfg.h"

static const char *search_info(const struct dm_pmi_program *program, const char *key)
{
    for (int i = 0; i < program->n_info; i++)
        if (strcmp(program->info[i].key, key) == 0)
            return program->info[i].val;
    return NULL;
}

static bool search_file(const char *wdir, const char *dir, int dir_len, const char *name)
{
    const char *first = dir_len > 0 ? dir : name;
    bool is_relative = wdir != NULL && *first != '/';
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s%.*s%s%s", is_relative ? wdir : "", is_relative ? "/" : "",
             dir_len, dir, dir_len > 0 ? "/" : "", name);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool search_dirs(const char *wdir, const char *dirs, const char *name)
{
    while (dirs != NULL && *dirs != '\0') {
        size_t len = strcspn(dirs, ":");

        if (search_file(wdir, len > 0 ? dirs : ".", len > 0 ? (int)len : 1, name))
            return true;
        dirs += len;
        dirs += *dirs == ':';
    }
    return false;
}

bool dm_pmi_can_execute(const struct dm_pmi_program *program)
{
    const char *wdir = search_info(program, "wdir");
    const char *path = search_info(program, "path");
    const char *name = program->command;

    if (*name != '/' && search_dirs(wdir, path, name))
        return true;
    if (strchr(name, '/') != NULL)
        return search_file(wdir, "", 0, name);
    return search_dirs(wdir, dm_cfg_env("PATH"), name);
}
