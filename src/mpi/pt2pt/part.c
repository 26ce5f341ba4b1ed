/*
 * Partitioned communication (MPI-4.0 chapter 4).
 *
 * The two requests find each other once: INIT, which MPI_Psend_init sends, is matched with
 * MPI_Precv_init in the order of these calls, in a table of their own; PAIR brings the sender the
 * receiver's number. From then on every partition of the sender is a message of its own with the
 * key (PART_CTX, that number, partition), which nobody else uses: it goes as soon as the program
 * says that it is ready, by whichever protocol suits its length, and messages of one key keep the
 * order of the rounds. The receiver posts one receive for each, where its part of the buffer is.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/match_inl.h"
#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/wait.h"
#include "util/err.h"

#define PART_CTX 0x80000000u /* no communicator's */

struct pkt_init {
    struct dm_pkt pkt;
    struct dm_mkey key; /* source: rank of the sender in its group */
    uint32_t n_chunks;
    uint64_t sreq; /* comes back in PAIR */
};

struct pkt_pair {
    struct dm_pkt pkt;
    uint64_t sreq;
    uint64_t number;
};

_Static_assert(sizeof(struct pkt_init) == 32, "packet layout");
_Static_assert(sizeof(struct pkt_pair) == 24, "packet layout");

/* A message of one round, and the request that it is a part of. */
struct chunk {
    struct dm_p2p_req r;
    struct part *part;
    bool is_ready; /* send: MPI_Pready was called in this round */
};

struct part {
    struct dm_req req;
    struct dm_mnode node;   /* receive: while it is not paired */
    struct dm_list waiting; /* in parts.waiting, with a reference: it is not paired */
    struct dm_list active;  /* in parts.active: a round is under way */
    bool is_send;
    bool is_paired;
    int peer;
    int tag;
    int proc;
    void *buf;
    int n_parts;
    size_t count; /* elements of a partition */
    struct dm_type *type;
    uint32_t number; /* the receiver's */
    size_t n_chunks; /* the sender's partitions; 0 at the receiver before it is paired */
    struct chunk *chunks;
    char *bounce; /* receive: the sender's partitions end inside elements with gaps */
};

/* INIT that came before MPI_Precv_init. */
struct offer {
    struct dm_mnode nodes[DM_MATCH_KINDS];
    struct pkt_init init;
    int proc;
};

static struct {
    struct dm_match match; /* of INIT */
    struct dm_list waiting;
    struct dm_list active;
    uint32_t number; /* last given */
} parts;

static void part_free(struct dm_req *req)
{
    struct part *p = (struct part *)req;

    dm_comm_unref(req->comm);
    dm_type_unref(p->type);
    free(p->bounce);
    free(p->chunks);
    free(p);
}

static int part_finish(struct dm_req *req, MPI_Status *status)
{
    const struct part *p = (const struct part *)req;

    (void)status;
    if (req->err == DM_ERR_TRUNCATE)
        return DM_FAIL(req->err,
                       "the partitions that rank %d sends with tag %d are not together as long as "
                       "those of the receive, %d of %zu bytes",
                       p->peer, p->tag, p->n_parts, p->count * (size_t)p->type->size);
    return req->err == DM_EPEER ? dm_p2p_fail_lost(p->proc) : req->err;
}

static size_t part_total(const struct part *p)
{
    return (size_t)p->n_parts * p->count * (size_t)p->type->size;
}

/* One of the things that a round awaits is over. */
static void part_step(struct part *p, int err)
{
    if (err != DM_OK)
        p->req.err = err;
    if (--p->req.n_pending > 0)
        return;
    dm_list_del(&p->active);
    dm_req_unref(&p->req);
}

/* ---- rounds of a send ---- */

static void part_sent(void *arg)
{
    struct chunk *c = arg;

    part_step(c->part, c->r.req.err);
}

