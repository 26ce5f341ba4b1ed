/*
 * Looking for a program as a launcher on this host would.
 */
#include <limits.h>
#include <string.h>

#include "pmi/pmi_impl.h"
#include "pmi/pmi_spawn.h"
#include "util/cfg.h"
#include "util/search.h"

static const char *search_info(const struct dm_pmi_program *program, const char *key)
{
    for (int i = 0; i < program->n_info; i++)
        if (strcmp(program->info[i].key, key) == 0)
            return program->info[i].val;
    return NULL;
}

bool dm_pmi_can_execute(const struct dm_pmi_program *program)
{
    const char *wdir = search_info(program, "wdir");
    const char *path = search_info(program, "path");
    const char *name = program->command;
    char found[PATH_MAX];

    if (path != NULL && *name != '/' && dm_search_dirs(wdir, path, name, found) == 0)
        return true;
    return dm_search_program(wdir, dm_cfg_env("PATH"), name, found) == 0;
}
