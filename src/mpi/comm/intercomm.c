/*
 * Intercommunicators: two groups that do not overlap, joined by their leaders.
 *
 * Invariant: both groups agree on one context id, so that what a process sends and
 * receives with is the same; comm->local is a communicator of the local group with an id
 * of its own.
 */
#include "mpi/comm/intercomm.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/agree.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/procs.h"
#include "mpi/pt2pt/pt2pt.h"

int dm_intercomm_new(struct dm_group *group, struct dm_group *remote, uint32_t ctx,
                     struct dm_comm *local, struct dm_errhandler *eh, struct dm_comm **comm_p)
{
    int err = dm_comm_new(group, ctx, eh, comm_p);

    if (err != DM_OK) {
        dm_comm_unref(local);
        return err;
    }
    dm_comm_set_remote(*comm_p, remote);
    (*comm_p)->local = local;
    return DM_OK;
}

int dm_intercomm_dup(struct dm_comm *comm, struct dm_comm **comm_p)
{
    struct dm_comm *local;
    uint32_t ctx;
    int err = dm_comm_dup_bare(comm->local, &local);

    if (err != DM_OK)
        return err;
    err = dm_comm_agree_all(comm, &ctx);
    if (err != DM_OK) {
        dm_comm_unref(local);
        return err;
    }
    return dm_intercomm_new(comm->group, comm->remote, ctx, local, comm->eh, comm_p);
}

/* ---- create ---- */

#define FAILED (-1) /* the size of a group where the call has failed */

/* What the leaders send each other of their groups, as ints. */
struct group_info {
    int size;     /* or FAILED */
    int ctx;      /* id of the local communicator */
    int is_mixed; /* has processes of several jobs */
};
enum { GROUP_INFO_INTS = 3 };
_Static_assert(sizeof(struct group_info) == GROUP_INFO_INTS * sizeof(int), "sent as ints");

/* The other group, as it becomes known. */
struct other_group {
    int n;
    bool
        is_packed; /* processes are told by who they are, since numbers do not mean the same in all */
    int *procs;    /* with references of processes of other jobs */
};

/*
 * The size of the other group, and what both groups know of the circle. What is wrong at one
 * process of either group fails all: err is what has been so far. Only a leader that cannot reach
 * the other one leaves that group alone.
 */
static int intercomm_exchange_sizes(struct dm_comm_circle *c, int err, bool has_bridge,
                                    struct other_group *other)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    struct dm_comm *comm = c->comm;
    bool names_leader = c->leader >= 0 && c->leader < comm->size;
    int said[3] = {names_leader ? c->leader : FAILED, names_leader ? -c->leader : INT_MIN,
                   err != DM_OK};
    struct group_info mine = {comm->size, (int)comm->ctx, !dm_group_is_own(comm->group)};
    struct group_info theirs = {FAILED, 0, 0};
    int moved = dm_allreduce(MPI_IN_PLACE, said, 3, type, dm_op_get(MPI_MAX), comm);

    if (err == DM_OK)
        err = moved;
    if (err == DM_OK && said[2] != 0)
        err = DM_FAIL(DM_ERR_OTHER, "another rank of the local group has failed in the same call");
    if (err == DM_OK && said[0] != -said[1])
        err = DM_FAIL(DM_ERR_ARG, "ranks of the local group name different leaders, %d and %d",
                      -said[1], said[0]);
    if (err != DM_OK)
        mine.size = FAILED;
    if (moved == DM_OK && has_bridge && comm->rank == said[0]) {
        moved =
            dm_sendrecv(&mine, GROUP_INFO_INTS, type, c->peer_rank, c->tag, &theirs,
                        GROUP_INFO_INTS, type, c->peer_rank, c->tag, c->peer, MPI_STATUS_IGNORE);
        if (mine.is_mixed || dm_world_is_foreign(dm_comm_proc(c->peer, c->peer_rank)))
            theirs.is_mixed = true;
        if (moved != DM_OK)
            theirs.size = FAILED;
    }
    if (err == DM_OK)
        err = moved;
    if (mine.size == FAILED)
        return err;
    moved = dm_bcast(&theirs, GROUP_INFO_INTS, type, c->leader, comm);
    if (err == DM_OK)
        err = moved;
    if (err == DM_OK && theirs.size == FAILED)
        err = DM_FAIL(DM_ERR_OTHER, "the other group has failed in the same call");
    other->n = theirs.size;
    other->is_packed = theirs.is_mixed != 0;
    c->lower_ctx = comm->ctx < (uint32_t)theirs.ctx ? comm->ctx : (uint32_t)theirs.ctx;
    return err;
}

