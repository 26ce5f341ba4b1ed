/*
 * The address exchange: publishing the own endpoint address, getting a peer's, and what two
 * processes make of them.
 */
#include "dapl_adapt/conn/exchange.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/start.h"
#include "util/arena.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"
#include "util/kv.h"
#include "util/log.h"
#include "util/strbuf.h"

#define KEY_LEN   64
#define AHEAD_MAX 32 /* addresses that are fetched together */

static void addr_key(int proc, char *key)
{
    snprintf(key, KEY_LEN, "datum-addr-%d", proc);
}

/* What it is called in the arena, where processes of this host find it without the launcher. */
static uint64_t addr_note(const struct dm_adapt *adapt, int proc)
{
    return (adapt->self.job << 32) + (uint64_t)proc + 1;
}

bool dm_addr_join_pending(struct dm_conn *conn)
{
    return dm_pending_join(conn, addr_note(conn->adapt, conn->proc));
}

int dm_addr_publish(struct dm_adapt *adapt)
{
    char text[DM_KV_VAL_MAX];
    char key[KEY_LEN];
    int err;

    dm_addr_write(adapt, text, sizeof(text));
    addr_key(adapt->job.rank, key);
    DM_TRACE(CONN, "address %s", text);
    if (adapt->mem.arena.head != NULL)
        dm_arena_put(&adapt->mem.arena, addr_note(adapt, adapt->job.rank), text);
    dm_pending_open(adapt, addr_note(adapt, adapt->job.rank));
    err = adapt->job.kv.put(adapt->job.kv.arg, key, text);
    if (err == DM_OK)
        err = adapt->job.kv.fence(adapt->job.kv.arg);
    return err;
}

/* How far a process is behind the last one, if those between them have connected by themselves; 0: it
 * does not follow. */
static int addr_steps(const struct dm_adapt *adapt, int proc)
{
    const struct dm_adapt_job *job = &adapt->job;
    int n = (proc - adapt->ahead.last + job->size) % job->size;

    for (int i = 1; i < n; i++) {
        int other = (adapt->ahead.last + i) % job->size;

        if (other != job->rank && dm_conn_find(adapt, other) == NULL)
            return 0;
    }
    return n;
}

/*
 * Who talks to one process after the other asks for their addresses one after the other: then those
 * that follow come along, twice as many each time.
 */
static int addr_get_ahead(struct dm_adapt *adapt, int proc)
{
    const struct dm_adapt_job *job = &adapt->job;
    struct dm_addr_ahead *ahead = &adapt->ahead;
    char text[AHEAD_MAX][KEY_LEN];
    const char *keys[AHEAD_MAX];
    int n_steps = addr_steps(adapt, proc);
    bool is_next = n_steps > 0;
    int n = 0;

    if (job->kv.ahead == NULL)
        return DM_OK;
    ahead->last = proc;
    if (is_next && ahead->left >= n_steps) {
        ahead->left -= n_steps;
        return DM_OK;
    }
    ahead->n = is_next && 2 * ahead->n <= AHEAD_MAX ? 2 * ahead->n : is_next ? AHEAD_MAX : 1;
    ahead->left = ahead->n - 1;
    for (int i = 0; i < ahead->n && i < job->size; i++) {
        int other = (proc + i) % job->size;

        if (other == job->rank || (i > 0 && dm_conn_find(adapt, other) != NULL))
            continue; /* it need not be asked for, as far as one can tell */
        addr_key(other, text[n]);
        keys[n] = text[n];
        n++;
    }
    return n > 1 ? job->kv.ahead(job->kv.arg, keys, n) : DM_OK;
}

/* As published. */
static int addr_get_text(struct dm_adapt *adapt, int proc, char *text, size_t len)
{
    char key[KEY_LEN];
    int err;

    if (adapt->mem.arena.head != NULL &&
        dm_arena_get(&adapt->mem.arena, addr_note(adapt, proc), text, len))
        return DM_OK;
    err = addr_get_ahead(adapt, proc);
    if (err != DM_OK)
        return err;
    addr_key(proc, key);
    return adapt->job.kv.get(adapt->job.kv.arg, key, text, len);
}

static int addr_get(struct dm_adapt *adapt, int proc, struct dm_addr *addr_p)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);
    char text[DM_KV_VAL_MAX];
    int err;

    if (foreign != NULL)
        return foreign->addr != NULL
                   ? dm_addr_read(foreign->addr, addr_p)
                   : DM_FAIL(DM_ECONN, "%s has not told its address", dm_who(adapt, proc).text);
    err = addr_get_text(adapt, proc, text, sizeof(text));
    return err == DM_OK ? dm_addr_read(text, addr_p) : err;
}

