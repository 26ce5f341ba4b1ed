/*
 * The table of other jobs' processes: numbers and references.
 *
 * The server's thread gives numbers to guests. All else is the main thread's; what both look at is
 * guarded by the lock.
 */
#include "dapl_adapt/conn/proc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/public/proc.h"
#include "util/err.h"
#include "util/hash.h"
#include "util/host.h"
#include "util/list.h"
#include "util/log.h"
#include "util/reserve.h"

/* File descriptors: of the rails, and of a peer (rings, and sockets over each rail). */
enum { FILES = 64, FILES_PER_PEER = 6 };

void dm_procs_want_files(int n)
{
    dm_host_want_files(FILES + (size_t)n * FILES_PER_PEER);
}

void dm_procs_init(struct dm_adapt *adapt)
{
    dm_list_init(&adapt->procs.free);
    dm_list_init(&adapt->procs.parting);
    dm_list_init(&adapt->procs.ports);
    dm_hash_init(&adapt->procs.by_id);
}

void dm_procs_fini(struct dm_adapt *adapt)
{
    struct dm_procs *procs = &adapt->procs;
    struct dm_port *port;

    for (int i = 0; i < procs->n; i++) {
        free(procs->at[i]->addr);
        free(procs->at[i]);
    }
    while (!dm_list_is_empty(&procs->ports)) {
        port = dm_container_of(procs->ports.next, struct dm_port, node);
        dm_list_del(&port->node);
        free(port);
    }
    dm_hash_fini(&procs->by_id);
    dm_reserve_free(procs->at, procs->max);
    free(procs->hosts);
    procs->n = 0;
    procs->at = NULL;
}

/* Different for processes that anybody will ever see; dm_procs_find looks at all of it. */
static uint64_t procs_key(struct dm_proc_id id)
{
    return id.job + id.rank * UINT64_C(0x9e3779b97f4a7c15);
}

struct dm_proc *dm_procs_find(const struct dm_adapt *adapt, struct dm_proc_id id)
{
    struct dm_proc *proc = dm_hash_get(&adapt->procs.by_id, procs_key(id));

    return proc != NULL && dm_proc_id_compare(proc->id, id) == 0 ? proc : NULL;
}

/* A number that nobody has: one that was free for long, or a new one. */
static struct dm_proc *procs_number(struct dm_adapt *adapt)
{
    struct dm_procs *procs = &adapt->procs;
    struct dm_proc *proc;

    if (!dm_list_is_empty(&procs->free)) {
        proc = dm_container_of(procs->free.next, struct dm_proc, place);
        dm_list_del(&proc->place);
        return proc;
    }
    if ((size_t)(adapt->job.size + procs->n) >= procs->max) {
        (void)DM_FAIL(DM_ENOMEM,
                      "%zu processes are known, for more there is no room (is address space "
                      "limited, ulimit -v?)",
                      procs->max);
        return NULL;
    }
    proc = calloc(1, sizeof(*proc));
    if (proc == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "a process of another job");
        return NULL;
    }
    dm_list_init(&proc->place);
    proc->number = adapt->job.size + procs->n;
    procs->at[procs->n] = proc;
    atomic_fetch_add_explicit(&procs->n, 1, memory_order_release);
    return proc;
}

struct dm_proc *dm_procs_add(struct dm_adapt *adapt, struct dm_proc_id id, enum dm_proc_state state)
{
    struct dm_proc *proc = procs_number(adapt);

    if (proc == NULL)
        return NULL;
    proc->id = id;
    proc->n_refs = 0;
    proc->has_token = false;
    proc->node = -1;
    proc->host[0] = '\0';
    proc->has_ended = false;
    if (dm_hash_put(&adapt->procs.by_id, procs_key(id), proc) != DM_OK) {
        dm_list_add_tail(&adapt->procs.free, &proc->place);
        return NULL;
    }
    proc->state = state;
    adapt->procs.n_used++;
    DM_TRACE(CONN, "rank %u of job %llx is number %d", id.rank, (unsigned long long)id.job,
             proc->number);
    return proc;
}

void dm_procs_leave(struct dm_adapt *adapt, struct dm_proc *proc)
{
    if (proc->state == DM_PROC_FREE || proc->state == DM_PROC_LEAVING)
        return;
    proc->state = DM_PROC_LEAVING;
    if (dm_list_is_empty(&proc->place))
        dm_list_add_tail(&adapt->procs.parting, &proc->place);
}

void dm_procs_free(struct dm_adapt *adapt, struct dm_proc *proc)
{
    DM_TRACE(CONN, "number %d is free", proc->number);
    if (dm_procs_find(adapt, proc->id) == proc) /* it may have got another number since */
        dm_hash_del(&adapt->procs.by_id, procs_key(proc->id));
    free(proc->addr);
    proc->addr = NULL;
    proc->state = DM_PROC_FREE;
    adapt->procs.n_used--;
    dm_list_del(&proc->place);
    dm_list_add_tail(&adapt->procs.free, &proc->place);
}