/*
 * The leaders tell each other their groups by process numbers, which all know alike, and then their
 * own groups the other one.
 */
static int intercomm_exchange_numbers(const struct dm_comm_circle *c, struct other_group *other)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    struct dm_comm *comm = c->comm;
    size_t n = (size_t)other->n;
    int *mine = malloc((size_t)comm->size * sizeof(*mine));
    int err = DM_OK;

    if (mine == NULL)
        err = DM_FAIL(DM_ENOMEM, "list of %d processes", comm->size);
    for (int i = 0; i < comm->size && mine != NULL; i++)
        mine[i] = dm_group_proc(comm->group, i);
    if (err == DM_OK && comm->rank == c->leader)
        err = dm_sendrecv(mine, (size_t)comm->size, type, c->peer_rank, c->tag, other->procs, n,
                          type, c->peer_rank, c->tag, c->peer, MPI_STATUS_IGNORE);
    if (err == DM_OK)
        err = dm_bcast(other->procs, n, type, c->leader, comm);
    free(mine);
    return err;
}

/* What a group says of its processes, packed one behind the other (procs.h). */
struct infos {
    char *bytes;
    size_t len;
    size_t max;
};

static int infos_add(struct infos *infos, const char *one, size_t len)
{
    size_t max = 2 * (infos->max + DM_PROCS_PACKED_MAX);

    if (infos->max - infos->len < len) {
        char *more = realloc(infos->bytes, max);

        if (more == NULL)
            return DM_FAIL(DM_ENOMEM, "description of processes, %zu bytes", max);
        infos->bytes = more;
        infos->max = max;
    }
    memcpy(infos->bytes + infos->len, one, len);
    infos->len += len;
    return DM_OK;
}

/* What a rank says of itself; who says nothing has failed. */
static int infos_hear(char one[DM_PROCS_PACKED_MAX], size_t *len_p, int rank, struct dm_comm *comm,
                      int tag)
{
    MPI_Status status;
    int err;

    if (rank == comm->rank)
        return dm_procs_pack_own(one, len_p);
    err =
        dm_p2p_recv_coll(one, DM_PROCS_PACKED_MAX, dm_type_get(MPI_BYTE), rank, tag, comm, &status);
    if (err != DM_OK)
        return err;
    *len_p = dm_status_bytes(&status);
    return *len_p > 0 ? DM_OK
                      : DM_FAIL(DM_ERR_OTHER,
                                "rank %d of the local group cannot be reached by others", rank);
}

/* The leader hears of all, one after the other. */
static int infos_gather(struct infos *infos, struct dm_comm *comm, int tag)
{
    char one[DM_PROCS_PACKED_MAX];
    int first = DM_OK;

    for (int i = 0; i < comm->size; i++) {
        size_t len = 0;
        int err = infos_hear(one, &len, i, comm, tag);

        if (first == DM_OK)
            first = err == DM_OK ? infos_add(infos, one, len) : err;
    }
    return first;
}

/* The others. Why one cannot is its own to say. */
static int intercomm_send_leader(const struct dm_comm_circle *c, int tag)
{
    char own[DM_PROCS_PACKED_MAX];
    size_t len = 0;
    int err = dm_procs_pack_own(own, &len);
    int moved = dm_p2p_send_coll(own, len, dm_type_get(MPI_BYTE), c->leader, tag, c->comm);

    return err == DM_OK ? moved : err;
}

