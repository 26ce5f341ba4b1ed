/*
 * Start and stop, and what happens when a peer is lost: every request that awaits
 * something of it ends with DM_EPEER, posted receives that it might have
 * matched included.
 */
#include "mpi/pt2pt/pt2pt.h"

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/wait.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

struct dm_p2p dm_p2p;

#define REQ_CHUNK   64
#define UNEXP_CHUNK 64
#define EAGER_MOST  ((size_t)1 << 31) /* a packet's length has 32 bits */

/* Could this process have sent what the receive waits for? */
static bool p2p_may_come_from(const struct dm_p2p_req *r, int proc)
{
    const struct dm_comm *comm = r->req.comm;

    if (r->proc >= 0)
        return r->proc == proc;
    return dm_group_rank_of(comm->remote != NULL ? comm->remote : comm->group, proc) !=
           MPI_UNDEFINED;
}

/*
 * The same of a process that has left: others may still send what MPI_ANY_SOURCE takes, if there are
 * any.
 */
static bool p2p_could_only_come_from(const struct dm_p2p_req *r, int proc)
{
    const struct dm_comm *comm = r->req.comm;

    if (r->proc >= 0)
        return r->proc == proc;
    return comm->remote != NULL && comm->remote->size == 1 && p2p_may_come_from(r, proc);
}

/* For p2p_lose_posted. */
struct losing {
    int proc;
    bool (*is_hopeless)(const struct dm_p2p_req *r, int proc);
};

static void p2p_lose_posted(void *arg, struct dm_mnode *node)
{
    struct dm_p2p_req *r = dm_container_of(node, struct dm_p2p_req, node);
    const struct losing *losing = arg;

    if (!losing->is_hopeless(r, losing->proc))
        return;
    r->proc = losing->proc;
    dm_p2p_recv_withdraw(r, DM_EPEER);
}

static void p2p_lose(int proc, bool (*is_hopeless)(const struct dm_p2p_req *r, int proc))
{
    struct dm_list *active = &dm_p2p.active, *next;
    struct losing losing = {.proc = proc, .is_hopeless = is_hopeless};

    dm_p2p_cancel_lost(proc); /* first: what is below may end requests for good */
    dm_match_each_posted(&dm_p2p.match, p2p_lose_posted, &losing);
    for (struct dm_list *it = active->next; it != active; it = next) {
        struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        next = it->next;
        /* A read under way ends by itself. */
        if (r->proc != proc || r->is_reading)
            continue;
        r->req.err = DM_EPEER;
        r->req.n_pending = 0;
        dm_p2p_req_over(r);
    }
    dm_list_for_each_safe (it, tmp, &dm_p2p.arriving) {
        struct dm_p2p_unexp *u = dm_container_of(it, struct dm_p2p_unexp, arriving);

        if (u->proc != proc)
            continue;
        dm_list_del(&u->arriving);
        if (u->claimed != NULL)
            dm_p2p_unexp_free(u); /* its receive was active */
        else
            u->is_broken = true;
    }
    dm_p2p_flow_lost(proc);
    dm_p2p_part_lost(proc);
}

static void p2p_on_lost(void *arg, int proc, int err)
{
    (void)arg;
    (void)err;
    dm_p2p.n_lost++;
    dm_event_raise(DM_EVENT_LOST, DM_EVENT_NO_CTX, proc, 0, 0);
    p2p_lose(proc, p2p_may_come_from);
}

static bool p2p_is_from(const struct dm_mnode *node, void *arg)
{
    return dm_container_of(node, const struct dm_p2p_unexp, nodes[0])->proc == *(const int *)arg;
}

/* Messages of it that nobody has received would be another one's by their process number. */
static void p2p_forget_unexp(int proc)
{
    struct dm_mnode *node;

    while ((node = dm_match_some_unexp_of(&dm_p2p.match, p2p_is_from, &proc)) != NULL) {
        struct dm_p2p_unexp *u = dm_container_of(node, struct dm_p2p_unexp, nodes[0]);

        dm_match_del_unexp(&dm_p2p.match, u->nodes);
        dm_p2p_unexp_free(u);
    }
}

