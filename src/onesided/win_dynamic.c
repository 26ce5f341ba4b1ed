/*
 * Dynamic windows (MPI-4.0 section 12.2.4): each process attaches and detaches memory by
 * itself, and displacements are its addresses.
 *
 * Origins do not know the regions, so everything travels as packets, which the target checks. A
 * refused one is told with the next acknowledgement, or in the reply.
 */
#include <stdlib.h>

#include "onesided/rma.h"

struct region {
    struct dm_list link;
    uint64_t base;
    uint64_t size;
};

static int check_dynamic(const struct dm_win *win)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return DM_FAIL(DM_ERR_RMA_FLAVOR,
                       "memory is attached to windows of MPI_Win_create_dynamic only");
    return DM_OK;
}

/* The region that has a byte, NULL when none has. */
static const struct region *find(const struct dm_win *win, uint64_t addr)
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
        const struct region *r = find(win, addr);
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
        if (addr < r->base + r->size && r->base < addr + size)
            return DM_FAIL(DM_ERR_RMA_ATTACH,
                           "%zu bytes at %p overlap the %llu bytes at %p that are attached", size,
                           base, (unsigned long long)r->size, (void *)(uintptr_t)r->base);
    }
    r = malloc(sizeof(*r));
    if (r == NULL)
        return DM_FAIL(DM_ERR_RMA_ATTACH, "no memory for the record of a region");
    r->base = addr;
    r->size = size;
    dm_list_add_head(&win->regions, &r->link);
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
            dm_list_del(&r->link);
            free(r);
            return DM_OK;
        }
    }
    return DM_FAIL(DM_ERR_RMA_ATTACH, "no region that begins at %p is attached", base);
}

void dm_rma_detach_all(struct dm_win *win)
{
    while (!dm_list_is_empty(&win->regions)) {
        struct region *r = dm_container_of(win->regions.next, struct region, link);

        dm_list_del(&r->link);
        free(r);
    }
}
