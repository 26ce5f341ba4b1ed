/*
 * MPI_Alloc_mem and MPI_Free_mem (MPI-4.0 section 9.2): memory that peers reach
 * in the fastest way the provider has.
 */
#include <stdlib.h>

#include "onesided/state.h"
#include "onesided/win.h"

/* Invariant: the list holds every live allocation of MPI_Alloc_mem. */
struct alloc {
    struct dm_list link;
    void *base;
    struct dm_mr *mr;
};

/* Give one allocation back. */
static void mem_release(struct alloc *a)
{
    dm_list_del(&a->link);
    dm_adapt_mem_free(dm_chan_adapt(dm_world.chan), a->base, a->mr);
    free(a);
}

int dm_alloc_mem(size_t size, struct dm_info *info, void *baseptr)
{
    struct alloc *a = malloc(sizeof(*a));
    int err;

    (void)info;
    if (a == NULL)
        return DM_FAIL(DM_ERR_NO_MEM, "no memory for the record of an allocation");
    /* a zero-sized allocation still needs an address that MPI_Free_mem can tell apart */
    err = dm_adapt_mem_alloc(dm_chan_adapt(dm_world.chan), size > 0 ? size : 1, &a->base, &a->mr);
    if (err != DM_OK) {
        free(a);
        return err == DM_ENOMEM ? DM_ERR_NO_MEM : err;
    }
    dm_list_add_head(&dm_rma_state.allocs, &a->link);
    *(void **)baseptr = a->base;
    return DM_OK;
}

int dm_free_mem(void *base)
{
    if (base == NULL)
        return DM_OK; /* as free() */
    dm_list_for_each (it, &dm_rma_state.allocs) {
        struct alloc *a = dm_container_of(it, struct alloc, link);

        if (a->base == base) {
            mem_release(a);
            return DM_OK;
        }
    }
    return DM_FAIL(DM_ERR_BASE, "%p was not returned by MPI_Alloc_mem, or was freed before", base);
}

void dm_rma_mem_stop(void)
{
    while (!dm_list_is_empty(&dm_rma_state.allocs))
        mem_release(dm_container_of(dm_rma_state.allocs.next, struct alloc, link));
}
