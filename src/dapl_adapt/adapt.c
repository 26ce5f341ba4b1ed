/*
 * Start and stop of the layer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/close.h"
#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/part.h"
#include "dapl_adapt/conn/proc.h"
#include "dapl_adapt/conn/progress.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/mem_pinned.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/attach.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/walk.h"
#include "dapl_adapt/open_arena.h"
#include "dapl_adapt/open_rails.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/progress/relay.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/peer.h"
#include "dapl_adapt/public/pipe.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/start.h"
#include "dapl_adapt/rma/atomic.h"
#include "dapl_adapt/rma/value.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "dapl_adapt/rma/rma.h"
#include "dapl_adapt/virtual_time.h"
#include "util/arena.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/hash.h"
#include "util/list.h"
#include "util/rndv.h"

#define DEMAND_SIZE 8 /* more processes than this: connections are made on demand */

#define FLUSH_NS     UINT64_C(1000000000)
#define OPEN_WAIT_NS 1000000

static const struct dm_conn_ops conn_ops = {
    .serve = dm_adapt_serve,
    .open_late = dm_open_late,
    .part_begin = dm_part_begin,
    .part_left = dm_part_left,
    .part_hurry = dm_part_hurry,
    .drain = dm_poll_drain,
    .drain_all = dm_poll_drain_all,
    .pipe_prepare = dm_eager_prepare,
    .pipe_up = dm_eager_up,
    .pipe_part = dm_eager_part,
    .pipe_arrived = dm_eager_arrived,
    .rdma_push = dm_rdma_push,
    .rdma_requeue = dm_rdma_requeue,
    .rdma_is_wanted = dm_rdma_is_wanted,
    .rdma_is_starved = dm_rdma_is_starved,
    .rdma_is_idle = dm_rdma_is_idle,
    .rdma_fail = dm_rdma_fail,
    .rdma_break = dm_rdmaq_break,
};

static int open_check_settings(struct dm_adapt *adapt)
{
    const struct dm_cfg *cfg = dm_cfg();

    adapt->rings.is_auto_size = cfg->ring_slot_size == DM_CFG_AUTO_SIZE;
    adapt->rings.n_slots = cfg->ring_slots;
    adapt->rings.slot_size =
        adapt->rings.is_auto_size ? DM_RING_SIZE_LARGE : (uint32_t)cfg->ring_slot_size;
    adapt->rings.size_auto = DM_RING_SIZE_AUTO;
    if (cfg->chunk != DM_CFG_AUTO_SIZE) {
        if (!adapt->rings.is_auto_size && cfg->chunk > adapt->rings.slot_size)
            return DM_FAIL(DM_ECONFIG, "DATUM_CHUNK is %zu; it must be from %d to %u bytes%s",
                           cfg->chunk, DM_RING_SIZE_MIN, adapt->rings.slot_size,
                           ", which DATUM_RING_SLOT_SIZE is");
        if (cfg->chunk > adapt->rings.size_auto)
            adapt->rings.size_auto = (uint32_t)cfg->chunk;
        if (cfg->chunk > adapt->rings.slot_size)
            adapt->rings.slot_size = (uint32_t)cfg->chunk;
    }
    if (cfg->fin == DM_FIN_CHAINED && cfg->rndv != DM_RNDV_WRITE)
        return DM_FAIL(DM_ECONFIG,
                       "DATUM_FIN=chained is for RDMA writes, but DATUM_RNDV is %s; set "
                       "DATUM_RNDV=write, or unset DATUM_FIN",
                       dm_rndv_name((enum dm_rndv)cfg->rndv));
    if (cfg->srq && (cfg->eager == DM_EAGER_RDMA || cfg->eager == DM_EAGER_BASIC))
        return DM_FAIL(
            DM_ECONFIG,
            "DATUM_SRQ=yes has small messages sent into shared receives, but DATUM_EAGER=%s "
            "wants rings; set DATUM_EAGER=sendrecv, or unset DATUM_EAGER or DATUM_SRQ",
            cfg->eager == DM_EAGER_BASIC ? "basic" : "rdma");
    if (cfg->cq == DM_CQ_SHARED && cfg->progress == DM_PROGRESS_THREADS2)
        return DM_FAIL(
            DM_ECONFIG,
            "DATUM_CQ=shared cannot be with DATUM_PROGRESS=threads2, whose threads have a "
            "queue each; set DATUM_PROGRESS=thread, or unset DATUM_CQ");
    adapt->rings.is_basic = cfg->eager == DM_EAGER_BASIC;
    adapt->rings.wants_srq = cfg->srq && (unsigned)adapt->job.size >= cfg->srq_from;
    adapt->rings.stride = dm_slot_stride(adapt->rings.slot_size);
    return DM_OK;
}

