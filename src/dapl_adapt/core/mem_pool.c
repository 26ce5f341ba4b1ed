/*
 * The pool of registered memory.
 *
 * Invariants: a segment's pages are covered by blocks, each of 2^order pages at a multiple of its length; the page that
 * a block starts at describes it. A slab is a block of SLAB_ORDER; it is in its list while it has free slots. Nothing of
 * this is kept in the memory itself, which peers may write at any time.
 */
#include "dapl_adapt/core/mem_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "util/err.h"
#include "util/port.h"

#define SLOT_SHIFT  6 /* of the smallest slot */
#define PAGE_SHIFT  12
#define SLAB_ORDER  2
#define SLAB_WORDS  4  /* of 64 slots */
#define ORDERS      17 /* blocks of 4 KiB to 256 MiB */
#define BLOCK_MAX   ((size_t)1 << (PAGE_SHIFT + ORDERS - 1))
#define SEGMENT_MIN ((size_t)1 << 20)
/* With a provider that pins what is registered: segments and blocks at most. */
#define PINNED_MAX ((size_t)4 << 20)
#define RETURN_MIN ((size_t)1 << 20) /* blocks whose pages go back at once */

enum page_state { PAGE_INSIDE, PAGE_FREE, PAGE_BLOCK, PAGE_SLAB };

struct slab {
    struct dm_list link;
    struct dm_mem_segment *segment;
    char *base;
    uint64_t free[SLAB_WORDS]; /* a bit for each slot */
    uint16_t n_free, n_slots;
    uint8_t class;
    uint8_t kind;
};

struct page {
    union {
        struct slab *slab;
        struct {
            int32_t next, prev; /* of free blocks of this order, -1: none */
        };
    };
    uint8_t state; /* enum page_state */
    uint8_t order;
    uint8_t kind;
};

struct dm_mem_segment {
    char *base;
    size_t len;
    struct dm_mr *mr;
    struct page *pages; /* NULL: one block that is too long for the buddy system */
    int n_used;         /* blocks */
    int kind;           /* of that one */
    int order;          /* of the whole */
    int free[ORDERS];   /* first free block of each order, -1: none */
    size_t fresh;       /* nothing has been taken from here on: it is zero */
};

/* ---- segments ---- */

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

struct dm_mr *dm_mem_pool_mr(const struct dm_mem_pool *pool, int i)
{
    return i < pool->n_segments ? pool->segments[i]->mr : NULL;
}

static struct dm_mem_segment *mem_pool_find(struct dm_mem_pool *pool, const char *ptr)
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

static void segment_close(struct dm_adapt *adapt, struct dm_mem_segment *seg)
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
    struct page *page = &seg->pages[at];

    page->state = PAGE_FREE;
    page->order = (uint8_t)order;
    page->prev = -1;
    page->next = seg->free[order];
    if (page->next >= 0)
        seg->pages[page->next].prev = at;
    seg->free[order] = at;
}

static void segment_pull(struct dm_mem_segment *seg, int at)
{
    struct page *page = &seg->pages[at];

    if (page->prev >= 0)
        seg->pages[page->prev].next = page->next;
    else
        seg->free[page->order] = page->next;
    if (page->next >= 0)
        seg->pages[page->next].prev = page->prev;
    page->state = PAGE_INSIDE;
}

static int segment_open(struct dm_adapt *adapt, size_t len, bool is_whole,
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
    for (int i = 0; i < ORDERS; i++)
        seg->free[i] = -1;
    if (!is_whole) {
        seg->pages = calloc(len >> PAGE_SHIFT, sizeof(*seg->pages));
        while ((size_t)DM_MEM_PAGE << seg->order < len)
            seg->order++;
        if (seg->pages != NULL)
            segment_push(seg, 0, seg->order);
    }
    err = !is_whole && seg->pages == NULL
              ? DM_FAIL(DM_ENOMEM, "the table of a memory segment of %zu bytes", len)
              : mem_pool_insert(&adapt->mem.pool, seg);
    if (err != DM_OK)
        segment_close(adapt, seg);
    *seg_p = err == DM_OK ? seg : NULL;
    return err;
}

/* Another segment with room for 2^order pages: large if that is possible, else just large enough. */
static int mem_pool_grow(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    size_t least = (size_t)DM_MEM_PAGE << order,
           most = adapt->mem.is_pinning ? PINNED_MAX : BLOCK_MAX;
    size_t len = pool->next_len > least ? pool->next_len : least;
    int err = segment_open(adapt, len, false, seg_p);

    if (len > least && (err != DM_OK || (*seg_p)->mr->is_bare)) { /* perhaps so much is locked */
        if (err == DM_OK)
            segment_close(adapt, *seg_p);
        len = least;
        err = segment_open(adapt, len, false, seg_p);
    }
    if (err == DM_OK)
        pool->next_len = 2 * len < most ? 2 * len : most;
    return err;
}

/* ---- blocks of pages ---- */

