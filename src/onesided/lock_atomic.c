/*
 * Locks by a provider's fetch-and-add: nothing of the target, wherever it is, and whatever it does.
 *
 * The same ticket lock as in lock.h, in words of each process. A provider's atomic operations need not be
 * atomic with the processor's, so that all ranks take all locks of such a window in this way, the owner and
 * its host's processes included.
 *
 * Who has to wait is told: it writes its rank beside its ticket, as in lock_word.c, looks once more, and waits for
 * a packet (DM_PKT_RMA_WAKE) before it looks again. Who passes the turn on looks who is beside the next ticket.
 * Visitors have no ticket: who was in their way wakes all ranks if there were any.
 */
#include "mpi/node/node.h"
#include "onesided/flush.h"
#include "onesided/lock.h"
#include "onesided/pkt.h"
#include "onesided/state.h"
#include "onesided/win.h"
#include "util/cfg.h"
#include "util/log.h"

/*
 * LOCK has three counters: tickets given, and how far `write` and `read` are: it is an exclusive holder's turn when
 * the former is its ticket, a shared one's when the latter is. Each has TICKET_BITS, and a bit that it is carried
 * to, which whoever adds next takes away. VISITS counts visitors in its lower half, below WANTED, which an exclusive holder
 * sets that waits for them; and exclusive holders, and who tries to be one, in its upper half. From WAITERS on
 * there is a word for each ticket, modulo a power of two that is not below the number of ranks.
 */
enum { LOCK, VISITS, WAITERS };
#define TICKET_BITS 20
#define FIELD_BITS  (TICKET_BITS + 1)
#define TICKETS     ((UINT64_C(1) << TICKET_BITS) - 1)
enum { USERS, WRITE, READ, N_FIELDS };
#define ONE(field) (UINT64_C(1) << ((field)*FIELD_BITS))
#define EXCLUSIVE  (UINT64_C(1) << 32)
#define WANTED     (UINT64_C(1) << 31)
#define VISITORS   (WANTED - 1)

static uint32_t lock_n_waiters(const struct dm_win *win)
{
    uint32_t n = 1;

    while (n < (uint32_t)win->comm->size)
        n *= 2;
    return n;
}

static uint32_t lock_field(uint64_t lock, int field)
{
    return (uint32_t)(lock >> (field * FIELD_BITS) & TICKETS);
}

static uint64_t waiter_word(const struct dm_win *win, uint32_t ticket)
{
    return WAITERS + (ticket & (lock_n_waiters(win) - 1));
}

/* Do some of a rank's words, in whatever order they come; waits. */
static int do_adds(struct dm_win *win, int rank, struct dm_chan_word *adds, int n)
{
    int proc = dm_rma_proc(win, rank);
    int err;

    dm_rma_state.counts.n_lock_adds += (uint64_t)n;
    err = dm_chan_do_words(dm_world.chan, proc, win->fetch_locks, &win->parts[rank].lock, adds, n);

    if (err == DM_OK)
        return DM_OK;
    return DM_FAIL(
        err,
        "the lock of rank %d of the window (process %d on %s): its fetch-and-add failed, "
        "or may have been done when the connection broke, after which it is not repeated",
        rank, proc, dm_world.host_of(dm_world.host_arg, proc));
}

static int do_add(struct dm_win *win, int rank, uint64_t word, uint64_t n, uint64_t *old_p)
{
    struct dm_chan_word add = {.op = {.which = word, .value = n}};
    int err = do_adds(win, rank, &add, 1);

    *old_p = add.old;
    return err;
}

/* adds[0] is to LOCK, and adds ONE to some of its counters. */
static int change_lock(struct dm_win *win, int rank, struct dm_chan_word *adds, int n)
{
    uint64_t carried = 0, old;
    int err = do_adds(win, rank, adds, n);

    for (int field = 0; field < N_FIELDS; field++)
        if ((adds[0].op.value & ONE(field)) != 0 &&
            (adds[0].old >> (field * FIELD_BITS) & (2 * TICKETS + 1)) == TICKETS + 1)
            carried += ONE(field) << TICKET_BITS;
    if (err == DM_OK && carried != 0)
        err = do_add(win, rank, LOCK, -carried, &old);
    return err;
}