/* May a process that is about to leave stay? Not when it has been told, or is lost. */
static bool proc_can_stay(const struct dm_adapt *adapt, const struct dm_proc *proc)
{
    const struct dm_conn *conn = dm_conn_find(adapt, proc->number);

    if (proc->state != DM_PROC_LEAVING)
        return true;
    return conn != NULL && !conn->parting.is_end_sent && !conn->parting.is_end_seen &&
           !conn->parting.is_gone && !dm_conn_is_lost(conn);
}

/* It is known from now on, with one reference more. */
static void proc_take(struct dm_proc *proc)
{
    if (proc->state != DM_PROC_KNOWN) {
        proc->state = DM_PROC_KNOWN;
        proc->has_token = false; /* a guest's port */
        dm_list_del(&proc->place);
    }
    proc->n_refs++;
}

/* What was not known of it before. */
static int proc_learn(struct dm_adapt *adapt, struct dm_proc *proc, const struct dm_proc_info *info,
                      const struct dm_addr *addr)
{
    char *text;

    if (proc->addr != NULL)
        return DM_OK;
    text = strdup(info->addr);
    if (text == NULL)
        return DM_FAIL(DM_ENOMEM, "an address");
    proc->node = dm_addr_node(adapt, addr->host, info->host);
    pthread_mutex_lock(&adapt->shared.lock);
    snprintf(proc->host, sizeof(proc->host), "%s", info->host);
    proc->addr = text;
    pthread_mutex_unlock(&adapt->shared.lock);
    return DM_OK;
}

static bool info_is_ended(const struct dm_proc_info *info)
{
    return memchr(info->host, '\0', sizeof(info->host)) != NULL &&
           memchr(info->addr, '\0', sizeof(info->addr)) != NULL;
}

int dm_adapt_proc_get(struct dm_adapt *adapt, const struct dm_proc_info *info, int *proc_p)
{
    struct dm_addr addr;
    struct dm_proc *proc;
    int n_used;
    int err;

    if (info->id.job == adapt->self.job) {
        *proc_p = (int)info->id.rank;
        return info->id.rank < (uint32_t)adapt->job.size
                   ? DM_OK
                   : DM_FAIL(DM_EINTERN, "rank %u of a job of %d", info->id.rank, adapt->job.size);
    }
    if (!info_is_ended(info) || info->id.rank >= DM_PROCS_MAX)
        return DM_FAIL(DM_ECONN, "the description of a process cannot be understood");
    err = adapt->ops->serve(adapt);
    if (err == DM_OK)
        err = dm_addr_read(info->addr, &addr);
    if (err != DM_OK)
        return err;
    pthread_mutex_lock(&adapt->shared.lock);
    proc = dm_procs_find(adapt, info->id);
    if (proc == NULL || !proc_can_stay(adapt, proc))
        proc = dm_procs_add(adapt, info->id, DM_PROC_KNOWN);
    if (proc != NULL)
        proc_take(proc);
    n_used = adapt->procs.n_used;
    pthread_mutex_unlock(&adapt->shared.lock);
    if (proc == NULL)
        return DM_ENOMEM;
    err = proc_learn(adapt, proc, info, &addr);
    if (err != DM_OK) {
        dm_adapt_proc_put(adapt, proc->number);
        return err;
    }
    if ((n_used & (n_used - 1)) == 0) /* 1, 2, 4, ... */
        dm_procs_want_files(2 * n_used);
    *proc_p = proc->number;
    return DM_OK;
}

void dm_adapt_proc_ref(struct dm_adapt *adapt, int proc)
{
    struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign != NULL)
        foreign->n_refs++;
}

void dm_adapt_proc_put(struct dm_adapt *adapt, int proc)
{
    struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign == NULL || foreign->n_refs == 0 || --foreign->n_refs > 0)
        return;
    pthread_mutex_lock(&adapt->shared.lock);
    dm_procs_leave(adapt, foreign);
    pthread_mutex_unlock(&adapt->shared.lock);
    adapt->ops->part_hurry(adapt);
}

bool dm_adapt_proc_has_ended(const struct dm_adapt *adapt, int proc)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    return foreign != NULL && foreign->has_ended;
}

struct dm_proc_id dm_adapt_proc_id(const struct dm_adapt *adapt, int proc)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign != NULL)
        return foreign->id;
    return (struct dm_proc_id){adapt->self.job, (uint32_t)proc, 0};
}

int dm_adapt_proc_node(const struct dm_adapt *adapt, int proc)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign != NULL)
        return foreign->node;
    return adapt->job.node_of != NULL ? adapt->job.node_of[proc] : 0;
}

int dm_adapt_proc_info(struct dm_adapt *adapt, int proc, struct dm_proc_info *info_p)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    memset(info_p, 0, sizeof(*info_p));
    info_p->id = dm_adapt_proc_id(adapt, proc);
    snprintf(info_p->host, sizeof(info_p->host), "%.63s", dm_proc_host(adapt, proc));
    if (foreign == NULL)
        return dm_addr_of_own_job(adapt, proc, info_p->addr, sizeof(info_p->addr));
    if (foreign->addr == NULL)
        return DM_FAIL(DM_ECONN, "%s has not told its address", dm_who(adapt, proc).text);
    snprintf(info_p->addr, sizeof(info_p->addr), "%s", foreign->addr);
    return DM_OK;
}

size_t dm_adapt_proc_max(const struct dm_adapt *adapt)
{
    return adapt->procs.max;
}
