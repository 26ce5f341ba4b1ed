/*
 * Pending bits: the process's row, and the connections that take part.
 */
#include "dapl_adapt/core/pending.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "util/arena.h"

#define NEIGHBOURS 16 /* with fewer a look at each ring costs less than bits do */

void dm_pending_open(struct dm_adapt *adapt, uint64_t name)
{
    struct dm_pending *pending = &adapt->poll.pending;
    const struct dm_arena *arena = &adapt->mem.arena;
    uint32_t n;

    if (arena->head == NULL || adapt->job.n_local <= NEIGHBOURS ||
        !dm_arena_number(arena, name, &pending->number))
        return;
    n = (uint32_t)arena->head->n;
    pending->n_words = (n + DM_PENDING_WORD - 1) / DM_PENDING_WORD;
    pending->conns = calloc(n, sizeof(struct dm_conn *));
    pending->again = calloc(pending->n_words, sizeof(*pending->again));
    if (pending->conns != NULL && pending->again != NULL)
        pending->row = dm_arena_row(arena, pending->number);
}

void dm_pending_close(struct dm_adapt *adapt)
{
    struct dm_pending *pending = &adapt->poll.pending;

    free((void *)pending->conns);
    free(pending->again);
    pending->row = NULL;
}

bool dm_pending_join(struct dm_conn *conn, uint64_t name)
{
    struct dm_pending *pending = &conn->adapt->poll.pending;
    struct dm_pending_peer *peer = &conn->tx.pending;
    uint32_t number;

    if (!dm_arena_number(&conn->adapt->mem.arena, name, &number))
        return false;
    peer->row = dm_arena_row(&conn->adapt->mem.arena, number);
    if (peer->row == NULL)
        return false;
    peer->number = number;
    if (pending->hot != NULL && pending->hot->tx.pending.number == number)
        dm_pending_set_hot(conn->adapt, NULL); /* of one that is not there any more */
    pending->conns[number] = conn;
    /* never 0 from now on, so that each record is followed by its bit; the peer may have written already */
    atomic_fetch_or(&conn->ctl->asleep, DM_CTL_PENDING);
    return true;
}

void dm_pending_leave(struct dm_conn *conn)
{
    struct dm_pending *pending = &conn->adapt->poll.pending;

    pending->conns[conn->tx.pending.number] = NULL;
    if (pending->last == conn)
        pending->last = NULL;
    if (pending->hot == conn)
        dm_pending_set_hot(conn->adapt, NULL);
}

void dm_pending_set_hot(struct dm_adapt *adapt, struct dm_conn *conn)
{
    struct dm_pending *pending = &adapt->poll.pending;
    struct dm_conn *before = pending->hot;

    pending->hot = conn;
    dm_pending_heat(pending->row, conn != NULL ? (uint64_t)conn->tx.pending.number + 1 : 0);
    if (before != NULL && pending->conns[before->tx.pending.number] == before)
        dm_pending_again(before);
}

void dm_pending_again(struct dm_conn *conn)
{
    uint32_t number = conn->tx.pending.number;

    conn->adapt->poll.pending.again[number / DM_PENDING_WORD] |= UINT64_C(1)
                                                                 << number % DM_PENDING_WORD;
}

bool dm_pending_has(const struct dm_pending *pending)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < pending->n_words; i++)
        all |= pending->again[i];
    atomic_thread_fence(memory_order_seq_cst); /* is_asleep was written before */
    if (pending->hot != NULL && dm_rx_has(&pending->hot->rx))
        return true;
    return all != 0 || !dm_pending_is_empty(pending->row, pending->n_words);
}
