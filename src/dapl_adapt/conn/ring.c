/*
 * The size of a connection's rings. The settings are what is asked for; an endpoint's receive
 * queue, the event queue and the memory that may be locked can make it less. Rings are halved until
 * they fit, and the two ends of a connection agree on the smaller of what they have (in the private
 * data), so a region may be larger than what is used of it.
 */
#include "dapl_adapt/conn/ring.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/region.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"
#include "util/port.h"

#define SLOTS_LOW   16   /* from here on slots get smaller rather than fewer */
#define SIZE_LOW    1024 /* and from here on fewer again */
#define RDMA_REQS   64
#define MEMORY_PART 16 /* of physical memory: rings of all processes of a host together */

static DM_THREAD_LOCAL bool is_growth_forbidden;

static void ring_set(struct dm_conn *conn, uint32_t n_slots, uint32_t slot_size)
{
    conn->ring.n_slots = n_slots;
    conn->ring.slot_size = slot_size;
    conn->ring.stride = dm_slot_stride(slot_size);
}

void dm_ring_agree(struct dm_conn *conn, uint32_t n_slots, uint32_t slot_size)
{
    ring_set(conn, n_slots < conn->ring.n_slots ? n_slots : conn->ring.n_slots,
             slot_size < conn->ring.slot_size ? slot_size : conn->ring.slot_size);
}

bool dm_ring_is_sane(const struct dm_adapt *adapt, uint32_t n_slots, uint32_t slot_size)
{
    return n_slots >= DM_RING_SLOTS_MIN && n_slots <= adapt->rings.n_slots &&
           slot_size >= DM_RING_SIZE_MIN && slot_size <= adapt->rings.slot_size;
}

/* Half of it; false when it is as small as it may be. */
static bool ring_halve(struct dm_conn *conn)
{
    uint32_t n = conn->ring.n_slots;
    uint32_t size = conn->ring.slot_size;

    if (n > SLOTS_LOW)
        n = n / 2 < SLOTS_LOW ? SLOTS_LOW : n / 2;
    else if (size > SIZE_LOW)
        size = size / 2 < SIZE_LOW ? SIZE_LOW : size / 2;
    else if (n > DM_RING_SLOTS_MIN)
        n = n / 2 < DM_RING_SLOTS_MIN ? DM_RING_SLOTS_MIN : n / 2;
    else if (size > DM_RING_SIZE_MIN)
        size = size / 2 < DM_RING_SIZE_MIN ? DM_RING_SIZE_MIN : size / 2;
    else
        return false;
    ring_set(conn, n, size);
    return true;
}

static uint32_t ring_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What the settings, the tuning file and the provider's queues allow. */
static void ring_begin(struct dm_conn *conn, const struct dm_ia *ia)
{
    const struct dm_adapt *adapt = conn->adapt;
    uint32_t n = adapt->rings.n_slots;
    uint32_t most = ia->limits.max_recv > DM_RING_SLOTS_MIN + 2 ? (uint32_t)ia->limits.max_recv - 2
                                                                : DM_RING_SLOTS_MIN;

    if (n > most)
        n = most;
    most = ia->depth.space > 0 ? (uint32_t)ia->depth.space / 2 / DM_RING_EVENTS : 0;
    if (n > most)
        n = most > DM_RING_SLOTS_MIN ? most : DM_RING_SLOTS_MIN;
    ring_set(conn, n, adapt->rings.slot_size);
    if (adapt->rings.is_auto_size && !dm_ia_is_software(ia))
        ring_set(conn, n, adapt->rings.size_auto);
    else if (adapt->rings.is_auto_size && n > SLOTS_LOW)
        ring_set(conn, n / 2 < SLOTS_LOW ? SLOTS_LOW : n / 2, adapt->rings.slot_size);
    if (adapt->rings.is_auto_size && ia->tuned != NULL && ia->tuned->ring_slot_size > 0)
        ring_set(conn, ring_least(n, ia->tuned->ring_slots > 0 ? ia->tuned->ring_slots : n),
                 ring_least(adapt->rings.slot_size, (uint32_t)ia->tuned->ring_slot_size));
    if (conn->ring.has_srq)
        ring_set(conn, ring_least(n, adapt->rings.srq.n_slots), adapt->rings.srq.slot_size);
}

