/*
 * An installation and a build directory look alike: bin/, lib/ and etc/ beside each
 * other; only when libraries were installed elsewhere does configure's word count.
 */
#include "tools/install_paths.h"

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

bool dm_install_set_dat_conf(void)
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

/* Where our libraries are. */
static void find_libraries(char *dir, size_t len)
{
    char file[PATH_MAX + 32];

    find_prefix(dir, len - strlen("/lib"));
    strcat(dir, "/lib");
    snprintf(file, sizeof(file), "%s/libmpi.so.12", dir);
    if (access(file, R_OK) != 0)
        snprintf(dir, len, "%s", DM_LIBDIR);
}

void dm_install_set_library_path(void)
{
    const char *old = dm_cfg_env("LD_LIBRARY_PATH");
    char dir[PATH_MAX];
    char *text;

    find_libraries(dir, sizeof(dir));
    if (old == NULL || *old == '\0') {
        setenv("LD_LIBRARY_PATH", dir, 1);
    } else if (asprintf(&text, "%s:%s", dir, old) >= 0) {
        setenv("LD_LIBRARY_PATH", text, 1);
        free(text);
    }
}
