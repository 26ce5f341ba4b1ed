/*
 * MPI_Alloc_mem and MPI_Free_mem (MPI-4.0 section 9.2): memory that peers reach
 * in the fastest way the provider has, out of the pool of the adaptation layer.
 */
#include <stdlib.h>

#include "onesided/state.h"
#include "onesided/win.h"

#define ALIGN_MOST 4096

/* The key mpi_minimum_memory_alignment: blocks are aligned to their length, up to a page. */
static size_t alloc_least(struct dm_info *info)
{
    char text[32];
    int flag = 0;
    unsigned long long align;

    if (dm_info_get(info, "mpi_minimum_memory_alignment", sizeof(text) - 1, text, &flag) != DM_OK ||
        !flag)
        return 1;
    align = strtoull(text, NULL, 10);
    return align < 1 ? 1 : align < ALIGN_MOST ? (size_t)align : ALIGN_MOST;
}

int dm_alloc_mem(size_t size, struct dm_info *info, void *baseptr)
{
    size_t least = dm_unlikely(info != NULL) ? alloc_least(info) : 1;
    int err = dm_adapt_mem_lend(dm_chan_adapt(dm_world.chan), size > least ? size : least,
                                (void **)baseptr);

    return err == DM_ENOMEM ? DM_ERR_NO_MEM : err;
}

int dm_free_mem(void *base)
{
    if (base == NULL || dm_adapt_mem_take_back(dm_chan_adapt(dm_world.chan), base))
        return DM_OK; /* as free() */
    return DM_FAIL(DM_ERR_BASE, "%p was not returned by MPI_Alloc_mem, or was freed before", base);
}
