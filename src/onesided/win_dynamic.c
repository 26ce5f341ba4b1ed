/*
 * Dynamic windows (MPI-4.0 section 12.2.4): each process attaches and detaches memory by itself,
 * and displacements are its addresses.
 *
 * Regions are listed in the node-shared window state, with keys: puts and gets of processes of the
 * host go there by RDMA. All else travels as packets, which the target checks. A refusal comes with
 * the next acknowledgement, or in the reply.
 */
#include <stdlib.h>

#include "onesided/region.h"
#include "onesided/shared.h"

struct region {
    struct dm_rbnode node; /* by base, of those with bytes, which do not overlap */
    struct dm_list link;   /* of those without */
    uint64_t base;
    uint64_t size;
    struct dm_mr *mr;            /* NULL: not registered */
    struct dm_rma_region *entry; /* in the node-shared state, or NULL */
};

static struct region *region_of(const struct dm_rbnode *node)
{
    return node != NULL ? dm_container_of(node, struct region, node) : NULL;
}

static int region_cmp_key(const void *key, const struct dm_rbnode *node)
{
    uint64_t addr = *(const uint64_t *)key, base = region_of(node)->base;

    return (addr > base) - (addr < base);
}

static int region_cmp(const struct dm_rbnode *a, const struct dm_rbnode *b)
{
    return region_cmp_key(&region_of(a)->base, b);
}

void dm_rma_regions_init(struct dm_win *win)
{
    dm_rbtree_init(&win->regions, region_cmp);
    dm_list_init(&win->empty_regions);
}

/* Change an entry that others may be reading. */
static void region_write(struct dm_rma_region *entry, uint64_t base, uint64_t size,
                         const struct dm_mr *mr)
{
    dm_atomic_swap(&entry->seq, entry->seq + 1);
    entry->base = base;
    if (mr != NULL) {
        uintptr_t start;
        size_t len;
        int fd;

        dm_adapt_rkey(mr, &entry->rkey);
        entry->is_file = dm_adapt_mem_file(dm_chan_adapt(dm_world.chan), mr, &fd, &start, &len);
    }
    dm_atomic_store(&entry->size, size);
    dm_atomic_store(&entry->seq, entry->seq + 1);
}

/* Let the others of this host reach a region by RDMA, if there is an entry and a key left. */
static void region_publish(struct dm_win *win, struct region *r)
{
    struct dm_rma_region *own;

    if (win->node == NULL || r->size == 0)
        return;
    own = &win->node->regions[(size_t)win->node->me * DM_RMA_REGIONS];
    for (int i = 0; i < DM_RMA_REGIONS && r->entry == NULL; i++) {
        if (own[i].size == 0)
            r->entry = &own[i];
    }
    if (r->entry == NULL)
        return;
    if (dm_adapt_reg(dm_chan_adapt(dm_world.chan), (void *)(uintptr_t)r->base, r->size, &r->mr) ==
        DM_OK) {
        region_write(r->entry, r->base, r->size, r->mr);
    } else {
        r->mr = NULL;
        r->entry = NULL;
    }
}

static void region_free(struct dm_win *win, struct region *r)
{
    if (r->entry != NULL)
        region_write(r->entry, 0, 0, NULL);
    if (r->mr != NULL)
        dm_adapt_unreg(dm_chan_adapt(dm_world.chan), r->mr);
    if (r->size > 0)
        dm_rbtree_del(&win->regions, &r->node);
    else
        dm_list_del(&r->link);
    free(r);
}

/* A copy of an entry that nobody changed meanwhile; size 0 if somebody did. */
static struct dm_rma_region region_read(const struct dm_rma_region *entry)
{
    uint32_t seq = dm_atomic_load(&entry->seq);
    struct dm_rma_region r = *entry;

    dm_atomic_fence();
    if (seq % 2 != 0 || dm_atomic_load(&entry->seq) != seq)
        r.size = 0;
    return r;
}