int dm_addr_of_own_job(struct dm_adapt *adapt, int proc, char *buf, size_t len)
{
    char text[DM_KV_VAL_MAX];
    int err;

    if (proc == adapt->job.rank) {
        err = adapt->ops->serve(adapt);
        if (err == DM_OK)
            dm_addr_write(adapt, text, sizeof(text));
    } else {
        err = addr_get_text(adapt, proc, text, sizeof(text));
    }
    return err == DM_OK ? dm_addr_shorten(text, buf, len) : err;
}

/* The launcher's number of a host with that name, if it is the same host. -1: it is not. */
static int addr_node_by_name(struct dm_adapt *adapt, uint64_t host, const char *name)
{
    const struct dm_adapt_job *job = &adapt->job;
    struct dm_addr addr;

    for (int i = 0; i < job->size && job->node_of != NULL && job->host_of != NULL; i++) {
        if (strcmp(job->host_of(job->host_arg, i), name) != 0)
            continue;
        if (i != job->rank && addr_get(adapt, i, &addr) == DM_OK && addr.host == host)
            return job->node_of[i];
        return -1;
    }
    return -1;
}

int dm_addr_node(struct dm_adapt *adapt, uint64_t host, const char *name)
{
    const struct dm_adapt_job *job = &adapt->job;
    struct dm_procs *procs = &adapt->procs;
    struct dm_proc_host *hosts;
    int node = -1;

    if (host == adapt->own_host)
        return job->node_of != NULL ? job->node_of[job->rank] : 0;
    for (int i = 0; i < procs->n_hosts; i++) {
        if (procs->hosts[i].host == host)
            return procs->hosts[i].node;
        if (procs->hosts[i].node > node)
            node = procs->hosts[i].node;
    }
    for (int i = 0; i < job->size && job->node_of != NULL; i++)
        node = job->node_of[i] > node ? job->node_of[i] : node;
    node = node < 0 ? 1 : node + 1;
    hosts = realloc(procs->hosts, ((size_t)procs->n_hosts + 1) * sizeof(*hosts));
    if (hosts == NULL)
        return node; /* not remembered: the next process there is on another host, as it seems */
    procs->hosts = hosts;
    hosts[procs->n_hosts].host = host;
    hosts[procs->n_hosts].node = addr_node_by_name(adapt, host, name);
    if (hosts[procs->n_hosts].node < 0)
        hosts[procs->n_hosts].node = node;
    return hosts[procs->n_hosts++].node;
}

bool dm_addr_is_near(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_adapt_job *job = &adapt->job;

    if (conn->who.foreign == NULL &&
        (job->node_of == NULL || job->node_of[job->rank] == job->node_of[conn->proc]))
        return true;
    return conn->addr != NULL && conn->addr->host == conn->adapt->own_host;
}

bool dm_addr_is_apart(const struct dm_conn *conn)
{
    const struct dm_adapt_job *job = &conn->adapt->job;

    return conn->who.foreign == NULL &&
           (job->node_of == NULL || job->node_of[job->rank] == job->node_of[conn->proc]) &&
           conn->addr != NULL && conn->addr->host != conn->adapt->own_host;
}

static int addr_family(const unsigned char *addr)
{
    struct sockaddr_in in;

    memcpy(&in, addr, sizeof(in));
    return in.sin_family;
}

static const char *addr_family_text(int family)
{
    return family == AF_INET ? "IPv4" : family == AF_INET6 ? "IPv6" : "another kind of";
}

/* The rail of the peer that answers to one of ours, or why there is none. */
static const struct dm_addr_rail *rails_match(const struct dm_conn *conn, const struct dm_ia *ia,
                                              bool is_near, char *why, size_t len)
{
    const struct dm_addr_rail *rail = NULL;

    for (int k = 0; k < conn->addr->n_rails && rail == NULL; k++) {
        if (strcmp(ia->name, conn->addr->rails[k].name) == 0)
            rail = &conn->addr->rails[k];
    }
    if (ia->caps.is_local && !is_near)
        snprintf(why, len, "reaches only its own host");
    else if (rail == NULL)
        snprintf(why, len, "not open there");
    else if (addr_family(rail->addr) != addr_family(ia->net.addr))
        snprintf(why, len, "has an %s address here, an %s address there",
                 addr_family_text(addr_family(ia->net.addr)),
                 addr_family_text(addr_family(rail->addr)));
    else
        return rail;
    return NULL;
}

