/*
 * What a process has, to find out what is left behind.
 */
#ifndef DM_TESTS_DAT_DAT_LEAK_H
#define DM_TESTS_DAT_DAT_LEAK_H

#include <dlfcn.h>
#include <malloc.h>

#include "../self.h"
#include "dat_test.h"

struct dt_belongings {
    int n_fds;
    int n_maps;     /* of memory that is shared */
    size_t n_bytes; /* allocated */
    size_t n_pages; /* mapped */
};

static inline struct dt_belongings dt_count_belongings(void)
{
    struct dt_belongings b = {.n_fds = self_count_files(), .n_maps = self_count_maps("memfd:")};
    FILE *statm = fopen("/proc/self/statm", "re");

    CHECK(statm != NULL);
    CHECK_EQ(fscanf(statm, "%zu", &b.n_pages), 1);
    fclose(statm);
    b.n_bytes = mallinfo2().uordblks;
    return b;
}

static inline bool dt_has_tsan(void)
{
    return dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

/* It has not become more. The allocator keeps something; the thread checker
 * keeps a lot, for each thread that has been. */
static inline void dt_want_belongings(const struct dt_belongings *before, const char *what)
{
    struct dt_belongings now = dt_count_belongings();

    if (now.n_fds != before->n_fds || now.n_maps != before->n_maps)
        DT_FAIL("%s: %d descriptors and %d mappings, not %d and %d", what, now.n_fds, now.n_maps,
                before->n_fds, before->n_maps);
    if (dt_has_tsan())
        return;
    if (now.n_bytes > before->n_bytes + 65536 || now.n_pages > before->n_pages + 65536)
        DT_FAIL("%s: %zu bytes and %zu pages, not %zu and %zu", what, now.n_bytes, now.n_pages,
                before->n_bytes, before->n_pages);
}

#endif
