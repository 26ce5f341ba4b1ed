/*
 * Segments of the pool, and blocks of pages in them (buddy system).
 *
 * Invariant: a segment's pages are covered by blocks, each of 2^order pages at a multiple of its length; the page that
 * a block starts at describes it. Nothing of this is kept in the memory itself, which peers may write at any time.
 */
#include "dapl_adapt/core/mem_segment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "util/err.h"

/* How many segments begin at or below it. */
static int pool_count_below(const struct dm_mem_pool *pool, const char *ptr)
{
    int low = 0, high = pool->n_segments;

    while (low < high) {
        int middle = (low + high) / 2;

        if (pool->segments[middle]->base <= ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct dm_mem_segment *dm_segment_find(struct dm_mem_pool *pool, const char *ptr)
{
    struct dm_mem_segment *seg = pool->last;
    int i;

    if (seg != NULL && ptr >= seg->base && ptr < seg->base + seg->len)
        return seg;
    i = pool_count_below(pool, ptr);
    if (i == 0 || ptr >= pool->segments[i - 1]->base + pool->segments[i - 1]->len)
        return NULL;
    return pool->last = pool->segments[i - 1];
}

static int mem_pool_insert(struct dm_mem_pool *pool, struct dm_mem_segment *seg)
{
    int at = pool_count_below(pool, seg->base);

    if (pool->n_segments == pool->max_segments) {
        int max = 2 * pool->max_segments + 16;
        struct dm_mem_segment **more =
            realloc(pool->segments, (size_t)max * sizeof(struct dm_mem_segment *));

        if (more == NULL)
            return DM_FAIL(DM_ENOMEM, "table of %d memory segments", max);
        pool->segments = more;
        pool->max_segments = max;
    }
    memmove(&pool->segments[at + 1], &pool->segments[at],
            (size_t)(pool->n_segments - at) * sizeof(struct dm_mem_segment *));
    pool->segments[at] = seg;
    pool->n_segments++;
    return DM_OK;
}

void dm_segment_close(struct dm_adapt *adapt, struct dm_mem_segment *seg)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    int at = pool_count_below(pool, seg->base) - 1;

    if (at >= 0 && pool->segments[at] == seg) {
        pool->n_segments--;
        memmove(&pool->segments[at], &pool->segments[at + 1],
                (size_t)(pool->n_segments - at) * sizeof(struct dm_mem_segment *));
    }
    if (pool->last == seg)
        pool->last = NULL;
    dm_mem_close(adapt, seg->base, seg->mr);
    free(seg->pages);
    free(seg);
}

static void segment_push(struct dm_mem_segment *seg, int at, int order)
{
    struct dm_mem_page *page = &seg->pages[at];

    page->state = DM_PAGE_FREE;
    page->order = (uint8_t)order;
    page->prev = -1;
    page->next = seg->free[order];
    if (page->next >= 0)
        seg->pages[page->next].prev = at;
    seg->free[order] = at;
}

static void segment_pull(struct dm_mem_segment *seg, int at)
{
    struct dm_mem_page *page = &seg->pages[at];

    if (page->prev >= 0)
        seg->pages[page->prev].next = page->next;
    else
        seg->free[page->order] = page->next;
    if (page->next >= 0)
        seg->pages[page->next].prev = page->prev;
    page->state = DM_PAGE_INSIDE;
}

int dm_segment_open(struct dm_adapt *adapt, size_t len, bool is_whole,
                    struct dm_mem_segment **seg_p)
{
    struct dm_mem_segment *seg = calloc(1, sizeof(*seg));
    void *base;
    int err;

    if (seg == NULL)
        return DM_FAIL(DM_ENOMEM, "a memory segment");
    err = dm_mem_open(adapt, len, &base, &seg->mr);
    if (err != DM_OK) {
        free(seg);
        return err;
    }
    seg->base = base;
    seg->len = len;
    for (int i = 0; i < DM_MEM_ORDERS; i++)
        seg->free[i] = -1;
    if (!is_whole) {
        seg->pages = calloc(len >> DM_MEM_PAGE_SHIFT, sizeof(*seg->pages));
        while ((size_t)DM_MEM_PAGE << seg->order < len)
            seg->order++;
        if (seg->pages != NULL)
            segment_push(seg, 0, seg->order);
    }
    err = !is_whole && seg->pages == NULL
              ? DM_FAIL(DM_ENOMEM, "the table of a memory segment of %zu bytes", len)
              : mem_pool_insert(&adapt->mem.pool, seg);
    if (err != DM_OK)
        dm_segment_close(adapt, seg);
    *seg_p = err == DM_OK ? seg : NULL;
    return err;
}

/* Another segment with room for 2^order pages: large if that is possible, else just large enough. */
int dm_segment_add(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    size_t least = (size_t)DM_MEM_PAGE << order,
           most = adapt->mem.is_pinning ? DM_MEM_PINNED_MAX : DM_MEM_BLOCK_MAX;
    size_t len = pool->next_len > least ? pool->next_len : least;
    int err = dm_segment_open(adapt, len, false, seg_p);

    if (len > least && (err != DM_OK || (*seg_p)->mr->is_bare)) { /* perhaps so much is locked */
        if (err == DM_OK)
            dm_segment_close(adapt, *seg_p);
        len = least;
        err = dm_segment_open(adapt, len, false, seg_p);
    }
    if (err == DM_OK)
        pool->next_len = 2 * len < most ? 2 * len : most;
    return err;
}

/* ---- blocks of pages ---- */

/* A block of 2^order pages, or -1. */
int dm_segment_take(struct dm_mem_segment *seg, int order)
{
    int at, from = order;

    while (from < DM_MEM_ORDERS && seg->free[from] < 0)
        from++;
    if (from == DM_MEM_ORDERS || seg->pages == NULL)
        return -1;
    at = seg->free[from];
    segment_pull(seg, at);
    while (from > order) {
        from--;
        segment_push(seg, at + (1 << from), from);
    }
    seg->pages[at].order = (uint8_t)order;
    seg->n_used++;
    return at;
}

void dm_segment_give(struct dm_adapt *adapt, struct dm_mem_segment *seg, int at)
{
    int order = seg->pages[at].order;
    size_t len = (size_t)DM_MEM_PAGE << order;

    if (len >= DM_MEM_RETURN && !adapt->mem.is_pinning)
        (void)madvise(seg->base + ((size_t)at << DM_MEM_PAGE_SHIFT), len, MADV_REMOVE);
    seg->pages[at].state = DM_PAGE_INSIDE;
    for (; order < seg->order; order++) {
        int buddy = at ^ (1 << order);

        if (seg->pages[buddy].state != DM_PAGE_FREE || seg->pages[buddy].order != order)
            break;
        segment_pull(seg, buddy);
        at = at < buddy ? at : buddy;
    }
    segment_push(seg, at, order);
    /* The last one stays for who comes next, unless it is large. */
    if (--seg->n_used == 0 && (adapt->mem.pool.n_segments > 1 || seg->len > DM_MEM_SEGMENT_MIN))
        dm_segment_close(adapt, seg);
}
