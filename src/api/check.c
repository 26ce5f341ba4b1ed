/*
 * Argument checks: the cold half. What a wrong argument is called in the text is what
 * the program's author has to look for.
 */
#include "api/check_inl.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ASSERT_FLAGS                                                                               \
    (MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)

/* What belongs to a kind of handle. */
static const struct kind_row {
    const char *what;
    const char *null_name;
    int null;
    int err;
} kind_rows[DM_KIND_N] = {
    [DM_KIND_COMM] = {"communicator", "MPI_COMM_NULL", MPI_COMM_NULL, DM_ERR_COMM},
    [DM_KIND_GROUP] = {"group", "MPI_GROUP_NULL", MPI_GROUP_NULL, DM_ERR_GROUP},
    [DM_KIND_TYPE] = {"datatype", "MPI_DATATYPE_NULL", MPI_DATATYPE_NULL, DM_ERR_TYPE},
    [DM_KIND_ERRHANDLER] = {"error handler", "MPI_ERRHANDLER_NULL", MPI_ERRHANDLER_NULL,
                            DM_ERR_ARG},
    [DM_KIND_OP] = {"operation", "MPI_OP_NULL", MPI_OP_NULL, DM_ERR_OP},
    [DM_KIND_INFO] = {"info object", "MPI_INFO_NULL", MPI_INFO_NULL, DM_ERR_INFO},
    [DM_KIND_WIN] = {"window", "MPI_WIN_NULL", MPI_WIN_NULL, DM_ERR_WIN},
    [DM_KIND_REQUEST] = {"request", "MPI_REQUEST_NULL", MPI_REQUEST_NULL, DM_ERR_REQUEST},
    [DM_KIND_FILE] = {.what = "file"},
    [DM_KIND_SESSION] = {"session", "MPI_SESSION_NULL", MPI_SESSION_NULL, DM_ERR_SESSION},
};

int dm_bad_handle(enum dm_kind kind, int handle, const char *name)
{
    const struct kind_row *row = &kind_rows[kind];

    if (handle == row->null)
        return DM_FAIL(row->err, "%s is %s", name, row->null_name);
    return DM_FAIL(row->err, "%s is 0x%x, which is no %s, or one that was freed", name,
                   (unsigned)handle, row->what);
}

int dm_bad_type(MPI_Datatype handle, MPI_Count count, const char *name, struct dm_type **type_p)
{
    if (count == 0) {
        *type_p = dm_type_get(MPI_BYTE);
        return DM_OK;
    }
    if (*type_p == NULL)
        return dm_bad_handle(DM_KIND_TYPE, handle, name);
    return DM_FAIL(DM_ERR_TYPE, "%s 0x%x is not committed; call MPI_Type_commit first", name,
                   (unsigned)handle);
}

