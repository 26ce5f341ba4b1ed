/*
 * How large messages travel: read by RDMA, or copied through the pipe. Which is faster
 * depends on the provider in select that its attributes do not tell, so it is measured
 * at the first large message, once per rail, in well under a millisecond: reads of plain
 * memory that every process offers for it, writes to a spare slot of the peer's
 * ring, and the receiver's copy. What takes longer than the limit, several times, is a
 * network, where reading wins by sparing two copies.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "dapl_adapt/provider/rndv_select.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/peer.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/port.h"

_Static_assert(DM_PROBE_DESCS >= DM_RDMAQ_REQS, "a descriptor for each request of a link");

#define ROUNDS   3       /* after one that warms up */
#define TRIES    3       /* a busy machine may have interrupted the first one */
#define LIMIT_NS 1000000 /* for each of the two */
#define PIPE_FACTOR                                                                                \
    2.5 /* lines go from core to core, which a lone writer on one slot does not see */
#define CROWD_FACTOR 4.0 /* and processes take turns */

#define SPLIT_LEAST    ((size_t)48 << 10) /* bytes; two packets more have to be worth it */
#define SPLIT_LEAST_NS 20000              /* that the peer has to go on polling */

/* A transfer to be timed: reads from the peer's probe memory, or writes to its spare slot. */
struct move {
    struct dm_conn *conn;
    uint64_t remote;
    DAT_RMR_CONTEXT ctx;
    uint64_t limit; /* when it takes too long */
    bool is_read;
};

