/*
 * Pending bits: which of many peers on this host have written to their rings.
 *
 * Where a process has many neighbours it does not look at the ring of each. Each process has a row in the
 * arena (util/arena.h), with a bit for each of the others. Whoever has written a record sets its bit in the
 * row of the reader; the reader takes all bits of a word at once, and looks at those rings. With few
 * neighbours, between hosts, and where the memory of rings is not shared, rings are looked at themselves.
 *
 * Order. The writer: record, then bit (a read-modify-write that releases). The reader: bits (an exchange that
 * acquires), then ring. Modifications of a word have one order. If the writer's is before the reader's
 * exchange, that reads it, or one of others behind it that continues its release sequence: the record is
 * seen. If it is behind, the bit is left for the next look. So no record is without a look that begins when
 * it is there, however the two meet.
 *
 * Sleep. The reader: `is_asleep`, then bits. The writer: bit, then `is_asleep`. All four are sequentially
 * consistent, so at least one of them sees the other's; of several writers the one that takes
 * `is_asleep` back notifies.
 *
 * The hot one. A writer whose number is in `hot` sets no bit: the reader looks at its ring each time. The reader:
 * `hot`, then the ring of the one before; the writer: record, then `hot`; all sequentially consistent. So either the
 * reader sees the record in that last look, or the writer that it has to set its bit.
 *
 * A provider may place a record later than the bit is set (a request that had to wait in its queue), and a
 * writer may die between the two: rare looks at all rings find that (dm_poll_rare).
 */
#ifndef DM_DAPL_ADAPT_CORE_PENDING_H
#define DM_DAPL_ADAPT_CORE_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dm_adapt;
struct dm_conn;

#define DM_PENDING_WORD 64

/* As dm_arena_row() has it. */
struct dm_pending_row {
    _Atomic uint64_t is_asleep; /* the owner wants a notification */
    _Atomic uint64_t hot;    /* number of the writer that the owner always looks at, + 1; 0: none */
    _Atomic uint64_t bits[]; /* by the writers' numbers */
};

/* The peer's; row NULL: its ring and ours are looked at. */
struct dm_pending_peer {
    struct dm_pending_row *row;
    uint32_t number;
};

/* This process's own. */
struct dm_pending {
    struct dm_pending_row *row; /* NULL: it has none */
    uint32_t number;
    uint32_t n_words;
    struct dm_conn **conns; /* by number */
    uint64_t *again;        /* bits of those whose rings have more */
    struct dm_conn *last;   /* that had something: its ring is looked at first */
    struct dm_conn *hot;    /* that writes without bits; or NULL */
    uint32_t n_last;        /* how often the last one had something, in a row */
};

/* Writer: there is something new in the ring. */
static inline void dm_pending_set(struct dm_pending_row *row, uint32_t number)
{
    atomic_fetch_or(&row->bits[number / DM_PENDING_WORD], UINT64_C(1) << number % DM_PENDING_WORD);
}

/* Writer: does the owner look at our ring without that? */
static inline bool dm_pending_is_hot(const struct dm_pending_row *row, uint32_t number)
{
    if (atomic_load_explicit(&row->hot, memory_order_relaxed) != (uint64_t)number + 1)
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&row->hot) == (uint64_t)number + 1;
}

/* Reader: it does from now on, if `hot` is the number + 1; then it looks at the ring of the one before once more. */
static inline void dm_pending_heat(struct dm_pending_row *row, uint64_t hot)
{
    atomic_store(&row->hot, hot);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Writer, after that: is the owner asleep? Then it is for us to notify it. */
static inline bool dm_pending_wakes(struct dm_pending_row *row)
{
    return atomic_load(&row->is_asleep) != 0 && atomic_exchange(&row->is_asleep, 0) != 0;
}

/* Reader: those of a word, which are looked at next. */
static inline uint64_t dm_pending_take(struct dm_pending_row *row, uint32_t word)
{
    if (atomic_load_explicit(&row->bits[word], memory_order_relaxed) == 0)
        return 0;
    return atomic_exchange(&row->bits[word], 0);
}

/* Reader, after is_asleep was set: is there nothing to be taken? */
static inline bool dm_pending_is_empty(const struct dm_pending_row *row, uint32_t n_words)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < n_words; i++)
        all |= atomic_load(&row->bits[i]);
    return all == 0;
}

/* Find this process's row, if it has many neighbours. Its name is that of its note in the arena. */
void dm_pending_open(struct dm_adapt *adapt, uint64_t name);
void dm_pending_close(struct dm_adapt *adapt);
/* The peer does the same for us. False: it has no row. */
bool dm_pending_join(struct dm_conn *conn, uint64_t name);
/* Its end. */
void dm_pending_leave(struct dm_conn *conn);
/* It is the hot one from now on; NULL: nobody is. */
void dm_pending_set_hot(struct dm_adapt *adapt, struct dm_conn *conn);
/* Have the ring looked at. */
void dm_pending_again(struct dm_conn *conn);
/* Has any ring, as far as bits say? */
bool dm_pending_has(const struct dm_pending *pending);

#endif
