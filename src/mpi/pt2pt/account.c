/*
 * What waits for messages say of themselves (channel/account.h).
 */
#include "mpi/pt2pt/p2p.h"

/* Of the unexpected messages, those that are told of. */
#define UNEXP_SHOWN 4

struct account_unexp {
    struct dm_strbuf *text;
    int n;
};

void dm_p2p_account_comm(struct dm_wait_account *account, const struct dm_comm *comm)
{
    if (comm->name[0] != '\0')
        dm_strbuf_add(&account->text, comm->name);
    else
        dm_strbuf_addf(&account->text, "the communicator with context %u", comm->ctx);
}

void dm_p2p_account_proc(struct dm_wait_account *account, int proc)
{
    if (dm_world_is_foreign(proc))
        account->is_open = true;
    else if (proc != dm_world.rank) /* what this process does itself ends no wait */
        dm_account_add(account, proc);
}

/* Anybody whose messages come on this communicator. */
static void account_anybody(struct dm_wait_account *account, const struct dm_comm *comm)
{
    int n = dm_comm_peer_size(comm);

    for (int i = 0; i < n && !account->is_open; i++)
        dm_p2p_account_proc(account, dm_comm_proc(comm, i));
}

/* "rank 1 of MPI_COMM_WORLD, tag 7" */
static void account_add_peer(struct dm_wait_account *account, const struct dm_comm *comm, int rank,
                             const struct dm_mkey *key)
{
    if (rank < 0)
        dm_strbuf_add(&account->text, "any rank of ");
    else
        dm_strbuf_addf(&account->text, "rank %d of ", rank);
    dm_p2p_account_comm(account, comm);
    if ((key->ctx & 1) != 0)
        dm_strbuf_add(&account->text, " in a collective");
    else if (key->tag == DM_MATCH_ANY_TAG)
        dm_strbuf_add(&account->text, ", any tag");
    else
        dm_strbuf_addf(&account->text, ", tag %d", key->tag);
}

void dm_p2p_account_recv(struct dm_wait_account *account, const struct dm_comm *comm,
                         const struct dm_mkey *key)
{
    dm_strbuf_add(&account->text, "a message from ");
    account_add_peer(account, comm, key->source, key);
    if (key->source == DM_MATCH_ANY_SOURCE)
        account_anybody(account, comm);
    else
        dm_p2p_account_proc(account, dm_comm_proc(comm, key->source));
}

/* " (count 100, MPI_DOUBLE)" of what the program gave to a request; nothing of what the library sends itself. */
static void account_add_data(struct dm_wait_account *account, const struct dm_p2p_req *r)
{
    if ((r->node.key.ctx & 1) != 0 || r->type == NULL || r->type->name[0] == '\0')
        return;
    dm_strbuf_addf(&account->text, " (count %zu, %s)", r->count, r->type->name);
}

static void account_matched(struct dm_wait_account *account, const struct dm_p2p_req *r)
{
    account->is_open = true; /* the data are under way */
    dm_strbuf_addf(&account->text, "the data of a message of %zu bytes, tag %d", r->msg_len,
                   r->node.key.tag);
}

static void account_send(struct dm_wait_account *account, const struct dm_p2p_req *r)
{
    const struct dm_comm *comm = r->req.comm;
    const struct dm_group *group = comm->remote != NULL ? comm->remote : comm->group;
    int rank = dm_group_rank_of(group, r->proc);

    dm_strbuf_addf(&account->text, "its message of %zu bytes to be received by ", r->len);
    account_add_peer(account, comm, rank != MPI_UNDEFINED ? rank : -1, &r->node.key);
    account->is_open |= r->is_reading || !r->is_active || r->is_recalling;
    dm_p2p_account_proc(account, r->proc);
}

