/*
 * Start and stop of the layer.
 */
#include "dapl_adapt/adapt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dapl_adapt/card.h"
#include "dapl_adapt/eager.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

#define SLOTS_MIN     4 /* with fewer, messages about credits would ask for such messages */
#define SLOTS_MAX     4096
#define SLOT_SIZE_MIN 64
#define SLOT_SIZE_MAX (1024 * 1024)
#define DEMAND_SIZE   8 /* more processes than this: connections are made on demand */
#define FLUSH_NS      UINT64_C(1000000000)
#define OPEN_WAIT_NS  1000000

/* FNV-1a; tells jobs apart that share a host, it is no secret. */
static uint32_t hash_text(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static int check_settings(struct dm_adapt *adapt)
{
    const struct dm_cfg *cfg = dm_cfg();

    if (cfg->ring_slots < SLOTS_MIN || cfg->ring_slots > SLOTS_MAX)
        return DM_FAIL(DM_ECONFIG, "DATUM_RING_SLOTS is %u; it must be from %d to %d",
                       cfg->ring_slots, SLOTS_MIN, SLOTS_MAX);
    if (cfg->ring_slot_size < SLOT_SIZE_MIN || cfg->ring_slot_size > SLOT_SIZE_MAX)
        return DM_FAIL(DM_ECONFIG, "DATUM_RING_SLOT_SIZE is %zu; it must be from %d to %d bytes",
                       cfg->ring_slot_size, SLOT_SIZE_MIN, SLOT_SIZE_MAX);
    adapt->n_slots = cfg->ring_slots;
    adapt->slot_size = (uint32_t)cfg->ring_slot_size;
    adapt->stride = dm_slot_stride(adapt->slot_size);
    return DM_OK;
}

static void init_shared(struct dm_adapt *adapt)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&adapt->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&adapt->cond, &attr);
    pthread_condattr_destroy(&attr);
    dm_list_init(&adapt->notes);
    dm_list_init(&adapt->connecting);
    dm_reg_cache_init(&adapt->cache, dm_cfg()->reg_cache ? dm_cfg()->reg_cache_size : 0);
}

/* ---- rails ---- */

/* One more rail; a provider that does not open is remembered, not an error yet. */
static int open_one(struct dm_adapt *adapt, const struct dm_conf_entry *entry)
{
    int per_peer = 3 * (int)adapt->n_slots + 96;
    struct dm_ia *ia;
    int err = dm_ia_open(entry, adapt->job.size - 1, per_peer, &ia);

    if (err != DM_OK) {
        dm_explain_refused(adapt, entry->name, dm_err_detail());
        return err;
    }
    ia->adapt = adapt;
    adapt->ias[adapt->n_ias++] = ia;
    return DM_OK;
}

/* Same-host rails first, then those of the file, then built-in ones. */
static int rank_of(const struct dm_ia *ia)
{
    return ia->is_local ? 0 : 1 + ia->is_builtin;
}

static void sort_rails(struct dm_adapt *adapt)
{
    struct dm_ia *ia;
    int k;

    for (int i = 1; i < adapt->n_ias; i++) {
        ia = adapt->ias[i];
        for (k = i; k > 0 && rank_of(adapt->ias[k - 1]) > rank_of(ia); k--)
            adapt->ias[k] = adapt->ias[k - 1];
        adapt->ias[k] = ia;
    }
}

static bool is_one_host(const struct dm_adapt_job *job)
{
    return job->n_local == job->size;
}

/* Try entries of one kind until there are enough rails. */
static void open_some(struct dm_adapt *adapt, bool is_builtin)
{
    const struct dm_conf *conf = &adapt->conf;

    for (int i = 0; i < conf->n_entries && adapt->n_ias < DM_RAILS_MAX; i++) {
        if (conf->entries[i].is_builtin != is_builtin)
            continue;
        open_one(adapt, &conf->entries[i]);
        if (is_one_host(&adapt->job) && adapt->n_ias > 0)
            return; /* it reaches everybody */
    }
}

static int no_provider(const struct dm_adapt *adapt)
{
    const char *list = adapt->refused != NULL ? adapt->refused : "";

    if (adapt->conf.is_user)
        return DM_FAIL(DM_EPROVIDER,
                       "no provider of %s, which DAT_OVERRIDE names, can be used:\n%s",
                       adapt->conf.path, list);
    return DM_FAIL(DM_EPROVIDER, "no DAT provider can be used (datum-info says more):\n%s", list);
}

