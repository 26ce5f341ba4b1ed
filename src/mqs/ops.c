/*
 * The library for debuggers: sends, receives and unexpected messages of a communicator.
 */
#include "mqs/state.h"

#include <stdio.h>
#include <string.h>

/* A new operation; NULL: no memory. */
static mqs_pending_operation *ops_add(mqs_process_info *info)
{
    mqs_pending_operation *op =
        dm_mqs_more(info, info->ops, info->n_ops, &info->cap_ops, sizeof(*op));

    if (op == NULL)
        return NULL;
    info->ops = op;
    op += info->n_ops++;
    memset(op, 0, sizeof(*op));
    op->desired_local_rank = op->desired_global_rank = mqs_INVALID_PROCESS;
    op->actual_local_rank = op->actual_global_rank = mqs_INVALID_PROCESS;
    return op;
}

/* Rank of a process in the group that messages go to, or -1. */
static int32_t ops_rank_of(mqs_process_info *info, const struct dm_mqs_comm *comm, int32_t proc)
{
    int32_t size = (int32_t)dm_mqs_word(info, dm_mqs_member(info, comm->peers, DM_AT_GROUP_SIZE));
    mqs_taddr_t procs = dm_mqs_pointer(info, dm_mqs_member(info, comm->peers, DM_AT_GROUP_PROCS));

    if (procs == 0)
        return proc < size ? proc : -1;
    for (int32_t i = 0; i < size && info->err == mqs_ok; i++)
        if ((int32_t)dm_mqs_word(info, procs + (mqs_taddr_t)i * sizeof(int)) == proc)
            return i;
    return -1;
}

static uint32_t node_word(mqs_process_info *info, mqs_taddr_t node, enum dm_queues_at member)
{
    return dm_mqs_word(info, dm_mqs_member(info, node, member));
}

/* ---- sends ---- */

static void ops_add_send(mqs_process_info *info, const struct dm_mqs_comm *comm, mqs_taddr_t req)
{
    mqs_taddr_t node = dm_mqs_member(info, req, DM_AT_REQ_NODE);
    mqs_pending_operation *op;

    if (dm_mqs_pointer(info, dm_mqs_member(info, req, DM_AT_REQ_COMM)) != comm->at ||
        node_word(info, node, DM_AT_NODE_CTX) != comm->ctx_send)
        return;
    op = ops_add(info);
    if (op == NULL)
        return;
    op->status = mqs_st_pending;
    op->desired_global_rank = (int32_t)dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_PROC));
    op->desired_local_rank = ops_rank_of(info, comm, (int32_t)op->desired_global_rank);
    op->desired_tag = (int32_t)node_word(info, node, DM_AT_NODE_TAG);
    op->desired_length = (mqs_tword_t)dm_mqs_long(info, dm_mqs_member(info, req, DM_AT_REQ_LEN));
    op->buffer = dm_mqs_pointer(info, dm_mqs_member(info, req, DM_AT_REQ_BUF));
    op->actual_local_rank = op->desired_local_rank;
    op->actual_global_rank = op->desired_global_rank;
    op->actual_tag = op->desired_tag;
    op->actual_length = op->desired_length;
    snprintf(op->extra_text[0], sizeof(op->extra_text[0]), "Request 0x%lx", req);
}

/* Messages that wait in the channel for space in the ring; those that are awaited besides are listed there. */
static void ops_queued_sends(mqs_process_info *info, const struct dm_mqs_comm *comm)
{
    const uint32_t *at = info->chan_at;
    mqs_taddr_t chan = dm_mqs_pointer(info, (mqs_taddr_t)info->queues.chan_p);
    unsigned n = 0;

    if (chan == 0)
        return;
    for (mqs_taddr_t peer = dm_mqs_pointer(info, chan + at[DM_AT_CHAN_ALL]);
         peer != 0 && info->err == mqs_ok && n < DM_MQS_MOST;
         peer = dm_mqs_pointer(info, peer + at[DM_AT_PEER_NEXT])) {
        for (mqs_taddr_t send = dm_mqs_pointer(info, peer + at[DM_AT_PEER_QUEUE]);
             send != 0 && info->err == mqs_ok && n < DM_MQS_MOST;
             send = dm_mqs_pointer(info, send + at[DM_AT_SEND_NEXT])) {
            mqs_taddr_t req = send - info->queues.at[DM_AT_REQ_SEND];
            char is_active;

            n++;
            if (dm_mqs_pointer(info, send + at[DM_AT_SEND_DONE]) !=
                (mqs_taddr_t)info->queues.eager_done)
                continue;
            dm_mqs_fetch(info, dm_mqs_member(info, req, DM_AT_REQ_IS_ACTIVE), 1, &is_active);
            if (!is_active)
                ops_add_send(info, comm, req);
        }
    }
}

