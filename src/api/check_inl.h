/*
 * The argument checks of the calls that programs time: one predicted branch each, inline
 * because a send makes six of them (3 ns as calls, under 1 ns so).
 */
#ifndef DM_API_CHECK_INL_H
#define DM_API_CHECK_INL_H

#include "api/check_handle_inl.h"

static inline int dm_check_count(MPI_Count count, const char *name)
{
    return dm_likely(count >= 0) ? DM_OK : dm_bad_count(count, name);
}

static inline int dm_check_count_if(bool is_used, MPI_Count count, const char *name)
{
    return dm_likely(count >= 0 || !is_used) ? DM_OK : dm_bad_count(count, name);
}

/* Neither NULL (but for types with absolute addresses) nor MPI_IN_PLACE, unless count is 0. */
static inline int dm_check_buf(const void *buf, size_t count, const struct dm_type *type,
                               const char *name)
{
    return dm_likely((uintptr_t)buf + 1 > 1) ? DM_OK : dm_bad_buf(buf, count, type, name);
}

static inline int dm_check_buf_if(bool is_used, const void *buf, size_t count,
                                  const struct dm_type *type, const char *name)
{
    return is_used ? dm_check_buf(buf, count, type, name) : DM_OK;
}

/* Of collectives: MPI_IN_PLACE is allowed here. */
static inline int dm_check_buf_coll(bool is_used, const void *buf, size_t count,
                                    const struct dm_type *type, const char *name)
{
    return !is_used || buf == MPI_IN_PLACE ? DM_OK : dm_check_buf(buf, count, type, name);
}

/* The result of a reduction must not be its input. */
static inline int dm_check_buf_reduce(const void *sendbuf, const void *recvbuf, size_t count,
                                      const struct dm_type *type, bool is_used)
{
    if (!is_used)
        return DM_OK;
    if (dm_unlikely(sendbuf == recvbuf && count > 0 && recvbuf != NULL))
        return dm_bad_same_buf();
    return dm_check_buf(recvbuf, count, type, "recvbuf");
}

static inline int dm_check_rank_to(int rank, const struct dm_comm *comm, const char *name)
{
    /* MPI_PROC_NULL is -1, MPI_ANY_SOURCE -2 */
    return dm_likely((unsigned)(rank - MPI_PROC_NULL) <= (unsigned)dm_comm_peer_size(comm))
               ? DM_OK
               : dm_bad_rank_to(rank, comm, name);
}

static inline int dm_check_rank_from(int rank, const struct dm_comm *comm, const char *name)
{
    return dm_likely((unsigned)(rank - MPI_ANY_SOURCE) <= (unsigned)dm_comm_peer_size(comm) + 1)
               ? DM_OK
               : dm_bad_rank_from(rank, comm, name);
}

static inline int dm_check_rank_in(int rank, const struct dm_comm *comm, const char *name)
{
    return dm_likely((unsigned)rank < (unsigned)dm_comm_peer_size(comm))
               ? DM_OK
               : dm_bad_rank_in(rank, comm, name);
}

static inline int dm_check_rank_win(int rank, const struct dm_win *win, const char *name)
{
    return dm_check_rank_to(rank, win->comm, name);
}

static inline int dm_check_root(int root, const struct dm_comm *comm)
{
    return dm_likely((unsigned)root < (unsigned)comm->size && comm->remote == NULL)
               ? DM_OK
               : dm_bad_root(root, comm);
}

static inline int dm_check_tag_to(int tag, const char *name)
{
    return dm_likely(tag >= 0) ? DM_OK : dm_bad_tag(tag, false, name);
}

static inline int dm_check_tag_from(int tag, const char *name)
{
    return dm_likely(tag >= MPI_ANY_TAG) ? DM_OK : dm_bad_tag(tag, true, name);
}

static inline int dm_check_ptr(const void *ptr, const char *name)
{
    return dm_likely(ptr != NULL) ? DM_OK : dm_bad_ptr(name);
}

/* Where a communicator goes: MPI_COMM_NULL if the call fails. */
static inline int dm_check_comm_out(MPI_Comm *handle_p, const char *name)
{
    if (dm_unlikely(handle_p == NULL))
        return dm_bad_newcomm(name);
    *handle_p = MPI_COMM_NULL;
    return DM_OK;
}

/* The same for a datatype. */
static inline int dm_check_type_out(MPI_Datatype *handle_p, const char *name)
{
    if (dm_unlikely(handle_p == NULL))
        return dm_bad_ptr(name);
    *handle_p = MPI_DATATYPE_NULL;
    return DM_OK;
}

static inline int dm_check_array(const void *array, MPI_Count n, const char *name)
{
    return dm_likely(array != NULL || n <= 0) ? DM_OK : dm_bad_ptr(name);
}

static inline int dm_check_fn(const void *fn, const char *name)
{
    return dm_check_ptr(fn, name);
}

static inline int dm_check_str(const char *text, const char *name)
{
    return dm_check_ptr(text, name);
}

/* Numbers whose error class is MPI_ERR_ARG. */
static inline int dm_check_nneg(MPI_Count n, const char *name)
{
    return dm_likely(n >= 0) ? DM_OK : dm_bad_nneg(n, name);
}

static inline int dm_check_disp(MPI_Aint disp, const char *name)
{
    return dm_likely(disp >= 0) ? DM_OK : dm_bad_disp(disp, name);
}

/* The position of MPI_Pack, widened. */
static inline int dm_check_pos(const int *position, MPI_Count *wide_p)
{
    if (dm_unlikely(position == NULL))
        return dm_bad_ptr("position");
    *wide_p = *position;
    return dm_check_nneg(*position, "position");
}

static inline int dm_check_req(const MPI_Request *request_p)
{
    return dm_likely(request_p != NULL) ? DM_OK : dm_bad_ptr("request");
}

/* A status that is to be read or changed. */
static inline int dm_check_status(const MPI_Status *status, const char *name)
{
    return dm_likely(status != NULL && status != MPI_STATUS_IGNORE) ? DM_OK
                                                                    : dm_bad_status(status, name);
}

/* Neighbours in the communicator's topology; without one there are none, and the body complains. */
static inline int dm_n_neighbors_in(const struct dm_comm *comm)
{
    return comm->topo != NULL ? comm->topo->n_in : 0;
}

static inline int dm_n_neighbors_out(const struct dm_comm *comm)
{
    return comm->topo != NULL ? comm->topo->n_out : 0;
}

/* Does this process give (take) the data of all in a rooted collective? */
static inline bool dm_is_root(const struct dm_comm *comm, int root)
{
    return comm->remote == NULL ? comm->rank == root : root == MPI_ROOT;
}

/* Does it give an operand to a reduction with this root? */
static inline bool dm_is_giver(const struct dm_comm *comm, int root)
{
    return comm->remote == NULL || root >= 0;
}

/* Does it have a part of its own in buf? */
static inline bool dm_is_leaf(const struct dm_comm *comm, int root, const void *buf)
{
    return comm->remote == NULL ? buf != MPI_IN_PLACE : root >= 0;
}

#endif
