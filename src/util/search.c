#include "util/search.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DIR/NAME, and what is relative is so to wdir. */
static void search_join(const char *wdir, const char *dir, size_t dir_len, const char *name,
                        char *path)
{
    if (wdir == NULL || *(dir_len > 0 ? dir : name) == '/')
        wdir = "";
    snprintf(path, PATH_MAX, "%s%s%.*s%s%s", wdir, *wdir != '\0' ? "/" : "", (int)dir_len, dir,
             dir_len > 0 ? "/" : "", name);
}

int dm_search_try(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

int dm_search_dirs(const char *wdir, const char *dirs, const char *name, char *path)
{
    int worst = ENOENT;

    for (;;) {
        size_t dir_len = strcspn(dirs, ":");
        int err;

        search_join(wdir, dir_len > 0 ? dirs : ".", dir_len > 0 ? dir_len : 1, name, path);
        err = dm_search_try(path);
        if (err == 0)
            return 0;
        if (err == EACCES)
            worst = err;
        if (dirs[dir_len] == '\0')
            return worst;
        dirs += dir_len + 1;
    }
}

int dm_search_program(const char *wdir, const char *dirs, const char *name, char *path)
{
    if (strchr(name, '/') == NULL)
        return dm_search_dirs(wdir, dirs != NULL ? dirs : "/usr/local/bin:/usr/bin:/bin", name,
                              path);
    search_join(wdir, "", 0, name, path);
    return dm_search_try(path);
}