int dm_bad_buf(const void *buf, size_t count, const struct dm_type *type, const char *name)
{
    if (buf == MPI_IN_PLACE)
        return DM_FAIL(DM_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not possible here", name);
    /* MPI_BOTTOM is NULL too: good for types that hold addresses, whose lower bound is not near 0. */
    if (count == 0 || type == NULL || type->size == 0 || type->true_lb != 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_BUFFER, "%s is NULL, but count is %zu", name, count);
}

int dm_bad_count(MPI_Count count, const char *name)
{
    return DM_FAIL(DM_ERR_COUNT, "%s is %lld, it must not be negative", name, (long long)count);
}

static int check_bad_rank(int err, int rank, const struct dm_comm *comm, const char *name,
                          const char *also)
{
    return DM_FAIL(err, "%s is %d; %s%s has ranks 0 to %d%s", name, rank,
                   comm->remote != NULL ? "the remote group of " : "",
                   comm->name[0] != '\0' ? comm->name : "the communicator",
                   dm_comm_peer_size(comm) - 1, also);
}

int dm_bad_rank_to(int rank, const struct dm_comm *comm, const char *name)
{
    return check_bad_rank(DM_ERR_RANK, rank, comm, name, ", and MPI_PROC_NULL is possible");
}

int dm_bad_rank_from(int rank, const struct dm_comm *comm, const char *name)
{
    return check_bad_rank(DM_ERR_RANK, rank, comm, name,
                          ", and MPI_ANY_SOURCE and MPI_PROC_NULL are possible");
}

int dm_bad_root(int root, const struct dm_comm *comm)
{
    if (comm->remote == NULL)
        return check_bad_rank(DM_ERR_ROOT, root, comm, "root", "");
    if (root == MPI_ROOT || root == MPI_PROC_NULL || (root >= 0 && root < comm->remote->size))
        return DM_OK;
    return check_bad_rank(DM_ERR_ROOT, root, comm, "root",
                          ", and MPI_ROOT and MPI_PROC_NULL are possible");
}

int dm_bad_tag(int tag, bool may_be_any, const char *name)
{
    return DM_FAIL(DM_ERR_TAG, "%s is %d; tags are 0 to %d%s", name, tag, INT32_MAX,
                   may_be_any ? ", and MPI_ANY_TAG" : "");
}

int dm_bad_ptr(const char *name)
{
    return DM_FAIL(DM_ERR_ARG, "%s is a null pointer", name);
}

int dm_bad_nneg(MPI_Count n, const char *name)
{
    return DM_FAIL(DM_ERR_ARG, "%s is %lld, it must not be negative", name, (long long)n);
}

int dm_bad_disp(MPI_Aint disp, const char *name)
{
    return DM_FAIL(DM_ERR_DISP, "%s is %ld, it must not be negative", name, (long)disp);
}

int dm_bad_status(const MPI_Status *status, const char *name)
{
    if (status == NULL)
        return dm_bad_ptr(name);
    return DM_FAIL(DM_ERR_ARG, "%s is MPI_STATUS_IGNORE, but a status is needed", name);
}

int dm_bad_same_buf(void)
{
    return DM_FAIL(DM_ERR_BUFFER,
                   "sendbuf and recvbuf are the same; pass MPI_IN_PLACE as sendbuf instead");
}

int dm_bad_free(int err, const char *name)
{
    return DM_FAIL(err, "%s is predefined and cannot be freed", name);
}

int dm_bad_newcomm(const char *name)
{
    return DM_FAIL(DM_ERR_NEWCOMM, "%s is a null pointer", name);
}

MPI_Count dm_counts_any(struct dm_counts counts, int n)
{
    for (int i = 0; i < n; i++)
        if ((counts.narrow == NULL && counts.wide == NULL) || dm_count_at(counts, (size_t)i) != 0)
            return 1;
    return 0;
}

static void op_nothing_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)len, (void)type;
}

int dm_bad_op(MPI_Op handle, MPI_Count count, struct dm_op **op_p)
{
    /* suits every type; nothing is computed */
    static struct dm_op nothing = {.obj.refs = 1, .is_commutative = true, .user = op_nothing_fn};

    if (count == 0) {
        if (*op_p == NULL || (*op_p)->is_builtin)
            *op_p = &nothing;
        return DM_OK;
    }
    if (*op_p == NULL)
        return dm_bad_handle(DM_KIND_OP, handle, "op");
    return DM_FAIL(DM_ERR_OP, "op is %s, which is for MPI_Accumulate and its kin only",
                   handle == MPI_REPLACE ? "MPI_REPLACE" : "MPI_NO_OP");
}

/* ---- handles ---- */

/* Logicals have no order; real numbers, which take logical operations too, do. */
static bool check_is_logical(const struct dm_type *type)
{
    return dm_op_check(dm_op_get(MPI_LAND), type) == DM_OK &&
           dm_op_check(dm_op_get(MPI_MAX), type) != DM_OK;
}

