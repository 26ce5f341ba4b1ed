/*
 * Parts of a window that this process maps: those of processes on its host whose memory is of
 * MPI_Alloc_mem or MPI_Win_allocate, where the provider itself works by mapping it.
 *
 * A part is mapped at the first transfer. When that is refused RDMA serves it, and packets
 * for what RDMA cannot do.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "mpi/node/node.h"
#include "mpi/node/segment.h"
#include "onesided/map.h"
#include "onesided/win.h"
#include "util/cfg.h"
#include "util/log.h"

/* Views that may stay without a window: their number, and their bytes in all. */
#define IDLE_MOST 8
#define IDLE_LEN  ((size_t)32 << 20)

void dm_rma_map_offer(const struct dm_win *win, struct dm_win_part *own)
{
    const struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);
    struct dm_node_file file;
    uintptr_t start;
    size_t len;
    int fd;

    own->fd = -1;
    if (win->map != NULL && win->base != NULL)
        own->file_offset = (uint64_t)((char *)win->base - (char *)win->map);
    if (dm_cfg()->rma == DM_RMA_EMULATED)
        return;
    if (win->mr == NULL || !dm_adapt_mem_file(adapt, win->mr, &fd, &start, &len) ||
        dm_node_file_describe(fd, 0, &file) != DM_OK)
        return;
    own->fd = file.fd;
    own->pid = file.pid;
    own->dev = file.dev;
    own->ino = file.ino;
    own->file_offset = (uintptr_t)win->base - start;
    own->file_len = len;
}

/* ---- views ---- */

/* A segment of another process' pool, mapped here once for all windows that have parts in it. */
struct dm_rma_view {
    struct dm_list link; /* in dm_rma_state.views, that used last in front */
    uint64_t dev, ino;
    int32_t pid;
    int n_users;
    char *at;
    size_t len;
};

static void view_close(struct dm_rma_view *view)
{
    dm_list_del(&view->link);
    munmap(view->at, view->len);
    free(view);
}

/* It stays for the next window, with others that were used last. */
static void view_put(struct dm_rma_view *view)
{
    size_t idle_len = 0;
    int n_idle = 0;

    if (--view->n_users > 0)
        return;
    dm_list_del(&view->link);
    dm_list_add_head(&dm_rma_state.views, &view->link);
    dm_list_for_each_safe (it, next, &dm_rma_state.views) {
        struct dm_rma_view *other = dm_container_of(it, struct dm_rma_view, link);

        if (other->n_users > 0)
            continue;
        idle_len += other->len;
        if (++n_idle > IDLE_MOST || idle_len > IDLE_LEN)
            view_close(other);
    }
}

static struct dm_rma_view *view_find(const struct dm_win_part *part)
{
    dm_list_for_each (it, &dm_rma_state.views) {
        struct dm_rma_view *view = dm_container_of(it, struct dm_rma_view, link);

        if (view->ino == part->ino && view->pid == part->pid && view->dev == part->dev &&
            view->len >= part->file_len)
            return view;
    }
    return NULL;
}

static int view_get(const struct dm_win_part *part, struct dm_rma_view **view_p)
{
    struct dm_rma_view *view = view_find(part);
    struct dm_node_file file = {.len = part->file_len,
                                .dev = part->dev,
                                .ino = part->ino,
                                .pid = part->pid,
                                .fd = part->fd};
    void *at;
    int err;

    if (view == NULL) {
        view = calloc(1, sizeof(*view));
        if (view == NULL)
            return DM_FAIL(DM_ENOMEM, "a view of a window's memory");
        err = dm_node_file_map(&file, &at);
        if (err != DM_OK) {
            free(view);
            return err;
        }
        *view = (struct dm_rma_view){
            .dev = part->dev, .ino = part->ino, .pid = part->pid, .at = at, .len = file.len};
        dm_list_add_head(&dm_rma_state.views, &view->link);
    }
    view->n_users++;
    *view_p = view;
    return DM_OK;
}

void dm_rma_map_stop(void)
{
    while (!dm_list_is_empty(&dm_rma_state.views))
        view_close(dm_container_of(dm_rma_state.views.next, struct dm_rma_view, link));
}

/* ---- parts ---- */

void dm_rma_map_start(struct dm_win *win, const struct dm_win_least *least)
{
    const struct dm_node_map *map = dm_node_map(win->comm->group);
    bool has_others = map == NULL ? win->comm->size > 1 : map->n_local > 1;

    win->is_mapped = win->is_mapped || (has_others && !least->has_no_file);
}

void dm_rma_map_part(struct dm_win *win, int target)
{
    const struct dm_win_part *part = &win->parts[target];
    struct dm_win_peer *peer = &win->peers[target];

    peer->is_tried = true;
    peer->place = dm_rma_find_place(win, target);
    if (win->map != NULL)
        peer->map = (char *)win->map + part->file_offset;
    if (peer->map != NULL || part->fd < 0 || !dm_node_is_local(dm_rma_proc(win, target)))
        return;
    if (view_get(part, &peer->view) != DM_OK) {
        DM_TRACE(RMA, "part of rank %d is not mapped: %s", target, dm_err_detail());
        return;
    }
    peer->map = peer->view->at + part->file_offset;
}

void dm_rma_unmap_all(struct dm_win *win)
{
    for (int i = 0; win->peers != NULL && i < win->comm->size; i++) {
        if (win->peers[i].view != NULL)
            view_put(win->peers[i].view);
    }
}
