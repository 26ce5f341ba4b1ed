/*
 * Probes: look at the unexpected messages; matched ones take the message out.
 *
 * A matched message is a receive request that has the message in `unexp` and waits for
 * its buffer.
 */
#include "mpi/pt2pt/pt2pt.h"

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/wait.h"
#include "util/err.h"

static void probe_status(const struct dm_p2p_unexp *u, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = u->nodes[0].key.source;
    status->MPI_TAG = u->nodes[0].key.tag;
    status->count_hi_and_cancelled = 0;
    dm_status_set_bytes(status, u->len);
}

static void probe_status_proc_null(MPI_Status *status)
{
    int keep;

    if (status == MPI_STATUS_IGNORE)
        return;
    keep = status->MPI_ERROR;
    dm_status_set_proc_null(status);
    status->MPI_ERROR = keep;
}

static inline struct dm_p2p_unexp *probe_look(int source, int tag, const struct dm_comm *comm)
{
    struct dm_mkey key = {.ctx = comm->ctx, .source = source, .tag = tag};
    struct dm_mnode *node;
    int kind;

    if (dm_p2p.match.n_unexp == 0)
        return NULL;
    node = dm_match_find_unexp(&dm_p2p.match, &key, &kind);
    return node == NULL ? NULL : dm_container_of(node - kind, struct dm_p2p_unexp, nodes[0]);
}

/* Is the only process that could send it lost? */
static inline bool probe_is_hopeless(int source, struct dm_comm *comm)
{
    return dm_p2p.n_lost > 0 && source != MPI_ANY_SOURCE &&
           dm_world_is_gone(dm_comm_proc(comm, source));
}

/* A probe that waits. */
struct probe_note {
    struct dm_wait_note note;
    struct dm_wait_word word;
    int source;
    int tag;
    struct dm_comm *comm;
    struct dm_p2p_unexp *u; /* what it has found */
};

static void probe_report(const struct dm_wait_note *note, struct dm_wait_account *account)
{
    const struct probe_note *p = dm_container_of(note, const struct probe_note, note);
    struct dm_mkey key = {.ctx = p->comm->ctx, .source = p->source, .tag = p->tag};

    account->is_over = probe_look(p->source, p->tag, p->comm) != NULL;
    dm_p2p_account_recv(account, p->comm, &key);
}

static bool probe_is_over(struct dm_wait_word *word)
{
    struct probe_note *p = dm_container_of(word, struct probe_note, word);

    p->u = probe_look(p->source, p->tag, p->comm);
    return p->u != NULL || probe_is_hopeless(p->source, p->comm);
}

static struct dm_p2p_unexp *probe_wait(int source, int tag, struct dm_comm *comm)
{
    struct probe_note p = {{probe_report}, {.is_over = probe_is_over}, source, tag, comm,
                           .u = NULL};

    dm_wait_note_set(dm_world.chan, &p.note);
    dm_wait_until(dm_world.chan, &p.word);
    dm_wait_note_end(dm_world.chan);
    return p.u;
}

static inline int probe_find(int source, int tag, struct dm_comm *comm, bool blocks,
                             struct dm_p2p_unexp **u_p)
{
    struct dm_p2p_unexp *u = probe_look(source, tag, comm);

    if (u == NULL && !blocks && dm_chan_progress_test(dm_world.chan) > 0)
        u = probe_look(source, tag, comm);
    if (u == NULL && blocks)
        u = probe_wait(source, tag, comm);
    *u_p = u;
    if (u == NULL && probe_is_hopeless(source, comm))
        return dm_p2p_fail_lost(dm_comm_proc(comm, source));
    return DM_OK;
}

static int probe_probe(int source, int tag, struct dm_comm *comm, bool blocks, int *flag,
                       MPI_Status *status)
{
    struct dm_p2p_unexp *u;
    int err;

    if (source == MPI_PROC_NULL) {
        *flag = 1;
        probe_status_proc_null(status);
        return DM_OK;
    }
    err = probe_find(source, tag, comm, blocks, &u);
    *flag = u != NULL;
    if (u != NULL)
        probe_status(u, status);
    return err;
}

int dm_probe(int source, int tag, struct dm_comm *comm, MPI_Status *status)
{
    int flag;

    return probe_probe(source, tag, comm, true, &flag, status);
}

static DM_NOINLINE int iprobe_more(int source, int tag, struct dm_comm *comm, int *flag,
                                   MPI_Status *status)
{
    return probe_probe(source, tag, comm, false, flag, status);
}

