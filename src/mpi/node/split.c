/*
 * Claiming the pieces of a split copy.
 */
#include "mpi/node/split.h"

#include <stdbool.h>

#define PARTS        2 /* of a copy: each costs system calls; mostly of at least so many bytes */
#define PIECE_MIN    ((size_t)16 << 10)
#define FIELD        16 /* bits for the index of a piece */
#define PIECES       (((uint64_t)1 << FIELD) - 1)
#define NUMBER_SHIFT (2 * FIELD)

void dm_split_open(struct dm_split *s, uint64_t number, size_t n)
{
    atomic_store_explicit(&s->left, number << NUMBER_SHIFT | n, memory_order_release);
}

static int64_t split_claim(struct dm_split *s, uint64_t number, bool is_front)
{
    uint64_t was = atomic_load_explicit(&s->left, memory_order_acquire), first, end, next;

    do {
        first = was >> FIELD & PIECES;
        end = was & PIECES;
        if (was >> NUMBER_SHIFT != (uint32_t)number || first == end)
            return -1;
        next = is_front ? was + ((uint64_t)1 << FIELD) : was - 1;
    } while (!atomic_compare_exchange_weak_explicit(&s->left, &was, next, memory_order_acq_rel,
                                                    memory_order_acquire));
    return (int64_t)(is_front ? first : end - 1);
}

int64_t dm_split_claim_front(struct dm_split *s, uint64_t number)
{
    return split_claim(s, number, true);
}

int64_t dm_split_claim_back(struct dm_split *s, uint64_t number)
{
    return split_claim(s, number, false);
}

size_t dm_split_piece(size_t len, size_t most, size_t unit)
{
    size_t piece = len / PARTS, least = len / PIECES + 1;

    piece = piece < PIECE_MIN ? PIECE_MIN : piece > most ? most : piece;
    piece = piece < least ? least : piece;
    return (piece + unit - 1) / unit * unit;
}