/* The partition may go, and the way is known. */
static void part_push(struct part *p, size_t i)
{
    struct chunk *c = &p->chunks[i];
    struct dm_mkey key = {.ctx = PART_CTX, .source = (int32_t)p->number, .tag = (int32_t)i};
    uintptr_t at = (uintptr_t)p->buf + i * p->count * (uintptr_t)p->type->extent;

    dm_p2p_req_init(&c->r, DM_REQ_SEND, p->req.comm, (void *)at, p->count, p->type);
    dm_p2p_watch(&c->r.req, part_sent, c);
    c->r.proc = p->proc;
    c->r.is_counted = true;
    dm_p2p.n_sends++;
    dm_p2p_send_start(&c->r, &key, DM_SEND_STANDARD);
}

static void part_push_ready(struct part *p)
{
    for (size_t i = 0; i < p->n_chunks; i++)
        if (p->chunks[i].is_ready)
            part_push(p, i);
}

/* ---- rounds of a receive ---- */

static void part_received(void *arg)
{
    struct chunk *c = arg;
    const struct dm_p2p_req *r = &c->r;
    struct part *p = c->part;
    size_t i = (size_t)(c - p->chunks);
    int err = r->req.err;

    if (err == DM_OK && r->msg_len != r->len)
        err = DM_ERR_TRUNCATE;
    if (p->bounce != NULL && err == DM_OK)
        dm_type_unpack(p->buf, (size_t)p->n_parts * p->count, p->type, i * r->len, r->addr, r->len);
    part_step(p, err);
}

/* Where the sender's partition i goes. */
static void part_slot(struct part *p, size_t i, struct dm_p2p_req *r)
{
    size_t len = part_total(p) / p->n_chunks, size = (size_t)p->type->size, n;
    struct dm_type *bytes = dm_type_get(MPI_BYTE);
    uintptr_t buf = (uintptr_t)p->buf;

    if (p->bounce != NULL) {
        dm_p2p_req_init(r, DM_REQ_RECV, p->req.comm, p->bounce + i * len, len, bytes);
    } else if (p->type->is_contig) {
        buf += (uintptr_t)p->type->true_lb + i * len;
        dm_p2p_req_init(r, DM_REQ_RECV, p->req.comm, (void *)buf, len, bytes);
    } else {
        n = size > 0 ? len / size : 0;
        buf += i * n * (uintptr_t)p->type->extent;
        dm_p2p_req_init(r, DM_REQ_RECV, p->req.comm, (void *)buf, n, p->type);
    }
}

static void part_post_all(struct part *p)
{
    for (size_t i = 0; i < p->n_chunks; i++) {
        struct dm_mkey key = {.ctx = PART_CTX, .source = (int32_t)p->number, .tag = (int32_t)i};
        struct dm_p2p_req *r = &p->chunks[i].r;

        part_slot(p, i, r);
        dm_p2p_watch(&r->req, part_received, &p->chunks[i]);
        p->req.n_pending++;
        dm_p2p_recv_key(r, p->proc, &key);
    }
}

/* ---- start ---- */

static int part_start(struct dm_req *req)
{
    struct part *p = (struct part *)req;

    if (!p->is_send) {
        req->status.MPI_SOURCE = p->peer;
        req->status.MPI_TAG = p->peer == MPI_PROC_NULL ? MPI_ANY_TAG : p->tag;
        dm_status_set_bytes(&req->status, p->peer == MPI_PROC_NULL ? 0 : part_total(p));
    }
    if (p->peer == MPI_PROC_NULL)
        return DM_OK;
    if (dm_chan_is_lost(dm_world.chan, p->proc))
        return dm_p2p_fail_lost(p->proc);
    dm_req_ref(req);
    dm_list_add_tail(&parts.active, &p->active);
    /* One more, so that it is not over before all have begun. */
    req->n_pending = 1;
    if (p->is_send) {
        req->n_pending += (int)p->n_chunks;
        for (size_t i = 0; i < p->n_chunks; i++)
            p->chunks[i].is_ready = false;
        part_step(p, DM_OK);
    } else if (p->is_paired) {
        part_post_all(p);
        part_step(p, DM_OK);
    }
    return DM_OK;
}