static bool ops_is_send(mqs_process_info *info, mqs_taddr_t req)
{
    uint32_t kind = dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_KIND));
    char is_counted;

    if (kind != info->queues.kind_persistent)
        return kind == info->queues.kind_send;
    dm_mqs_fetch(info, dm_mqs_member(info, req, DM_AT_REQ_IS_COUNTED), 1, &is_counted);
    return is_counted;
}

/* Requests that await something of a peer; fn looks at the sends, or at the receives. */
static void ops_each_active(mqs_process_info *info, const struct dm_mqs_comm *comm, bool is_send,
                            void (*fn)(mqs_process_info *info, const struct dm_mqs_comm *comm,
                                       mqs_taddr_t req))
{
    mqs_taddr_t head = (mqs_taddr_t)info->queues.active;
    mqs_taddr_t link = dm_mqs_pointer(info, head);

    /* before MPI_Init it is empty */
    for (unsigned n = 0; link != 0 && link != head && info->err == mqs_ok && n < DM_MQS_MOST; n++) {
        mqs_taddr_t req = link - info->queues.at[DM_AT_REQ_ACTIVE];

        if (ops_is_send(info, req) == is_send)
            fn(info, comm, req);
        link = dm_mqs_pointer(info, link);
    }
}

/* ---- receives ---- */

static mqs_pending_operation *ops_add_recv(mqs_process_info *info, const struct dm_mqs_comm *comm,
                                           mqs_taddr_t req)
{
    mqs_taddr_t node = dm_mqs_member(info, req, DM_AT_REQ_NODE);
    mqs_pending_operation *op;
    int32_t source, tag;

    if (node_word(info, node, DM_AT_NODE_CTX) != comm->ctx)
        return NULL;
    op = ops_add(info);
    if (op == NULL)
        return NULL;
    source = (int32_t)node_word(info, node, DM_AT_NODE_SOURCE);
    tag = (int32_t)node_word(info, node, DM_AT_NODE_TAG);
    op->status = mqs_st_pending;
    op->desired_local_rank = source < 0 ? mqs_INVALID_PROCESS : source;
    op->desired_global_rank = (int32_t)dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_PROC));
    op->tag_wild = tag < 0;
    op->desired_tag = tag;
    op->desired_length = (mqs_tword_t)dm_mqs_long(info, dm_mqs_member(info, req, DM_AT_REQ_LEN));
    op->buffer = dm_mqs_pointer(info, dm_mqs_member(info, req, DM_AT_REQ_BUF));
    snprintf(op->extra_text[0], sizeof(op->extra_text[0]), "Request 0x%lx", req);
    return op;
}

static void ops_add_posted(mqs_process_info *info, const struct dm_mqs_comm *comm, mqs_taddr_t node)
{
    ops_add_recv(info, comm, node - info->queues.at[DM_AT_REQ_NODE]);
}

/* One whose message is here in part. */
static void ops_add_matched(mqs_process_info *info, const struct dm_mqs_comm *comm, mqs_taddr_t req)
{
    mqs_pending_operation *op = ops_add_recv(info, comm, req);

    if (op == NULL)
        return;
    op->status = mqs_st_matched;
    op->actual_local_rank = (int32_t)dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_SOURCE));
    op->actual_global_rank = (int32_t)dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_PROC));
    op->actual_tag = (int32_t)dm_mqs_word(info, dm_mqs_member(info, req, DM_AT_REQ_TAG));
    op->actual_length = (mqs_tword_t)dm_mqs_long(info, dm_mqs_member(info, req, DM_AT_REQ_MSG_LEN));
}

/* ---- unexpected messages ---- */