void dm_p2p_account_req(struct dm_wait_account *account, const struct dm_req *req)
{
    const struct dm_p2p_req *r = (const struct dm_p2p_req *)req;

    if (dm_req_is_done(req)) {
        account->is_over = true;
    } else if (req->kind == DM_REQ_RECV && dm_p2p_req_is_plain(req)) {
        if (r->is_posted)
            dm_p2p_account_recv(account, req->comm, &r->node.key);
        else
            account_matched(account, r);
        account_add_data(account, r);
    } else if (req->kind == DM_REQ_SEND && dm_p2p_req_is_plain(req) && r->inner == NULL) {
        account_send(account, r);
        account_add_data(account, r);
    } else {
        account->is_open = true;
        dm_strbuf_add(&account->text, req->kind == DM_REQ_COLL  ? "a nonblocking collective"
                                      : req->kind == DM_REQ_RMA ? "a one-sided operation"
                                      : req->kind == DM_REQ_IO  ? "an operation on a file"
                                                                : "a request");
    }
}

/* Sends that nobody may be waiting for: MPI_Finalize does. */
static void account_sends(struct dm_wait_account *account)
{
    int n = 0;

    dm_strbuf_addf(&account->text, "%d send%s to be received", dm_p2p.n_sends,
                   dm_p2p.n_sends == 1 ? "" : "s");
    dm_list_for_each (it, &dm_p2p.active) {
        const struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (!r->is_counted)
            continue;
        n++;
        dm_p2p_account_proc(account, r->proc);
    }
    account->is_over = dm_p2p.n_sends == 0;
    account->is_open |= n < dm_p2p.n_sends;
}

static void account_pending(const int *n_pending, struct dm_wait_account *account)
{
    if (n_pending == &dm_p2p.n_sends)
        account_sends(account);
    else
        dm_p2p_account_req(account, dm_container_of(n_pending, const struct dm_req, n_pending));
}

bool dm_p2p_is_quiet(void)
{
    if (dm_p2p.n_reads > 0 || !dm_list_is_empty(&dm_p2p.arriving))
        return false;
    dm_list_for_each (it, &dm_p2p.active) {
        const struct dm_p2p_req *r = dm_container_of(it, struct dm_p2p_req, active);

        if (r->req.kind != DM_REQ_SEND || r->is_reading)
            return false;
    }
    return true;
}

bool dm_p2p_is_leaving(void)
{
    return dm_p2p.is_leaving;
}

void dm_p2p_queues(struct dm_p2p_lengths *lengths)
{
    lengths->n_posted = dm_p2p.match.n_table + (dm_p2p.match.only != NULL);
    lengths->n_unexpected = dm_p2p.match.n_unexp;
    lengths->unexpected_bytes = dm_p2p.flow.n_bytes;
}

/* The communicator whose messages have this context, if it still has a handle. */
static const struct dm_comm *account_comm_of(uint32_t ctx)
{
    const struct dm_handle_table *table = &dm_handles.of[DM_KIND_COMM];

    for (uint32_t i = 0; i < DM_HANDLE_N_BUILTIN + table->n; i++) {
        const void *slot = i < DM_HANDLE_N_BUILTIN ? (void *)table->builtin[i]
                                                   : table->slots[i - DM_HANDLE_N_BUILTIN];
        const struct dm_comm *comm = slot;

        if (slot != NULL && ((uintptr_t)slot & 1) == 0 && comm->ctx == (ctx & ~UINT32_C(1)))
            return comm;
    }
    return NULL;
}

/* A line of the unexpected messages; yes when no more is wanted. */
static bool account_add_unexp(const struct dm_mnode *node, void *arg)
{
    const struct dm_p2p_unexp *u = dm_container_of(node, struct dm_p2p_unexp, nodes[0]);
    const struct dm_comm *comm = account_comm_of(node->key.ctx);
    struct account_unexp *list = arg;
    struct dm_wait_account line = {.n = 0};

    dm_strbuf_init(&line.text, line.chars, sizeof(line.chars));
    if (comm != NULL)
        account_add_peer(&line, comm, node->key.source, &node->key);
    else
        dm_strbuf_addf(&line.text, "process %d, tag %d", u->proc, node->key.tag);
    dm_strbuf_addf(list->text, "%sfrom %s, %zu bytes", list->n > 0 ? "; " : "", line.chars, u->len);
    return ++list->n == UNEXP_SHOWN;
}

void dm_p2p_unexpected_text(struct dm_strbuf *text)
{
    struct account_unexp list = {.text = text};

    (void)dm_match_some_unexp_of(&dm_p2p.match, account_add_unexp, &list);
}

void dm_p2p_account_start(void)
{
    dm_wait_on_pending(dm_world.chan, account_pending);
}