static void open_init_shared(struct dm_adapt *adapt)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&adapt->shared.lock, NULL);
    pthread_mutex_init(&adapt->deferred.lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&adapt->shared.cond, &attr);
    pthread_condattr_destroy(&attr);
    dm_list_init(&adapt->shared.notes);
    dm_list_init(&adapt->poll.connecting);
    dm_list_init(&adapt->poll.datagrams.unread);
    dm_list_init(&adapt->poll.datagrams.blocked);
    dm_procs_init(adapt);
    dm_mem_pool_init(&adapt->mem.pool);
    adapt->mem.keeps_regs = dm_cfg()->reg_cache != DM_REG_CACHE_NO;
    dm_reg_cache_init(&adapt->mem.cache, adapt->mem.keeps_regs ? dm_cfg()->reg_cache_size : 0,
                      dm_cfg()->reg_cache == DM_REG_CACHE_EXACT ? DM_REG_EXACT
                      : dm_cfg()->reg_cache == DM_REG_CACHE_DME ? DM_REG_PAGE
                                                                : DM_REG_INTERVAL,
                      adapt->mem.page);
}

/* ---- connecting at start ---- */

static void open_wait(struct dm_adapt *adapt)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += OPEN_WAIT_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&adapt->shared.lock);
    if (dm_list_is_empty(&adapt->shared.notes))
        pthread_cond_timedwait(&adapt->shared.cond, &adapt->shared.lock, &until);
    pthread_mutex_unlock(&adapt->shared.lock);
}

/* First records arrive in the pipe; what follows them is left for later. */
static void open_take_first(struct dm_conn *conn)
{
    const void *data;

    if (conn->was_up && !conn->links->at[DM_LINK_PIPE].may_post)
        dm_adapt_eager_peek(conn, &data);
}

static int open_is_overdue(const struct dm_adapt *adapt, int proc, uint64_t deadline)
{
    if (dm_clock_ns() < deadline)
        return DM_OK;
    return DM_FAIL(DM_ECONN,
                   "%s did not connect within DATUM_TIMEOUT; did it start, and "
                   "does it use the same provider?",
                   dm_who(adapt, proc).text);
}

static int open_connect_one(struct dm_adapt *adapt, int proc)
{
    struct dm_conn *conn = dm_adapt_conn(adapt, proc);

    return conn == NULL ? DM_ENOMEM : dm_conn_start(conn, DM_LINK_PIPE);
}

/* Connect to all lower ranks, nearest first, while the higher ones connect to us. */
static int open_connect_all(struct dm_adapt *adapt)
{
    uint64_t timeout = dm_connect_time_us(adapt);
    uint64_t deadline =
        dm_cfg()->timeout == DM_CFG_AUTO ? UINT64_MAX : dm_clock_after(timeout + 1000000);
    struct dm_conn *conn;
    int n_done = 0;
    int err = DM_OK;

    for (int p = adapt->job.rank - 1; p >= 0 && err == DM_OK; p--)
        err = open_connect_one(adapt, p);
    while (err == DM_OK && n_done < adapt->job.size - 1) {
        if (dm_conn_progress(adapt) + dm_poll_drain(adapt) == 0)
            open_wait(adapt);
        n_done = 0;
        for (int p = 0; p < adapt->job.size && err == DM_OK; p++) {
            conn = dm_conn_find(adapt, p);
            if (conn == NULL) { /* nothing of a higher rank yet */
                if (p != adapt->job.rank)
                    err = open_is_overdue(adapt, p, deadline);
                continue;
            }
            open_take_first(conn);
            if (dm_conn_is_complete(conn))
                n_done++;
            else if (dm_conn_is_lost(conn))
                err = DM_FAIL(conn->loss.err, "%s", dm_conn_why(conn));
            else
                err = open_is_overdue(adapt, p, deadline);
        }
    }
    return err;
}