void dm_ring_forbid_growth(void)
{
    is_growth_forbidden = true;
}

/* Events of a connection with rings as the settings have them. */
static int ring_events(const struct dm_ia *ia)
{
    return DM_RING_EVENTS * (int)ia->adapt->rings.n_slots + RDMA_REQS;
}

/* Would the rings of the next connection be smaller for want of space for events? */
static bool ring_lacks_events(const struct dm_ia *ia)
{
    return ia->depth.space < 2 * ring_events(ia) + 2 * RDMA_REQS;
}

bool dm_ring_has_to_wait(const struct dm_ia *ia)
{
    return is_growth_forbidden && ring_lacks_events(ia) && ia->depth.max > ia->depth.len;
}

/*
 * Space for the events of half as many connections as there are, since the server's thread makes some
 * before this one looks again. It makes no space itself, as others take events off the queue meanwhile.
 */
void dm_ring_grow(struct dm_ia *ia)
{
    int need, len = 2 * ia->depth.len;
    DAT_RETURN rc;

    if (is_growth_forbidden || ia->depth.max <= ia->depth.len)
        return;
    need = (2 + ia->adapt->poll.n_active / 2) * ring_events(ia) + 2 * RDMA_REQS;
    if (ia->depth.space >= need)
        return;
    if (len < ia->depth.len + need)
        len = ia->depth.len + need;
    if (len > ia->depth.max)
        len = ia->depth.max;
    dm_serial_enter(ia->is_serial);
    rc = dat_evd_resize(ia->dto_evd, len);
    if (rc == DAT_SUCCESS && ia->recv_evd != ia->dto_evd)
        rc = dat_evd_resize(ia->recv_evd, len);
    dm_serial_leave(ia->is_serial);
    DM_TRACE(DAT, "%s: %d events: %s", ia->name, len, dm_dat_text(rc));
    if (rc != DAT_SUCCESS)
        return; /* the next one tries again */
    ia->depth.space += len - ia->depth.len;
    ia->depth.len = len;
}

static size_t ring_region_len(const struct dm_conn *conn)
{
    if (conn->ring.has_srq)
        return dm_region_out_end(conn->ring.n_slots, conn->ring.stride, true);
    return dm_region_len(conn->ring.n_slots, conn->ring.stride) +
           (conn->adapt->rings.is_basic ? dm_region_heads_len(conn->ring.n_slots) : 0);
}

/* Within its share of the memory that may be locked, so that later connections have theirs. */
static void ring_keep_to_share(struct dm_conn *conn, const struct dm_ia *ia)
{
    const struct dm_adapt *adapt = conn->adapt;

    if (!ia->caps.is_pinning || adapt->rings.ring_share == 0)
        return;
    while (ring_region_len(conn) > adapt->rings.ring_share && ring_halve(conn))
        ;
}

