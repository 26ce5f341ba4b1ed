/*
 * Collective calls are compared: each process sends rank 0 of the communicator a record of its call, in a tag of its
 * own, and rank 0 compares them with its own. To calls that wait it answers; so they wait before they begin, and all
 * of them fail if one is another. What must not wait goes on; rank 0 compares it when all records are there, in any
 * call that waits, and calls the communicator's error handler itself: one of the program's at the end of its next such
 * call, completion call or MPI_Finalize. Others learn of it when an operation of theirs has failed (explain.c).
 *
 * Invariant: the n-th record of a process belongs to its n-th call on the communicator; messages of a pair with the
 * same tag keep their order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/pt2pt.h"
#include "usage/state.h"

/* A call, as it travels. */
struct usage_record {
    char fn[44];
    int32_t root;
    int32_t op; /* handle; 1: the program's own, 0: none */
    uint16_t waits;
    uint16_t is_odd; /* what it gives itself is not what it expects of itself */
    uint32_t n_out;  /* edges, which follow in a message of their own if there are any */
    uint32_t n_in;
    int32_t basic; /* handle of the only basic type, or MPI_DATATYPE_NULL */
    struct dm_usage_length length;
};

/* Rank 0's: a call whose records are coming. */
struct usage_compare {
    struct dm_list link; /* in dm_usage_state.compares, unless the call waits */
    struct dm_comm *comm;
    uint32_t number;
    struct usage_record *records; /* by rank; the first is its own */
    struct dm_usage_edges *edges; /* likewise */
    struct dm_req **reqs;         /* by rank, NULL: there is none */
    bool has_records;             /* all, and the edges are coming */
    bool is_held;                 /* a call waits for its requests */
    bool is_decided;              /* the verdict is there, and sent */
    int err;                      /* of asking for edges */
    struct dm_usage_verdict verdict;
};

/* A message on its way. */
struct usage_send {
    struct dm_list link; /* in dm_usage_state.sends */
    struct dm_req *req;
    char data[];
};

/* ---- records ---- */

static struct usage_record record_of(const struct dm_usage_call *call,
                                     const struct dm_usage_edges *edges)
{
    struct usage_record record = {.root = MPI_UNDEFINED,
                                  .waits = !call->is_nonblocking,
                                  .n_out = edges->n_out,
                                  .n_in = edges->n_in};
    size_t len;

    snprintf(record.fn, sizeof(record.fn), "%s", call->fn);
    len = strlen(record.fn);
    /* With large counts it is the same operation. */
    if (len > 2 && strcmp(record.fn + len - 2, "_c") == 0)
        record.fn[len - 2] = '\0';
    if (call->op != NULL && call->comm->remote == NULL)
        record.op = call->op->is_builtin ? call->op->obj.handle : 1;
    if (call->comm->remote == NULL)
        record.root = call->root;
    record.is_odd = !dm_usage_length_of_own_fits(call);
    record.length = dm_usage_length_common(call);
    record.basic = dm_usage_basic_common(call);
    return record;
}

static bool record_fits(const struct usage_record *a, const struct usage_record *b)
{
    return !a->is_odd && !b->is_odd && strcmp(a->fn, b->fn) == 0 && a->root == b->root &&
           a->op == b->op && dm_usage_length_fits(&a->length, &b->length);
}

static void record_add_length(struct dm_strbuf *sb, const struct usage_record *r, bool has_type)
{
    dm_strbuf_addf(sb, "%llu bytes", (unsigned long long)r->length.bytes);
    if (has_type)
        dm_strbuf_addf(sb, " of %s",
                       r->basic != MPI_DATATYPE_NULL ? dm_type_get(r->basic)->name
                                                     : "several basic types");
}

/* "rank 1 on n7 calls MPI_Bcast with root 0, 4000 bytes": what differs from another, or all. */
static void record_add(struct dm_strbuf *sb, const struct usage_compare *c, int rank,
                       const struct usage_record *other)
{
    const struct usage_record *r = &c->records[rank];
    int proc = dm_group_proc(c->comm->group, rank);
    bool is_all = strcmp(r->fn, other->fn) != 0;
    const char *with = " with ";

    dm_strbuf_addf(sb, "rank %d on %s calls %s", rank, dm_world.host_of(dm_world.host_arg, proc),
                   r->fn);
    if (r->is_odd)
        dm_strbuf_add(sb, ", where what it gives itself is not what it expects of itself");
    if (is_all ? r->root != MPI_UNDEFINED : r->root != other->root) {
        dm_strbuf_addf(sb, "%sroot %d", with, r->root);
        with = " and ";
    }
    if (is_all ? r->op != 0 : r->op != other->op) {
        dm_strbuf_addf(sb, "%s%s", with,
                       r->op == 1 ? "an operation of its own" : dm_op_name(r->op));
        with = " and ";
    }
    if (is_all ? r->length.bytes == 0
               : r->length.bytes == other->length.bytes && r->length.sum == other->length.sum)
        return;
    dm_strbuf_add(sb, with);
    record_add_length(sb, r, is_all || r->length.bytes == other->length.bytes);
}

