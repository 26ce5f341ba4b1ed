/*
 * An installation and a build directory look alike: bin/, lib/ and etc/ beside each
 * other; only when libraries were installed elsewhere does configure's word count.
 */
#include "tools/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "util/cfg.h"

/* The directory above the one that this program is in, "" when unknown. */
static void find_prefix(char *path, size_t len)
{
    ssize_t n = readlink("/proc/self/exe", path, len - 1);

    path[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');

        if (slash != NULL)
            *slash = '\0';
    }
}

bool dm_place_set_dat_conf(void)
{
    const char *old = dm_cfg_env("DAT_OVERRIDE");
    char prefix[PATH_MAX];
    char file[PATH_MAX + 32];

    /* The user's wins, even a wrong one: the library says what is wrong with it. */
    if (old != NULL && *old != '\0')
        return false;
    find_prefix(prefix, sizeof(prefix));
    snprintf(file, sizeof(file), "%s/etc/dat.conf", prefix);
    if (access(file, R_OK) != 0)
        snprintf(file, sizeof(file), "%s", DM_DAT_CONF);
    if (access(file, R_OK) == 0)
        return setenv("DAT_OVERRIDE", file, 1) == 0;
    unsetenv("DAT_OVERRIDE");
    return false;
}

void dm_place_set_library_path(void)
{
    const char *old = dm_cfg_env("LD_LIBRARY_PATH");
    char dir[PATH_MAX + 8];
    char file[PATH_MAX + 32];
    char *text;

    find_prefix(dir, PATH_MAX);
    strcat(dir, "/lib");
    snprintf(file, sizeof(file), "%s/libmpi.so.12", dir);
    if (access(file, R_OK) != 0)
        snprintf(dir, sizeof(dir), "%s", DM_LIBDIR);
    if (old == NULL || *old == '\0') {
        setenv("LD_LIBRARY_PATH", dir, 1);
    } else if (asprintf(&text, "%s:%s", dir, old) >= 0) {
        setenv("LD_LIBRARY_PATH", text, 1);
        free(text);
    }
}