static const struct dm_req_ops ops = {
    .free = part_free, .start = part_start, .finish = part_finish};

/* ---- pairs ---- */

static void part_await_pair(struct part *p)
{
    dm_req_ref(&p->req);
    dm_list_add_tail(&parts.waiting, &p->waiting);
}

/* The partner is known, or will never be. */
static void part_end_pairing(struct part *p)
{
    dm_list_del(&p->waiting);
    dm_req_unref(&p->req);
}

static int part_make_chunks(struct part *p, size_t n)
{
    p->chunks = calloc(n > 0 ? n : 1, sizeof(*p->chunks));
    if (p->chunks == NULL)
        return DM_FAIL(DM_ENOMEM, "%zu partitions, %zu bytes each", n, sizeof(*p->chunks));
    p->n_chunks = n;
    for (size_t i = 0; i < n; i++)
        p->chunks[i].part = p;
    return DM_OK;
}

/* The receiver's half of pairing; the send's request and number of partitions came in init. */
static void part_pair(struct part *p, const struct pkt_init *init)
{
    size_t len = init->n_chunks > 0 ? part_total(p) / init->n_chunks : 0;
    struct pkt_pair h = {
        .pkt = {.type = DM_PKT_PART_PAIR, .version = DM_PKT_VERSION, .hdr_len = sizeof(h)},
        .sreq = init->sreq,
    };

    if (part_make_chunks(p, init->n_chunks) != DM_OK)
        dm_p2p_fatal("no memory for a partitioned receive");
    if (!p->type->is_contig && p->type->size > 0 && len % (size_t)p->type->size != 0) {
        p->bounce = malloc(part_total(p));
        if (p->bounce == NULL)
            dm_p2p_fatal("no memory for the data of a partitioned receive");
    }
    p->number = ++parts.number & INT32_MAX;
    h.number = p->number;
    p->is_paired = true;
    if (dm_chan_send_ctl(dm_world.chan, p->proc, &h.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a packet of partitioned communication");
    if (p->req.is_started && p->req.n_pending > 0) {
        part_post_all(p);
        part_step(p, DM_OK);
    }
    part_end_pairing(p);
}

static void part_on_init(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                         size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_init *init = (const struct pkt_init *)(const void *)pkt;
    struct dm_mnode *node = dm_match_take(&parts.match, &init->key);
    struct offer *offer;

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (node != NULL) {
        part_pair(dm_container_of(node, struct part, node), init);
        return;
    }
    offer = malloc(sizeof(*offer));
    if (offer == NULL)
        dm_p2p_fatal("no memory for a packet of partitioned communication");
    offer->init = *init;
    offer->proc = proc;
    dm_match_add_unexp(&parts.match, offer->nodes, &init->key);
}

static void part_on_pair(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                         size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_pair *h = (const struct pkt_pair *)(const void *)pkt;
    struct part *p = (struct part *)(uintptr_t)h->sreq;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    p->number = (uint32_t)h->number;
    p->is_paired = true;
    if (p->req.is_started && !dm_req_is_done(&p->req))
        part_push_ready(p);
    if (dm_p2p.is_leaving)
        dm_p2p_cancel_rest();
    part_end_pairing(p);
}

void dm_p2p_part_start(void)
{
    dm_match_init(&parts.match);
    dm_list_init(&parts.waiting);
    dm_list_init(&parts.active);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PART_INIT, part_on_init, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PART_PAIR, part_on_pair, NULL);
}

void dm_p2p_part_lost(int proc)
{
    dm_list_for_each_safe (it, tmp, &parts.active) {
        struct part *p = dm_container_of(it, struct part, active);
        int n_left = 0;

        if (p->proc != proc)
            continue;
        /* Messages that are under way end by themselves. */
        for (size_t i = 0; i < p->n_chunks; i++)
            n_left += !dm_req_is_done(&p->chunks[i].r.req);
        p->req.n_pending = n_left + 1;
        part_step(p, DM_EPEER);
    }
}

void dm_p2p_part_stop(void)
{
    struct dm_mnode *node;

    while ((node = dm_match_some_unexp(&parts.match)) != NULL) {
        struct offer *offer = dm_container_of(node, struct offer, nodes[0]);

        dm_match_del_unexp(&parts.match, offer->nodes);
        free(offer);
    }
    dm_match_fini(&parts.match);
    dm_list_for_each_safe (it, tmp, &parts.waiting)
        part_end_pairing(dm_container_of(it, struct part, waiting));
}

static int part_make(bool is_send, void *buf, int partitions, size_t count, struct dm_type *type,
                     int peer, int tag, struct dm_comm *comm, struct part **p_p)
{
    struct part *p = calloc(1, sizeof(*p));
    int err;

    *p_p = p;
    if (p == NULL)
        return DM_FAIL(DM_ENOMEM, "partitioned request, %zu bytes", sizeof(*p));
    dm_req_init(&p->req, DM_REQ_PERSISTENT, &ops, comm);
    dm_req_rest(&p->req);
    dm_comm_ref(comm);
    dm_type_ref(type);
    p->is_send = is_send;
    p->buf = buf;
    p->n_parts = partitions;
    p->count = count;
    p->type = type;
    p->peer = peer;
    p->tag = tag;
    p->proc = peer == MPI_PROC_NULL ? -1 : dm_comm_proc(comm, peer);
    err = is_send ? part_make_chunks(p, (size_t)partitions) : DM_OK;
    if (err != DM_OK)
        dm_req_unref(&p->req);
    return err;
}

int dm_psend_init(const void *buf, int partitions, size_t count, struct dm_type *type, int dest,
                  int tag, struct dm_comm *comm, struct dm_info *info, struct dm_req **req_p)
{
    struct pkt_init h = {
        .pkt = {.type = DM_PKT_PART_INIT, .version = DM_PKT_VERSION, .hdr_len = sizeof(h)},
        .key = {.ctx = comm->ctx_send, .source = comm->rank, .tag = tag},
        .n_chunks = (uint32_t)partitions,
    };
    struct part *p;
    int err = part_make(true, (void *)(uintptr_t)buf, partitions, count, type, dest, tag, comm, &p);

    (void)info;
    if (err != DM_OK)
        return err;
    *req_p = &p->req;
    if (dest == MPI_PROC_NULL)
        return DM_OK;
    h.sreq = (uintptr_t)p;
    part_await_pair(p);
    err = dm_chan_send_ctl(dm_world.chan, p->proc, &h.pkt);
    return err == DM_ENOMEM ? DM_FAIL(err, "packet of MPI_Psend_init") : DM_OK;
}

int dm_precv_init(void *buf, int partitions, size_t count, struct dm_type *type, int source,
                  int tag, struct dm_comm *comm, struct dm_info *info, struct dm_req **req_p)
{
    struct dm_mkey key = {.ctx = comm->ctx, .source = source, .tag = tag};
    struct dm_mnode *node;
    struct part *p;
    int kind, err = part_make(false, buf, partitions, count, type, source, tag, comm, &p);

    (void)info;
    if (err != DM_OK)
        return err;
    *req_p = &p->req;
    if (source == MPI_PROC_NULL)
        return DM_OK;
    part_await_pair(p);
    node = dm_match_find_unexp(&parts.match, &key, &kind);
    if (node == NULL) {
        p->node.key = key;
        dm_match_post(&parts.match, &p->node);
    } else {
        struct offer *offer = dm_container_of(node, struct offer, nodes[0]);

        dm_match_del_unexp(&parts.match, offer->nodes);
        part_pair(p, &offer->init);
        free(offer);
    }
    return DM_OK;
}

/* ---- partitions ---- */

/* The partitioned request of a handle, of the right direction, with such a partition. */
static int part_find(MPI_Request request, bool is_send, int partition, struct part **p_p)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(&request, &req);
    struct part *p = (struct part *)req;

    *p_p = p;
    if (err != DM_OK)
        return err;
    if (req == NULL || req->ops != &ops)
        return DM_FAIL(DM_ERR_REQUEST, "request 0x%x is not one of partitioned communication",
                       (unsigned)request);
    if (p->is_send != is_send) {
        dm_p2p_blame(req);
        return DM_FAIL(DM_ERR_REQUEST, "request 0x%x is of a partitioned %s", (unsigned)request,
                       is_send ? "receive" : "send");
    }
    if (partition < 0 || partition >= p->n_parts) {
        dm_p2p_blame(req);
        return DM_FAIL(DM_ERR_ARG, "partition is %d, the request has %d", partition, p->n_parts);
    }
    return DM_OK;
}