int dm_iprobe(int source, int tag, struct dm_comm *comm, int *flag, MPI_Status *status)
{
    /* Nothing here, nothing comes, nobody is lost: whatever is asked for, the answer is no. */
    if (dm_p2p.match.n_unexp == 0 && dm_p2p.n_lost == 0 && source != MPI_PROC_NULL &&
        dm_chan_progress_test(dm_world.chan) == 0) {
        *flag = 0;
        return DM_OK;
    }
    return iprobe_more(source, tag, comm, flag, status);
}

/* ---- matched probes ---- */

/* The end of a request that no operation has begun for. */
static void probe_drop(struct dm_p2p_req *r)
{
    r->req.obj.refs = 1;
    dm_req_unref(&r->req);
}

void dm_p2p_probe_stop(void)
{
    dm_list_for_each_safe (it, tmp, &dm_p2p.probed) {
        struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (r->unexp != NULL)
            dm_p2p_unexp_free(r->unexp);
        probe_drop(r);
    }
}

static int probe_match(int source, int tag, struct dm_comm *comm, bool blocks, int *flag,
                       MPI_Message *message, MPI_Status *status)
{
    struct dm_p2p_req *r;
    struct dm_p2p_unexp *u;
    int err;

    *message = MPI_MESSAGE_NULL;
    *flag = 0;
    if (source == MPI_PROC_NULL) {
        *flag = 1;
        *message = MPI_MESSAGE_NO_PROC;
        probe_status_proc_null(status);
        return DM_OK;
    }
    err = probe_find(source, tag, comm, blocks, &u);
    if (u == NULL)
        return err;
    r = dm_p2p_req_new(DM_REQ_RECV, comm, NULL, 0, dm_type_get(MPI_BYTE));
    if (r == NULL)
        return DM_ENOMEM;
    err = dm_req_handle(&r->req, message);
    if (err != DM_OK) {
        probe_drop(r);
        return err;
    }
    dm_match_del_unexp(&dm_p2p.match, u->nodes);
    r->unexp = u;
    r->proc = u->proc;
    r->is_listed = true;
    dm_list_add_tail(&dm_p2p.probed, &r->active);
    *flag = 1;
    probe_status(u, status);
    return DM_OK;
}

int dm_mprobe(int source, int tag, struct dm_comm *comm, MPI_Message *message, MPI_Status *status)
{
    int flag;

    return probe_match(source, tag, comm, true, &flag, message, status);
}

int dm_improbe(int source, int tag, struct dm_comm *comm, int *flag, MPI_Message *message,
               MPI_Status *status)
{
    return probe_match(source, tag, comm, false, flag, message, status);
}

/* The request of a message, ready to receive, without its handle; NULL: not a message. */
static struct dm_p2p_req *probe_open_message(MPI_Message *message, void *buf, size_t count,
                                             struct dm_type *type)
{
    struct dm_p2p_req *r = dm_handle_get(DM_KIND_REQUEST, *message);
    struct dm_p2p_req *fresh;

    if (r == NULL || r->req.kind != DM_REQ_RECV || r->unexp == NULL)
        return NULL;
    fresh = dm_p2p_req_new(DM_REQ_RECV, r->req.comm, buf, count, type);
    if (fresh == NULL)
        return NULL;
    fresh->unexp = r->unexp;
    *message = MPI_MESSAGE_NULL;
    probe_drop(r);
    return fresh;
}

static void probe_start(struct dm_p2p_req *r)
{
    struct dm_p2p_unexp *u = r->unexp;

    r->unexp = NULL;
    dm_p2p_recv_unexp(r, u);
}

int dm_imrecv(void *buf, size_t count, struct dm_type *type, MPI_Message *message,
              struct dm_req **req_p)
{
    struct dm_p2p_req *r;

    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        return dm_p2p_irecv_on(buf, count, type, MPI_PROC_NULL, MPI_ANY_TAG, dm_world.comm_self,
                               dm_world.comm_self->ctx, req_p);
    }
    r = probe_open_message(message, buf, count, type);
    if (r == NULL)
        return DM_FAIL(DM_ERR_REQUEST, "message handle 0x%x is not one of a matched probe",
                       (unsigned)*message);
    *req_p = &r->req;
    probe_start(r);
    return DM_OK;
}

int dm_mrecv(void *buf, size_t count, struct dm_type *type, MPI_Message *message,
             MPI_Status *status)
{
    struct dm_req *req;
    int err = dm_imrecv(buf, count, type, message, &req);

    if (err != DM_OK)
        return err;
    dm_wait_for(&req->n_pending);
    dm_p2p_status(req, status);
    if (req->err != DM_OK) {
        err = dm_p2p_req_explain((struct dm_p2p_req *)req);
        dm_p2p_blame(req);
    }
    dm_req_unref(req);
    return err;
}
