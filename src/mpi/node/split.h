/*
 * A long copy that two processors divide between them: one claims its pieces from the front, the
 * other from the back, until none is left. So neither waits for the other but for its last piece.
 *
 * What is copied, and by whom, is the caller's: collectives copy by process_vm while both ranks are
 * in the same call, one-sided calls by RDMA of a target that may not be looking.
 */
#ifndef DM_MPI_NODE_SPLIT_H
#define DM_MPI_NODE_SPLIT_H

#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>

/* In shared memory. All zero: nothing is to be copied. */
struct dm_split {
    /* the copy's number, the first piece that is left, the one behind the last: 32, 16, 16 bits */
    _Atomic uint64_t left;
};

/* A copy of n pieces (at most 65535) begins; what describes it was written before. */
void dm_split_open(struct dm_split *s, uint64_t number, size_t n);
/*
 * Claim a piece of the copy with that number, which nobody else gets then: its index. -1: none is
 * left, or another copy has begun.
 */
int64_t dm_split_claim_front(struct dm_split *s, uint64_t number);
int64_t dm_split_claim_back(struct dm_split *s, uint64_t number);

/* The number of the present copy, or the last one; what describes it may be read then. */
static inline uint32_t dm_split_number(struct dm_split *s)
{
    return (uint32_t)(atomic_load_explicit(&s->left, memory_order_acquire) >> 32);
}
/* Pieces that have been claimed from the front. */
static inline size_t dm_split_n_front(struct dm_split *s)
{
    return atomic_load_explicit(&s->left, memory_order_acquire) >> 16 & UINT16_MAX;
}
/*
 * Bytes of a piece of so many: multiples of unit, and at most so many bytes unless there would be
 * too many pieces.
 */
size_t dm_split_piece(size_t len, size_t most, size_t unit);
static inline size_t dm_split_n_pieces(size_t len, size_t piece)
{
    return (len + piece - 1) / piece;
}
/* Bytes of the piece that begins there: the last one may be shorter. */
static inline size_t dm_split_piece_len(size_t len, size_t piece, size_t at)
{
    return len - at < piece ? len - at : piece;
}

#endif