/* The leaders' part of the next: what the other one says of its group, *len_p bytes. */
static int intercomm_swap_infos(const struct dm_comm_circle *c, int tag, void **theirs_p,
                                int64_t *len_p)
{
    struct dm_type *type = dm_type_get(MPI_INT64_T);
    struct dm_type *bytes = dm_type_get(MPI_BYTE);
    struct infos mine = {0};
    int err = infos_gather(&mine, c->comm, tag);
    int64_t mine_len = err == DM_OK ? (int64_t)mine.len : FAILED;
    int moved = dm_sendrecv(&mine_len, 1, type, c->peer_rank, c->tag, len_p, 1, type, c->peer_rank,
                            c->tag, c->peer, MPI_STATUS_IGNORE);

    if (err == DM_OK)
        err = moved;
    if (err == DM_OK && *len_p == FAILED)
        err = DM_FAIL(DM_ERR_OTHER, "the other group has failed in the same call");
    if (err == DM_OK) {
        *theirs_p = malloc((size_t)*len_p);
        if (*theirs_p == NULL)
            err = DM_FAIL(DM_ENOMEM, "description of processes, %lld bytes", (long long)*len_p);
        moved = dm_sendrecv(mine.bytes, mine.len, bytes, c->peer_rank, c->tag, *theirs_p,
                            err == DM_OK ? (size_t)*len_p : 0, bytes, c->peer_rank, c->tag, c->peer,
                            MPI_STATUS_IGNORE);
        if (err == DM_OK)
            err = moved;
    }
    free(mine.bytes);
    if (err != DM_OK)
        *len_p = FAILED;
    return err;
}

/* The same for groups of several jobs, by what others need to know of a process (procs.h). */
static int intercomm_exchange_infos(const struct dm_comm_circle *c, struct other_group *other)
{
    struct dm_comm *comm = c->comm;
    bool is_leader = comm->rank == c->leader;
    int tag = dm_coll_tag(comm->coll_seq++);
    void *theirs = NULL;
    int64_t len = FAILED;
    int moved;
    int err =
        is_leader ? intercomm_swap_infos(c, tag, &theirs, &len) : intercomm_send_leader(c, tag);

    moved = dm_bcast(&len, 1, dm_type_get(MPI_INT64_T), c->leader, comm);
    if (err == DM_OK)
        err = moved;
    if (err == DM_OK && len == FAILED)
        err = DM_FAIL(DM_ERR_OTHER, "the leader of the local group has failed in the same call");
    if (err == DM_OK && !is_leader) {
        theirs = malloc((size_t)len);
        if (theirs == NULL) /* the others cannot be told at this point */
            err = DM_FAIL(DM_ENOMEM, "description of processes, %lld bytes", (long long)len);
    }
    if (err == DM_OK)
        err = dm_bcast(theirs, (size_t)len, dm_type_get(MPI_BYTE), c->leader, comm);
    if (err == DM_OK)
        err = dm_procs_unpack(theirs, (size_t)len, other->n, other->procs);
    free(theirs);
    return err;
}

/*
 * Both groups are known to all afterwards. What is wrong by now is found by all alike, or told to
 * them by the agreement that follows.
 */
static int intercomm_exchange_groups(const struct dm_comm_circle *c, struct other_group *other,
                                     struct dm_group **remote_p)
{
    int err;

    other->procs = malloc((size_t)other->n * sizeof(*other->procs));
    if (other->procs == NULL)
        return DM_FAIL(DM_ENOMEM, "list of %d remote processes", other->n);
    err = other->is_packed ? intercomm_exchange_infos(c, other)
                           : intercomm_exchange_numbers(c, other);
    if (err == DM_OK) {
        err = dm_group_new(other->n, other->procs, NULL, remote_p);
        if (other->is_packed)
            dm_procs_put(other->n, other->procs);
    }
    free(other->procs);
    return err;
}

static int intercomm_check_disjoint(struct dm_group *a, struct dm_group *b)
{
    struct dm_group *both;
    int n;
    int err = dm_group_intersection(a, b, &both);

    if (err != DM_OK)
        return err;
    n = both->size;
    dm_group_unref(both);
    return n == 0 ? DM_OK
                  : DM_FAIL(DM_ERR_COMM,
                            "the two groups of an intercommunicator have %d "
                            "processes in common",
                            n);
}

