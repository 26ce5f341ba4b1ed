/*
 * Parts of a window that this process maps: those of processes on its host whose memory is of
 * MPI_Alloc_mem or MPI_Win_allocate, where the provider itself works by mapping it.
 *
 * A part is mapped at the first transfer. When that is refused RDMA serves it, and packets
 * for what RDMA cannot do.
 */
#include <sys/mman.h>

#include "mpi/node/node.h"
#include "mpi/node/segment.h"
#include "onesided/map.h"
#include "util/cfg.h"
#include "util/log.h"

void dm_rma_map_offer(const struct dm_win *win, struct dm_win_part *own)
{
    const struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);
    struct dm_node_file file;
    uintptr_t start;
    int fd;

    own->fd = -1;
    if (dm_cfg()->rma == DM_RMA_EMULATED)
        return;
    if (win->mr == NULL || !dm_adapt_mem_file(adapt, win->mr, &fd, &start) ||
        dm_node_file_describe(fd, 0, &file) != DM_OK)
        return;
    own->fd = file.fd;
    own->pid = file.pid;
    own->dev = file.dev;
    own->ino = file.ino;
    own->file_offset = (uintptr_t)win->base - start;
}

void dm_rma_map_start(struct dm_win *win)
{
    bool has_files = false, has_others = false;

    for (int i = 0; i < win->comm->size; i++) {
        if (!dm_node_is_local(dm_rma_proc(win, i)))
            continue;
        has_files = has_files || win->parts[i].fd >= 0;
        has_others = has_others || i != win->comm->rank;
    }
    win->is_mapped = win->is_mapped || (has_files && has_others);
}

void dm_rma_map_part(struct dm_win *win, int target)
{
    const struct dm_win_part *part = &win->parts[target];
    struct dm_win_peer *peer = &win->peers[target];
    struct dm_node_file file = {.len = part->file_offset + part->size,
                                .dev = part->dev,
                                .ino = part->ino,
                                .pid = part->pid,
                                .fd = part->fd};

    peer->is_tried = true;
    if (peer->map != NULL || part->fd < 0 || !dm_node_is_local(dm_rma_proc(win, target)))
        return;
    if (dm_node_file_map(&file, &peer->view) != DM_OK) {
        DM_TRACE(RMA, "part of rank %d is not mapped: %s", target, dm_err_detail());
        return;
    }
    peer->view_len = file.len;
    peer->map = (char *)peer->view + part->file_offset;
}

void dm_rma_unmap_all(struct dm_win *win)
{
    for (int i = 0; win->peers != NULL && i < win->comm->size; i++) {
        if (win->peers[i].view != NULL)
            munmap(win->peers[i].view, win->peers[i].view_len);
    }
}