static bool probe_post(void *arg, uint32_t offset, uint32_t len)
{
    const struct move *move = arg;
    struct dm_conn *conn = move->conn;
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_link *link = &conn->links->at[DM_LINK_RDMA];
    struct dm_rdmaq *rdmaq = &conn->links->rdmaq[0];
    uint32_t place = conn->ia->rndv.n_descs % DM_PROBE_DESCS;
    DAT_LMR_TRIPLET *lmr = &conn->ia->rndv.descs[place].lmr;
    DAT_RMR_TRIPLET *rmr = &conn->ia->rndv.descs[place].rmr;
    DAT_DTO_COOKIE cookie = dm_cookie(DM_COOKIE_PROBE, link,
                                      (uint32_t)link->kind << 16 | place << DM_COOKIE_PLACE |
                                          (move->is_read ? DM_COOKIE_READ : 0));
    DAT_EP_HANDLE ep = link->ep;
    DAT_RETURN rc;

    if (!link->may_post || rdmaq->rq_used >= rdmaq->rq_size ||
        (move->is_read && rdmaq->n_reads >= rdmaq->max_reads))
        return false;
    lmr->virtual_address =
        (DAT_VADDR)(uintptr_t)(adapt->mem.probe + (move->is_read ? DM_PROBE_LEN : 0));
    lmr->segment_length = len;
    lmr->lmr_context = adapt->mem.probe_lmr[conn->ia->index].lctx;
    rmr->virtual_address = move->is_read ? move->remote + offset : move->remote;
    rmr->segment_length = len;
    rmr->rmr_context = move->ctx;
    dm_serial_enter(conn->ia->is_serial);
    rc = move->is_read
             ? DAT_EP_POST_RDMA_READ(ep, 1, lmr, cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG)
             : DAT_EP_POST_RDMA_WRITE(ep, 1, lmr, cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(conn->ia->is_serial);
    if (rc != DAT_SUCCESS)
        return false;
    conn->ia->rndv.n_descs++;
    rdmaq->rq_used++;
    rdmaq->n_reads += move->is_read;
    conn->ia->n_signalled++;
    conn->ia->n_probes++;
    *(move->is_read ? &conn->ia->counts.n_reads : &conn->ia->counts.n_writes) += 1;
    return true;
}

static bool probe_drain(void *arg)
{
    const struct move *move = arg;
    struct dm_conn *conn = move->conn;

    while (conn->ia->n_probes > 0) {
        conn->adapt->ops->drain(conn->adapt);
        if (dm_conn_is_lost(conn) || dm_clock_ns() > move->limit)
            return false;
    }
    return true;
}

/* Nanoseconds of moving DM_PROBE_LEN bytes in pieces; 0 when it takes too long. */
static uint64_t probe_time_transfers(struct dm_conn *conn, bool is_read, uint64_t remote,
                                     DAT_RMR_CONTEXT ctx, uint32_t piece)
{
    struct move move = {conn, remote, ctx, dm_clock_ns() + LIMIT_NS, is_read};
    struct dm_probe_mover mover = {&move, probe_post, probe_drain};

    return dm_probe_time(&mover, DM_PROBE_LEN, piece, ROUNDS);
}

/* The receiver's part: from slots to the program's memory. */
static uint64_t probe_time_copy(struct dm_conn *conn, uint32_t piece)
{
    const struct dm_adapt *adapt = conn->adapt;
    const char *spare = conn->region.ptr + dm_region_spare(conn->ring.n_slots, conn->ring.stride);
    uint64_t best = UINT64_MAX;
    uint64_t start;
    uint64_t took;

    for (int i = 0; i <= ROUNDS; i++) {
        start = dm_clock_ns();
        for (uint32_t done = 0; done < DM_PROBE_LEN; done += piece)
            memcpy(adapt->mem.probe + DM_PROBE_LEN + done, spare, piece);
        took = dm_clock_ns() - start;
        if (i > 0 && took < best)
            best = took;
    }
    return best;
}

/* Two processes of this host, each with a core: who posts a transfer copies. */
static bool rndv_both_copy(const struct dm_conn *conn)
{
    return conn->ia->caps.is_local && !conn->ia->caps.has_clock && !dm_ia_is_software(conn->ia) &&
           !conn->adapt->is_oversubscribed;
}

static void rndv_measure(struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    struct dm_ia *ia = conn->ia;
    uint64_t spare = conn->ctl_remote + dm_region_spare(conn->ring.n_slots, conn->ring.stride);
    uint32_t piece = 64;
    uint64_t read;
    uint64_t write = 0;
    uint64_t copy = 0;
    double pipe;

    while (piece * 2 <= conn->ring.slot_size && piece < DM_PROBE_LEN)
        piece *= 2;
    if (++ia->rndv.n_measured >= TRIES)
        ia->rndv.choice = DM_RNDV_READ;
    if (conn->peer_probe.addr == 0 || adapt->mem.probe_lmr[ia->index].handle == DAT_HANDLE_NULL)
        return; /* no memory to measure with on one side */
    read =
        probe_time_transfers(conn, true, conn->peer_probe.addr, conn->peer_probe.ctx, DM_PROBE_LEN);
    if (read > 0)
        write = probe_time_transfers(conn, false, spare, conn->tx.rctx, piece);
    if (write == 0)
        return;
    copy = probe_time_copy(conn, piece);
    pipe = (double)(write + copy) * (adapt->is_oversubscribed ? CROWD_FACTOR : PIPE_FACTOR);
    ia->rndv.choice = pipe < (double)read ? DM_RNDV_PIPE : DM_RNDV_READ;
    dm_rndv_select_init(&ia->rndv.select, DM_PROBE_LEN / (double)read, DM_PROBE_LEN / pipe,
                        rndv_both_copy(conn), dm_clock_ns());
    DM_TRACE(RNDV, "%s reads %.1f GB/s, pipe %.1f GB/s", ia->name, DM_PROBE_LEN / (double)read,
             DM_PROBE_LEN / pipe);
}

enum dm_rndv dm_adapt_rndv(struct dm_conn *conn)
{
    if (dm_cfg()->rndv != DM_RNDV_AUTO)
        return (enum dm_rndv)dm_cfg()->rndv;
    if (!conn->was_up || dm_conn_is_lost(conn))
        return DM_RNDV_READ;
    if (dm_unlikely(conn->ia->rndv.choice == DM_RNDV_AUTO)) {
        if (conn->ring.has_srq || conn->ring.peer_has_srq) /* no ring to measure with */
            return DM_RNDV_READ;
        if (!conn->links->at[DM_LINK_RDMA].may_post) { /* on demand: there by the next one */
            dm_conn_start(conn, DM_LINK_RDMA);
            return DM_RNDV_READ;
        }
        if (conn->ia->n_probes == 0)
            rndv_measure(conn);
    }
    return conn->ia->rndv.choice == DM_RNDV_PIPE && !conn->ia->rndv.select.is_on ? DM_RNDV_PIPE
                                                                                 : DM_RNDV_READ;
}

/* Is it chosen by what was measured? Until it is up the server's thread may be giving the connection its rail. */
static bool rndv_is_selected(const struct dm_conn *conn)
{
    return dm_cfg()->rndv == DM_RNDV_AUTO && conn->was_up && conn->ia->rndv.select.is_on;
}

/*
 * Did another peer send the long message before this one, where processes take turns? Then the pipe's two sides
 * rarely run at the same time: it costs a second copy, and a ring for each of the peers.
 */
static bool rndv_is_by_turns(struct dm_conn *conn)
{
    const struct dm_conn *last = conn->ia->rndv.last;

    conn->ia->rndv.last = conn;
    return conn->adapt->is_oversubscribed && last != conn;
}

enum dm_rndv dm_adapt_rndv_begin(struct dm_conn *conn, size_t len, struct dm_rndv_select **select_p)
{
    enum dm_rndv proto = dm_adapt_rndv(conn);

    if (proto != DM_RNDV_READ || !rndv_is_selected(conn) || rndv_is_by_turns(conn))
        return proto;
    *select_p = &conn->ia->rndv.select;
    return dm_rndv_select_begin(*select_p, len, false, dm_clock_ns());
}

enum dm_rndv dm_adapt_rndv_exchange(struct dm_conn *conn, size_t len, enum dm_rndv agreed,
                                    struct dm_rndv_select **select_p)
{
    enum dm_rndv proto = dm_adapt_rndv(conn);

    /* Both sides copy in either way. */
    if (proto != DM_RNDV_READ || !rndv_is_selected(conn) || rndv_is_by_turns(conn) ||
        conn->adapt->is_oversubscribed)
        return proto;
    if (agreed != DM_RNDV_AUTO) {
        dm_rndv_select_follow(&conn->ia->rndv.select, len, agreed);
        return agreed;
    }
    *select_p = &conn->ia->rndv.select;
    return dm_rndv_select_begin(*select_p, len, true, dm_clock_ns());
}

enum dm_rndv dm_adapt_rndv_in_exchange(const struct dm_conn *conn, size_t len)
{
    return rndv_is_selected(conn) ? dm_rndv_select_now(&conn->ia->rndv.select, len) : DM_RNDV_AUTO;
}

void dm_adapt_rndv_end(struct dm_rndv_select *select, enum dm_rndv proto, size_t len)
{
    dm_rndv_select_end(select, proto, len, dm_clock_ns());
}

bool dm_adapt_rndv_may_split(const struct dm_conn *conn, size_t len, uint64_t polls_until)
{
    if (len < SPLIT_LEAST || polls_until == 0 || dm_cfg()->rndv != DM_RNDV_AUTO)
        return false;
    if (!conn->was_up || dm_conn_is_lost(conn) || !conn->links->at[DM_LINK_RDMA].may_post)
        return false;
    return conn->ia->rndv.select.is_on && rndv_both_copy(conn) &&
           dm_clock_ns() + SPLIT_LEAST_NS < polls_until;
}
