/*
 * In a build directory bin/, lib/ and etc/ lie beside each other. In an installation they lie as configure
 * was told, which holds when all of it was moved; else its names count.
 */
#include "tools/install_paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "util/cfg.h"

#define LIBRARY "libmpi.so.12"

enum place { PLACE_WAY, PLACE_BESIDE, PLACE_CONFIGURED, PLACE_NONE };

/* The directory of the program; false when that cannot be said. */
static bool own_directory(char bin[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", bin, PATH_MAX - 1);
    char *slash;

    bin[n > 0 ? n : 0] = '\0';
    if ((slash = strrchr(bin, '/')) == NULL)
        return false;
    *slash = '\0';
    return true;
}

/*
 * The first readable one of: the file in the directory to which a way leads from ours; in the one beside
 * ours, as in a build; in dir. When none is there, file has the last one.
 */
static enum place find_file(const char *way, const char *beside, const char *dir, const char *name,
                            char *file, size_t len)
{
    char bin[PATH_MAX];

    if (own_directory(bin)) {
        snprintf(file, len, "%s/%s/%s", bin, way, name);
        if (access(file, R_OK) == 0)
            return PLACE_WAY;
        snprintf(file, len, "%s/../%s/%s", bin, beside, name);
        if (access(file, R_OK) == 0)
            return PLACE_BESIDE;
    }
    snprintf(file, len, "%s/%s", dir, name);
    return access(file, R_OK) == 0 ? PLACE_CONFIGURED : PLACE_NONE;
}

/* Without "..", since users see it; as it is when that fails. */
static void make_plain(char *file, size_t len)
{
    char *real = realpath(file, NULL);

    if (real != NULL)
        snprintf(file, len, "%s", real);
    free(real);
}

void dm_install_set_dat_conf(void)
{
    const char *old = dm_cfg_env("DAT_OVERRIDE");
    char file[2 * PATH_MAX];

    /* The user's wins, even a wrong one: the library says what is wrong with it. */
    if (old != NULL && *old != '\0')
        return;
    if (find_file(DM_BIN_TO_ETC, "etc", DM_ETCDIR, "dat.conf", file, sizeof(file)) == PLACE_NONE) {
        unsetenv("DAT_OVERRIDE");
        return;
    }
    make_plain(file, sizeof(file));
    setenv("DAT_OVERRIDE", file, 1);
}

void dm_install_libraries(char *dir, size_t len)
{
    char *slash;

    if (find_file(DM_BIN_TO_LIB, "lib", DM_LIBDIR, LIBRARY, dir, len) == PLACE_NONE) {
        snprintf(dir, len, "%s", DM_LIBDIR);
        return;
    }
    /* The directory first: the library's name may be a link. */
    if ((slash = strrchr(dir, '/')) != NULL)
        *slash = '\0';
    make_plain(dir, len);
}

/* It was moved with our libraries, or not at all. */
void dm_install_prefix(char *dir, size_t len)
{
    enum place place = find_file(DM_BIN_TO_LIB, "lib", DM_LIBDIR, LIBRARY, dir, len);
    char bin[PATH_MAX];

    if (place > PLACE_BESIDE || !own_directory(bin)) {
        snprintf(dir, len, "%s", DM_PREFIX);
        return;
    }
    snprintf(dir, len, "%s/%s", bin, place == PLACE_WAY ? DM_BIN_TO_PREFIX : "..");
    make_plain(dir, len);
}

void dm_install_set_library_path(void)
{
    const char *old = dm_cfg_env("LD_LIBRARY_PATH");
    char dir[2 * PATH_MAX];
    char *text;

    dm_install_libraries(dir, sizeof(dir));
    if (old == NULL || *old == '\0') {
        setenv("LD_LIBRARY_PATH", dir, 1);
    } else if (asprintf(&text, "%s:%s", dir, old) >= 0) {
        setenv("LD_LIBRARY_PATH", text, 1);
        free(text);
    }
}
