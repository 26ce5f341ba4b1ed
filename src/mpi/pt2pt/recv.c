/*
 * Receives: match a message that is here, or post.
 */
#include "mpi/pt2pt/pt2pt.h"

#include "mpi/pt2pt/match_inl.h"
#include "mpi/pt2pt/p2p.h"
#include "util/err.h"
#include "util/log.h"

/* Can the message no more come, as the peer is lost? Only asked after a loss. */
static DM_NOINLINE bool recv_is_hopeless(struct dm_p2p_req *r)
{
    const struct dm_comm *comm = r->req.comm;
    const struct dm_group *group = comm->remote != NULL ? comm->remote : comm->group;

    if (r->proc >= 0)
        return dm_world_is_gone(r->proc);
    for (int i = 0; i < group->size; i++) {
        int proc = dm_group_proc(group, i);

        if (dm_chan_is_lost(dm_world.chan, proc)) {
            r->proc = proc;
            return true;
        }
    }
    return false;
}

void dm_p2p_recv_unexp(struct dm_p2p_req *r, struct dm_p2p_unexp *u)
{
    dm_p2p_matched(r, u->proc, &u->nodes[0].key, u->len);
    if (u->type == DM_PKT_RTS) {
        dm_p2p_rndv_recv(r, u);
        dm_p2p_unexp_free(u);
        return;
    }
    if (u->type == DM_PKT_EAGER_SYNC)
        dm_p2p_ack(u->proc, u->sreq);
    if (u->is_complete || u->is_broken) {
        if (u->is_complete)
            dm_p2p_place_unexp(r, u);
        dm_p2p_req_step(r, u->is_complete ? DM_OK : DM_EPEER);
        dm_p2p_unexp_free(u);
        return;
    }
    u->claimed = r;
    dm_p2p_req_activate(r);
}

/* Key and process are set. */
static inline void recv_begin(struct dm_p2p_req *r)
{
    if (dm_unlikely(dm_p2p.match.n_unexp > 0)) {
        int kind;
        struct dm_mnode *node = dm_match_find_unexp(&dm_p2p.match, &r->node.key, &kind);

        if (node != NULL) {
            struct dm_p2p_unexp *u = dm_container_of(node - kind, struct dm_p2p_unexp, nodes[0]);

            dm_match_del_unexp(&dm_p2p.match, u->nodes);
            dm_p2p_recv_unexp(r, u);
            return;
        }
    }
    if (dm_unlikely(dm_p2p.n_lost > 0) && recv_is_hopeless(r)) {
        dm_p2p_req_step(r, DM_EPEER);
        return;
    }
    r->is_posted = true;
    dm_match_post(&dm_p2p.match, &r->node);
}

void dm_p2p_recv_start(struct dm_p2p_req *r, int source, int tag, uint32_t ctx)
{
    r->node.key = (struct dm_mkey){.ctx = ctx, .source = source, .tag = tag};
    r->proc = source == MPI_ANY_SOURCE ? -1 : dm_comm_proc(r->req.comm, source);
    recv_begin(r);
}

void dm_p2p_recv_key(struct dm_p2p_req *r, int proc, const struct dm_mkey *key)
{
    r->node.key = *key;
    r->proc = proc;
    recv_begin(r);
}

void dm_p2p_recv_withdraw(struct dm_p2p_req *r, int err)
{
    dm_match_unpost(&dm_p2p.match, &r->node);
    r->is_posted = false;
    dm_p2p_req_step(r, err);
}

int dm_p2p_recv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                   struct dm_comm *comm, uint32_t ctx, MPI_Status *status)
{
    struct dm_p2p_req r;

    if (dm_unlikely(source == MPI_PROC_NULL)) {
        if (status != MPI_STATUS_IGNORE) {
            int keep = status->MPI_ERROR;

            dm_status_set_proc_null(status);
            status->MPI_ERROR = keep;
        }
        return DM_OK;
    }
    dm_p2p_req_init(&r, DM_REQ_RECV, comm, buf, count, type);
    dm_p2p_recv_start(&r, source, tag, ctx);
    dm_wait_for(&r.req.n_pending);
    dm_p2p_status(&r.req, status);
    return dm_likely(r.req.err == DM_OK) ? DM_OK : dm_p2p_req_explain(&r);
}

int dm_p2p_irecv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                    struct dm_comm *comm, uint32_t ctx, struct dm_req **req_p)
{
    struct dm_p2p_req *r = dm_p2p_req_new(DM_REQ_RECV, comm, buf, count, type);

    if (r == NULL)
        return DM_ENOMEM;
    *req_p = &r->req;
    if (dm_unlikely(source == MPI_PROC_NULL)) {
        dm_status_set_proc_null(&r->req.status);
        r->proc = -1;
        dm_p2p_req_step(r, DM_OK);
        return DM_OK;
    }
    dm_p2p_recv_start(r, source, tag, ctx);
    return DM_OK;
}

/* ---- bodies ---- */

int dm_recv(void *buf, size_t count, struct dm_type *type, int source, int tag,
            struct dm_comm *comm, MPI_Status *status)
{
    return dm_p2p_recv_on(buf, count, type, source, tag, comm, comm->ctx, status);
}

int dm_irecv(void *buf, size_t count, struct dm_type *type, int source, int tag,
             struct dm_comm *comm, struct dm_req **req_p)
{
    return dm_p2p_irecv_on(buf, count, type, source, tag, comm, comm->ctx, req_p);
}

/* ---- for collectives ---- */

int dm_p2p_irecv_coll(void *buf, size_t count, struct dm_type *type, int source, int tag,
                      struct dm_comm *comm, struct dm_req **req_p)
{
    return dm_p2p_irecv_on(buf, count, type, source, tag, comm, comm->ctx + 1, req_p);
}

int dm_p2p_recv_coll(void *buf, size_t count, struct dm_type *type, int source, int tag,
                     struct dm_comm *comm, MPI_Status *status)
{
    return dm_p2p_recv_on(buf, count, type, source, tag, comm, comm->ctx + 1, status);
}