/* The user's choice, all of which must open; or everything that opens. */
static int open_rails(struct dm_adapt *adapt)
{
    struct dm_conf *conf = &adapt->conf;
    const char *names = dm_cfg()->provider;
    bool is_named = names[strspn(names, ", \t")] != '\0';
    int err = DM_OK;

    if (is_named) {
        for (int i = 0; i < conf->n_entries && err == DM_OK; i++) {
            if (adapt->n_ias == DM_RAILS_MAX)
                return DM_FAIL(DM_ECONFIG, "DATUM_PROVIDER names more than %d providers",
                               DM_RAILS_MAX);
            err = open_one(adapt, &conf->entries[i]);
        }
        if (err != DM_OK) {
            char why[400];

            snprintf(why, sizeof(why), "%s", dm_err_detail());
            return DM_FAIL(err, "a provider that DATUM_PROVIDER names does not open: %s", why);
        }
    } else if (conf->is_user) {
        open_some(adapt, false);
        if (adapt->n_ias == 0)
            return no_provider(adapt);
        if (!is_one_host(&adapt->job))
            open_some(adapt, true);
    } else {
        open_some(adapt, true);
        if (!is_one_host(&adapt->job) || adapt->n_ias == 0)
            open_some(adapt, false);
        sort_rails(adapt);
    }
    if (adapt->n_ias == 0)
        return no_provider(adapt);
    for (int i = 0; i < adapt->n_ias; i++)
        adapt->ias[i]->index = i;
    return DM_OK;
}

/* Registrations of the program's memory may outlive their use only where pages are not pinned. */
static int setup_memory(struct dm_adapt *adapt)
{
    int err = DM_OK;

    adapt->keeps_regs = dm_cfg()->reg_cache;
    adapt->probe = aligned_alloc(adapt->page, (size_t)2 * DM_PROBE_LEN);
    if (adapt->probe == NULL)
        return DM_FAIL(DM_ENOMEM, "measuring buffer");
    memset(adapt->probe, 0, (size_t)2 * DM_PROBE_LEN);
    for (int i = 0; i < adapt->n_ias && err == DM_OK; i++) {
        if (adapt->ias[i]->is_pinning)
            adapt->keeps_regs = false;
        err = dm_lmr_create(adapt->ias[i], adapt->probe, (size_t)2 * DM_PROBE_LEN, -1,
                            &adapt->probe_lmr[i]);
        if (err == DM_EAGAIN)
            err = DM_FAIL(DM_EPROVIDER,
                          "%s cannot register memory; raise the limit of locked memory (ulimit -l)",
                          adapt->ias[i]->name);
    }
    return err;
}

/* ---- connecting at start ---- */

static void wait_for_notes(struct dm_adapt *adapt)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += OPEN_WAIT_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&adapt->lock);
    if (dm_list_is_empty(&adapt->notes))
        pthread_cond_timedwait(&adapt->cond, &adapt->lock, &until);
    pthread_mutex_unlock(&adapt->lock);
}

/* First records arrive in the pipe; what follows them is left for later. */
static void take_first(struct dm_conn *conn)
{
    const void *data;

    if (conn->is_up && !conn->link[DM_LINK_PIPE].may_post)
        dm_adapt_eager_peek(conn, &data);
}

static int is_overdue(struct dm_adapt *adapt, struct dm_conn *conn, uint64_t deadline)
{
    if (dm_clock_ns() < deadline)
        return DM_OK;
    return DM_FAIL(DM_ECONN,
                   "rank %d on host %s did not connect within DATUM_TIMEOUT; did it start, and "
                   "does it use the same provider?",
                   conn->proc, dm_adapt_host_of(adapt, conn->proc));
}

/* Connect to all lower ranks, nearest first, while the higher ones connect to us. */
static int connect_all(struct dm_adapt *adapt)
{
    uint64_t timeout = dm_cfg()->timeout;
    uint64_t deadline =
        timeout == DM_CFG_AUTO ? UINT64_MAX : dm_clock_ns() + timeout * 1000 + 1000000000;
    struct dm_conn *conn;
    int n_done = 0;
    int err = DM_OK;

    for (int p = adapt->job.rank - 1; p >= 0 && err == DM_OK; p--)
        err = dm_conn_start(&adapt->conns[p], DM_LINK_PIPE);
    while (err == DM_OK && n_done < adapt->job.size - 1) {
        if (dm_conn_progress(adapt) + dm_poll_drain(adapt) == 0)
            wait_for_notes(adapt);
        n_done = 0;
        for (int p = 0; p < adapt->job.size && err == DM_OK; p++) {
            conn = &adapt->conns[p];
            if (p == adapt->job.rank)
                continue;
            take_first(conn);
            if (dm_conn_is_complete(conn))
                n_done++;
            else if (conn->tx.is_lost)
                err = DM_FAIL(conn->err, "%s", conn->why);
            else
                err = is_overdue(adapt, conn, deadline);
        }
    }
    return err;
}