/* Can it be made ready? */
static int part_check_ready(int partition, MPI_Request request, struct part **p_p)
{
    int err = part_find(request, true, partition, p_p);
    struct part *p = *p_p;

    if (err != DM_OK)
        return err;
    dm_p2p_blame(&p->req);
    if (!p->req.is_started)
        return DM_FAIL(DM_ERR_REQUEST, "request 0x%x is not started", (unsigned)request);
    if (p->chunks[partition].is_ready)
        return DM_FAIL(DM_ERR_ARG, "partition %d is ready already", partition);
    return DM_OK;
}

int dm_pready(int partition, MPI_Request request)
{
    struct part *p;
    int err = part_check_ready(partition, request, &p);

    if (err != DM_OK)
        return err;
    dm_core_blame(NULL, NULL);
    p->chunks[partition].is_ready = p->peer != MPI_PROC_NULL;
    /* When the peer is lost the round has ended, or will without this partition. */
    if (p->is_paired && !dm_chan_is_lost(dm_world.chan, p->proc))
        part_push(p, (size_t)partition);
    return DM_OK;
}

int dm_pready_range(int low, int high, MPI_Request request)
{
    int err = DM_OK;

    if (low > high)
        return DM_FAIL(DM_ERR_ARG, "partition_low is %d, partition_high %d", low, high);
    for (int i = low; i <= high && err == DM_OK; i++)
        err = dm_pready(i, request);
    return err;
}

int dm_pready_list(int length, const int partitions[], MPI_Request request)
{
    int err = DM_OK;

    for (int i = 0; i < length && err == DM_OK; i++)
        err = dm_pready(partitions[i], request);
    return err;
}

/* Have the sender's partitions that overlap this one come? */
static bool part_has_arrived(const struct part *p, int partition)
{
    size_t n = (size_t)p->n_parts, i = (size_t)partition;
    size_t from = i * p->n_chunks / n, to = ((i + 1) * p->n_chunks + n - 1) / n;

    if (!p->req.is_started || dm_req_is_done(&p->req))
        return true;
    if (!p->is_paired)
        return false;
    for (; from < to; from++)
        if (!dm_req_is_done(&p->chunks[from].r.req))
            return false;
    return true;
}

int dm_parrived(MPI_Request request, int partition, int *flag)
{
    struct part *p;
    int err;

    *flag = request == MPI_REQUEST_NULL; /* as of one that is inactive */
    if (*flag)
        return DM_OK;
    err = part_find(request, false, partition, &p);
    if (err != DM_OK)
        return err;
    if (!part_has_arrived(p, partition))
        dm_chan_progress_test(dm_world.chan);
    *flag = part_has_arrived(p, partition);
    return DM_OK;
}