/* Is there a leader? The rest only the leader can tell. */
static int intercomm_check_bridge(const struct dm_comm_circle *c)
{
    if (c->leader < 0 || c->leader >= c->comm->size)
        return DM_FAIL(DM_ERR_RANK, "local leader %d; the local communicator has %d ranks",
                       c->leader, c->comm->size);
    if (c->comm->rank != c->leader)
        return DM_OK;
    if (c->peer == NULL)
        return DM_FAIL(DM_ERR_COMM, "the local leader has no peer communicator");
    if (c->peer_rank < 0 || c->peer_rank >= dm_comm_peer_size(c->peer))
        return DM_FAIL(DM_ERR_RANK, "remote leader %d; the peer communicator has %d ranks",
                       c->peer_rank, dm_comm_peer_size(c->peer));
    if (c->tag < 0)
        return DM_FAIL(DM_ERR_TAG, "tag %d", c->tag);
    return DM_OK;
}

int dm_intercomm_create(struct dm_comm *local_comm, int local_leader, struct dm_comm *peer_comm,
                        int remote_leader, int tag, struct dm_comm **comm_p)
{
    struct dm_comm_circle circle = {.comm = local_comm,
                                    .peer = peer_comm,
                                    .peer_rank = remote_leader,
                                    .leader = local_leader,
                                    .tag = tag,
                                    .is_bridge = true};
    struct other_group other = {0};
    struct dm_group *remote = NULL;
    struct dm_comm *local = NULL;
    uint32_t ctx;
    int err;

    *comm_p = NULL;
    if (local_comm->remote != NULL)
        return DM_FAIL(DM_ERR_COMM, "the local communicator is an intercommunicator");
    err = intercomm_check_bridge(&circle);
    err = intercomm_exchange_sizes(&circle, err, err == DM_OK && local_comm->rank == local_leader,
                                   &other);
    if (err != DM_OK)
        return err;
    err = intercomm_exchange_groups(&circle, &other, &remote);
    if (err == DM_OK)
        err = intercomm_check_disjoint(local_comm->group, remote);
    /* Who has failed says so to its group, then the leaders to each other. */
    err = dm_comm_dup_or_fail(local_comm, err, &local);
    err = dm_comm_agree(&circle, err, &ctx);
    if (err == DM_OK)
        err = dm_intercomm_new(local_comm->group, remote, ctx, local, local_comm->eh, comm_p);
    else
        dm_comm_unref(local);
    dm_group_unref(remote);
    return err;
}

/* ---- merge ---- */

/* Does the local group come first? Told by `high`, and if both say the same by who its leader is. */
static int intercomm_is_first(struct dm_comm *comm, int high, bool *is_first_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    int is_high[2] = {high != 0, 0}; /* here and there */
    int err = DM_OK;

    if (comm->rank == 0)
        err = dm_p2p_sendrecv_coll(&is_high[0], 1, type, 0, &is_high[1], 1, type, 0,
                                   dm_coll_tag(comm->coll_seq), comm);
    comm->coll_seq++;
    /* What the leader said goes for the whole group. */
    if (err == DM_OK)
        err = dm_bcast(is_high, 2, type, 0, comm->local);
    *is_first_p = is_high[0] != is_high[1] ? is_high[0] < is_high[1] : dm_procs_is_first(comm);
    return err;
}

int dm_intercomm_merge(struct dm_comm *comm, int high, struct dm_comm **comm_p)
{
    struct dm_group *group = NULL;
    bool is_low;
    uint32_t ctx;
    int err;

    *comm_p = NULL;
    if (comm->remote == NULL)
        return DM_FAIL(DM_ERR_COMM, "merging an intracommunicator");
    err = intercomm_is_first(comm, high, &is_low);
    if (err == DM_OK)
        err = dm_group_union(is_low ? comm->group : comm->remote,
                             is_low ? comm->remote : comm->group, &group);
    if (err == DM_OK)
        err = dm_comm_agree_all(comm, &ctx);
    if (err == DM_OK)
        err = dm_comm_new(group, ctx, comm->eh, comm_p);
    dm_group_unref(group);
    return err;
}
