/*
 * The argument checks of handles, inline as those of check_inl.h, of which this is a part: a look into the table.
 */
#ifndef DM_API_CHECK_HANDLE_INL_H
#define DM_API_CHECK_HANDLE_INL_H

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
    struct dm_type *other;
    int err;

    *type_p = dm_type_get(handle);
    if (dm_likely(*type_p != NULL && (*type_p)->is_committed))
        return DM_OK;
    other = *type_p; /* only this one needs an address: the type stays in a register */
    err = dm_bad_type(handle, count, name, &other);
    *type_p = other;
    return err;
}

static DM_ALWAYS_INLINE int dm_check_type_if(bool is_used, MPI_Datatype handle, MPI_Count count,
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
static DM_ALWAYS_INLINE int dm_check_op_used(bool is_used, MPI_Op handle, MPI_Count count,
                                             const struct dm_type *type, struct dm_op **op_p)
{
    struct dm_op *other;
    int err;

    *op_p = dm_op_get(handle);
    if (!is_used)
        return DM_OK;
    if (dm_likely(*op_p != NULL && handle != MPI_REPLACE && handle != MPI_NO_OP && count != 0))
        return (*op_p)->is_builtin ? dm_op_check(*op_p, type) : DM_OK;
    other = *op_p;
    err = dm_bad_op(handle, count, &other);
    *op_p = other;
    return err;
}

static inline int dm_check_op(MPI_Op handle, struct dm_op **op_p)
{
    *op_p = dm_op_get(handle);
    return dm_likely(*op_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_OP, handle, "op");
}

static inline int dm_check_errh(MPI_Errhandler handle, struct dm_errhandler **eh_p)
{
    *eh_p = dm_handle_get(DM_KIND_ERRHANDLER, handle);
    return dm_likely(*eh_p != NULL) ? DM_OK
                                    : dm_bad_handle(DM_KIND_ERRHANDLER, handle, "errhandler");
}

static inline int dm_check_info(MPI_Info handle, struct dm_info **info_p)
{
    *info_p = dm_handle_get(DM_KIND_INFO, handle);
    return dm_likely(*info_p != NULL) ? DM_OK : dm_bad_handle(DM_KIND_INFO, handle, "info");
}

/* MPI_INFO_NULL gives NULL. */
static inline int dm_check_info_null(MPI_Info handle, struct dm_info **info_p)
{
    *info_p = NULL;
    return handle == MPI_INFO_NULL ? DM_OK : dm_check_info(handle, info_p);
}

/* A handle that must name a request; the null handle is wrong. */
static inline int dm_check_req_live(const MPI_Request *request_p)
{
    if (dm_unlikely(request_p == NULL))
        return dm_bad_ptr("request");
    return dm_likely(dm_req_get(*request_p) != NULL)
               ? DM_OK
               : dm_bad_handle(DM_KIND_REQUEST, *request_p, "request");
}

/* ---- to free: not predefined ones, unless freeing them has no effect ---- */

static inline bool dm_check_is_made(int handle)
{
    return (uint32_t)handle >> 30 != 1;
}

static inline int dm_check_comm_free(const MPI_Comm *handle_p, struct dm_comm **comm_p)
{
    int err = handle_p == NULL ? dm_bad_ptr("comm") : dm_check_comm(*handle_p, comm_p);

    return err != DM_OK || dm_likely(dm_check_is_made(*handle_p))
               ? err
               : dm_bad_free(DM_ERR_COMM, (*comm_p)->name);
}

static inline int dm_check_type_ptr(const MPI_Datatype *handle_p, struct dm_type **type_p)
{
    return dm_unlikely(handle_p == NULL) ? dm_bad_ptr("datatype")
                                         : dm_check_type(*handle_p, "datatype", type_p);
}

static inline int dm_check_type_free(const MPI_Datatype *handle_p, struct dm_type **type_p)
{
    int err = dm_check_type_ptr(handle_p, type_p);

    return err != DM_OK || dm_likely(!(*type_p)->is_builtin) ? err
                                                             : dm_bad_free(DM_ERR_TYPE, "datatype");
}

static inline int dm_check_op_free(const MPI_Op *handle_p, struct dm_op **op_p)
{
    int err = handle_p == NULL ? dm_bad_ptr("op") : dm_check_op(*handle_p, op_p);

    return err != DM_OK || dm_likely(dm_check_is_made(*handle_p)) ? err
                                                                  : dm_bad_free(DM_ERR_OP, "op");
}

static inline int dm_check_win_free(const MPI_Win *handle_p, struct dm_win **win_p)
{
    return dm_unlikely(handle_p == NULL) ? dm_bad_ptr("win") : dm_check_win(*handle_p, win_p);
}

static inline int dm_check_errh_free(const MPI_Errhandler *handle_p, struct dm_errhandler **eh_p)
{
    return dm_unlikely(handle_p == NULL) ? dm_bad_ptr("errhandler")
                                         : dm_check_errh(*handle_p, eh_p);
}

static inline int dm_check_info_free(const MPI_Info *handle_p, struct dm_info **info_p)
{
    int err = handle_p == NULL ? dm_bad_ptr("info") : dm_check_info(*handle_p, info_p);

    return err != DM_OK || dm_likely(dm_check_is_made(*handle_p))
               ? err
               : dm_bad_free(DM_ERR_INFO, "MPI_INFO_ENV");
}

/* *number_p: the keyval, which the body replaces. */
static inline int dm_check_keyval_free(const int *keyval_p, int *number_p)
{
    if (dm_unlikely(keyval_p == NULL))
        return dm_bad_ptr("keyval");
    *number_p = *keyval_p;
    return DM_OK;
}

#endif