/* A block of 2^order pages, or -1. */
static int segment_take(struct dm_mem_segment *seg, int order)
{
    int at, from = order;

    while (from < ORDERS && seg->free[from] < 0)
        from++;
    if (from == ORDERS || seg->pages == NULL)
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

static void segment_give(struct dm_adapt *adapt, struct dm_mem_segment *seg, int at)
{
    int order = seg->pages[at].order;
    size_t len = (size_t)DM_MEM_PAGE << order;

    if (len >= RETURN_MIN && !adapt->mem.is_pinning)
        (void)madvise(seg->base + ((size_t)at << PAGE_SHIFT), len, MADV_REMOVE);
    seg->pages[at].state = PAGE_INSIDE;
    for (; order < seg->order; order++) {
        int buddy = at ^ (1 << order);

        if (seg->pages[buddy].state != PAGE_FREE || seg->pages[buddy].order != order)
            break;
        segment_pull(seg, buddy);
        at = at < buddy ? at : buddy;
    }
    segment_push(seg, at, order);
    /* The last one stays for who comes next, unless it is large. */
    if (--seg->n_used == 0 && (adapt->mem.pool.n_segments > 1 || seg->len > SEGMENT_MIN))
        segment_close(adapt, seg);
}

static int pool_take_pages(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p,
                           int *at_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    int err;

    for (int i = pool->n_segments - 1; i >= 0; i--) {
        *seg_p = pool->segments[i];
        *at_p = segment_take(*seg_p, order);
        if (*at_p >= 0)
            return DM_OK;
    }
    err = mem_pool_grow(adapt, order, seg_p);
    if (err == DM_OK)
        *at_p = segment_take(*seg_p, order);
    return err;
}

/* Is a block that is taken now zero? */
static bool segment_note_fresh(const struct dm_adapt *adapt, struct dm_mem_segment *seg, int at,
                               int order)
{
    size_t start = (size_t)at << PAGE_SHIFT, len = (size_t)DM_MEM_PAGE << order;
    bool is_zero = start >= seg->fresh || (len >= RETURN_MIN && !adapt->mem.is_pinning);

    if (start + len > seg->fresh)
        seg->fresh = start + len;
    return is_zero;
}

static int pool_take_block(struct dm_adapt *adapt, enum dm_mem_kind kind, size_t len, void **ptr_p,
                           struct dm_mr **mr_p, bool *is_zero_p)
{
    struct dm_mem_segment *seg;
    int order = 0, at, err;

    while ((size_t)DM_MEM_PAGE << order < len)
        order++;
    err = pool_take_pages(adapt, order, &seg, &at);
    if (err != DM_OK)
        return err;
    seg->pages[at].state = PAGE_BLOCK;
    seg->pages[at].kind = (uint8_t)kind;
    *ptr_p = seg->base + ((size_t)at << PAGE_SHIFT);
    *mr_p = seg->mr;
    *is_zero_p = segment_note_fresh(adapt, seg, at, order);
    return DM_OK;
}

/* A segment of its own. */
static int pool_take_whole(struct dm_adapt *adapt, enum dm_mem_kind kind, size_t len, void **ptr_p,
                           struct dm_mr **mr_p, bool *is_zero_p)
{
    size_t page = adapt->mem.page;
    struct dm_mem_segment *seg;
    int err;

    if (len > SIZE_MAX - page)
        return DM_FAIL(DM_ENOMEM, "%zu bytes are more than a process can address", len);
    err = segment_open(adapt, (len + page - 1) & ~(page - 1), true, &seg);
    if (err != DM_OK)
        return err;
    seg->kind = (int)kind;
    *ptr_p = seg->base;
    *mr_p = seg->mr;
    *is_zero_p = true;
    return DM_OK;
}

/* ---- slots ---- */

static int slab_open(struct dm_adapt *adapt, enum dm_mem_kind kind, int class, struct slab **slab_p)
{
    struct slab *slab = calloc(1, sizeof(*slab));
    int at, err;

    if (slab == NULL)
        return DM_FAIL(DM_ENOMEM, "a slab of memory");
    err = pool_take_pages(adapt, SLAB_ORDER, &slab->segment, &at);
    if (err != DM_OK) {
        free(slab);
        return err;
    }
    (void)segment_note_fresh(adapt, slab->segment, at, SLAB_ORDER);
    slab->segment->pages[at].state = PAGE_SLAB;
    slab->segment->pages[at].slab = slab;
    slab->base = slab->segment->base + ((size_t)at << PAGE_SHIFT);
    slab->n_free = slab->n_slots =
        (uint16_t)(((size_t)DM_MEM_PAGE << SLAB_ORDER) >> (SLOT_SHIFT + class));
    for (int i = 0; i < SLAB_WORDS; i++)
        slab->free[i] = slab->n_slots >= 64 * (i + 1) ? UINT64_MAX
                        : slab->n_slots > 64 * i ? ((uint64_t)1 << (slab->n_slots - 64 * i)) - 1
                                                 : 0;
    slab->class = (uint8_t) class;
    slab->kind = (uint8_t)kind;
    dm_list_add_head(&adapt->mem.pool.slabs[kind][class], &slab->link);
    *slab_p = slab;
    return DM_OK;
}

static char *slab_take(struct slab *slab)
{
    int word = 0, bit;

    while (slab->free[word] == 0)
        word++;
    bit = dm_lowest_bit(slab->free[word]);
    slab->free[word] &= slab->free[word] - 1;
    if (--slab->n_free == 0)
        dm_list_del(&slab->link);
    return slab->base + ((size_t)(64 * word + bit) << (SLOT_SHIFT + slab->class));
}

static bool slab_give(struct dm_adapt *adapt, struct slab *slab, enum dm_mem_kind kind,
                      const char *ptr)
{
    struct dm_list *list = &adapt->mem.pool.slabs[kind][slab->class];
    size_t offset = (size_t)(ptr - slab->base), slot = offset >> (SLOT_SHIFT + slab->class);
    uint64_t bit = (uint64_t)1 << slot % 64;

    if (slab->kind != kind || slot << (SLOT_SHIFT + slab->class) != offset ||
        slab->free[slot / 64] & bit)
        return false;
    slab->free[slot / 64] |= bit;
    if (slab->n_free++ == 0)
        dm_list_add_head(list, &slab->link);
    if (slab->n_free == slab->n_slots && list->next != list->prev) { /* not the only one */
        struct dm_mem_segment *seg = slab->segment;
        int at = (int)((size_t)(slab->base - seg->base) >> PAGE_SHIFT);

        dm_list_del(&slab->link);
        free(slab);
        segment_give(adapt, seg, at);
    }
    return true;
}

/* ---- all lengths ---- */

int dm_mem_pool_take(struct dm_adapt *adapt, enum dm_mem_kind kind, size_t len, void **ptr_p,
                     struct dm_mr **mr_p, bool *is_zero_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    struct slab *slab = NULL;
    int class = 0, err;

    if (len > (adapt->mem.is_pinning ? PINNED_MAX : BLOCK_MAX))
        return pool_take_whole(adapt, kind, len, ptr_p, mr_p, is_zero_p);
    if (len > (size_t)1 << (SLOT_SHIFT + DM_MEM_CLASSES - 1))
        return pool_take_block(adapt, kind, len, ptr_p, mr_p, is_zero_p);
    while ((size_t)1 << (SLOT_SHIFT + class) < len)
        class ++;
    if (dm_list_is_empty(&pool->slabs[kind][class])) {
        err = slab_open(adapt, kind, class, &slab);
        if (err != DM_OK)
            return err;
    } else {
        slab = dm_container_of(pool->slabs[kind][class].next, struct slab, link);
    }
    *ptr_p = slab_take(slab);
    *mr_p = slab->segment->mr;
    *is_zero_p = false;
    return DM_OK;
}

bool dm_mem_pool_give(struct dm_adapt *adapt, enum dm_mem_kind kind, void *ptr)
{
    struct dm_mem_segment *seg = mem_pool_find(&adapt->mem.pool, ptr);
    size_t offset;
    struct page *page;
    int at;

    if (seg == NULL)
        return false;
    offset = (size_t)((char *)ptr - seg->base);
    if (seg->pages == NULL) {
        if (offset != 0 || seg->kind != (int)kind)
            return false;
        segment_close(adapt, seg);
        return true;
    }
    at = (int)(offset >> PAGE_SHIFT);
    page = &seg->pages[at & ~((1 << SLAB_ORDER) - 1)];
    if (page->state == PAGE_SLAB)
        return slab_give(adapt, page->slab, kind, ptr);
    page = &seg->pages[at];
    if (page->state != PAGE_BLOCK || page->kind != kind || offset % DM_MEM_PAGE != 0)
        return false;
    segment_give(adapt, seg, at);
    return true;
}

void dm_mem_pool_init(struct dm_mem_pool *pool)
{
    pool->next_len = SEGMENT_MIN;
    for (int kind = 0; kind < DM_MEM_KINDS; kind++)
        for (int class = 0; class < DM_MEM_CLASSES; class ++)
            dm_list_init(&pool->slabs[kind][class]);
}

static void segment_free_slabs(struct dm_mem_segment *seg)
{
    for (size_t i = 0; seg->pages != NULL && i < seg->len >> PAGE_SHIFT; i++)
        if (seg->pages[i].state == PAGE_SLAB)
            free(seg->pages[i].slab);
}

void dm_mem_pool_fini(struct dm_adapt *adapt)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;

    while (pool->n_segments > 0) {
        segment_free_slabs(pool->segments[0]);
        segment_close(adapt, pool->segments[0]);
    }
    free(pool->segments);
    *pool = (struct dm_mem_pool){0};
}
