/*
 * Memory from the pool: the library's own, zeroed, and what the program borrows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/public/memory.h"
#include "util/err.h"

int dm_adapt_mem_alloc(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p)
{
    bool is_zero;
    int err = dm_mem_pool_take(adapt, DM_MEM_LIBRARY, len > 0 ? len : 1, ptr_p, mr_p, &is_zero);

    if (err == DM_OK && !is_zero)
        memset(*ptr_p, 0, len);
    return err;
}

void dm_adapt_mem_free(struct dm_adapt *adapt, void *ptr)
{
    (void)dm_mem_pool_give(adapt, DM_MEM_LIBRARY, ptr);
}

int dm_adapt_mem_lend(struct dm_adapt *adapt, size_t len, void **ptr_p)
{
    struct dm_mr *mr;
    bool is_zero;

    return dm_mem_pool_take(adapt, DM_MEM_PROGRAM, len > 0 ? len : 1, ptr_p, &mr, &is_zero);
}

bool dm_adapt_mem_take_back(struct dm_adapt *adapt, void *ptr)
{
    return dm_mem_pool_give(adapt, DM_MEM_PROGRAM, ptr);
}