/* ---- telling, and waiting to be told ---- */

/* The turn is that ticket's: wake its process, if it is beside it. */
static int wake_waiter(struct dm_win *win, int rank, uint32_t ticket)
{
    uint64_t who;
    int err = do_add(win, rank, waiter_word(win, ticket), 0, &who);

    if (err == DM_OK && who > 0 && who <= (uint64_t)win->comm->size)
        dm_rma_wake_surely(win, (int)who - 1);
    return err;
}

/* The next ticket's turn has come, if somebody has it. */
static int wake_next(struct dm_win *win, int rank, uint64_t lock, uint32_t next)
{
    next &= (uint32_t)TICKETS;
    return lock_field(lock, USERS) != next ? wake_waiter(win, rank, next) : DM_OK;
}

/* No exclusive holder is in the way of the visitors that VISITS had. */
static void wake_all_visitors(struct dm_win *win, uint64_t visits)
{
    for (int i = 0; i < win->comm->size && (visits & VISITORS) != 0; i++)
        dm_rma_wake_surely(win, i);
}

struct wake_wait {
    struct dm_wait_word word;
    const struct dm_win *win;
    uint32_t n_wakes;
    int err;
};

static bool lock_is_awake(struct dm_wait_word *word)
{
    struct wake_wait *w = dm_container_of(word, struct wake_wait, word);

    if (*(const volatile uint32_t *)&w->win->target.n_wakes != w->n_wakes)
        return true;
    w->err = dm_rma_check_lost(w->win, -1);
    return w->err != DM_OK;
}

/* Until the bits of a word that are in mask are `want`: who changes that wakes this process. */
static int await_word(struct dm_win *win, int rank, uint64_t word, uint64_t mask, uint64_t want)
{
    struct wake_wait w = {.word = {.is_over = lock_is_awake}, .win = win};
    uint64_t now;

    for (;;) {
        w.n_wakes = win->target.n_wakes;
        w.err = do_add(win, rank, word, 0, &now);
        if (w.err != DM_OK || (now & mask) == want)
            return w.err;
        dm_wait_until(dm_world.chan, &w.word);
        if (w.err != DM_OK)
            return w.err;
    }
}

static int await_turn(struct dm_win *win, int rank, int field, uint32_t ticket)
{
    return await_word(win, rank, LOCK, TICKETS * ONE(field), ticket * ONE(field));
}

/* Beside the ticket, or no longer. */
static int enter(struct dm_win *win, int rank, uint32_t ticket, bool is_waiting)
{
    uint64_t self = (uint64_t)win->comm->rank + 1, old;

    return do_add(win, rank, waiter_word(win, ticket), is_waiting ? self : -self, &old);
}

/* ---- taking it ---- */

static int lock_shared(struct dm_win *win, int rank)
{
    struct dm_chan_word come = {.op = {.which = LOCK, .value = ONE(USERS)}};
    struct dm_chan_word read = {.op = {.which = LOCK, .value = ONE(READ)}};
    int err = change_lock(win, rank, &come, 1);
    uint32_t ticket = lock_field(come.old, USERS);

    if (err == DM_OK && lock_field(come.old, READ) != ticket) {
        err = enter(win, rank, ticket, true);
        if (err == DM_OK)
            err = await_turn(win, rank, READ, ticket);
        if (err == DM_OK)
            err = enter(win, rank, ticket, false);
    }
    if (err == DM_OK)
        err = change_lock(win, rank, &read, 1);
    /* the next in the queue may be a shared holder, too */
    return err == DM_OK ? wake_next(win, rank, read.old, ticket + 1) : err;
}

static int lock_visit(struct dm_win *win, int rank)
{
    uint64_t visits;
    int err = do_add(win, rank, VISITS, 1, &visits);

    if (err != DM_OK || visits < EXCLUSIVE)
        return err;
    return await_word(win, rank, VISITS, ~(EXCLUSIVE - 1), 0);
}

