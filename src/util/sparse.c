/*
 * Tables whose pages come with their first use.
 */
#include "util/sparse.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGES_LEAST                                                                                \
    ((size_t)16 << 10) /* shorter ones are cheaper from malloc, and near each other */

void *dm_sparse_new(size_t len)
{
    void *table;

    if (len < PAGES_LEAST)
        return calloc(1, len);
    table =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return table != MAP_FAILED ? table : NULL;
}

void dm_sparse_free(void *table, size_t len)
{
    if (len < PAGES_LEAST)
        free(table);
    else if (table != NULL)
        munmap(table, len);
}
