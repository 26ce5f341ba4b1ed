/*
 * The table by which debuggers find communicators and messages (util/queues.h).
 */
#include "util/queues.h"

#include "mpi/pt2pt/p2p.h"

#define AT_4(type, member) DM_AT(type, member, 4)
#define AT_P(type, member) DM_AT(type, member, sizeof(void *))

extern const struct dm_queues MPIR_datum_queues;

/* Its name is known to src/mqs. */
DM_EXPORT const struct dm_queues MPIR_datum_queues = {
    .magic = DM_QUEUES_MAGIC,
    .version = DM_QUEUES_VERSION,
    .comms = &dm_handles.of[DM_KIND_COMM],
    .match = &dm_p2p.match,
    .active = &dm_p2p.active,
    .chan_p = &dm_world.chan,
    .chan_at = dm_chan_queues_at,
    .eager_done = (void (*)(void))dm_p2p_eager_sent,
    .n_builtin = DM_HANDLE_N_BUILTIN,
    .kind_send = DM_REQ_SEND,
    .kind_persistent = DM_REQ_PERSISTENT,
    .name_len = sizeof(((struct dm_comm *)0)->name),
    .at =
        {
            [DM_AT_HANDLES_SLOTS] = AT_P(struct dm_handle_table, slots),
            [DM_AT_HANDLES_N] = AT_4(struct dm_handle_table, n),
            [DM_AT_HANDLES_BUILTIN] = AT_P(struct dm_handle_table, builtin[0]),
            [DM_AT_COMM_CTX] = AT_4(struct dm_comm, ctx),
            [DM_AT_COMM_CTX_SEND] = AT_4(struct dm_comm, ctx_send),
            [DM_AT_COMM_RANK] = AT_4(struct dm_comm, rank),
            [DM_AT_COMM_SIZE] = AT_4(struct dm_comm, size),
            [DM_AT_COMM_GROUP] = AT_P(struct dm_comm, group),
            [DM_AT_COMM_REMOTE] = AT_P(struct dm_comm, remote),
            [DM_AT_COMM_NAME] = offsetof(struct dm_comm, name),
            [DM_AT_GROUP_SIZE] = AT_4(struct dm_group, size),
            [DM_AT_GROUP_PROCS] = AT_P(struct dm_group, procs),
            [DM_AT_MATCH_ONLY] = AT_P(struct dm_match, only),
            [DM_AT_MATCH_ONLY_UNEXP] = AT_P(struct dm_match, only_unexp),
            [DM_AT_MATCH_POSTED] = offsetof(struct dm_match, posted),
            [DM_AT_MATCH_UNEXP] = offsetof(struct dm_match, unexp),
            [DM_AT_TABLE_BUCKETS] = AT_P(struct dm_mtable, buckets),
            [DM_AT_TABLE_N_BUCKETS] = AT_4(struct dm_mtable, n_buckets),
            [DM_AT_NODE_CHAIN] = AT_P(struct dm_mnode, chain),
            [DM_AT_NODE_NEXT] = AT_P(struct dm_mnode, next),
            [DM_AT_NODE_CTX] = AT_4(struct dm_mnode, key.ctx),
            [DM_AT_NODE_SOURCE] = AT_4(struct dm_mnode, key.source),
            [DM_AT_NODE_TAG] = AT_4(struct dm_mnode, key.tag),
            [DM_AT_REQ_KIND] = AT_4(struct dm_p2p_req, req.kind),
            [DM_AT_REQ_COMM] = AT_P(struct dm_p2p_req, req.comm),
            [DM_AT_REQ_NODE] = offsetof(struct dm_p2p_req, node),
            [DM_AT_REQ_BUF] = AT_P(struct dm_p2p_req, buf),
            [DM_AT_REQ_LEN] = DM_AT(struct dm_p2p_req, len, 8),
            [DM_AT_REQ_PROC] = AT_4(struct dm_p2p_req, proc),
            [DM_AT_REQ_IS_ACTIVE] = DM_AT(struct dm_p2p_req, is_active, 1),
            [DM_AT_REQ_IS_COUNTED] = DM_AT(struct dm_p2p_req, is_counted, 1),
            [DM_AT_REQ_ACTIVE] = AT_P(struct dm_p2p_req, active.next),
            [DM_AT_REQ_MSG_LEN] = DM_AT(struct dm_p2p_req, msg_len, 8),
            [DM_AT_REQ_SOURCE] = AT_4(struct dm_p2p_req, req.status.MPI_SOURCE),
            [DM_AT_REQ_TAG] = AT_4(struct dm_p2p_req, req.status.MPI_TAG),
            [DM_AT_REQ_SEND] = offsetof(struct dm_p2p_req, io.send),
            [DM_AT_UNEXP_PROC] = AT_4(struct dm_p2p_unexp, proc),
            [DM_AT_UNEXP_LEN] = DM_AT(struct dm_p2p_unexp, len, 8),
            [DM_AT_UNEXP_DATA] = AT_P(struct dm_p2p_unexp, data),
        },
};

_Static_assert(offsetof(struct dm_p2p_unexp, nodes) == 0, "src/mqs takes a node for its message");
_Static_assert(offsetof(struct dm_list, next) == 0, "src/mqs follows lists");