/* Every provider of either side and why it is not the one. */
static int rails_none(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    bool is_near = dm_addr_is_near(conn);
    const char *name;
    char list[900];
    char why[100];
    struct dm_strbuf sb;
    bool is_here;

    dm_strbuf_init(&sb, list, sizeof(list));
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        rails_match(conn, adapt->rails.ias[i], is_near, why, sizeof(why));
        dm_strbuf_addf(&sb, "  %s: %s\n", adapt->rails.ias[i]->name, why);
    }
    for (int i = 0; i < conn->addr->n_rails; i++) {
        name = conn->addr->rails[i].name;
        is_here = false;
        for (int k = 0; k < adapt->rails.n_ias; k++)
            is_here = is_here || strcmp(adapt->rails.ias[k]->name, name) == 0;
        if (!is_here)
            dm_strbuf_addf(&sb, "  %s: open there, not here\n", name);
    }
    if (adapt->rails.refused != NULL)
        dm_strbuf_addf(&sb, "refused here:\n%s", adapt->rails.refused);
    if (conn->addr->why[0] != '\0')
        dm_strbuf_addf(&sb, "refused there: %s\n", conn->addr->why);
    return DM_FAIL(
        DM_ECONN,
        "no DAT provider of host %s reaches %s:\n%s"
        "run datum-info --providers on both hosts; a provider for their network must open on "
        "both, under one name (DAT_OVERRIDE names the dat.conf, DATUM_PROVIDER chooses)",
        dm_host_name(), dm_who(adapt, conn->proc).text, list);
}

static int addr_check_setting(const struct dm_conn *conn, const char *name, unsigned theirs,
                              unsigned mine)
{
    if (theirs == mine)
        return DM_OK;
    return DM_FAIL(DM_ECONN,
                   "%s and rank %d on host %s have different settings of %s; set "
                   "it alike for all",
                   dm_who(conn->adapt, conn->proc).text, conn->adapt->job.rank, dm_host_name(),
                   name);
}

/* What the two ends of a connection must do alike. */
static int addr_check_design(const struct dm_conn *conn)
{
    const struct dm_addr *addr = conn->addr;
    int err = addr_check_setting(conn, "DATUM_EAGER", addr->eager & ~(unsigned)DM_ADDR_SRQ,
                                 (unsigned)dm_cfg()->eager);

    if (err == DM_OK)
        err = addr_check_setting(conn, "DATUM_RNDV", addr->rndv, (unsigned)dm_cfg()->rndv);
    if (err == DM_OK)
        err = addr_check_setting(conn, "DATUM_RNDV_INLINE", addr->is_inline, dm_cfg()->rndv_inline);
    if (err == DM_OK)
        err = addr_check_setting(conn, "DATUM_FIN", addr->fin, (unsigned)dm_cfg()->fin);
    return err;
}

/* Processes that were started with other settings, or from another installation. */
static int addr_check_settings(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_addr *addr = conn->addr;

    if (strcmp(addr->version, DM_VERSION) != 0)
        return DM_FAIL(DM_ECONN,
                       "%s runs Datum %s, rank %d on host %s runs Datum %s; install one "
                       "version on all hosts",
                       dm_who(adapt, conn->proc).text, addr->version, adapt->job.rank,
                       dm_host_name(), DM_VERSION);
    if (addr->n_slots != adapt->rings.n_slots || addr->slot_size != adapt->rings.slot_size)
        return DM_FAIL(
            DM_ECONN,
            "%s has rings of %u slots of %u bytes, rank %d on host %s of %u "
            "slots of %u bytes; set DATUM_RING_SLOTS, DATUM_RING_SLOT_SIZE and DATUM_CHUNK alike "
            "for all",
            dm_who(adapt, conn->proc).text, addr->n_slots, addr->slot_size, adapt->job.rank,
            dm_host_name(), adapt->rings.n_slots, adapt->rings.slot_size);
    if (addr->coll_hash != adapt->coll_hash)
        return DM_FAIL(
            DM_ECONN,
            "%s and rank %d on host %s choose different algorithms of collectives; "
            "set DATUM_COLL alike for all, and give the files of DATUM_COLL_FILE and DATUM_TUNE the same rows",
            dm_who(adapt, conn->proc).text, adapt->job.rank, dm_host_name());
    return addr_check_design(conn);
}

/* Common rails of one kind, in our order. */
static void rails_add(struct dm_conn *conn, bool is_near, bool takes_local, bool takes_other)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_addr_rail *rail;
    char why[100];

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        if (adapt->rails.ias[i]->caps.is_local ? !takes_local : !takes_other)
            continue;
        rail = rails_match(conn, adapt->rails.ias[i], is_near, why, sizeof(why));
        if (rail == NULL) {
            DM_TRACE(CONN, "rank %d: %s %s", conn->proc, adapt->rails.ias[i]->name, why);
            continue;
        }
        conn->rails.pair[conn->rails.n][0] = (uint8_t)i;
        conn->rails.pair[conn->rails.n++][1] = (uint8_t)rail->index;
    }
}

