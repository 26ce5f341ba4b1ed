/*
 * Locks by words of the node-shared state: atomics of the origin, nothing of the target.
 *
 * A process that has to wait for its turn writes its rank beside its ticket, so that the process
 * that passes the turn on knows whom to wake. Processes of other hosts ask by a packet, and the
 * target takes a ticket for them (target_note.c): there is one queue whatever way they come.
 */
#include "onesided/lock.h"
#include "onesided/pkt.h"
#include "onesided/shared.h"
#include "onesided/state.h"

#define FOR_OTHER 0x80000000u /* in waiters: the target waits for another host's process */

static uint32_t *waiter(const struct dm_win *win, int lrank, uint32_t ticket)
{
    const struct dm_rma_node *node = win->node;

    return &node->waiters[(size_t)lrank * (node->mask + 1) + (ticket & node->mask)];
}

/* It is this ticket's turn now, or soon: wake its process, if it sleeps. */
static void lock_word_pass_on(struct dm_win *win, int lrank, uint32_t ticket)
{
    uint32_t who;

    dm_atomic_fence();
    if (*(volatile uint32_t *)&dm_rma_slot(win, lrank)->turns.n_users == ticket)
        return;
    who = *(volatile uint32_t *)waiter(win, lrank, ticket);
    if (who != 0)
        dm_rma_wake(win, (int)(who & ~FOR_OTHER) - 1, (who & FOR_OTHER) != 0);
}

/* It is a shared holder's turn; the next in the queue may be one, too. */
static void enter_shared(struct dm_win *win, int lrank, uint32_t ticket)
{
    dm_atomic_store(&dm_rma_slot(win, lrank)->turns.read, ticket + 1);
    lock_word_pass_on(win, lrank, ticket + 1);
}

static const uint32_t *turn_of(const struct dm_rma_ticket_lock *turns, int mode)
{
    return mode == MPI_LOCK_SHARED ? &turns->read : &turns->write;
}

/* No exclusive holder is inside, or to be: visitors look again, and the target for those of other hosts. */
static void wake_visitors(struct dm_win *win, int lrank)
{
    const struct dm_rma_node *node = win->node;

    for (int i = 0; i < node->n; i++)
        dm_rma_wake(win, node->ranks[i], i == lrank && node->n_leaders > 1);
}

/* It is an exclusive holder's turn; does it enter? It does not while there are visitors. */
static bool enter_exclusive(struct dm_win *win, int lrank)
{
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;

    if (dm_atomic_load(&turns->n_visitors) != 0)
        return false;
    dm_atomic_swap(&turns->is_exclusive, 1);
    if (dm_likely(dm_atomic_load(&turns->n_visitors) == 0))
        return true;
    dm_atomic_swap(&turns->is_exclusive, 0);
    wake_visitors(win, lrank);
    return false;
}

static int enter_exclusive_wait(struct dm_win *win, int lrank, uint32_t ticket)
{
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;
    int err = DM_OK;

    while (err == DM_OK && !enter_exclusive(win, lrank)) {
        *(volatile uint32_t *)waiter(win, lrank, ticket) = (uint32_t)win->comm->rank + 1;
        dm_atomic_fence();
        err = dm_rma_wait_word(win, &turns->n_visitors, 0, false);
    }
    return err;
}

static int visit(struct dm_win *win, int lrank)
{
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;

    dm_rma_state.counts.n_locks_word++;
    dm_atomic_add(&turns->n_visitors, 1);
    dm_atomic_fence();
    return dm_rma_wait_word(win, &turns->is_exclusive, 0, false);
}

/* The last visitor leaves: whose turn it is may enter. */
static void visit_end(struct dm_win *win, int lrank)
{
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;

    if (dm_atomic_add(&turns->n_visitors, (uint32_t)-1) == 1)
        lock_word_pass_on(win, lrank, dm_atomic_load(&turns->write));
}

int dm_rma_word_lock(struct dm_win *win, int rank, int mode)
{
    int lrank = dm_rma_lrank(win, rank);
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;
    uint32_t ticket;
    int err = DM_OK;

    if (dm_unlikely(dm_world_is_gone(dm_rma_proc(win, rank))))
        return DM_FAIL(DM_EPEER, "lock of rank %d", rank);
    if (mode & DM_RMA_VISIT)
        return visit(win, lrank);
    ticket = dm_atomic_add(&turns->n_users, 1);
    dm_rma_state.counts.n_locks_word++;
    if (dm_atomic_load(turn_of(turns, mode)) != ticket) {
        *(volatile uint32_t *)waiter(win, lrank, ticket) = (uint32_t)win->comm->rank + 1;
        dm_atomic_fence();
        err = dm_rma_wait_word(win, turn_of(turns, mode), ticket, false);
    }
    if (err == DM_OK && mode == MPI_LOCK_SHARED)
        enter_shared(win, lrank, ticket);
    else if (err == DM_OK)
        err = enter_exclusive_wait(win, lrank, ticket);
    return err;
}

void dm_rma_word_unlock(struct dm_win *win, int rank, int mode)
{
    int lrank = dm_rma_lrank(win, rank);
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;
    uint32_t turn;

    if (mode & DM_RMA_VISIT) {
        visit_end(win, lrank);
        return;
    }
    if (mode == MPI_LOCK_SHARED) {
        turn = dm_atomic_add(&turns->write, 1) + 1;
    } else {
        dm_atomic_store(&turns->is_exclusive, 0);
        /* `read` first: a shared holder that comes and goes in between adds to `write`, too */
        turn = dm_atomic_add(&turns->read, 1) + 1;
        dm_atomic_add(&turns->write, 1);
    }
    lock_word_pass_on(win, lrank, turn);
    if (mode != MPI_LOCK_SHARED && dm_unlikely(dm_atomic_load(&turns->n_visitors) != 0))
        wake_visitors(win, lrank);
}

uint32_t dm_rma_word_ticket(struct dm_win *win)
{
    uint32_t ticket = dm_atomic_add(&dm_rma_my_slot(win)->turns.n_users, 1);

    *(volatile uint32_t *)waiter(win, win->node->me, ticket) =
        ((uint32_t)win->comm->rank + 1) | FOR_OTHER;
    dm_atomic_fence();
    return ticket;
}

bool dm_rma_word_try(struct dm_win *win, uint32_t ticket, int mode)
{
    struct dm_rma_ticket_lock *turns = &dm_rma_my_slot(win)->turns;

    if (dm_atomic_load(turn_of(turns, mode)) != ticket)
        return false;
    if (mode != MPI_LOCK_SHARED)
        return enter_exclusive(win, win->node->me);
    enter_shared(win, win->node->me, ticket);
    return true;
}

void dm_rma_word_visit(struct dm_win *win)
{
    dm_atomic_add(&dm_rma_my_slot(win)->turns.n_visitors, 1);
    dm_atomic_fence();
}

bool dm_rma_word_is_open(const struct dm_win *win)
{
    return dm_atomic_load(&dm_rma_my_slot(win)->turns.is_exclusive) == 0;
}
