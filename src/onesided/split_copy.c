/*
 * Long transfers to or from private memory of a process of the same host, which moves a part itself.
 *
 * RDMA to such memory is a copy by the kernel, at the pace of one core. A target that waits inside
 * the library has nothing else to do: it may claim the second half and move it while the origin
 * moves the first. Nothing is waited for at the start: when the origin is done with its half and the
 * target has not begun, the origin claims the rest. That costs one more system call; so it is not
 * tried for a growing number of transfers, but for the longest ones.
 *
 * There are two pieces and not more, as between ranks in a collective, since each is an RDMA transfer:
 * a system call that pins its pages.
 */
#include <stdlib.h>
#include <string.h>

#include "onesided/assist.h"
#include "onesided/move.h"
#include "onesided/shared.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "onesided/target.h"

#define SPLIT_LONG 524288 /* always tried */
#define SPLIT_PAGE 4096   /* pieces meet at such an address of the target: pages are pinned once */
#define PIECES     2

/* What this process does for an origin. */
struct dm_rma_split_work {
    struct dm_rdma rdma;
    struct dm_win *win;
    int lrank;
};

static void split_end(struct dm_win *win, int lrank, int err)
{
    struct dm_rma_split *split = &win->node->splits[lrank];

    split->err = err;
    dm_atomic_store(&split->is_done, 1);
    dm_atomic_fence();
    dm_rma_wake(win, win->node->ranks[lrank], false);
}

static void split_on_done(struct dm_rdma *rdma, int err)
{
    const struct dm_rma_split_work *work = dm_container_of(rdma, struct dm_rma_split_work, rdma);

    split_end(work->win, work->lrank, err);
}

/* Begin the piece that was claimed. */
static void split_begin(struct dm_win *win, int lrank)
{
    struct dm_rma_node *node = win->node;
    const struct dm_rma_split *split = &node->splits[lrank];
    int proc = dm_rma_proc(win, node->ranks[lrank]), err = DM_ENOMEM;
    char *at = dm_rma_place(win, split->offset, split->len);
    struct dm_rdma *rdma;

    if (node->split_work == NULL)
        node->split_work = calloc((size_t)node->n, sizeof(*node->split_work));
    if (node->split_work != NULL && at != NULL) {
        rdma = &node->split_work[lrank].rdma;
        rdma->done = split_on_done;
        node->split_work[lrank].win = win;
        node->split_work[lrank].lrank = lrank;
        if (split->is_put)
            err = dm_chan_rdma_read(dm_world.chan, proc, rdma, at, NULL, split->addr, &split->rkey,
                                    split->len);
        else
            err = dm_chan_rdma_write(dm_world.chan, proc, rdma, at, NULL, split->addr, &split->rkey,
                                     split->len);
    }
    /* the origin does it then, and hears what is wrong */
    if (err != DM_OK)
        split_end(win, lrank, err);
}

int dm_rma_split_execute(struct dm_win *win, int lrank)
{
    struct dm_rma_split *split = &win->node->splits[lrank];
    uint32_t number = dm_split_number(&split->split);

    if (split->target != (uint32_t)win->node->me || dm_split_claim_back(&split->split, number) < 0)
        return 0;
    split_begin(win, lrank);
    return 1;
}

/* My piece, while the target may do the other one from `first` on. */
static int split_move(const struct dm_rma_call *call, char *local, uint64_t remote,
                      const struct dm_rkey *rkey, size_t first, size_t len, bool is_put)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    struct dm_rma_split *split = &win->node->splits[win->node->me];
    uint32_t number = ++win->node->n_splits;
    int err, wait_err;

    win->node->is_splitting = true;
    split->target = (uint32_t)dm_rma_lrank(win, call->target);
    dm_split_open(&split->split, number, PIECES);
    dm_split_claim_front(&split->split, number);
    dm_rma_doorbell_ring(win, dm_rma_lrank(win, call->target));
    err = dm_rma_move_rdma(call, local, remote, rkey, first, is_put);
    if (dm_split_claim_front(&split->split, number) >= 0) {
        win->node->is_splitting = false;
        dm_backoff_failed(&peer->split_backoff, DM_WAIT_BACKOFF_MAX);
    } else {
        wait_err = dm_rma_wait_word(win, &split->is_done, 1, false);
        /* if somebody is lost the piece may still be under way */
        if (wait_err != DM_OK)
            return wait_err;
        win->node->is_splitting = false;
        dm_rma_assist_executed(win, call->target);
        if (split->err == DM_OK) {
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
    struct dm_rma_split *split;
    struct dm_mr *mr;
    size_t first;

    if (!dm_rma_assist_may(win, call->target) || win->node->is_splitting)
        return false;
    if (len < SPLIT_LONG && dm_backoff_skips(&peer->split_backoff))
        return false;
    if (dm_adapt_reg(adapt, local, len, &mr) != DM_OK)
        return false;
    first = len / 2 - (size_t)((remote + len / 2) % SPLIT_PAGE);
    split = &win->node->splits[win->node->me];
    split->is_done = 0;
    split->is_put = is_put;
    split->offset = remote + first - win->parts[call->target].base;
    split->addr = (uint64_t)(uintptr_t)local + first;
    split->len = len - first;
    dm_adapt_rkey(mr, &split->rkey);
    *err_p = split_move(call, local, remote, rkey, first, len, is_put);
    if (!win->node->is_splitting)
        dm_adapt_unreg(adapt, mr);
    return true;
}
