/*
 * The pool of registered memory: blocks of all lengths.
 *
 * A slab is a block of SLAB_ORDER; it is in its list while it has free slots.
 */
#include "dapl_adapt/core/mem_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_segment.h"
#include "util/err.h"
#include "util/port.h"

#define SLOT_SHIFT 6 /* of the smallest slot */
#define SLAB_ORDER 2
#define SLAB_WORDS 4 /* of 64 slots */
#define WARM_MIN                                                                                   \
    ((size_t)64 << 10) /* blocks given back of at least this length stay for a while, */
#define WARM_MAX ((size_t)32 << 20) /* up to this in all */

struct dm_mem_slab {
    struct dm_list link;
    struct dm_mem_segment *segment;
    char *base;
    uint64_t free[SLAB_WORDS]; /* a bit for each slot */
    uint16_t n_free, n_slots;
    uint8_t class;
    uint8_t kind;
};

/*
 * ---- warm blocks ----
 * Programs often take as long blocks again as they have just given back. A few stay as they are, with their pages, in a
 * state of their own, until others take their place or their room is needed.
 */

static size_t block_len(const struct dm_mem_segment *seg, int at)
{
    return (size_t)DM_MEM_PAGE << seg->pages[at].order;
}

static struct dm_mem_warm warm_remove(struct dm_mem_pool *pool, int i)
{
    struct dm_mem_warm warm = pool->warm[i];

    pool->n_warm--;
    memmove(&pool->warm[i], &pool->warm[i + 1], (size_t)(pool->n_warm - i) * sizeof(warm));
    pool->warm_len -= block_len(warm.segment, warm.at);
    return warm;
}

/* The oldest goes back now. True: there was one. */
static bool pool_cool(struct dm_adapt *adapt)
{
    struct dm_mem_warm warm;

    if (adapt->mem.pool.n_warm == 0)
        return false;
    warm = warm_remove(&adapt->mem.pool, 0);
    dm_segment_give(adapt, warm.segment, warm.at);
    return true;
}

/* Does a block stay? Where pages are pinned, unless others may need what can be locked. */
static bool pool_warm(struct dm_adapt *adapt, struct dm_mem_segment *seg, int at)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    size_t len = block_len(seg, at);

    if (len < WARM_MIN || len > WARM_MAX || (adapt->mem.is_pinning && adapt->rings.lock_max > 0))
        return false;
    while (pool->n_warm == DM_MEM_WARM || pool->warm_len + len > WARM_MAX)
        (void)pool_cool(adapt);
    seg->pages[at].state = DM_PAGE_WARM;
    pool->warm[pool->n_warm++] = (struct dm_mem_warm){seg, at};
    pool->warm_len += len;
    return true;
}

/* Take the newest that is as long as is wanted. Who wants zeros gets fresh pages if there are many. */
static bool pool_take_warm(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p,
                           int *at_p, bool *is_zero_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    size_t len = (size_t)DM_MEM_PAGE << order;
    int i = pool->n_warm - 1;

    while (i >= 0 && pool->warm[i].segment->pages[pool->warm[i].at].order != order)
        i--;
    if (i < 0)
        return false;
    *seg_p = pool->warm[i].segment;
    *at_p = pool->warm[i].at;
    (void)warm_remove(pool, i);
    *is_zero_p = *is_zero_p && len >= DM_MEM_RETURN && !adapt->mem.is_pinning;
    if (*is_zero_p)
        (void)madvise((*seg_p)->base + ((size_t)*at_p << DM_MEM_PAGE_SHIFT), len, MADV_REMOVE);
    return true;
}

/* Out of the segments that there are; -1: there is no room. */
static int pool_find_pages(struct dm_mem_pool *pool, int order, struct dm_mem_segment **seg_p)
{
    for (int i = pool->n_segments - 1; i >= 0; i--) {
        int at = dm_segment_take(pool->segments[i], order);

        *seg_p = pool->segments[i];
        if (at >= 0)
            return at;
    }
    return -1;
}

static int pool_take_pages(struct dm_adapt *adapt, int order, struct dm_mem_segment **seg_p,
                           int *at_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    int err;

    do
        *at_p = pool_find_pages(pool, order, seg_p);
    while (*at_p < 0 && pool_cool(adapt));
    if (*at_p >= 0)
        return DM_OK;
    err = dm_segment_add(adapt, order, seg_p);
    if (err == DM_OK)
        *at_p = dm_segment_take(*seg_p, order);
    return err;
}

