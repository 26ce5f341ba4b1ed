/*
 * Opening rails: at start those that the job needs, the others when processes of other jobs come, and those
 * that did not open when they do.
 *
 * Rails keep their places: what comes later stands behind. A job on one host goes on with what both ends
 * of a connection had when they began; between hosts the peers are told (dm_adapt_joined), and connections
 * have the rail behind theirs: for shares of transfers, and to move to when the others break.
 */
#include "dapl_adapt/open_rails.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/proc.h"
#include "dapl_adapt/conn/receives.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/conn/server.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/mem_pinned.h"
#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "dapl_adapt/provider/probe_loop.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/proc.h"
#include "dapl_adapt/virtual_time.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

#define LATE_DOUBLINGS 5
#define LATE_MOST_US   (UINT64_C(1) << 40)

#define SERVE_PEERS 8 /* of other jobs, that room is made for */
/* Lockable bytes from which on measuring is worth its memory. */
#define PROBE_LOCK_MIN ((size_t)4 << 20)
#define PROBE_NS       UINT64_C(20000000)

/* ---- memory that every process offers ---- */

/* A piece of plain memory for peers to read while they measure; without it they do not. */
static int open_offer_probe(struct dm_adapt *adapt, struct dm_ia *ia)
{
    int err;

    if (ia->caps.is_pinning && adapt->rings.lock_max > 0 && adapt->rings.lock_max < PROBE_LOCK_MIN)
        return DM_OK; /* rings need it more */
    err = dm_lmr_create(ia, adapt->mem.probe, (size_t)2 * DM_PROBE_LEN, -1,
                        &adapt->mem.probe_lmr[ia->index]);
    return err == DM_EAGAIN ? DM_OK : err;
}

static int open_give_memory(struct dm_adapt *adapt, struct dm_ia *ia)
{
    adapt->mem.is_pinning |= ia->caps.is_pinning;
    if (adapt->mem.is_pinning)
        dm_mem_pinned_begin(adapt);
    return open_offer_probe(adapt, ia);
}

static int open_memory(struct dm_adapt *adapt)
{
    int err = DM_OK;

    adapt->mem.probe = aligned_alloc(adapt->mem.page, (size_t)2 * DM_PROBE_LEN);
    if (adapt->mem.probe == NULL)
        return DM_FAIL(DM_ENOMEM, "measuring buffer");
    memset(adapt->mem.probe, 0, (size_t)2 * DM_PROBE_LEN);
    dm_ring_plan(adapt);
    dm_receives_plan(adapt);
    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++)
        err = open_give_memory(adapt, adapt->rails.ias[i]);
    return err;
}

/* ---- servers, and the end ---- */

void dm_open_stop_servers(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++)
        dm_conn_unserve(adapt->rails.ias[i]);
}

void dm_open_close(struct dm_adapt *adapt)
{
    dm_open_stop_servers(adapt);
    for (int i = 0; i < adapt->rails.n_ias; i++)
        dm_lmr_free(&adapt->mem.probe_lmr[i]);
    dm_rails_close(&adapt->rails);
    free(adapt->mem.probe);
    adapt->mem.probe = NULL;
}

bool dm_open_may_failover(const struct dm_adapt *adapt)
{
    return dm_cfg()->reconnect > 0 && !dm_conn_has_values() &&
           (adapt->rails.n_ias > 1 || !adapt->rails.ias[0]->caps.is_local);
}

/* ---- finding out ---- */

/* DATUM_RNDV=imm is only for providers that can do it, which is tried. */
static int rail_check_immediate(struct dm_ia *ia)
{
    if (dm_cfg()->rndv != DM_RNDV_IMM || dm_probe_immediate(ia))
        return DM_OK;
    return DM_FAIL(DM_ECONFIG,
                   "DATUM_RNDV=imm cannot work with %s, where an RDMA write with an "
                   "immediate value was tried in vain; use DATUM_RNDV=write",
                   ia->name);
}

/* Rings need the last byte of a write last; a provider that says nothing of it is tried. */
static int rail_check_rings(const struct dm_adapt *adapt, struct dm_ia *ia)
{
    if (adapt->rings.wants_sendrecv)
        return DM_OK;
    if (ia->caps.last_byte == DM_LAST_UNKNOWN && dm_cfg()->eager == DM_EAGER_AUTO)
        ia->caps.last_byte = dm_probe_last_byte(ia, PROBE_NS);
    ia->caps.needs_sendrecv |= ia->caps.last_byte == DM_LAST_IS_EARLY;
    if (ia->caps.last_byte == DM_LAST_IS_EARLY && dm_cfg()->eager != DM_EAGER_AUTO)
        return DM_FAIL(DM_ECONFIG,
                       "DATUM_EAGER=%s cannot work with %s, which says that it does not place "
                       "the last byte of a write last; unset DATUM_EAGER",
                       adapt->rings.is_basic ? "basic" : "rdma", ia->name);
    if (ia->caps.is_late && adapt->rings.is_basic)
        return DM_FAIL(DM_ECONFIG,
                       "DATUM_EAGER=basic cannot work with %s, an iWARP provider, which may "
                       "place one write before another; use DATUM_EAGER=rdma",
                       ia->name);
    return DM_OK;
}