/* ---- sending ---- */

static void sends_look(void)
{
    dm_list_for_each_safe (it, tmp, &dm_usage_state.sends) {
        struct usage_send *send = dm_container_of(it, struct usage_send, link);

        if (!dm_req_is_done(send->req))
            continue;
        dm_list_del(&send->link);
        dm_req_unref(send->req);
        free(send);
    }
}

/* Send something, which is copied; nobody waits for it. */
static int compare_send(struct dm_comm *comm, const void *data, size_t len, int dest, int tag)
{
    struct usage_send *send = malloc(sizeof(*send) + len);
    int err;

    if (send == NULL)
        return DM_FAIL(DM_ENOMEM, "a message of DATUM_CHECK");
    memcpy(send->data, data, len);
    err = dm_p2p_isend_coll(send->data, len, dm_type_get(MPI_BYTE), dest, tag, comm, &send->req);
    if (err != DM_OK) {
        free(send);
        return err;
    }
    dm_list_add_tail(&dm_usage_state.sends, &send->link);
    sends_look();
    return DM_OK;
}

/* ---- rank 0 ---- */

static void compare_drop_reqs(struct usage_compare *c)
{
    for (int rank = 1; rank < c->comm->size && c->reqs != NULL; rank++)
        if (c->reqs[rank] != NULL) {
            if (!dm_req_is_done(c->reqs[rank]) && c->reqs[rank]->ops->cancel != NULL)
                c->reqs[rank]->ops->cancel(c->reqs[rank]);
            dm_req_unref(c->reqs[rank]);
            c->reqs[rank] = NULL;
        }
}

static void compare_free(struct usage_compare *c)
{
    compare_drop_reqs(c);
    dm_list_del(&c->link);
    for (int rank = 0; rank < c->comm->size && c->edges != NULL; rank++)
        free(c->edges[rank].all);
    free(c->edges);
    dm_comm_unref(c->comm);
    free(c->records);
    free(c->reqs);
    free(c);
}

static int compare_new(const struct dm_usage_call *call, struct dm_comm *comm,
                       struct usage_compare **c_p)
{
    struct usage_compare *c = calloc(1, sizeof(*c));
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int err = DM_OK;

    if (c == NULL)
        return DM_FAIL(DM_ENOMEM, "a comparison of DATUM_CHECK");
    dm_list_init(&c->link);
    c->comm = comm;
    dm_comm_ref(comm);
    c->number = comm->n_compared;
    c->records = calloc((size_t)comm->size, sizeof(*c->records));
    c->reqs = calloc((size_t)comm->size, sizeof(struct dm_req *));
    c->edges = calloc((size_t)comm->size, sizeof(*c->edges));
    if (c->records == NULL || c->reqs == NULL || c->edges == NULL)
        err = DM_FAIL(DM_ENOMEM, "a comparison of DATUM_CHECK with %d processes", comm->size);
    else
        err = dm_usage_edges_of(call, &c->edges[0]);
    if (err == DM_OK)
        c->records[0] = record_of(call, &c->edges[0]);
    for (int rank = 1; rank < comm->size && err == DM_OK; rank++)
        err = dm_p2p_irecv_coll(&c->records[rank], sizeof(c->records[rank]), byte, rank,
                                DM_USAGE_TAG_RECORD, comm, &c->reqs[rank]);
    if (err != DM_OK)
        compare_free(c);
    else
        *c_p = c;
    return err;
}

/* All records are there: the edges are next. */
static int compare_ask(struct usage_compare *c)
{
    int err = DM_OK;

    c->has_records = true;
    compare_drop_reqs(c);
    for (int rank = 1; rank < c->comm->size && err == DM_OK; rank++) {
        struct dm_usage_edges *e = &c->edges[rank];
        size_t len =
            ((size_t)c->records[rank].n_out + c->records[rank].n_in) * sizeof(struct dm_usage_edge);

        if (len == 0)
            continue;
        e->all = malloc(len);
        if (e->all == NULL)
            return DM_FAIL(DM_ENOMEM, "a comparison of DATUM_CHECK, %zu bytes", len);
        e->n_out = c->records[rank].n_out;
        e->n_in = c->records[rank].n_in;
        err = dm_p2p_irecv_coll(e->all, len, dm_type_get(MPI_BYTE), rank, DM_USAGE_TAG_EDGES,
                                c->comm, &c->reqs[rank]);
    }
    return err;
}

