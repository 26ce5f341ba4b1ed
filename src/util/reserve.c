/*
 * Address space without memory.
 */
#include "util/reserve.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "util/err.h"

#define LIMIT_PART 1024 /* of a limited address space, for one table */

/* What a limit of address space leaves for one table. */
static size_t reserve_cut(size_t least, size_t most)
{
    struct rlimit lim;
    size_t n;

    if (getrlimit(RLIMIT_AS, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY)
        return most;
    n = (size_t)lim.rlim_cur / LIMIT_PART / sizeof(void *);
    if (n > most)
        n = most;
    return n > least ? n : least;
}

void *dm_reserve(size_t least, size_t most, size_t *n_p)
{
    size_t n = reserve_cut(least, most > least ? most : least);
    void *table;

    for (;;) {
        table = mmap(NULL, n * sizeof(void *), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (table != MAP_FAILED)
            break;
        if (n == least) {
            (void)DM_FAIL(DM_ENOMEM, "address space for a table of %zu pointers", n);
            return NULL;
        }
        n = n / 2 > least ? n / 2 : least;
    }
    (void)madvise(table, n * sizeof(void *), MADV_NOHUGEPAGE); /* a few pages of it are used */
    *n_p = n;
    return table;
}

void dm_reserve_free(void *table, size_t n)
{
    if (table != NULL)
        munmap(table, n * sizeof(void *));
}
