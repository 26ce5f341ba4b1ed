/*
 * Locks by a provider's fetch-and-add: nothing of the target, wherever it is, and whatever it does.
 *
 * The same ticket lock as in lock_word.c, in three words of each process. A provider's atomic
 * operations need not be atomic with the processor's, so that all ranks take all locks of such a
 * window in this way, the owner and its host's processes included. Nobody can be woken: who has to
 * wait looks at the word, the more rarely the more are in front of it and the longer it has waited.
 */
#include "mpi/node/node.h"
#include "onesided/flush.h"
#include "onesided/lock.h"
#include "onesided/state.h"
#include "onesided/word_ops.h"

#include "util/cfg.h"
#include "util/clock.h"
#include "util/log.h"

/* It is an exclusive holder's turn when WRITE is its ticket, a shared one's when READ is. */
enum { WRITE, READ, USERS, WORDS };

/* Do some of a rank's words, in whatever order they come; waits. */
static int do_adds(struct dm_win *win, int rank, struct dm_rma_word *adds, int n)
{
    int proc = dm_rma_proc(win, rank);
    int err = dm_rma_do_words(win, rank, win->fetch_locks, &win->parts[rank].lock, adds, n);

    if (err == DM_OK)
        return DM_OK;
    return DM_FAIL(
        err,
        "the lock of rank %d of the window (process %d on %s): its fetch-and-add failed, "
        "or may have been done when the connection broke, after which it is not repeated",
        rank, proc, dm_world.host_of(dm_world.host_arg, proc));
}

/* Others get on meanwhile: on this core, and in this process. */
static void pause_for(struct dm_waiter *w, uint64_t ns)
{
    uint64_t until = dm_clock_ns() + ns, now;

    do {
        bool may_sleep = dm_wait_pass(dm_world.chan, w);

        now = dm_clock_ns();
        if (may_sleep && now + DM_WAIT_LOCK_SLEEP_NS <= until)
            dm_wait_sleep(dm_world.chan, w, (until - now) / 1000);
    } while (now < until);
}

/* Each in front takes at least as long as a poll of the word does. */
static int wait_turn(struct dm_win *win, int rank, int word, uint64_t ticket, uint64_t now)
{
    struct dm_waiter w;
    uint64_t since = dm_clock_ns();
    uint64_t least_ns = DM_WAIT_LOCK_MAX_NS;
    int err = DM_OK;

    dm_wait_begin(dm_world.chan, &w, DM_WAIT_LOOK, dm_chan_is_oversubscribed(dm_world.chan), 0);
    while (now != ticket && err == DM_OK) {
        struct dm_rma_word poll = {.op.which = (uint64_t)word};
        uint64_t start_ns = dm_clock_ns();

        err = dm_rma_check_lost(win, -1);
        if (err == DM_OK)
            err = do_adds(win, rank, &poll, 1);
        now = poll.old;
        if (now != ticket && err == DM_OK) {
            uint64_t poll_ns = dm_clock_ns() - start_ns, pause;

            least_ns = poll_ns < least_ns ? poll_ns : least_ns;
            pause = (ticket - now - 1) * least_ns + (start_ns - since) / DM_WAIT_LOCK_PART;
            pause_for(&w, pause < DM_WAIT_LOCK_MAX_NS ? pause : DM_WAIT_LOCK_MAX_NS);
        }
    }
    return err;
}

int dm_rma_atomic_lock(struct dm_win *win, int rank, int mode)
{
    int word = mode == MPI_LOCK_SHARED ? READ : WRITE;
    struct dm_rma_word adds[] = {{.op = {.which = USERS, .value = 1}},
                                 {.op.which = (uint64_t)word}};
    struct dm_rma_word enter = {.op = {.which = READ, .value = 1}};
    int err;

    dm_rma_state.counts.n_locks_atomic++;
    err = do_adds(win, rank, adds, 2);
    if (err == DM_OK)
        err = wait_turn(win, rank, word, adds[0].old, adds[1].old);
    /* the next in the queue may be a shared holder, too */
    if (err == DM_OK && mode == MPI_LOCK_SHARED)
        err = do_adds(win, rank, &enter, 1);
    dm_atomic_fence();
    return err;
}

int dm_rma_atomic_unlock(struct dm_win *win, int rank, int mode)
{
    struct dm_rma_word adds[] = {{.op = {.which = WRITE, .value = 1}},
                                 {.op = {.which = READ, .value = 1}}};

    /* what was stored under the lock is there before */
    dm_atomic_fence();
    return do_adds(win, rank, adds, mode == MPI_LOCK_SHARED ? 1 : 2);
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