/* Each is in the table by several keys: by this one it is under its own. */
static void ops_add_unexpected(mqs_process_info *info, const struct dm_mqs_comm *comm,
                               mqs_taddr_t node)
{
    int32_t source = (int32_t)node_word(info, node, DM_AT_NODE_SOURCE);
    int32_t tag = (int32_t)node_word(info, node, DM_AT_NODE_TAG);
    mqs_pending_operation *op;

    if (source < 0 || tag < 0 || node_word(info, node, DM_AT_NODE_CTX) != comm->ctx)
        return;
    op = ops_add(info);
    if (op == NULL)
        return;
    op->status = mqs_st_matched;
    op->desired_local_rank = op->actual_local_rank = source;
    op->actual_global_rank =
        (int32_t)dm_mqs_word(info, dm_mqs_member(info, node, DM_AT_UNEXP_PROC));
    op->desired_global_rank = op->actual_global_rank;
    op->desired_tag = op->actual_tag = tag;
    op->actual_length = (mqs_tword_t)dm_mqs_long(info, dm_mqs_member(info, node, DM_AT_UNEXP_LEN));
    op->desired_length = op->actual_length;
    op->system_buffer = 1;
    op->buffer = dm_mqs_pointer(info, dm_mqs_member(info, node, DM_AT_UNEXP_DATA));
}

/* All nodes of a table: buckets chain the first ones of keys, and those of a key are in a circle. */
static void ops_each_node(mqs_process_info *info, const struct dm_mqs_comm *comm, mqs_taddr_t table,
                          void (*fn)(mqs_process_info *info, const struct dm_mqs_comm *comm,
                                     mqs_taddr_t node))
{
    mqs_taddr_t buckets = dm_mqs_pointer(info, dm_mqs_member(info, table, DM_AT_TABLE_BUCKETS));
    uint32_t n_buckets = dm_mqs_word(info, dm_mqs_member(info, table, DM_AT_TABLE_N_BUCKETS));
    unsigned n = 0;

    for (uint32_t i = 0; i < n_buckets && i < DM_MQS_MOST && info->err == mqs_ok; i++) {
        mqs_taddr_t first = dm_mqs_pointer(info, buckets + i * sizeof(mqs_taddr_t));

        while (first != 0 && info->err == mqs_ok && n < DM_MQS_MOST) {
            mqs_taddr_t node = first;

            do {
                n++;
                fn(info, comm, node);
                node = dm_mqs_pointer(info, dm_mqs_member(info, node, DM_AT_NODE_NEXT));
            } while (node != first && info->err == mqs_ok && n < DM_MQS_MOST);
            first = dm_mqs_pointer(info, dm_mqs_member(info, first, DM_AT_NODE_CHAIN));
        }
    }
}

/* ---- going through them ---- */

static void ops_collect(mqs_process_info *info, const struct dm_mqs_comm *comm, int op_class)
{
    mqs_taddr_t match = (mqs_taddr_t)info->queues.match, only;

    switch (op_class) {
    case mqs_pending_sends:
        ops_each_active(info, comm, true, ops_add_send);
        ops_queued_sends(info, comm);
        break;
    case mqs_pending_receives:
        ops_each_active(info, comm, false, ops_add_matched);
        only = dm_mqs_pointer(info, dm_mqs_member(info, match, DM_AT_MATCH_ONLY));
        if (only != 0)
            ops_add_posted(info, comm, only);
        ops_each_node(info, comm, dm_mqs_member(info, match, DM_AT_MATCH_POSTED), ops_add_posted);
        break;
    default:
        only = dm_mqs_pointer(info, dm_mqs_member(info, match, DM_AT_MATCH_ONLY_UNEXP));
        if (only != 0)
            ops_add_unexpected(info, comm, only);
        ops_each_node(info, comm, dm_mqs_member(info, match, DM_AT_MATCH_UNEXP),
                      ops_add_unexpected);
        break;
    }
}

int mqs_setup_operation_iterator(mqs_process *process, int op_class)
{
    mqs_process_info *info = dm_mqs_process(process);

    info->n_ops = info->at_op = 0;
    info->err = mqs_ok;
    if (info->at_comm >= info->n_comms || op_class < mqs_pending_sends ||
        op_class > mqs_unexpected_messages)
        return mqs_no_information;
    ops_collect(info, &info->comms[info->at_comm], op_class);
    if (info->err != mqs_ok)
        return info->err;
    return info->n_ops > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_next_operation(mqs_process *process, mqs_pending_operation *op)
{
    mqs_process_info *info = dm_mqs_process(process);

    if (info->at_op >= info->n_ops)
        return mqs_end_of_list;
    *op = info->ops[info->at_op++];
    return mqs_ok;
}
