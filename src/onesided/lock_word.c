/*
 * Locks by words of the node-shared state: atomics of the origin, nothing of the target.
 *
 * A process that has to wait for its turn writes its rank beside its ticket, so that the process
 * that passes the turn on knows whom to wake. Processes of other hosts ask by a packet, and the
 * target takes a ticket for them (target_note.c): there is one queue whatever way they come.
 */
#include "onesided/lock.h"
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

int dm_rma_word_lock(struct dm_win *win, int rank, int mode)
{
    int lrank = win->peers[rank].lrank;
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;
    uint32_t ticket;
    int err = DM_OK;

    if (dm_unlikely(dm_world_is_gone(dm_rma_proc(win, rank))))
        return DM_FAIL(DM_EPEER, "lock of rank %d", rank);
    ticket = dm_atomic_add(&turns->n_users, 1);
    dm_rma_state.counts.n_locks_word++;
    if (dm_atomic_load(turn_of(turns, mode)) != ticket) {
        *(volatile uint32_t *)waiter(win, lrank, ticket) = (uint32_t)win->comm->rank + 1;
        dm_atomic_fence();
        err = dm_rma_wait_word(win, turn_of(turns, mode), ticket, false);
    }
    if (err == DM_OK && mode == MPI_LOCK_SHARED)
        enter_shared(win, lrank, ticket);
    return err;
}

void dm_rma_word_unlock(struct dm_win *win, int rank, int mode)
{
    int lrank = win->peers[rank].lrank;
    struct dm_rma_ticket_lock *turns = &dm_rma_slot(win, lrank)->turns;
    uint32_t turn;

    if (mode == MPI_LOCK_SHARED) {
        turn = dm_atomic_add(&turns->write, 1) + 1;
    } else {
        /* `read` first: a shared holder that comes and goes in between adds to `write`, too */
        turn = dm_atomic_add(&turns->read, 1) + 1;
        dm_atomic_add(&turns->write, 1);
    }
    lock_word_pass_on(win, lrank, turn);
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
    if (mode == MPI_LOCK_SHARED)
        enter_shared(win, win->node->me, ticket);
    return true;
}