/* Is a block that is taken now zero? */
static bool segment_note_fresh(const struct dm_adapt *adapt, struct dm_mem_segment *seg, int at,
                               int order)
{
    size_t start = (size_t)at << DM_MEM_PAGE_SHIFT, len = (size_t)DM_MEM_PAGE << order;
    bool is_zero = start >= seg->fresh || (len >= DM_MEM_RETURN && !adapt->mem.is_pinning);

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
    *is_zero_p = kind == DM_MEM_LIBRARY;
    if (!pool_take_warm(adapt, order, &seg, &at, is_zero_p)) {
        err = pool_take_pages(adapt, order, &seg, &at);
        if (err != DM_OK)
            return err;
        *is_zero_p = segment_note_fresh(adapt, seg, at, order);
    }
    seg->pages[at].state = DM_PAGE_BLOCK;
    seg->pages[at].kind = (uint8_t)kind;
    *ptr_p = seg->base + ((size_t)at << DM_MEM_PAGE_SHIFT);
    *mr_p = seg->mr;
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
    err = dm_segment_open(adapt, (len + page - 1) & ~(page - 1), true, &seg);
    if (err != DM_OK)
        return err;
    seg->kind = (int)kind;
    *ptr_p = seg->base;
    *mr_p = seg->mr;
    *is_zero_p = true;
    return DM_OK;
}

/* ---- slots ---- */

static int slab_open(struct dm_adapt *adapt, enum dm_mem_kind kind, int class,
                     struct dm_mem_slab **slab_p)
{
    struct dm_mem_slab *slab = calloc(1, sizeof(*slab));
    int at, err;

    if (slab == NULL)
        return DM_FAIL(DM_ENOMEM, "a slab of memory");
    err = pool_take_pages(adapt, SLAB_ORDER, &slab->segment, &at);
    if (err != DM_OK) {
        free(slab);
        return err;
    }
    (void)segment_note_fresh(adapt, slab->segment, at, SLAB_ORDER);
    slab->segment->pages[at].state = DM_PAGE_SLAB;
    slab->segment->pages[at].slab = slab;
    slab->base = slab->segment->base + ((size_t)at << DM_MEM_PAGE_SHIFT);
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

static char *slab_take(struct dm_mem_slab *slab)
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

static bool slab_give(struct dm_adapt *adapt, struct dm_mem_slab *slab, enum dm_mem_kind kind,
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
        int at = (int)((size_t)(slab->base - seg->base) >> DM_MEM_PAGE_SHIFT);

        dm_list_del(&slab->link);
        free(slab);
        dm_segment_give(adapt, seg, at);
    }
    return true;
}

/* ---- all lengths ---- */

int dm_mem_pool_take(struct dm_adapt *adapt, enum dm_mem_kind kind, size_t len, void **ptr_p,
                     struct dm_mr **mr_p, bool *is_zero_p)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;
    struct dm_mem_slab *slab = NULL;
    int class = 0, err;

    if (len > (adapt->mem.is_pinning ? DM_MEM_PINNED_MAX : DM_MEM_BLOCK_MAX))
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
        slab = dm_container_of(pool->slabs[kind][class].next, struct dm_mem_slab, link);
    }
    *ptr_p = slab_take(slab);
    *mr_p = slab->segment->mr;
    *is_zero_p = false;
    return DM_OK;
}

bool dm_mem_pool_give(struct dm_adapt *adapt, enum dm_mem_kind kind, void *ptr)
{
    struct dm_mem_segment *seg = dm_segment_find(&adapt->mem.pool, ptr);
    size_t offset;
    struct dm_mem_page *page;
    int at;

    if (seg == NULL)
        return false;
    offset = (size_t)((char *)ptr - seg->base);
    if (seg->pages == NULL) {
        if (offset != 0 || seg->kind != (int)kind)
            return false;
        dm_segment_close(adapt, seg);
        return true;
    }
    at = (int)(offset >> DM_MEM_PAGE_SHIFT);
    page = &seg->pages[at & ~((1 << SLAB_ORDER) - 1)];
    if (page->state == DM_PAGE_SLAB)
        return slab_give(adapt, page->slab, kind, ptr);
    page = &seg->pages[at];
    if (page->state != DM_PAGE_BLOCK || page->kind != kind || offset % DM_MEM_PAGE != 0)
        return false;
    if (!pool_warm(adapt, seg, at))
        dm_segment_give(adapt, seg, at);
    return true;
}

struct dm_mr *dm_mem_pool_mr(const struct dm_mem_pool *pool, int i)
{
    return i < pool->n_segments ? pool->segments[i]->mr : NULL;
}

void dm_mem_pool_init(struct dm_mem_pool *pool)
{
    pool->next_len = DM_MEM_SEGMENT_MIN;
    for (int kind = 0; kind < DM_MEM_KINDS; kind++)
        for (int class = 0; class < DM_MEM_CLASSES; class ++)
            dm_list_init(&pool->slabs[kind][class]);
}

static void segment_free_slabs(struct dm_mem_segment *seg)
{
    for (size_t i = 0; seg->pages != NULL && i < seg->len >> DM_MEM_PAGE_SHIFT; i++)
        if (seg->pages[i].state == DM_PAGE_SLAB)
            free(seg->pages[i].slab);
}

void dm_mem_pool_fini(struct dm_adapt *adapt)
{
    struct dm_mem_pool *pool = &adapt->mem.pool;

    while (pool->n_segments > 0) {
        segment_free_slabs(pool->segments[0]);
        dm_segment_close(adapt, pool->segments[0]);
    }
    free(pool->segments);
    *pool = (struct dm_mem_pool){0};
}
