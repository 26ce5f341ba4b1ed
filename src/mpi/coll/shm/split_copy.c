/*
 * Two ranks that each have a core divide a long copy between them: a copy by the kernel goes at the pace of
 * one core, and the other rank would only wait. Who wants the data offers the copy in pieces; it takes them
 * from the front, the data's owner from the back, until none is left. The word that says which are has the
 * round of the offer too, so that nobody takes a piece of another one.
 */
#include "mpi/coll/shm/coll_shm.h"
#include "util/clock.h"
#include "util/host.h"

#define PARTS     8 /* of a copy, of at least and mostly at most so many bytes */
#define PIECE_MIN ((size_t)16 << 10)
#define PIECE_MAX ((size_t)128 << 10)
#define SLACK_NS  20000
#define PAGE      ((size_t)4096)
#define FIELD     16 /* bits for the number of a piece */
#define PIECES    (((size_t)1 << FIELD) - 1)
#define ROUND     (~(uint64_t)0 << 2 * FIELD)

static inline struct dm_coll_shm_chunks *offer_of(const struct dm_coll_shm *b, int lrank)
{
    return &b->shared->lranks[lrank].offer;
}

void dm_coll_shm_publish(const struct dm_coll_shm *b, uint64_t from, uint64_t to, size_t len,
                         size_t piece)
{
    struct dm_coll_shm_chunks *offer = offer_of(b, b->me);

    offer->from = from;
    offer->to = to;
    offer->len = len;
    offer->piece = piece;
    atomic_store_explicit(&offer->failed, 0, memory_order_relaxed);
    atomic_store_explicit(&offer->left, b->round << 2 * FIELD | (len + piece - 1) / piece,
                          memory_order_release);
}

/* The number of a piece of the offer that a lrank made in a round; -1: none is left. */
static int64_t split_take(const struct dm_coll_shm *b, int lrank, uint64_t round, bool is_first)
{
    _Atomic uint64_t *left = &offer_of(b, lrank)->left;
    uint64_t was = atomic_load_explicit(left, memory_order_acquire), first, end, next;

    do {
        first = was >> FIELD & PIECES;
        end = was & PIECES;
        if ((was & ROUND) != round << 2 * FIELD || first == end)
            return -1;
        next = is_first ? was + ((uint64_t)1 << FIELD) : was - 1;
    } while (!atomic_compare_exchange_weak_explicit(left, &was, next, memory_order_acq_rel,
                                                    memory_order_acquire));
    return (int64_t)(is_first ? first : end - 1);
}

int64_t dm_coll_shm_take_first(const struct dm_coll_shm *b, int lrank, uint64_t round)
{
    return split_take(b, lrank, round, true);
}

int64_t dm_coll_shm_take_last(const struct dm_coll_shm *b, int lrank, uint64_t round)
{
    return split_take(b, lrank, round, false);
}

size_t dm_coll_shm_n_first(const struct dm_coll_shm *b, int lrank)
{
    return atomic_load_explicit(&offer_of(b, lrank)->left, memory_order_acquire) >> FIELD & PIECES;
}

size_t dm_coll_shm_piece_of(size_t len, size_t most, size_t unit)
{
    size_t piece = len / PARTS, least = len / PIECES + 1;

    piece = piece < PIECE_MIN ? PIECE_MIN : piece > most ? most : piece;
    piece = piece < least ? least : piece;
    return (piece + unit - 1) / unit * unit;
}

static inline size_t split_piece_len(const struct dm_coll_shm_chunks *offer, size_t at)
{
    return offer->len - at < offer->piece ? offer->len - at : offer->piece;
}

/*
 * An end that took longer than the copy was because the other had lost its core, which alone would have cost nobody
 * anything: the next 1, 3, 7 ... copies are not shared, until one goes well.
 */
static void split_learn(struct dm_coll_shm *b, uint64_t ns_copy, uint64_t ns_end)
{
    if (ns_end <= ns_copy + SLACK_NS)
        dm_backoff_worked(&b->split_backoff);
    else
        dm_backoff_failed(&b->split_backoff, DM_WAIT_BACKOFF_MAX);
}

int dm_coll_shm_split_copy(struct dm_run *run, struct dm_coll_shm *b, uint64_t from, void *to,
                           size_t len)
{
    struct dm_coll_shm_chunks *offer = offer_of(b, b->me);
    int pid = (int)b->shared->lranks[1 - b->me].id.pid, err = DM_OK;
    uint64_t helped = atomic_load_explicit(&offer->n_helped, memory_order_relaxed), failed;
    size_t piece = dm_coll_shm_piece_of(len, PIECE_MAX, PAGE), n = (len + piece - 1) / piece,
           n_mine = 0;
    uint64_t begun, ended;

    if (dm_backoff_skips(&b->split_backoff))
        return dm_host_vm_read(pid, from, to, len);
    begun = dm_clock_ns();
    dm_coll_shm_publish(b, from, (uint64_t)(uintptr_t)to, len, piece);
    dm_coll_shm_announce(run, b);
    for (int64_t i; (i = split_take(b, b->me, b->round, true)) >= 0; n_mine++) {
        size_t at = (size_t)i * piece;

        if (err == DM_OK)
            err = dm_host_vm_read(pid, from + at, (char *)to + at, split_piece_len(offer, at));
    }
    ended = dm_clock_ns();
    if (!dm_coll_shm_await_word(run, b, &offer->n_helped, helped + n - n_mine, 1 - b->me))
        return DM_OK; /* the run has failed */
    split_learn(b, ended - begun, dm_clock_ns() - ended);
    failed = atomic_load_explicit(&offer->failed, memory_order_relaxed);
    if (err == DM_OK && failed > 0) {
        size_t at = (size_t)(failed - 1) * piece;

        err = dm_host_vm_read(pid, from + at, (char *)to + at, split_piece_len(offer, at));
    }
    return err;
}

/* A piece that cannot be written is left to the reader, and so are all others. */
bool dm_coll_shm_split_help(struct dm_run *run, struct dm_coll_shm *b)
{
    int lrank = 1 - b->me;
    struct dm_coll_shm_chunks *offer = offer_of(b, lrank);
    bool can = true;

    if (!dm_coll_shm_await_published(run, b, lrank))
        return false;
    for (int64_t i; can && (i = split_take(b, lrank, b->round, false)) >= 0;) {
        size_t at = (size_t)i * offer->piece;

        can = dm_host_vm_write((int)b->shared->lranks[lrank].id.pid, offer->to + at,
                               (const char *)(uintptr_t)(offer->from + at),
                               split_piece_len(offer, at)) == DM_OK;
        if (!can)
            atomic_store_explicit(&offer->failed, (uint64_t)i + 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&offer->n_helped, 1, memory_order_release);
    }
    return dm_coll_shm_await_finished(run, b, lrank);
}
