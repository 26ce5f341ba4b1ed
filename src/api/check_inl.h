/*
 * The argument checks of the calls that programs time: one predicted branch each, inline
 * because a send makes six of them (3 ns as calls, under 1 ns so).
 */
#ifndef DM_API_CHECK_INL_H
#define DM_API_CHECK_INL_H

#include "api/check.h"

static inline int dm_check_comm(MPI_Comm handle, struct dm_comm **comm_p)
{
    *comm_p = dm_handle_get(DM_KIND_COMM, handle);
    return dm_likely(*comm_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_COMM, handle, "comm");
}

static inline int dm_check_win(MPI_Win handle, struct dm_win **win_p)
{
    *win_p = dm_win_get(handle);
    return dm_likely(*win_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_WIN, handle, "win");
}

static inline int dm_check_type(MPI_Datatype handle, const char *name, struct dm_type **type_p)
{
    *type_p = dm_type_get(handle);
    return dm_likely(*type_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_TYPE, handle, name);
}

static inline int dm_check_group(MPI_Group handle, const char *name, struct dm_group **group_p)
{
    *group_p = dm_handle_get(DM_KIND_GROUP, handle);
    return dm_likely(*group_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_GROUP, handle, name);
}

static inline int dm_check_group_free(const MPI_Group *handle_p, struct dm_group **group_p)
{
    return dm_unlikely(handle_p == NULL) ? dm_bad_ptr("group")
                                         : dm_check_group(*handle_p, "group", group_p);
}

/* A type that moves data must be committed. Where count is 0 none is looked at. */
static DM_ALWAYS_INLINE int dm_check_type_used(MPI_Datatype handle, MPI_Count count,
                                               const char *name, struct dm_type **type_p)
{
    *type_p = dm_type_get(handle);
    return dm_likely(*type_p != NULL && (*type_p)->is_committed)
               ? DM_OK
               : dm_bad_type(handle, count, name, type_p);
}

static inline int dm_check_type_if(bool is_used, MPI_Datatype handle, MPI_Count count,
                                   const char *name, struct dm_type **type_p)
{
    if (is_used)
        return dm_check_type_used(handle, count, name, type_p);
    *type_p = dm_type_get(handle);
    return DM_OK;
}

/* The same with a count for each of n ranks. */
static inline int dm_check_type_of_all(bool is_used, MPI_Datatype handle, struct dm_counts counts,
                                       int n, const char *name, struct dm_type **type_p)
{
    *type_p = dm_type_get(handle);
    if (!is_used || dm_likely(*type_p != NULL && (*type_p)->is_committed))
        return DM_OK;
    return dm_bad_type(handle, dm_counts_any(counts, n), name, type_p);
}

/* The op of a reduction, which must suit the type. Where count is 0 none is looked at. */
static inline int dm_check_op_used(bool is_used, MPI_Op handle, MPI_Count count,
                                   const struct dm_type *type, struct dm_op **op_p)
{
    *op_p = dm_op_get(handle);
    if (!is_used)
        return DM_OK;
    if (dm_unlikely(*op_p == NULL || handle == MPI_REPLACE || handle == MPI_NO_OP || count == 0))
        return dm_bad_op(handle, count, op_p);
    return (*op_p)->is_builtin ? dm_op_check(*op_p, type) : DM_OK;
}

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
        return dm_bad_ptr(name);
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

static inline int dm_check_req(const MPI_Request *request_p)
{
    return dm_likely(request_p != NULL) ? DM_OK : dm_bad_ptr("request");
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