bool dm_rma_region_key(const struct dm_win *win, int target, uint64_t addr, uint64_t len,
                       struct dm_rkey *rkey_p, bool *is_file_p)
{
    const struct dm_rma_region *all;

    if (!dm_rma_is_local(win, target))
        return false;
    all = &win->node->regions[(size_t)dm_rma_lrank(win, target) * DM_RMA_REGIONS];
    for (int i = 0; i < DM_RMA_REGIONS; i++) {
        struct dm_rma_region r;

        if (all[i].size < len || addr < all[i].base || addr - all[i].base > all[i].size - len)
            continue;
        r = region_read(&all[i]);
        if (r.size < len || addr < r.base || addr - r.base > r.size - len)
            continue;
        *rkey_p = r.rkey;
        *is_file_p = r.is_file != 0;
        return true;
    }
    return false;
}

static int check_dynamic(const struct dm_win *win)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return DM_FAIL(DM_ERR_RMA_FLAVOR,
                       "memory is attached to windows of MPI_Win_create_dynamic only");
    return DM_OK;
}

/* The last region with bytes that begins at this address or before; NULL: there is none. */
static const struct region *region_before(const struct dm_win *win, uint64_t addr)
{
    return region_of(dm_rbtree_find_le(&win->regions, &addr, region_cmp_key));
}

bool dm_rma_is_attached(const struct dm_win *win, uint64_t addr, uint64_t len)
{
    while (len > 0) {
        const struct region *r = region_before(win, addr);
        uint64_t part;

        if (r == NULL || addr - r->base >= r->size)
            return false;
        part = r->size - (addr - r->base);
        if (part >= len)
            return true;
        addr += part;
        len -= part;
    }
    return true;
}

int dm_win_attach(struct dm_win *win, void *base, size_t size)
{
    uint64_t addr = (uint64_t)(uintptr_t)base;
    const struct region *other;
    struct region *r;
    int err = check_dynamic(win);

    if (err != DM_OK)
        return err;
    if ((base == NULL && size > 0) || size > UINT64_MAX - addr)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "there cannot be %zu bytes at %p", size, base);
    other = size > 0 ? region_before(win, addr + size - 1) : NULL;
    if (other != NULL && addr < other->base + other->size)
        return DM_FAIL(DM_ERR_RMA_ATTACH,
                       "%zu bytes at %p overlap the %llu bytes at %p that are attached", size, base,
                       (unsigned long long)other->size, (void *)(uintptr_t)other->base);
    r = calloc(1, sizeof(*r));
    if (r == NULL)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "no memory for the record of a region");
    r->base = addr;
    r->size = size;
    if (size > 0)
        (void)dm_rbtree_add(&win->regions, &r->node);
    else
        dm_list_add_head(&win->empty_regions, &r->link);
    region_publish(win, r);
    return DM_OK;
}

/* The region that begins there, one with bytes first; NULL: there is none. */
static struct region *region_at(const struct dm_win *win, const void *base)
{
    uint64_t addr = (uint64_t)(uintptr_t)base;
    struct region *r = region_of(dm_rbtree_find(&win->regions, &addr, region_cmp_key));

    if (r != NULL)
        return r;
    dm_list_for_each (it, &win->empty_regions) {
        r = dm_container_of(it, struct region, link);
        if (r->base == addr)
            return r;
    }
    return NULL;
}

int dm_win_detach(struct dm_win *win, const void *base)
{
    struct region *r;
    int err = check_dynamic(win);

    if (err != DM_OK)
        return err;
    r = region_at(win, base);
    if (r == NULL)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "no region that begins at %p is attached", base);
    region_free(win, r);
    return DM_OK;
}

void dm_rma_detach_all(struct dm_win *win)
{
    struct dm_rbnode *node;

    while ((node = dm_rbtree_first(&win->regions)) != NULL)
        region_free(win, region_of(node));
    while (!dm_list_is_empty(&win->empty_regions))
        region_free(win, dm_container_of(win->empty_regions.next, struct region, link));
}
