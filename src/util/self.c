/*
 * Where this code is.
 */
#include "util/self.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "config.h"

/* The program may have been called by a name without directory. */
bool dm_self_path(char *path, size_t len, bool *is_program_p)
{
    Dl_info info, main;
    ssize_t n;

    *is_program_p = false;
    if (dladdr((void *)(uintptr_t)dm_self_path, &info) == 0 || info.dli_fname == NULL)
        return false;
    if (dladdr((void *)getauxval(AT_PHDR), &main) != 0 && main.dli_fbase == info.dli_fbase) {
        *is_program_p = true;
        n = readlink("/proc/self/exe", path, len - 1);
        path[n > 0 ? n : 0] = '\0';
        return n > 0;
    }
    snprintf(path, len, "%s", info.dli_fname);
    return true;
}

/* The directory of the pages, if they are not where configure said; the caller frees it. */
static char *self_find_docs(void)
{
    char path[2 * PATH_MAX], page[sizeof(path) + sizeof("/TUNING.md")];
    bool is_program;
    char *slash, *real;

    if (!dm_self_path(path, PATH_MAX, &is_program) || (slash = strrchr(path, '/')) == NULL)
        return NULL;
    strcpy(slash + 1, is_program ? DM_BIN_TO_DOC : DM_LIB_TO_DOC);
    snprintf(page, sizeof(page), "%s/TUNING.md", path);
    real = access(page, R_OK) == 0 ? realpath(path, NULL) : NULL;
    if (real != NULL && strcmp(real, DM_DOCDIR) == 0) {
        free(real);
        return NULL;
    }
    return real;
}

/* The text with another directory; NULL without memory. */
static char *self_move(const char *text, const char *docs)
{
    size_t len = strlen(text) + 1, old_len = strlen(DM_DOCDIR), docs_len = strlen(docs);
    const char *at;
    char *moved, *to;

    for (at = strstr(text, DM_DOCDIR); at != NULL; at = strstr(at + old_len, DM_DOCDIR))
        len += docs_len;
    moved = to = malloc(len);
    while (moved != NULL && (at = strstr(text, DM_DOCDIR)) != NULL) {
        memcpy(to, text, (size_t)(at - text));
        to += at - text;
        memcpy(to, docs, docs_len);
        to += docs_len;
        text = at + old_len;
    }
    if (moved != NULL)
        strcpy(to, text);
    return moved;
}

const char *dm_self_docs(const char *text, _Atomic(char *) *kept_p)
{
    char *kept = atomic_load(kept_p), *docs, *moved;

    if (kept != NULL)
        return kept;
    if (strstr(text, DM_DOCDIR) == NULL || (docs = self_find_docs()) == NULL)
        return text;
    moved = self_move(text, docs);
    free(docs);
    if (moved == NULL)
        return text;
    if (atomic_compare_exchange_strong(kept_p, &kept, moved))
        return moved;
    free(moved); /* another thread has been here */
    return kept;
}
