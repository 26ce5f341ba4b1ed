/*
 * Parts of a window that this process maps: those of processes on its host whose memory is of
 * MPI_Alloc_mem or MPI_Win_allocate, where the provider itself works by mapping it.
 *
 * A part is mapped at the first transfer. When that is refused RDMA serves it, and packets
 * for what RDMA cannot do.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onesided/map.h"
#include "util/cfg.h"
#include "util/host.h"
#include "util/log.h"

void dm_rma_map_offer(const struct dm_win *win, struct dm_win_part *mine)
{
    const struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);
    struct stat st;
    uintptr_t start;
    int fd;

    mine->fd = -1;
    if (dm_cfg()->rma == DM_RMA_EMULATED)
        return;
    if (win->mr == NULL || !dm_adapt_mem_file(adapt, win->mr, &fd, &start) || fstat(fd, &st) != 0)
        return;
    mine->fd = fd;
    mine->pid = getpid();
    mine->dev = st.st_dev;
    mine->ino = st.st_ino;
    mine->file_offset = (uintptr_t)win->base - start;
}

static bool is_near(const struct dm_win *win, int rank)
{
    return dm_chan_node(dm_world.chan, dm_rma_proc(win, rank)) ==
           dm_chan_node(dm_world.chan, dm_world.rank);
}

void dm_rma_map_start(struct dm_win *win)
{
    bool has_files = false, has_others = false;

    for (int i = 0; i < win->comm->size; i++) {
        if (!is_near(win, i))
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
    size_t len = part->file_offset + part->size;

    peer->is_tried = true;
    if (peer->map != NULL || part->fd < 0 || !is_near(win, target))
        return;
    if (dm_host_shm_open(part->pid, part->fd, part->dev, part->ino, len, &peer->view) != DM_OK) {
        DM_TRACE(RMA, "part of rank %d is not mapped: %s", target, dm_err_detail());
        return;
    }
    peer->view_len = len;
    peer->map = (char *)peer->view + part->file_offset;
}

void dm_rma_unmap_all(struct dm_win *win)
{
    for (int i = 0; win->peers != NULL && i < win->comm->size; i++) {
        if (win->peers[i].view != NULL)
            munmap(win->peers[i].view, win->peers[i].view_len);
    }
}
