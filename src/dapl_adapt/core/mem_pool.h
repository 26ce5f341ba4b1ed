/*
 * Memory of MPI_Alloc_mem, of windows and of what they need, out of few large segments: memory files that are
 * registered and can be mapped by neighbours. A segment is divided by halves down to pages (buddy system); blocks
 * shorter than a page come from slabs of 16 KiB with slots of one size. Inside the global lock.
 */
#ifndef DM_DAPL_ADAPT_CORE_MEM_POOL_H
#define DM_DAPL_ADAPT_CORE_MEM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

struct dm_adapt;
struct dm_ia;
struct dm_mr;

#define DM_MEM_PAGE    4096u
#define DM_MEM_CLASSES 6 /* of slots: 64 bytes to 2 KiB */

/* Who frees a block: nobody else can. */
enum dm_mem_kind { DM_MEM_LIBRARY, DM_MEM_PROGRAM, DM_MEM_KINDS };

struct dm_mem_segment;

#define DM_MEM_WARM 8

struct dm_mem_warm {
    struct dm_mem_segment *segment;
    int at;
};

struct dm_mem_pool {
    struct dm_mem_segment **segments; /* by address */
    int n_segments, max_segments;
    struct dm_mem_segment *last;                        /* found last */
    struct dm_list slabs[DM_MEM_KINDS][DM_MEM_CLASSES]; /* with free slots */
    size_t next_len;                                    /* of the next segment */
    struct dm_mem_warm warm[DM_MEM_WARM]; /* blocks given back last, pages and all; oldest first */
    int n_warm;
    size_t warm_len; /* of all of them */
};

void dm_mem_pool_init(struct dm_mem_pool *pool);
/* All memory goes, whoever has it. */
void dm_mem_pool_fini(struct dm_adapt *adapt);
/*
 * Take len bytes (not 0), aligned to 64 bytes and, from a page on, to pages. *is_zero_p: they are. *mr_p is of the
 * segment. DM_ENOMEM, DM_ESYS.
 */
int dm_mem_pool_take(struct dm_adapt *adapt, enum dm_mem_kind kind, size_t len, void **ptr_p,
                     struct dm_mr **mr_p, bool *is_zero_p);
/* Give a block back. False: it is none of that kind. */
bool dm_mem_pool_give(struct dm_adapt *adapt, enum dm_mem_kind kind, void *ptr);

/* The registration of a segment by its place, NULL: there are no more. */
struct dm_mr *dm_mem_pool_mr(const struct dm_mem_pool *pool, int i);

/*
 * A rail that comes later, at the place ia->index: register with it what is registered with the others.
 * DM_EPROVIDER: it cannot take a segment. And what dm_lmr_create says. (mem_extend.c)
 */
int dm_mem_extend(struct dm_adapt *adapt, struct dm_ia *ia);
/* Undo that: the rail at that place is not to be used. (mem_extend.c) */
void dm_mem_withdraw(struct dm_adapt *adapt, int index);
/* A memory file of its own, registered; and its end. (memory.c) */
int dm_mem_open(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p);
void dm_mem_close(struct dm_adapt *adapt, void *ptr, struct dm_mr *mr);

#endif