/* Out of the visitors' way, which may have come meanwhile; `wanted`: WANTED, it waits for them. */
static int make_way(struct dm_win *win, int rank, uint64_t wanted)
{
    uint64_t visits;
    int err = do_add(win, rank, VISITS, wanted - EXCLUSIVE, &visits);

    if (err == DM_OK)
        wake_all_visitors(win, visits);
    return err;
}

/* It is its turn, and it is beside its ticket; `visits` is what VISITS was when it tried to be the holder. */
static int await_visitors(struct dm_win *win, int rank, uint64_t visits)
{
    int err = DM_OK;

    while (err == DM_OK && (visits & VISITORS) != 0) {
        err = make_way(win, rank, WANTED);
        if (err == DM_OK)
            err = await_word(win, rank, VISITS, VISITORS, 0);
        if (err == DM_OK)
            err = do_add(win, rank, VISITS, EXCLUSIVE - WANTED, &visits);
    }
    return err;
}

/* Mostly its turn is there and nobody visits: one step. */
static int lock_exclusive(struct dm_win *win, int rank)
{
    struct dm_chan_word adds[] = {{.op = {.which = LOCK, .value = ONE(USERS)}},
                                  {.op = {.which = VISITS, .value = EXCLUSIVE}}};
    int err = change_lock(win, rank, adds, 2);
    uint32_t ticket = lock_field(adds[0].old, USERS);
    uint64_t visits = adds[1].old;
    bool is_turn = lock_field(adds[0].old, WRITE) == ticket;

    if (err != DM_OK || (is_turn && (visits & VISITORS) == 0))
        return err;
    if (!is_turn)
        err = make_way(win, rank, 0);
    if (err == DM_OK)
        err = enter(win, rank, ticket, true);
    if (err == DM_OK && !is_turn)
        err = await_turn(win, rank, WRITE, ticket);
    if (err == DM_OK && !is_turn)
        err = do_add(win, rank, VISITS, EXCLUSIVE, &visits);
    if (err == DM_OK)
        err = await_visitors(win, rank, visits);
    return err == DM_OK ? enter(win, rank, ticket, false) : err;
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

/* ---- giving it back ---- */

/* The last visitor wakes the exclusive holder that waits for that, whose turn it is. */
static int unlock_visit(struct dm_win *win, int rank)
{
    uint64_t visits, lock;
    int err = do_add(win, rank, VISITS, UINT64_MAX, &visits);

    if (err != DM_OK || (visits & VISITORS) != 1 || (visits & WANTED) == 0)
        return err;
    err = do_add(win, rank, LOCK, 0, &lock);
    return err == DM_OK ? wake_waiter(win, rank, lock_field(lock, WRITE)) : err;
}

int dm_rma_atomic_unlock(struct dm_win *win, int rank, int mode)
{
    bool is_shared = mode == MPI_LOCK_SHARED;
    struct dm_chan_word adds[] = {
        {.op = {.which = LOCK, .value = ONE(WRITE) + (is_shared ? 0 : ONE(READ))}},
        {.op = {.which = VISITS, .value = -EXCLUSIVE}}};
    int err;

    /* what was stored under the lock is there before */
    dm_atomic_fence();
    if (mode & DM_RMA_VISIT)
        return unlock_visit(win, rank);
    err = change_lock(win, rank, adds, is_shared ? 1 : 2);
    if (err == DM_OK && !is_shared)
        wake_all_visitors(win, adds[1].old);
    return err == DM_OK ? wake_next(win, rank, adds[0].old, lock_field(adds[0].old, WRITE) + 1)
                        : err;
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
        dm_adapt_words_new(dm_chan_adapt(dm_world.chan), WAITERS + lock_n_waiters(win), spans_hosts,
                           is_any, &own->lock);
}

void dm_rma_atomic_start(struct dm_win *win, const struct dm_win_least *least)
{
    if (!dm_win_is_one_rail(least->lock, least->lock_inverted))
        dm_rma_atomic_free(win);
    else
        DM_TRACE(RMA, "locks by fetch-and-add");
}

void dm_rma_atomic_free(struct dm_win *win)
{
    if (win->fetch_locks != NULL)
        dm_adapt_words_free(dm_chan_adapt(dm_world.chan), win->fetch_locks);
    win->fetch_locks = NULL;
}