/* Processes without a core of their own sleep; on one host they notify each other: it costs a message. */
static int rail_check(const struct dm_adapt *adapt, struct dm_ia *ia)
{
    int err;

    if (dm_cfg()->eager == DM_EAGER_AUTO)
        ia->caps.needs_sendrecv |= adapt->is_oversubscribed && !ia->caps.is_local;
    err = rail_check_rings(adapt, ia);
    return err == DM_OK ? rail_check_immediate(ia) : err;
}

/* Collectives take what was tuned for the rail that reaches all. */
static int open_choose_coll(struct dm_adapt *adapt)
{
    const struct dm_ia *ia = adapt->rails.n_ias > 0 ? adapt->rails.ias[0] : NULL;

    if (adapt->job.choose_coll == NULL)
        return DM_OK;
    for (int i = 0; i < adapt->rails.n_ias && !dm_adapt_is_one_host(adapt) && ia->caps.is_local;
         i++)
        ia = adapt->rails.ias[i];
    return adapt->job.choose_coll(ia != NULL ? ia->tuned : NULL, &adapt->coll_hash);
}

/* Sleeps that end by time alone must not take the cores from those who work: so many of a
 * millisecond are nothing to a core. */
static uint32_t open_turns(const struct dm_adapt_job *job)
{
    enum { PER_CORE = 8 };
    int n_cores = job->n_cores > 0 ? job->n_cores : dm_host_cores();
    int turns = job->n_local / (PER_CORE * n_cores);

    return turns < 1 ? 1 : turns < DM_TURNS_MAX ? (uint32_t)turns : DM_TURNS_MAX;
}

/* ---- opening ---- */

int dm_open_rails(struct dm_adapt *adapt, int n_peers, bool is_one_host)
{
    int err = dm_rails_open(&adapt->rails, n_peers, (int)adapt->rings.n_slots, is_one_host);

    if (err == DM_OK)
        err = dm_virtual_prepare(adapt);
    if (err == DM_OK)
        err = open_choose_coll(adapt);
    if (err == DM_OK)
        err = open_memory(adapt);
    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++)
        adapt->rails.ias[i]->adapt = adapt;
    adapt->rings.wants_sendrecv = dm_cfg()->eager == DM_EAGER_SENDRECV || adapt->rings.wants_srq;
    return err;
}

/* How to sleep in them. */
static void open_sleep(struct dm_adapt *adapt)
{
    const struct dm_cfg *cfg = dm_cfg();

    adapt->sleep.turns = open_turns(&adapt->job);
    adapt->sleep.can_notify = adapt->is_oversubscribed || cfg->progress == DM_PROGRESS_WAIT ||
                              cfg->progress >= DM_PROGRESS_THREAD;
    dm_rails_see_wakes(&adapt->rails);
}

/* All that have none get a server. */
static int open_serve(struct dm_adapt *adapt)
{
    int err = DM_OK;

    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++)
        err = dm_conn_serve(adapt->rails.ias[i]);
    return err;
}

int dm_open_use(struct dm_adapt *adapt)
{
    int err = DM_OK;

    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++)
        err = rail_check(adapt, adapt->rails.ias[i]);
    if (err != DM_OK)
        return err;
    open_sleep(adapt);
    return open_serve(adapt);
}

/* A job of one needs no provider, but a wrong name is still wrong. */
int dm_open_conf(struct dm_adapt *adapt)
{
    int err = dm_conf_load(&adapt->rails.conf);

    return err == DM_OK ? dm_conf_select(&adapt->rails.conf, dm_cfg()->provider) : err;
}

/* ---- rails for other jobs ---- */

/* A job of one opens its rails when others are to be met. What fails leaves it as it was. */
static int serve_alone(struct dm_adapt *adapt)
{
    int err = adapt->rails.conf.n_entries > 0 ? DM_OK : dm_open_conf(adapt);

    if (err == DM_OK)
        err = dm_open_rails(adapt, SERVE_PEERS, false);
    for (int i = 0; i < adapt->rails.n_ias && err == DM_OK; i++)
        err = dm_mem_extend(adapt, adapt->rails.ias[i]);
    if (err == DM_OK)
        err = dm_open_use(adapt);
    for (int i = 0; i < adapt->rails.n_ias && err != DM_OK; i++)
        dm_mem_withdraw(adapt, i);
    if (err != DM_OK)
        dm_open_close(adapt);
    return err;
}