void dm_ring_lock_text(char *text, size_t len)
{
    struct rlimit lim;

    if (getrlimit(RLIMIT_MEMLOCK, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY)
        snprintf(text, len, "no limit of locked memory is set");
    else
        snprintf(text, len, "the limit of locked memory (ulimit -l) is %llu KiB",
                 (unsigned long long)lim.rlim_cur / 1024);
}

static int ring_too_little(const struct dm_conn *conn, const struct dm_ia *ia)
{
    char limit[96];

    dm_ring_lock_text(limit, sizeof(limit));
    return DM_FAIL(DM_EPROVIDER,
                   "%s cannot register %zu bytes, the smallest ring for %s; %s on host %s: "
                   "raise it to %zu KiB or more (ulimit -l, memlock in /etc/security/limits.conf, "
                   "LimitMEMLOCK= of the service that starts jobs)",
                   ia->name, ring_region_len(conn), dm_who(conn->adapt, conn->proc).text, limit,
                   dm_host_name(), dm_ring_wanted(conn->adapt) / 1024);
}

/* How many peers may follow whose regions stay with this rail. */
static int ring_n_more(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;

    return adapt->rails.n_ias == 1 && adapt->job.n_local > 2 ? adapt->job.n_local - 2 : 0;
}

int dm_ring_make(struct dm_conn *conn, struct dm_ia *ia, uint32_t most_slots, uint32_t most_size)
{
    uint32_t asked;
    int err;

    dm_ring_grow(ia);
    ring_begin(conn, ia);
    if (most_slots > 0)
        dm_ring_agree(conn, most_slots, most_size);
    asked = conn->ring.n_slots * conn->ring.slot_size;
    ring_keep_to_share(conn, ia);
    do
        err = dm_region_alloc(ia, &conn->adapt->mem.arena, ring_region_len(conn), ring_n_more(conn),
                              &conn->region);
    while (err == DM_EAGAIN && ring_halve(conn));
    if (err == DM_EAGAIN)
        err = ring_too_little(conn, ia);
    if (err != DM_OK)
        return err;
    /* what is left is shared with those to come */
    conn->rq_size = ia->depth.space / 4 < RDMA_REQS ? ia->depth.space / 4 : RDMA_REQS;
    if (conn->rq_size < 1)
        conn->rq_size = 1;
    if (conn->rq_size > ia->limits.max_req)
        conn->rq_size = ia->limits.max_req;
    conn->ring.n_events = DM_RING_EVENTS * (int)conn->ring.n_slots + conn->rq_size;
    ia->depth.space -= conn->ring.n_events;
    if (conn->ring.n_slots * conn->ring.slot_size < asked) {
        conn->adapt->rings.is_short = true;
        DM_TRACE(REG, "rank %d: rings of %u slots of %u bytes only", conn->proc, conn->ring.n_slots,
                 conn->ring.slot_size);
    }
    return DM_OK;
}

size_t dm_ring_wanted(const struct dm_adapt *adapt)
{
    uint32_t size = adapt->rings.is_auto_size ? adapt->rings.size_auto : adapt->rings.slot_size;
    size_t one = dm_region_len(adapt->rings.n_slots, dm_slot_stride(size));
    size_t n = adapt->job.size > 1 ? (size_t)adapt->job.size - 1 : 1;

    return one * (n < DM_RING_SHARES ? n : DM_RING_SHARES) * 2 + (size_t)2 * DM_PROBE_LEN;
}

/* What rings may pin of this host's memory without anybody having set a limit. */
static size_t ring_memory_share(const struct dm_adapt *adapt)
{
    long n_pages = sysconf(_SC_PHYS_PAGES);
    size_t n_local = adapt->job.n_local > 0 ? (size_t)adapt->job.n_local : 1;

    if (n_pages <= 0)
        return SIZE_MAX;
    return (size_t)n_pages * adapt->mem.page / MEMORY_PART / n_local;
}

void dm_ring_plan(struct dm_adapt *adapt)
{
    size_t n = adapt->job.size > 1 ? (size_t)adapt->job.size - 1 : 1;
    struct rlimit lim;

    adapt->rings.ring_share = ring_memory_share(adapt) / n;
    if (getrlimit(RLIMIT_MEMLOCK, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY || dm_host_may_lock())
        return;
    adapt->rings.lock_max = (size_t)lim.rlim_cur;
    if (adapt->is_demand && n > DM_RING_SHARES)
        n = DM_RING_SHARES; /* few of many are used; who comes later finds less */
    if (adapt->rings.lock_max / 2 / n < adapt->rings.ring_share)
        adapt->rings.ring_share = adapt->rings.lock_max / 2 / n;
}