static void p2p_on_gone(void *arg, int proc, bool is_free)
{
    (void)arg;
    dm_p2p_cancel_gone(proc, is_free);
    if (dm_adapt_proc_has_ended(dm_chan_adapt(dm_world.chan), proc))
        dm_p2p.n_lost += is_free ? 0 : 1;
    else if (!is_free) /* it may come again */
        return;
    p2p_lose(proc, p2p_could_only_come_from);
    if (is_free)
        p2p_forget_unexp(proc);
}

int dm_pt2pt_start(void)
{
    dm_match_init(&dm_p2p.match);
    dm_pool_init(&dm_p2p.reqs, sizeof(struct dm_p2p_req), REQ_CHUNK, 0);
    dm_pool_init(&dm_p2p.unexps, sizeof(struct dm_p2p_unexp), UNEXP_CHUNK, 0);
    dm_list_init(&dm_p2p.active);
    dm_list_init(&dm_p2p.arriving);
    dm_list_init(&dm_p2p.bsends);
    dm_list_init(&dm_p2p.recalls);
    dm_list_init(&dm_p2p.recalled);
    dm_list_init(&dm_p2p.probed);
    dm_list_init(&dm_p2p.deferred_cancels);
    dm_list_init(&dm_p2p.tallies);
    dm_p2p.is_leaving = false;
    dm_p2p.is_tallied = false;
    dm_p2p.eager_limit = dm_cfg()->eager_limit;
    dm_p2p.is_eager_by_peer = dm_p2p.eager_limit == DM_CFG_AUTO_SIZE;
    if (dm_p2p.is_eager_by_peer)
        dm_p2p.eager_limit = dm_adapt_eager_least(dm_chan_adapt(dm_world.chan));
    else if (dm_p2p.eager_limit > EAGER_MOST)
        dm_p2p.eager_limit = EAGER_MOST;
    dm_p2p.n_lost = 0;
    dm_p2p.n_reads = 0;
    dm_p2p.n_offers = 0;
    dm_p2p.n_sends = 0;
    dm_p2p.bsend = NULL;
    dm_p2p_eager_start();
    dm_p2p_rndv_start();
    dm_p2p_cancel_start();
    dm_p2p_part_start();
    dm_p2p_flow_start();
    dm_p2p_account_start();
    dm_p2p_deadlock_start();
    dm_chan_on_lost(dm_world.chan, p2p_on_lost, NULL);
    dm_chan_on_gone(dm_world.chan, p2p_on_gone, NULL);
    return DM_OK;
}

void dm_pt2pt_drain(void)
{
    dm_wait_for(&dm_p2p.n_sends);
}

void dm_pt2pt_leave(void)
{
    dm_p2p_cancel_rest();
    dm_pt2pt_drain();
    /* Their pieces of attached buffers hold requests. */
    dm_p2p_bsend_flush_all();
}

void dm_pt2pt_return(void)
{
    dm_p2p.is_leaving = false;
}

void dm_pt2pt_stop(void)
{
    struct dm_mnode *node;

    dm_p2p_flow_stop();
    dm_p2p_tally_stop();
    while ((node = dm_match_some_unexp(&dm_p2p.match)) != NULL) {
        struct dm_p2p_unexp *u = dm_container_of(node, struct dm_p2p_unexp, nodes[0]);

        dm_match_del_unexp(&dm_p2p.match, u->nodes);
        dm_p2p_unexp_free(u);
    }
    dm_p2p_probe_stop();
    dm_p2p_bsend_stop();
    dm_p2p_deadlock_stop();
    dm_greq_stop();
    dm_p2p_part_stop();
    dm_match_fini(&dm_p2p.match);
    dm_pool_fini(&dm_p2p.reqs);
    dm_pool_fini(&dm_p2p.unexps);
    dm_p2p_buffers_free();
}
