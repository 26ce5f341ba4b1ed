/*
 * Where a program is, as a shell finds it.
 */
#ifndef DM_UTIL_SEARCH_H
#define DM_UTIL_SEARCH_H

#include <limits.h>

/* All return 0, or the errno that executing it would give; path has room for PATH_MAX bytes. */

/* EISDIR for a directory. */
int dm_search_try(const char *path);
/* In the directories of dirs, with colons between; relative ones are so to wdir, NULL: here. */
int dm_search_dirs(const char *wdir, const char *dirs, const char *name, char *path);
/* A name with a slash is the path; others are looked for in dirs, NULL: the system's. */
int dm_search_program(const char *wdir, const char *dirs, const char *name, char *path);

#endif
