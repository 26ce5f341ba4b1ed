/*
 * Locks by a provider's fetch-and-add: nothing of the target, wherever it is, and whatever it does.
 *
 * The same ticket lock as in lock.h, in four words of each process. A provider's atomic
 * operations need not be atomic with the processor's, so that all ranks take all locks of such a
 * window in this way, the owner and its host's processes included. Nobody can be woken: who has to
 * wait looks at the word, the more rarely the more are in front of it and the longer it has waited.
 */
#include "mpi/node/node.h"
#include "onesided/flush.h"
#include "onesided/lock.h"
#include "onesided/pkt.h"
#include "onesided/state.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/log.h"

/*
 * It is an exclusive holder's turn when WRITE is its ticket, a shared one's when READ is. VISITS counts
 * visitors in its lower half, and exclusive holders, and who tries to be one, in its upper half.
 */
enum { WRITE, READ, USERS, VISITS, WORDS };
#define EXCLUSIVE (UINT64_C(1) << 32)
#define VISITORS  (EXCLUSIVE - 1)

/* Do some of a rank's words, in whatever order they come; waits. */
static int do_adds(struct dm_win *win, int rank, struct dm_chan_word *adds, int n)
{
    int proc = dm_rma_proc(win, rank);
    int err =
        dm_chan_do_words(dm_world.chan, proc, win->fetch_locks, &win->parts[rank].lock, adds, n);

    if (err == DM_OK)
        return DM_OK;
    return DM_FAIL(
        err,
        "the lock of rank %d of the window (process %d on %s): its fetch-and-add failed, "
        "or may have been done when the connection broke, after which it is not repeated",
        rank, proc, dm_world.host_of(dm_world.host_arg, proc));
}

/*
 * Wait until the bits of a word that are in mask are `want`, which is a ticket, or 0; the word is `now`. Each in
 * front takes at least as long as a poll of the word does.
 */
static int wait_word(struct dm_win *win, int rank, int word, uint64_t mask, uint64_t want,
                     uint64_t now)
{
    struct dm_waiter w;
    uint64_t since = dm_clock_ns();
    uint64_t least_ns = DM_WAIT_LOCK_MAX_NS;
    int err = DM_OK;

    dm_wait_begin(dm_world.chan, &w, DM_WAIT_LOOK, dm_chan_is_oversubscribed(dm_world.chan), 0);
    while ((now & mask) != want && err == DM_OK) {
        struct dm_chan_word poll = {.op.which = (uint64_t)word};
        uint64_t start_ns = dm_clock_ns();

        err = dm_rma_check_lost(win, -1);
        if (err == DM_OK)
            err = do_adds(win, rank, &poll, 1);
        now = poll.old;
        if ((now & mask) != want && err == DM_OK) {
            uint64_t poll_ns = dm_clock_ns() - start_ns, pause;

            least_ns = poll_ns < least_ns ? poll_ns : least_ns;
            pause = (start_ns - since) / DM_WAIT_LOCK_PART;
            pause += want != 0 ? (want - now - 1) * least_ns : 0;
            dm_wait_pause(dm_world.chan, &w,
                          pause < DM_WAIT_LOCK_MAX_NS ? pause : DM_WAIT_LOCK_MAX_NS);
        }
    }
    return err;
}

static int lock_shared(struct dm_win *win, int rank)
{
    struct dm_chan_word adds[] = {{.op = {.which = USERS, .value = 1}}, {.op.which = READ}};
    struct dm_chan_word enter = {.op = {.which = READ, .value = 1}};
    int err = do_adds(win, rank, adds, 2);

    if (err == DM_OK)
        err = wait_word(win, rank, READ, UINT64_MAX, adds[0].old, adds[1].old);
    /* the next in the queue may be a shared holder, too */
    return err == DM_OK ? do_adds(win, rank, &enter, 1) : err;
}

