/*
 * Copies whose end arrives last: a consumer may spin on the last bytes of its
 * buffer. Up to 256 bytes are moved by words, without a call; all stores to one
 * cache line are next to each other.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_COPY_H
#define DM_PROVIDERS_SHM_TRANSPORT_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "providers/common/last.h"
#include "util/port.h"
#include "util/copy_ways.h"

enum { DM_COPY_SMALL = 256, DM_COPY_BULK = 16384 };

/* What large copies have cost, in ns per MiB; see copy.c. */
struct dm_shm_bulk {
    uint64_t lowest;          /* in this window */
    uint64_t cost;            /* of the way in use, in its last window */
    uint64_t judged;          /* the same when the ways were compared last */
    uint64_t done;            /* bytes of this window */
    uint32_t window_len;      /* bytes */
    uint32_t n_windows;       /* since the ways were compared */
    uint32_t n_use;           /* windows until the next trial */
    uint32_t n;               /* copies */
    uint32_t n_votes;         /* trials in a row that the other way has won */
    bool is_streaming;        /* the way in use: streaming stores, or others, */
    struct dm_copy_ways ways; /* which choose between two themselves */
};

/* Copy len >= DM_COPY_BULK bytes in the way that has been faster lately. */
void dm_shm_copy_bulk(struct dm_shm_bulk *bulk, char *to, const char *from, size_t len);

/*
 * A word, by a load of its own. What is copied has often just been written, by words or wider stores: a wider load would
 * not get it from there, but wait until all stores before it have left the core, those to a
 * distant cache line included.
 */
static DM_ALWAYS_INLINE uint64_t dm_shm_word(const char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
    dm_in_register(word);
    return word;
}

/* len <= DM_COPY_SMALL, any alignment, order within it undefined. */
static inline void dm_shm_copy_small(char *to, const char *from, size_t len)
{
    uint64_t a, b, c, d;
    uint32_t p, q;

    for (; len >= 32; len -= 32, to += 32, from += 32) {
        a = dm_shm_word(from);
        b = dm_shm_word(from + 8);
        c = dm_shm_word(from + 16);
        d = dm_shm_word(from + 24);
        memcpy(to, &a, 8);
        memcpy(to + 8, &b, 8);
        memcpy(to + 16, &c, 8);
        memcpy(to + 24, &d, 8);
    }
    for (; len >= 8; len -= 8, to += 8, from += 8) {
        a = dm_shm_word(from);
        memcpy(to, &a, 8);
    }
    if (len >= 4) {
        memcpy(&p, from, 4);
        memcpy(&q, from + len - 4, 4);
        memcpy(to, &p, 4);
        memcpy(to + len - 4, &q, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
}

/* Copy, the last byte last. bulk: of this endpoint. */
static DM_ALWAYS_INLINE void dm_shm_copy_last(struct dm_shm_bulk *bulk, char *to, const char *from,
                                              size_t len)
{
    size_t tail = (size_t)dm_last_tail((uintptr_t)to, len);
    size_t head = len - tail;

    if (head > 0) {
        if (dm_likely(head <= DM_COPY_SMALL))
            dm_shm_copy_small(to, from, head);
        else if (head < DM_COPY_BULK)
            dm_copy_by(&bulk->ways, to, from, head);
        else
            dm_shm_copy_bulk(bulk, to, from, head);
    }
    dm_last_store(to + head, from + head, tail);
}

#endif
