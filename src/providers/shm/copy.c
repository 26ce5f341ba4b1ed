/*
 * Large copies into memory that a peer maps.
 *
 * Which stores are fast depends on where the two processes run: on cores that
 * share a cache plain stores win by half, on distant ones each plain store has
 * to fetch a line from the other side first, and streaming stores are more
 * than twice as fast. A virtual machine's cores move, so every endpoint times
 * its own large copies and now and then tries the other way.
 */
#include "providers/shm/copy_inl.h"

#include "providers/common/common.h"

enum { TIMED = 65536, TRY_EVERY = 64, MIB = 1 << 20 };

static void note(struct dm_shm_bulk *bulk, bool is_streaming, uint64_t ns, size_t len)
{
    uint64_t *cost = &bulk->cost[is_streaming];
    uint64_t now = ns * MIB / len + 1;

    /* Down at once, up slowly: an interrupted copy says nothing. */
    if (*cost != 0 && now > *cost)
        now = *cost + ((now < *cost * 2 ? now : *cost * 2) - *cost) / 8;
    *cost = now;
    bulk->is_streaming = bulk->cost[1] != 0 && bulk->cost[1] < bulk->cost[0];
}

void dm_shm_copy_bulk(struct dm_shm_bulk *bulk, char *to, const char *from, size_t len)
{
    bool is_streaming = bulk->is_streaming;
    uint64_t start = 0;

    if (len >= TIMED) {
        if (bulk->n++ % TRY_EVERY < 2) /* both ways, one after the other */
            is_streaming = (bulk->n & 1) == 0;
        start = dm_futex_now();
    }
    if (is_streaming)
        dm_copy_stream(to, from, len);
    else
        memcpy(to, from, len);
    if (len >= TIMED)
        note(bulk, is_streaming, dm_futex_now() - start, len);
}
