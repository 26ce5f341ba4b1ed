/*
 * Segments of the pool of registered memory: a memory file each, divided by halves down to pages. For mem_pool.c.
 */
#ifndef DM_DAPL_ADAPT_CORE_MEM_SEGMENT_H
#define DM_DAPL_ADAPT_CORE_MEM_SEGMENT_H

#include "dapl_adapt/core/mem_pool.h"

#define DM_MEM_PAGE_SHIFT  12
#define DM_MEM_ORDERS      17 /* blocks of 4 KiB to 256 MiB */
#define DM_MEM_BLOCK_MAX   ((size_t)1 << (DM_MEM_PAGE_SHIFT + DM_MEM_ORDERS - 1))
#define DM_MEM_SEGMENT_MIN ((size_t)1 << 20)
/* With a provider that pins what is registered: segments and blocks at most. */
#define DM_MEM_PINNED_MAX ((size_t)4 << 20)
#define DM_MEM_RETURN     ((size_t)1 << 20) /* blocks whose pages go back at once */

struct dm_mem_slab; /* mem_pool.c */

enum dm_page_state { DM_PAGE_INSIDE, DM_PAGE_FREE, DM_PAGE_BLOCK, DM_PAGE_SLAB, DM_PAGE_WARM };

struct dm_mem_page {
    union {
        struct dm_mem_slab *slab;
        struct {
            int32_t next, prev; /* of free blocks of this order, -1: none */
        };
    };
    uint8_t state; /* enum dm_page_state */
    uint8_t order;
    uint8_t kind;
};

struct dm_mem_segment {
    char *base;
    size_t len;
    struct dm_mr *mr;
    struct dm_mem_page *pages; /* NULL: one block that is too long for the buddy system */
    int n_used;                /* blocks */
    int kind;                  /* of that one */
    int order;                 /* of the whole */
    int free[DM_MEM_ORDERS];   /* first free block of each order, -1: none */
    size_t fresh;              /* nothing has been taken from here on: it is zero */
};

/* A segment of len bytes, whole: for one block. DM_ENOMEM, DM_ESYS. */
int dm_segment_open(struct dm_adapt *adapt, size_t len, bool is_whole,
                    struct dm_mem_segment **seg_p);
void dm_segment_close(struct dm_adapt *adapt, struct dm_mem_segment *seg);
/* Another one with room for 2^order pages: large if that is possible, else just large enough. */
int dm_segment_add(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p);
/* That which ptr is in, or NULL. */
struct dm_mem_segment *dm_segment_find(struct dm_mem_pool *pool, const char *ptr);
/* The first page of a block of 2^order pages, or -1. */
int dm_segment_take(struct dm_mem_segment *seg, int order);
/* Give the block back that begins at a page; the segment may go with it. */
void dm_segment_give(struct dm_adapt *adapt, struct dm_mem_segment *seg, int at);

#endif
