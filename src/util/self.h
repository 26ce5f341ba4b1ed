/*
 * The file with this code, and what is installed beside it.
 */
#ifndef DM_UTIL_SELF_H
#define DM_UTIL_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The library with this code, or the program: then *is_program_p. */
bool dm_self_path(char *path, size_t len, bool *is_program_p);

/*
 * A text that names pages (DM_DOC) where they are: "make install prefix=" may have put them elsewhere than configure
 * said. A text that is made for this is kept in *kept_p, which is NULL at first.
 */
const char *dm_self_docs(const char *text, _Atomic(char *) *kept_p);

#endif
