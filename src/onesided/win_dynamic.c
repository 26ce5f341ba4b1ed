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
    struct dm_list link;
    uint64_t base;
    uint64_t size;
    struct dm_mr *mr;            /* NULL: not registered */
    struct dm_rma_region *entry; /* in the node-shared state, or NULL */
};

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

static void region_free(struct region *r)
{
    if (r->entry != NULL)
        region_write(r->entry, 0, 0, NULL);
    if (r->mr != NULL)
        dm_adapt_unreg(dm_chan_adapt(dm_world.chan), r->mr);
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

/* The region that has a byte, NULL when none has. */
static const struct region *region_find(const struct dm_win *win, uint64_t addr)
{
    dm_list_for_each (it, &win->regions) {
        const struct region *r = dm_container_of(it, struct region, link);

        if (addr >= r->base && addr - r->base < r->size)
            return r;
    }
    return NULL;
}

bool dm_rma_is_attached(const struct dm_win *win, uint64_t addr, uint64_t len)
{
    while (len > 0) {
        const struct region *r = region_find(win, addr);
        uint64_t part;

        if (r == NULL)
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
    struct region *r;
    int err = check_dynamic(win);

    if (err != DM_OK)
        return err;
    if ((base == NULL && size > 0) || size > UINT64_MAX - addr)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "there cannot be %zu bytes at %p", size, base);
    dm_list_for_each (it, &win->regions) {
        r = dm_container_of(it, struct region, link);
        /* nothing overlaps nothing, wherever it lies */
        if (size > 0 && r->size > 0 && addr < r->base + r->size && r->base < addr + size)
            return DM_FAIL(DM_ERR_RMA_ATTACH,
                           "%zu bytes at %p overlap the %llu bytes at %p that are attached", size,
                           base, (unsigned long long)r->size, (void *)(uintptr_t)r->base);
    }
    r = calloc(1, sizeof(*r));
    if (r == NULL)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "no memory for the record of a region");
    r->base = addr;
    r->size = size;
    dm_list_add_head(&win->regions, &r->link);
    region_publish(win, r);
    return DM_OK;
}

int dm_win_detach(struct dm_win *win, const void *base)
{
    int err = check_dynamic(win);

    if (err != DM_OK)
        return err;
    dm_list_for_each (it, &win->regions) {
        struct region *r = dm_container_of(it, struct region, link);

        if (r->base == (uint64_t)(uintptr_t)base) {
            region_free(r);
            return DM_OK;
        }
    }
    return DM_FAIL(DM_ERR_RMA_ATTACH, "no region that begins at %p is attached", base);
}

void dm_rma_detach_all(struct dm_win *win)
{
    while (!dm_list_is_empty(&win->regions))
        region_free(dm_container_of(win->regions.next, struct region, link));
}