static void compare_add_name(struct dm_strbuf *sb, const struct usage_compare *c)
{
    if (c->comm->name[0] != '\0')
        dm_strbuf_addf(sb, "call %u of %s", c->number, c->comm->name);
    else
        dm_strbuf_addf(sb, "call %u of a communicator of %d processes", c->number, c->comm->size);
}

/* Everybody makes the same call: do the lengths of their blocks fit? */
static void compare_edges(const struct usage_compare *c, struct dm_usage_verdict *verdict)
{
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, verdict->text, sizeof(verdict->text));
    if (dm_usage_edges_fit(c->edges, c->comm->size, &sb))
        return;
    verdict->err = DM_EUSAGE;
    dm_strbuf_addf(&sb, " (%s, ", c->records[0].fn);
    compare_add_name(&sb, c);
    dm_strbuf_add(&sb, ")");
}

/* All records and edges are there. */
static void compare_decide(const struct usage_compare *c, struct dm_usage_verdict *verdict)
{
    struct dm_strbuf sb;
    int first = 0, n = 0;

    verdict->err = DM_OK;
    dm_strbuf_init(&sb, verdict->text, sizeof(verdict->text));
    for (int rank = c->comm->size - 1; rank > 0; rank--)
        if (!record_fits(&c->records[0], &c->records[rank])) {
            first = rank;
            n++;
        }
    if (n == 0) {
        compare_edges(c, verdict);
        return;
    }
    verdict->err = DM_EUSAGE;
    compare_add_name(&sb, c);
    dm_strbuf_add(&sb, " is not the same at all processes: ");
    record_add(&sb, c, 0, &c->records[first]);
    dm_strbuf_add(&sb, ", ");
    record_add(&sb, c, first, &c->records[0]);
    if (n > 1)
        dm_strbuf_addf(&sb, "; %d ranks differ from rank 0", n);
}

/* Tell those who wait, and what differs the others, too. */
static int compare_answer(struct usage_compare *c)
{
    int err = DM_OK;

    compare_decide(c, &c->verdict);
    c->is_decided = true;
    for (int rank = 1; rank < c->comm->size; rank++) {
        int failed = DM_OK;

        if (c->records[rank].waits || c->verdict.err != DM_OK)
            failed =
                compare_send(c->comm, &c->verdict, sizeof(c->verdict), rank,
                             c->records[rank].waits ? DM_USAGE_TAG_VERDICT : DM_USAGE_TAG_LATE);
        if (failed != DM_OK)
            err = failed;
    }
    return err;
}

static int compare_wait_reqs(const struct usage_compare *c)
{
    int err = DM_OK;

    for (int rank = 1; rank < c->comm->size && err == DM_OK; rank++)
        if (c->reqs[rank] != NULL)
            err = dm_req_wait(c->reqs[rank]);
    return err;
}

static int compare_wait(struct usage_compare *c)
{
    int err = compare_wait_reqs(c);

    /* Edges come in the order of the calls: those of earlier ones, whose records are here, too, are asked for first. */
    dm_list_for_each (it, &dm_usage_state.compares) {
        struct usage_compare *earlier = dm_container_of(it, struct usage_compare, link);

        if (err == DM_OK && earlier->comm == c->comm && !earlier->has_records) {
            earlier->is_held = true;
            err = compare_wait_reqs(earlier);
            earlier->is_held = false;
            earlier->err = err == DM_OK ? compare_ask(earlier) : err;
        }
    }
    if (err == DM_OK)
        err = compare_ask(c);
    if (err == DM_OK)
        err = compare_wait_reqs(c);
    return err == DM_OK ? compare_answer(c) : err;
}

static bool compare_reqs_are_done(const struct usage_compare *c)
{
    for (int rank = 1; rank < c->comm->size; rank++)
        if (c->reqs[rank] != NULL && !dm_req_is_done(c->reqs[rank]))
            return false;
    return true;
}

/* Is everything there that is to be compared? Then it is. */
static bool compare_look(struct usage_compare *c)
{
    if (c->is_decided)
        return true;
    if (c->is_held || !compare_reqs_are_done(c))
        return false;
    if (!c->has_records)
        c->err = compare_ask(c);
    if (c->err == DM_OK && !compare_reqs_are_done(c))
        return false;
    if (c->err == DM_OK)
        c->err = compare_answer(c);
    c->is_decided = true;
    return true;
}

/* Not more at once than have come: an error handler of the program may call in again. */
static struct usage_compare *compare_next(void)
{
    dm_list_for_each (it, &dm_usage_state.compares) {
        struct usage_compare *c = dm_container_of(it, struct usage_compare, link);

        if (compare_look(c))
            return c;
    }
    return NULL;
}