/* The rails that both have, in order of preference. */
static void addr_match(struct dm_conn *conn)
{
    bool is_near = dm_addr_is_near(conn);

    if (conn->adapt->rails.is_named) {
        rails_add(conn, is_near, true, true);
    } else { /* inside a host what stays inside comes first */
        rails_add(conn, is_near, true, false);
        rails_add(conn, is_near, false, true);
    }
    conn->rails.n_all = conn->rails.n;
}

int dm_addr_fetch(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_addr *addr;
    int err;

    if (conn->addr != NULL)
        return conn->rails.n > 0 ? DM_OK : rails_none(conn);
    addr = calloc(1, sizeof(*addr));
    if (addr == NULL)
        return DM_FAIL(DM_ENOMEM, "an endpoint address");
    err = addr_get(adapt, conn->proc, addr);
    if (err != DM_OK) {
        free(addr);
        return err;
    }
    pthread_mutex_lock(&adapt->shared.lock); /* the server may have a request of that process */
    conn->addr = addr;
    err = addr_check_settings(conn);
    if (err == DM_OK)
        addr_match(conn);
    pthread_mutex_unlock(&adapt->shared.lock);
    return err != DM_OK || conn->rails.n > 0 ? err : rails_none(conn);
}

void dm_addr_match_more(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    const struct dm_addr_rail *rail;
    char why[100];

    if (conn->addr == NULL)
        return;
    pthread_mutex_lock(&adapt->shared.lock);
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        const struct dm_ia *ia = adapt->rails.ias[i];

        if (dm_conn_rail_of(conn, ia) >= 0)
            continue;
        rail = rails_match(conn, ia, dm_addr_is_near(conn), why, sizeof(why));
        if (rail == NULL)
            continue;
        conn->rails.pair[conn->rails.n_all][0] = (uint8_t)i;
        conn->rails.pair[conn->rails.n_all++][1] = (uint8_t)rail->index;
    }
    pthread_mutex_unlock(&adapt->shared.lock);
}

bool dm_adapt_joined(const struct dm_adapt *adapt, int n, char *buf, size_t len)
{
    struct dm_strbuf sb;

    if (adapt->rails.is_one_host || adapt->rails.n_own + n >= adapt->rails.n_ias)
        return false;
    dm_strbuf_init(&sb, buf, len);
    dm_addr_write_rail_of(&sb, adapt->rails.ias[adapt->rails.n_own + n]);
    return !sb.is_short;
}

int dm_adapt_rail_reported(struct dm_adapt *adapt, int proc, const char *text)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);
    struct dm_conn *conn = dm_conn_find(adapt, proc);
    int err;

    if (foreign != NULL && foreign->addr == NULL)
        return DM_OK; /* it has connected to us, and the rail of that connection will do */
    err = conn == NULL ? DM_ECONN : dm_addr_fetch(conn);
    if (err == DM_OK)
        err = dm_addr_add_rail(conn->addr, text);
    if (err == DM_OK)
        dm_addr_match_more(conn);
    return err;
}

int dm_addr_oversubscribed(struct dm_adapt *adapt, bool *oversubscribed_p)
{
    const struct dm_adapt_job *job = &adapt->job;
    uint64_t all[DM_ADDR_CPU_WORDS];
    struct dm_addr addr;
    int err;

    *oversubscribed_p = false;
    if (job->n_local <= dm_host_cores() || job->n_local <= job->n_cores)
        return DM_OK;
    dm_addr_own_cpus(all);
    *oversubscribed_p = true;
    if (dm_host_cores() < dm_addr_count_cpus(all)) /* a quota, which is shared */
        return DM_OK;
    if (dm_addr_count_cpus(all) >= sysconf(_SC_NPROCESSORS_ONLN)) /* nobody has others */
        return DM_OK;
    /* perhaps each of us is bound to cores of its own */
    for (int i = 0; i < job->size && dm_addr_count_cpus(all) < job->n_local; i++) {
        if (job->node_of != NULL && job->node_of[i] != job->node_of[job->rank])
            continue;
        err = addr_get(adapt, i, &addr);
        if (err != DM_OK)
            return err;
        for (int k = 0; k < DM_ADDR_CPU_WORDS; k++)
            all[k] |= addr.cpus[k];
    }
    *oversubscribed_p = job->n_local > dm_addr_count_cpus(all);
    return DM_OK;
}