/* MPI_Compare_and_swap takes integers, logicals, multi-language types and bytes: what has bits. */
int dm_check_type_cas(MPI_Datatype handle, const char *name, struct dm_type **type_p)
{
    int err = dm_check_type_used(handle, 1, name, type_p);

    if (err != DM_OK)
        return err;
    if (!(*type_p)->is_builtin ||
        (dm_op_check(dm_op_get(MPI_BAND), *type_p) != DM_OK && !check_is_logical(*type_p)))
        return DM_FAIL(DM_ERR_TYPE,
                       "%s (%s) is no integer, logical, byte or multi-language type: nothing else "
                       "can be compared and swapped",
                       name, (*type_p)->name);
    return DM_OK;
}

int dm_check_op_acc(MPI_Op handle, MPI_Count count, const struct dm_type *type, struct dm_op **op_p)
{
    int err;

    if (count == 0) { /* nothing is computed: one that suits every type */
        *op_p = dm_op_get(MPI_REPLACE);
        return DM_OK;
    }
    err = dm_check_op(handle, op_p);

    if (err != DM_OK)
        return err;
    if (!(*op_p)->is_builtin)
        return DM_FAIL(DM_ERR_OP,
                       "op is made by MPI_Op_create; accumulating needs a predefined one");
    if (!type->is_builtin)
        type = dm_type_get(type->basic);
    return type == NULL ? DM_OK : dm_op_check(*op_p, type);
}

int dm_check_errh_for(enum dm_kind object, MPI_Errhandler handle, struct dm_errhandler **eh_p)
{
    int err = dm_check_errh(handle, eh_p);

    if (err == DM_OK && (*eh_p)->kind == DM_EH_USER && (*eh_p)->object != (int)object)
        return DM_FAIL(DM_ERR_ARG, "errhandler was made for another kind of object than a %s",
                       kind_rows[object].what);
    return err;
}

int dm_check_session(MPI_Session handle, struct dm_session **session_p)
{
    *session_p = dm_handle_get(DM_KIND_SESSION, handle);
    return *session_p != NULL ? DM_OK : dm_bad_handle(DM_KIND_SESSION, handle, "session");
}

int dm_check_file(MPI_File fh, struct dm_file **file_p)
{
    *file_p = dm_file_get(fh);
    if (*file_p != NULL)
        return DM_OK;
    if (fh == MPI_FILE_NULL)
        return DM_FAIL(DM_ERR_FILE, "fh is MPI_FILE_NULL");
    return DM_FAIL(DM_ERR_FILE, "fh is %p, which is no file, or one that was closed", (void *)fh);
}

int dm_check_file_any(MPI_File fh, struct dm_file **file_p)
{
    *file_p = NULL;
    return fh == MPI_FILE_NULL ? DM_OK : dm_check_file(fh, file_p);
}

int dm_check_file_free(const MPI_File *fh_p, struct dm_file **file_p)
{
    return fh_p == NULL ? dm_bad_ptr("fh") : dm_check_file(*fh_p, file_p);
}

int dm_check_types(const MPI_Datatype *types, MPI_Count n, const char *name)
{
    if (types == NULL)
        return n <= 0 ? DM_OK : dm_bad_ptr(name);
    for (MPI_Count i = 0; i < n; i++)
        if (dm_type_get(types[i]) == NULL)
            return DM_FAIL(DM_ERR_TYPE,
                           "%s[%lld] is 0x%x, which is no datatype, or one that was freed", name,
                           (long long)i, (unsigned)types[i]);
    return DM_OK;
}

int dm_check_message(const MPI_Message *message_p)
{
    if (message_p == NULL)
        return dm_bad_ptr("message");
    if (*message_p == MPI_MESSAGE_NO_PROC)
        return DM_OK;
    if (*message_p == MPI_MESSAGE_NULL)
        return DM_FAIL(DM_ERR_REQUEST, "message is MPI_MESSAGE_NULL");
    if (dm_handle_get(DM_KIND_REQUEST, *message_p) == NULL)
        return DM_FAIL(DM_ERR_REQUEST,
                       "message is 0x%x, which is no message, or one received before",
                       (unsigned)*message_p);
    return DM_OK;
}