static void stop_servers(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->n_ias; i++)
        dm_conn_unserve(adapt->ias[i]);
}

static int open_job(struct dm_adapt *adapt)
{
    const struct dm_cfg *cfg = dm_cfg();
    int err = open_rails(adapt);

    if (err == DM_OK)
        err = setup_memory(adapt);
    if (err == DM_OK)
        err = dm_conn_init_all(adapt);
    /* whether processes outnumber cores decides how they travel; a lone quota is seen at once */
    for (int i = 0; i < adapt->n_ias && err == DM_OK; i++) {
        adapt->ias[i]->adapt = adapt;
        adapt->wants_sendrecv = cfg->eager == DM_EAGER_SENDRECV;
    }
    if (err == DM_OK)
        err = dm_card_publish(adapt);
    if (err == DM_OK)
        err = dm_card_crowded(adapt, &adapt->is_crowded);
    if (err != DM_OK)
        return err;
    if (cfg->eager == DM_EAGER_AUTO)
        adapt->wants_sendrecv = adapt->is_crowded;
    for (int i = 0; i < adapt->n_ias && err == DM_OK; i++)
        err = dm_conn_serve(adapt->ias[i]);
    if (err == DM_OK && !adapt->is_demand) {
        err = connect_all(adapt);
        stop_servers(adapt); /* all have come */
    }
    return err;
}

/* A job of one needs no provider, but a wrong name is still wrong. */
static int open_conf(struct dm_adapt *adapt)
{
    int err = dm_conf_load(&adapt->conf);

    return err == DM_OK ? dm_conf_select(&adapt->conf, dm_cfg()->provider) : err;
}

static void free_all(struct dm_adapt *adapt)
{
    stop_servers(adapt);
    dm_conn_free_all(adapt);
    dm_reg_cache_fini(&adapt->cache);
    for (int i = 0; i < adapt->n_ias; i++) {
        dm_lmr_free(&adapt->probe_lmr[i]);
        dm_ia_close(adapt->ias[i]);
    }
    free(adapt->probe);
    free(adapt->refused);
    dm_conf_free(&adapt->conf);
    pthread_cond_destroy(&adapt->cond);
    pthread_mutex_destroy(&adapt->lock);
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
    adapt->job_hash = hash_text(job->name != NULL ? job->name : "");
    adapt->page = (size_t)sysconf(_SC_PAGESIZE);
    adapt->is_demand = dm_cfg()->connect == DM_CONNECT_DEMAND ||
                       (dm_cfg()->connect == DM_CONNECT_AUTO && job->size > DEMAND_SIZE);
    init_shared(adapt);
    err = check_settings(adapt);
    if (err == DM_OK)
        err = open_conf(adapt);
    if (err == DM_OK && job->size > 1)
        err = open_job(adapt);
    else if (err == DM_OK)
        err = dm_conn_init_all(adapt);
    if (err != DM_OK) {
        free_all(adapt);
        return err;
    }
    *adapt_p = adapt;
    return DM_OK;
}

void dm_adapt_quiesce(struct dm_adapt *adapt)
{
    adapt->is_quiet = true;
}

/* What we sent last may still be on its way: the peer's barrier may wait for it. */
static void flush_all(struct dm_adapt *adapt)
{
    uint64_t deadline = dm_clock_ns() + FLUSH_NS;
    struct dm_conn *conn;
    int n_left = adapt->n_active;

    for (int i = 0; i < adapt->n_active; i++)
        dm_eager_flush(adapt->active[i]);
    while (n_left > 0 && dm_clock_ns() < deadline) {
        dm_poll_drain(adapt);
        n_left = 0;
        for (int i = 0; i < adapt->n_active; i++) {
            conn = adapt->active[i];
            n_left += !conn->tx.is_lost && conn->tx.n_posted + conn->tx.n_extra != conn->tx.sq_done;
        }
    }
}

int dm_adapt_close(struct dm_adapt *adapt)
{
    dm_adapt_quiesce(adapt);
    flush_all(adapt);
    free_all(adapt);
    return DM_OK;
}