/* Call the error handler once; false: it must wait, since it is the program's. */
static bool compare_raise(struct usage_compare *c, bool may_call)
{
    char text[DM_USAGE_VERDICT_TEXT + 64];

    snprintf(text, sizeof(text), "%s: %s", dm_err_text(DM_EUSAGE), c->verdict.text);
    if (c->err == DM_OK && c->verdict.err != DM_OK &&
        !dm_usage_state.raise(c->comm, text, may_call))
        return false;
    c->verdict.err = DM_OK;
    return true;
}

/* Nothing is freed here: calls that wait may hold it. */
int dm_usage_pass(struct dm_chan_hook *hook)
{
    int n = 0;

    (void)hook;
    dm_list_for_each (it, &dm_usage_state.compares) {
        struct usage_compare *c = dm_container_of(it, struct usage_compare, link);

        if (!c->is_decided && compare_look(c)) {
            n++;
            (void)compare_raise(c, false);
        }
    }
    return n;
}

void dm_usage_look(void)
{
    struct usage_compare *c;

    sends_look();
    while ((c = compare_next()) != NULL) {
        dm_list_del(&c->link);
        (void)compare_raise(c, true);
        compare_free(c);
    }
}

bool dm_usage_compared(struct dm_comm *comm, struct dm_usage_verdict *verdict)
{
    bool is_all = true;

    verdict->err = DM_OK;
    dm_list_for_each (it, &dm_usage_state.compares) {
        struct usage_compare *c = dm_container_of(it, struct usage_compare, link);

        if (c->comm != comm)
            continue;
        is_all &= compare_look(c);
        if (verdict->err == DM_OK && c->verdict.err != DM_OK) {
            *verdict = c->verdict;
            c->verdict.err = DM_OK;
        }
    }
    return is_all || verdict->err != DM_OK;
}

void dm_usage_compares_drop(void)
{
    dm_list_for_each_safe (it, tmp, &dm_usage_state.compares)
        compare_free(dm_container_of(it, struct usage_compare, link));
    sends_look();
}

/* ---- a call ---- */

static int compare_at_first(const struct dm_usage_call *call, struct dm_comm *comm,
                            struct dm_usage_verdict *verdict)
{
    struct usage_compare *c = NULL;
    int err = compare_new(call, comm, &c);

    verdict->err = DM_OK;
    if (err != DM_OK)
        return err;
    if (call->is_nonblocking) {
        dm_list_add_tail(&dm_usage_state.compares, &c->link);
        return DM_OK;
    }
    err = compare_wait(c);
    *verdict = c->verdict;
    compare_free(c);
    return err;
}

static int compare_at_others(const struct dm_usage_call *call, struct dm_comm *comm,
                             struct dm_usage_verdict *verdict)
{
    struct dm_usage_edges edges;
    struct usage_record record;
    int err = dm_usage_edges_of(call, &edges);

    verdict->err = DM_OK;
    if (err != DM_OK)
        return err;
    record = record_of(call, &edges);
    err = compare_send(comm, &record, sizeof(record), 0, DM_USAGE_TAG_RECORD);
    if (err == DM_OK && edges.n_out + edges.n_in > 0)
        err = compare_send(comm, edges.all, (edges.n_out + edges.n_in) * sizeof(*edges.all), 0,
                           DM_USAGE_TAG_EDGES);
    free(edges.all);
    if (err != DM_OK || call->is_nonblocking)
        return err;
    return dm_p2p_recv_coll(verdict, sizeof(*verdict), dm_type_get(MPI_BYTE), 0,
                            DM_USAGE_TAG_VERDICT, comm, MPI_STATUS_IGNORE);
}

int dm_usage_compare(const struct dm_usage_call *call)
{
    struct dm_comm *comm = call->comm;
    struct dm_usage_verdict verdict = {.err = DM_OK};
    int err;

    if (!dm_usage_has(DM_USAGE_COLLECTIVES) || comm == NULL)
        return DM_OK;
    if (comm->remote != NULL)
        comm = comm->local;
    if (comm == NULL || comm->size == 1)
        return DM_OK;
    comm->n_compared++;
    err = comm->rank == 0 ? compare_at_first(call, comm, &verdict)
                          : compare_at_others(call, comm, &verdict);
    if (err == DM_OK && verdict.err != DM_OK)
        err = DM_FAIL(verdict.err, "%s", verdict.text);
    dm_usage_look();
    return err;
}

int dm_usage_compare_name(const char *fn, struct dm_comm *comm, bool is_nonblocking)
{
    return dm_usage_compare(&(struct dm_usage_call){
        .fn = fn, .comm = comm, .is_nonblocking = is_nonblocking, .root = MPI_UNDEFINED});
}