/* ---- values ---- */

int dm_check_size(MPI_Aint size, const char *name)
{
    if (size >= 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_SIZE, "%s is %ld, it must not be negative", name, (long)size);
}

int dm_check_disp_unit(MPI_Aint disp_unit)
{
    if (disp_unit > 0 && disp_unit <= INT32_MAX)
        return DM_OK;
    return DM_FAIL(DM_ERR_DISP, "disp_unit is %ld, it must be 1 to %d", (long)disp_unit, INT32_MAX);
}

int dm_bad_rank_in(int rank, const struct dm_comm *comm, const char *name)
{
    return check_bad_rank(DM_ERR_RANK, rank, comm, name, "");
}

int dm_check_lock_type(int lock_type)
{
    if (lock_type == MPI_LOCK_SHARED || lock_type == MPI_LOCK_EXCLUSIVE)
        return DM_OK;
    return DM_FAIL(DM_ERR_LOCKTYPE,
                   "lock_type is %d, neither MPI_LOCK_SHARED (%d) nor MPI_LOCK_EXCLUSIVE (%d)",
                   lock_type, MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE);
}

int dm_check_assert(int assert_flags)
{
    if ((assert_flags & ~ASSERT_FLAGS) == 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_ASSERT, "assert is %d, with bits that are none of MPI_MODE_*",
                   assert_flags);
}

int dm_check_datarep(const char *datarep)
{
    if (datarep == NULL)
        return dm_bad_ptr("datarep");
    if (strcmp(datarep, "external32") != 0)
        return DM_FAIL(DM_ERR_ARG, "datarep is \"%.40s\"; only \"external32\" is known", datarep);
    return DM_OK;
}

int dm_check_key(const char *key)
{
    return key != NULL ? DM_OK : DM_FAIL(DM_ERR_INFO_KEY, "key is a null pointer");
}

int dm_check_value(const char *value)
{
    return value != NULL ? DM_OK : DM_FAIL(DM_ERR_INFO_VALUE, "value is a null pointer");
}

int dm_check_counts(struct dm_counts counts, MPI_Count n, const char *name)
{
    if (n <= 0)
        return DM_OK;
    if (counts.narrow == NULL && counts.wide == NULL)
        return dm_bad_ptr(name);
    for (MPI_Count i = 0; i < n; i++)
        if (dm_count_at(counts, (size_t)i) < 0)
            return DM_FAIL(DM_ERR_COUNT, "%s[%lld] is %lld, it must not be negative", name,
                           (long long)i, (long long)dm_count_at(counts, (size_t)i));
    return DM_OK;
}

/* ---- collectives ---- */

int dm_check_counts_if(bool is_used, struct dm_counts counts, const struct dm_comm *comm,
                       const char *name)
{
    return is_used ? dm_check_counts(counts, dm_comm_peer_size(comm), name) : DM_OK;
}

int dm_check_types_used(const MPI_Datatype *types, struct dm_counts counts, MPI_Count n,
                        const char *name)
{
    char element[64];

    if (types == NULL)
        return n <= 0 ? DM_OK : dm_bad_ptr(name);
    for (MPI_Count i = 0; i < n; i++) {
        struct dm_type *type = dm_type_get(types[i]);

        if (dm_likely(type != NULL && type->is_committed) || dm_count_at(counts, (size_t)i) == 0)
            continue;
        snprintf(element, sizeof(element), "%s[%lld]", name, (long long)i);
        return dm_bad_type(types[i], 1, element, &type);
    }
    return DM_OK;
}

int dm_check_types_if(bool is_used, const MPI_Datatype *types, struct dm_counts counts,
                      const struct dm_comm *comm, const char *name)
{
    return is_used ? dm_check_types_used(types, counts, dm_comm_peer_size(comm), name) : DM_OK;
}

int dm_check_displs_if(bool is_used, const void *displs, const char *name)
{
    return !is_used || displs != NULL ? DM_OK : dm_bad_ptr(name);
}
