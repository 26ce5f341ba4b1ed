/*
 * Whose receives a connection uses.
 *
 * With a shared receive queue the receives of a process are bounded by DATUM_SRQ_SIZE, whatever the
 * number of its peers. Every process of the job is sure of DM_RX_GRANT of them, so that none has to
 * wait for another; the rest goes to those who are busy (eager/srq.c). What is granted in sum is never
 * more than what is posted: a provider that breaks a connection which finds no receive (iWARP) does so
 * never. What is sent to peers that share theirs, too, comes out of as many buffers (eager/lend.c).
 */
#include "dapl_adapt/conn/receives.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/srq.h"
#include "util/cfg.h"
#include "util/err.h"

#define SLOTS_MOST 16   /* records that a peer may have under way or unread */
#define SIZE_MOST  8192 /* bytes of a slot, unless DATUM_RING_SLOT_SIZE says something */
#define SPARE_PART 2    /* at least one half is for those who are busy */

_Static_assert(DM_RX_GRANT <= DM_RING_SLOTS_MIN, "every ring has the slots of the least grant");

static uint32_t receives_peers(const struct dm_adapt *adapt)
{
    return adapt->job.size > 1 ? (uint32_t)adapt->job.size - 1 : 1;
}

void dm_receives_plan(struct dm_adapt *adapt)
{
    struct dm_srq_plan *plan = &adapt->rings.srq;
    uint64_t least = (uint64_t)DM_RX_GRANT * receives_peers(adapt);
    uint64_t n;

    plan->n_slots = adapt->rings.n_slots < SLOTS_MOST ? adapt->rings.n_slots : SLOTS_MOST;
    plan->slot_size = adapt->rings.slot_size;
    if (adapt->rings.is_auto_size && plan->slot_size > SIZE_MOST)
        plan->slot_size = SIZE_MOST;
    while (SPARE_PART * least * dm_slot_stride(plan->slot_size) > dm_cfg()->srq_size &&
           plan->slot_size > DM_RING_SIZE_MIN)
        plan->slot_size =
            plan->slot_size / 2 > DM_RING_SIZE_MIN ? plan->slot_size / 2 : DM_RING_SIZE_MIN;
    n = dm_cfg()->srq_size / dm_slot_stride(plan->slot_size);
    if (n > (uint64_t)plan->n_slots * receives_peers(adapt))
        n = (uint64_t)plan->n_slots * receives_peers(adapt);
    plan->n = (uint32_t)(n > least ? n : least);
}

const char *dm_receives_why_own(const struct dm_ia *ia)
{
    if (!dm_cfg()->srq)
        return "DATUM_SRQ";
    if (!ia->adapt->rings.wants_srq)
        return "DATUM_SRQ_FROM: the job has fewer processes";
    /*
     * Adapters complete receives of a shared queue in another order than they were posted, and libdapl
     * then takes the cookie of one that is pending for another.
     */
    if (ia->caps.is_pinning)
        return "adapters complete shared receives in any order, and their cookies get mixed up";
    return ia->memory.no_srq[0] != '\0' ? ia->memory.no_srq : NULL;
}

bool dm_receives_are_shared(struct dm_conn *conn, struct dm_ia *ia)
{
    const struct dm_srq_plan *plan = &conn->adapt->rings.srq;
    struct dm_srq_want want = {.n = plan->n,
                               .least = DM_RX_GRANT * receives_peers(conn->adapt),
                               .stride = dm_slot_stride(plan->slot_size),
                               .cookie = DM_COOKIE_SHARED};

    if (conn->who.foreign != NULL || dm_receives_why_own(ia) != NULL)
        return false;
    return ia->memory.srq != NULL || dm_rail_srq_make(ia, &want) == DM_OK;
}
