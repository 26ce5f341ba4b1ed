/*
 * Large copies into memory that a peer maps.
 *
 * Which stores are fast depends on where the two processes run, and on whether
 * the peer reads what arrives: on cores that share a cache plain stores win by
 * half; on distant ones each plain store to a line that the reader has must
 * fetch it from there, and streaming stores are three times as fast. A virtual
 * machine's cores move, so every endpoint times its own large copies and now
 * and then tries the other way.
 *
 * Time is cut into windows of equal numbers of bytes. The fastest copy of a
 * window is its cost, for an interrupted one says nothing. When the cost has
 * changed, and in any case after some windows, the more of them the longer the
 * choice has stood, come two in the other way, a trial; its second half counts,
 * because streaming stores leave the target outside all caches, where the first
 * plain stores find it slow. Two trials must agree unless the difference is
 * great, for a neighbour of a virtual machine disturbs longer than one.
 */
#include "providers/shm/transport/copy.h"

#include "providers/common/common.h"
#include "util/copy.h"
#include "util/port_vector.h"

enum {
    TIMED = 57344,      /* shortest copy that is timed, one in TIMED_EVERY... */
    TIMED_ALL = 262144, /* ...and from this size on, all */
    TIMED_EVERY = 8,
    SAMPLE = 1048576,      /* longest copy between two looks at the clock... */
    SAMPLE_TRIAL = 262144, /* ...and in a trial */
    WINDOW_MIN = 1 << 20,  /* length of the windows at first... */
    WINDOW_MAX = 4 << 20,  /* ...and in the end */
    N_USE_MAX = 128,       /* windows between trials, in the end */
    N_USE_MIN = 8,         /* the same after a change, and the fewest */
};

/* Has the cost changed so much that the choice may be wrong? */
static bool cost_has_changed(uint64_t cost, uint64_t before)
{
    return cost > before + before / 2 || before > cost + cost / 2;
}

/* A trial is over; cost is its own. */
static void trial_end(struct dm_shm_bulk *bulk, uint64_t cost)
{
    bool is_better = cost < bulk->cost - bulk->cost / 8;
    bool is_much_better = cost < bulk->cost / 2;

    if (bulk->window_len < WINDOW_MAX)
        bulk->window_len *= 2;
    bulk->judged = bulk->cost;
    bulk->n_windows = 0;
    bulk->n_votes = is_better ? bulk->n_votes + 1 : 0;
    if (bulk->n_votes >= 2 || is_much_better) {
        bulk->is_streaming = !bulk->is_streaming;
        bulk->judged = cost;
        bulk->n_votes = 0;
        bulk->n_use = N_USE_MIN;
    } else if (is_better) {
        bulk->n_windows = bulk->n_use - N_USE_MIN; /* again, soon */
    } else if (bulk->n_use < N_USE_MAX) {
        bulk->n_use *= 2;
    }
}

static void window_end(struct dm_shm_bulk *bulk)
{
    uint64_t cost = bulk->lowest;

    bulk->done = 0;
    bulk->lowest = UINT64_MAX;
    if (cost == UINT64_MAX)
        return; /* nothing was timed: a window more */
    bulk->n_windows++;
    if (bulk->n_windows == bulk->n_use + 2) {
        trial_end(bulk, cost);
    } else if (bulk->n_windows <= bulk->n_use) {
        bulk->cost = cost;
        if (bulk->n_windows >= N_USE_MIN && cost_has_changed(cost, bulk->judged))
            bulk->n_windows = bulk->n_use;
    }
}

static void bulk_copy_part(struct dm_shm_bulk *bulk, char *to, const char *from, size_t len,
                           bool is_trial)
{
    if (bulk->is_streaming != is_trial)
        dm_copy_stream(to, from, len);
    else
        dm_copy_by(&bulk->ways, to, from, len);
}

void dm_shm_copy_bulk(struct dm_shm_bulk *bulk, char *to, const char *from, size_t len)
{
    if (dm_unlikely(bulk->window_len == 0)) { /* the first of this endpoint */
        bulk->window_len = WINDOW_MIN;
        bulk->lowest = UINT64_MAX;
        bulk->n_use = N_USE_MIN;
        bulk->n_windows = N_USE_MIN - 1;
    }
    while (len >= TIMED) {
        bool is_trial = bulk->n_windows >= bulk->n_use;
        size_t max = is_trial ? SAMPLE_TRIAL : SAMPLE;
        size_t part = len < max + TIMED ? len : max;
        bool is_timed = is_trial || part >= TIMED_ALL || bulk->n++ % TIMED_EVERY == 0;
        uint64_t start = is_timed ? dm_futex_now() : 0;

        bulk_copy_part(bulk, to, from, part, is_trial);
        if (is_timed) {
            uint64_t cost = (dm_futex_now() - start) * WINDOW_MIN / part + 1;

            bulk->lowest = cost < bulk->lowest ? cost : bulk->lowest;
        }
        bulk->done += part;
        if (bulk->done >= bulk->window_len)
            window_end(bulk);
        to += part;
        from += part;
        len -= part;
    }
    if (len > 0)
        bulk_copy_part(bulk, to, from, len, false);
}