/* A rail behind those that are in use: it gets what they have of this process' memory. */
static int serve_prepare(struct dm_adapt *adapt, struct dm_ia *ia)
{
    int err;

    ia->adapt = adapt;
    err = rail_check(adapt, ia);
    if (err == DM_OK)
        err = open_give_memory(adapt, ia);
    if (err == DM_OK)
        err = dm_mem_extend(adapt, ia);
    return err;
}

/*
 * `more` has rails behind those that are in use: use them, too. One that cannot be used is left out, and
 * why is kept: perhaps nobody needs it.
 */
static void open_take(struct dm_adapt *adapt, struct dm_rails *more)
{
    int n = adapt->rails.n_ias;

    for (int i = n; i < more->n_ias; i++) {
        struct dm_ia *ia = more->ias[i];

        ia->index = n;
        if (serve_prepare(adapt, ia) == DM_OK) {
            more->ias[n++] = ia;
            continue;
        }
        dm_rails_add_refused(more, ia->name, dm_err_detail());
        dm_mem_withdraw(adapt, n);
        dm_lmr_free(&adapt->mem.probe_lmr[n]);
        dm_ia_close(ia);
    }
    more->n_ias = n;
    dm_rails_see_wakes(more);
    pthread_mutex_lock(&adapt->shared.lock);
    adapt->rails = *more;
    pthread_mutex_unlock(&adapt->shared.lock);
    for (int side = 0; side < DM_SIDES; side++) /* who sleeps knows the old ones only */
        dm_rails_wake(&adapt->rails, (enum dm_side)side);
}

/* Those that a job on one host has not needed. */
static void serve_others(struct dm_adapt *adapt)
{
    struct dm_rails more = adapt->rails;

    dm_rails_open_others(&more, SERVE_PEERS);
    open_take(adapt, &more);
}

int dm_adapt_serve(struct dm_adapt *adapt)
{
    int err = DM_OK;

    if (adapt->procs.is_serving)
        return DM_OK;
    dm_procs_want_files(SERVE_PEERS);
    if (adapt->rails.n_ias == 0)
        err = serve_alone(adapt);
    else if (adapt->rails.is_one_host && !adapt->rails.is_named)
        serve_others(adapt);
    if (err == DM_OK)
        err = open_serve(adapt);
    adapt->procs.is_serving = err == DM_OK;
    return err;
}

/* ---- rails that come later ---- */

/* Of a job on several hosts that took what opens: is there any that has not? */
static bool late_is_wanted(const struct dm_adapt *adapt)
{
    const struct dm_rails *rails = &adapt->rails;

    if (rails->is_one_host || rails->is_named || !rails->conf.is_user ||
        dm_cfg()->rail_retry == 0 || rails->n_ias == DM_RAILS_MAX || adapt->virtual_nodes != NULL)
        return false;
    for (int i = 0; i < rails->conf.n_entries; i++) {
        if (rails->conf.entries[i].is_tried && !rails->conf.entries[i].is_open)
            return true;
    }
    return false;
}

void dm_open_late_plan(struct dm_adapt *adapt)
{
    unsigned n = adapt->rails.n_late < LATE_DOUBLINGS ? adapt->rails.n_late : LATE_DOUBLINGS;
    uint64_t us = dm_cfg()->rail_retry < LATE_MOST_US ? dm_cfg()->rail_retry : LATE_MOST_US;

    adapt->rails.late_at = late_is_wanted(adapt) ? dm_clock_after(us << n) : 0;
}

/* Both ends of connections have to know of it; whatever it can do for them they find out. */
static void late_join(struct dm_adapt *adapt, int first)
{
    struct dm_conn *conn;

    if (open_serve(adapt) != DM_OK)
        dm_log_warn("nobody can connect over a rail that has come: %s", dm_err_detail());
    for (int i = first; i < adapt->rails.n_ias; i++)
        dm_log_info("%s has joined the rails", adapt->rails.ias[i]->name);
    dm_conn_for_each (conn, adapt)
        dm_addr_match_more(conn);
    if (adapt->ev.joined != NULL)
        adapt->ev.joined(adapt->ev.arg);
}

int dm_open_late(struct dm_adapt *adapt)
{
    struct dm_rails more = adapt->rails;
    int first = more.n_ias;

    if (adapt->is_quiet || dm_clock_ns() < more.late_at)
        return 0;
    adapt->rails.n_late += dm_rails_open_late(&more);
    adapt->rails.nets = more.nets;
    more.n_late = adapt->rails.n_late;
    if (more.n_ias > first)
        open_take(adapt, &more);
    if (adapt->rails.n_ias > first)
        late_join(adapt, first);
    dm_open_late_plan(adapt);
    return adapt->rails.n_ias - first;
}