static int lock_visit(struct dm_win *win, int rank)
{
    struct dm_chan_word come = {.op = {.which = VISITS, .value = 1}};
    int err = do_adds(win, rank, &come, 1);

    return err == DM_OK ? wait_word(win, rank, VISITS, ~VISITORS, 0, come.old) : err;
}

/* Mostly its turn is there and nobody visits: one step. */
static int lock_exclusive(struct dm_win *win, int rank)
{
    struct dm_chan_word adds[] = {{.op = {.which = USERS, .value = 1}},
                                  {.op.which = WRITE},
                                  {.op = {.which = VISITS, .value = EXCLUSIVE}}};
    struct dm_chan_word *come = &adds[2];
    struct dm_chan_word leave = {.op = {.which = VISITS, .value = -EXCLUSIVE}};
    int err = do_adds(win, rank, adds, 3);

    if (err == DM_OK && adds[1].old != adds[0].old) {
        err = do_adds(win, rank, &leave, 1);
        if (err == DM_OK)
            err = wait_word(win, rank, WRITE, UINT64_MAX, adds[0].old, adds[1].old);
        if (err == DM_OK)
            err = do_adds(win, rank, come, 1);
    }
    while (err == DM_OK && (come->old & VISITORS) != 0) {
        err = do_adds(win, rank, &leave, 1);
        if (err == DM_OK)
            err = wait_word(win, rank, VISITS, VISITORS, 0, leave.old);
        if (err == DM_OK)
            err = do_adds(win, rank, come, 1);
    }
    return err;
}

int dm_rma_atomic_lock(struct dm_win *win, int rank, int mode)
{
    int err;

    dm_rma_state.counts.n_locks_atomic++;
    err = mode & DM_RMA_VISIT       ? lock_visit(win, rank)
          : mode == MPI_LOCK_SHARED ? lock_shared(win, rank)
                                    : lock_exclusive(win, rank);
    dm_atomic_fence();
    return err;
}

int dm_rma_atomic_unlock(struct dm_win *win, int rank, int mode)
{
    struct dm_chan_word adds[] = {{.op = {.which = WRITE, .value = 1}},
                                  {.op = {.which = READ, .value = 1}},
                                  {.op = {.which = VISITS, .value = -EXCLUSIVE}}};
    struct dm_chan_word leave = {.op = {.which = VISITS, .value = UINT64_MAX}};

    /* what was stored under the lock is there before */
    dm_atomic_fence();
    if (mode & DM_RMA_VISIT)
        return do_adds(win, rank, &leave, 1);
    return do_adds(win, rank, adds, mode == MPI_LOCK_SHARED ? 1 : 3);
}

/* ---- which windows ---- */

void dm_rma_atomic_offer(struct dm_win *win, struct dm_win_part *own)
{
    bool is_any = dm_cfg()->rma_atomic == DM_RMA_ATOMIC_YES;
    bool spans_hosts;

    if (dm_cfg()->rma == DM_RMA_EMULATED || dm_cfg()->rma_atomic == DM_RMA_ATOMIC_NO ||
        (!is_any && win->node != NULL) || win->comm->size == 1)
        return;
    spans_hosts = dm_node_first_remote(win->comm->group, dm_world.rank) >= 0;
    win->fetch_locks =
        dm_adapt_words_new(dm_chan_adapt(dm_world.chan), WORDS, spans_hosts, is_any, &own->lock);
}

void dm_rma_atomic_start(struct dm_win *win)
{
    for (int i = 0; i < win->comm->size; i++) {
        if (win->parts[i].lock.rail == 0 || win->parts[i].lock.rail != win->parts[0].lock.rail) {
            dm_rma_atomic_free(win);
            return;
        }
    }
    DM_TRACE(RMA, "locks by fetch-and-add");
}

void dm_rma_atomic_free(struct dm_win *win)
{
    if (win->fetch_locks != NULL)
        dm_adapt_words_free(dm_chan_adapt(dm_world.chan), win->fetch_locks);
    win->fetch_locks = NULL;
}
