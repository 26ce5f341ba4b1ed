/*
 * Long transfers to or from private memory of a process of the same host, shared with it.
 *
 * RDMA to such memory is a copy by the kernel, at the pace of one core. A target that waits inside the
 * library has nothing else to do: it is asked to move the second half itself while the
 * origin moves the first. Nothing is waited for at the start: when the origin is done with its half
 * and the target has not begun, the request is taken back, and the origin does the rest. That costs one
 * more system call; so it is not tried for a growing number of transfers, but for the longest ones.
 */
#include <stdlib.h>
#include <string.h>

#include "onesided/assist.h"
#include "onesided/move.h"
#include "onesided/shared.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "onesided/target.h"

#define SHARE_LONG 524288 /* always tried */
#define SHARE_PAGE 4096   /* halves meet at such an address of the target: pages are pinned once */

/* What this process does for an origin. */
struct dm_rma_split_work {
    struct dm_rdma rdma;
    struct dm_win *win;
    int lrank;
};

static void split_end(struct dm_win *win, int lrank, int err)
{
    struct dm_rma_split *share = &win->node->shares[lrank];

    share->err = err;
    dm_atomic_store(&share->state, DM_ASSIST_DONE);
    dm_atomic_fence();
    dm_rma_wake(win, win->node->ranks[lrank], false);
}

static void help_done(struct dm_rdma *rdma, int err)
{
    const struct dm_rma_split_work *help = dm_container_of(rdma, struct dm_rma_split_work, rdma);

    split_end(help->win, help->lrank, err);
}

void dm_rma_split_execute(struct dm_win *win, int lrank)
{
    struct dm_rma_node *node = win->node;
    const struct dm_rma_split *share = &node->shares[lrank];
    int proc = dm_rma_proc(win, node->ranks[lrank]), err = DM_ENOMEM;
    char *at = dm_rma_place(win, share->offset, share->len);
    struct dm_rdma *rdma;

    if (node->helps == NULL)
        node->helps = calloc((size_t)node->n, sizeof(*node->helps));
    if (node->helps != NULL && at != NULL) {
        rdma = &node->helps[lrank].rdma;
        rdma->done = help_done;
        node->helps[lrank].win = win;
        node->helps[lrank].lrank = lrank;
        if (share->is_put)
            err = dm_chan_rdma_read(dm_world.chan, proc, rdma, at, NULL, share->addr, &share->rkey,
                                    share->len);
        else
            err = dm_chan_rdma_write(dm_world.chan, proc, rdma, at, NULL, share->addr, &share->rkey,
                                     share->len);
    }
    /* the origin does it then, and hears what is wrong */
    if (err != DM_OK)
        split_end(win, lrank, err);
}

/* My half, while the target may do the other one from `first` on. */
static int both(const struct dm_rma_call *call, char *local, uint64_t remote,
                const struct dm_rkey *rkey, size_t first, size_t len, bool is_put)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    struct dm_rma_split *share = &win->node->shares[win->node->me];
    uint32_t posted = DM_ASSIST_POSTED + (uint32_t)peer->lrank;
    int err, wait_err;

    win->node->is_sharing = true;
    dm_atomic_store(&share->state, posted);
    dm_rma_doorbell_ring(win, peer->lrank);
    err = dm_rma_move_rdma(call, local, remote, rkey, first, is_put);
    if (dm_atomic_cas(&share->state, &posted, DM_ASSIST_NONE)) {
        win->node->is_sharing = false;
        dm_backoff_failed(&peer->split_backoff, DM_WAIT_BACKOFF_MAX);
    } else {
        wait_err = dm_rma_wait_word(win, &share->state, DM_ASSIST_DONE, false);
        /* if somebody is lost the share may still be in use */
        if (wait_err != DM_OK)
            return wait_err;
        win->node->is_sharing = false;
        dm_rma_assist_executed(win, call->target);
        if (share->err == DM_OK) {
            dm_rma_state.counts.n_path[DM_PATH_SPLIT_COPY]++;
            return err;
        }
    }
    return err != DM_OK
               ? err
               : dm_rma_move_rdma(call, local + first, remote + first, rkey, len - first, is_put);
}

bool dm_rma_split_copy(const struct dm_rma_call *call, void *local, uint64_t remote,
                       const struct dm_rkey *rkey, size_t len, bool is_put, int *err_p)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);
    struct dm_rma_split *share;
    struct dm_mr *mr;
    size_t first;

    if (!dm_rma_assist_may(win, call->target) || win->node->is_sharing)
        return false;
    if (len < SHARE_LONG && dm_backoff_skips(&peer->split_backoff))
        return false;
    if (dm_adapt_reg(adapt, local, len, &mr) != DM_OK)
        return false;
    first = len / 2 - (size_t)((remote + len / 2) % SHARE_PAGE);
    share = &win->node->shares[win->node->me];
    share->is_put = is_put;
    share->offset = remote + first - win->parts[call->target].base;
    share->addr = (uint64_t)(uintptr_t)local + first;
    share->len = len - first;
    dm_adapt_rkey(mr, &share->rkey);
    *err_p = both(call, local, remote, rkey, first, len, is_put);
    if (!win->node->is_sharing)
        dm_adapt_unreg(adapt, mr);
    return true;
}