static int open_job(struct dm_adapt *adapt)
{
    int err = dm_open_rails(adapt, adapt->job.size - 1, dm_adapt_is_one_host(adapt));

    if (err == DM_OK) {
        dm_eager_datagrams_open(adapt); /* before others may look for them */
        err = dm_addr_publish(adapt);
    }
    if (err == DM_OK)
        err = dm_addr_oversubscribed(adapt, &adapt->is_oversubscribed);
    if (err == DM_OK)
        err = dm_open_use(adapt);
    if (err == DM_OK && !adapt->is_demand) {
        err = open_connect_all(adapt);
        if (!dm_open_may_failover(adapt))
            dm_open_stop_servers(adapt); /* all have come, and nobody comes again */
    }
    if (err == DM_OK)
        dm_open_late_plan(adapt);
    return err;
}

static void close_free_all(struct dm_adapt *adapt)
{
    dm_eager_datagrams_close(adapt);
    dm_open_stop_servers(adapt);
    dm_relay_stop(adapt);
    dm_conn_free_all(adapt);
    dm_atomic_free(adapt);
    dm_mem_pool_fini(adapt);
    dm_reg_cache_fini(&adapt->mem.cache);
    dm_mem_pinned_end(adapt);
    dm_open_close(adapt);
    dm_arena_close(&adapt->mem.arena);
    pthread_cond_destroy(&adapt->shared.cond);
    pthread_mutex_destroy(&adapt->shared.lock);
    free(adapt->virtual_nodes);
    free(adapt);
}

int dm_adapt_open(const struct dm_adapt_job *job, const struct dm_adapt_events *ev,
                  struct dm_adapt **adapt_p)
{
    struct dm_adapt *adapt = calloc(1, sizeof(*adapt));
    int err;

    if (adapt == NULL)
        return DM_FAIL(DM_ENOMEM, "the adaptation layer");
    adapt->job = *job;
    adapt->ev = *ev;
    adapt->ops = &conn_ops;
    adapt->self.job = dm_hash_text(DM_HASH_TEXT, job->name != NULL ? job->name : "");
    adapt->self.rank = (uint32_t)job->rank;
    adapt->mem.page = (size_t)sysconf(_SC_PAGESIZE);
    adapt->own_host = dm_addr_own_host(job->node_name);
    adapt->is_demand = dm_cfg()->connect == DM_CONNECT_DEMAND ||
                       (dm_cfg()->connect == DM_CONNECT_AUTO && job->size > DEMAND_SIZE);
    open_init_shared(adapt);
    if (job->size > 1)
        dm_procs_want_files(job->size);
    err = open_check_settings(adapt);
    if (err == DM_OK)
        err = dm_open_arena(adapt);
    if (err == DM_OK)
        err = dm_open_conf(adapt);
    if (err == DM_OK)
        err = dm_conn_init_all(adapt);
    if (err == DM_OK && job->size > 1)
        err = open_job(adapt);
    if (err == DM_OK && job->size > 1)
        err = dm_virtual_begin(adapt);
    if (err != DM_OK) {
        close_free_all(adapt);
        return err;
    }
    *adapt_p = adapt;
    return DM_OK;
}

void dm_adapt_quiesce(struct dm_adapt *adapt)
{
    adapt->is_quiet = true;
}

/* The peer has left, or has all that we have sent. */
static bool close_is_flushed(const struct dm_conn *conn)
{
    const struct dm_tx *tx = &conn->tx;

    if (dm_conn_is_lost(conn) ||
        (!dm_conn_is_moving(conn) && tx->n_redo == 0 && tx->n_posted + tx->n_extra == tx->sq.done))
        return true;
    return atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire) != 0;
}

/* What we sent last may still be on its way: the peer's barrier may wait for it. */
static void close_flush_all(struct dm_adapt *adapt)
{
    uint64_t deadline = dm_clock_ns() + FLUSH_NS;
    struct dm_conn *conn;
    int n_left = adapt->poll.n_active;
    bool is_first = true;

    for (int i = 0; i < adapt->poll.n_active; i++)
        dm_eager_flush(adapt->poll.active[i]);
    while (n_left > 0 && dm_clock_ns() < deadline) {
        if (dm_poll_drain(adapt) == 0 && !is_first)
            sched_yield(); /* a provider's thread may have to run, to say that a peer has left */
        is_first = false;
        if (adapt->poll.n_moving > 0) {
            dm_poll_rare(adapt);
            dm_conn_progress(adapt);
        }
        n_left = 0;
        for (int i = 0; i < adapt->poll.n_active; i++) {
            conn = adapt->poll.active[i];
            n_left += !close_is_flushed(conn);
        }
    }
}

int dm_adapt_close(struct dm_adapt *adapt)
{
    dm_adapt_quiesce(adapt);
    close_flush_all(adapt);
    dm_virtual_end(adapt);
    close_free_all(adapt);
    return DM_OK;
}
