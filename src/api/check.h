/*
 * Argument checks that are not worth inlining. All return DM_OK or an enum dm_err with its detail
 * recorded; `name` is the argument's, for that text. The others are in check_inl.h and
 * check_handle_inl.h.
 */
#ifndef DM_API_CHECK_H
#define DM_API_CHECK_H

#include "api/api.h"

/* The slow ends of the inline checks: decide, and record what is wrong. */
int dm_bad_handle(enum dm_kind kind, int handle, const char *name) DM_COLD;
/* A null or uncommitted type; where count is 0 it does not matter, and *type_p is that of MPI_BYTE. */
int dm_bad_type(MPI_Datatype handle, MPI_Count count, const char *name,
                struct dm_type **type_p) DM_COLD;
int dm_bad_buf(const void *buf, size_t count, const struct dm_type *type, const char *name) DM_COLD;
int dm_bad_count(MPI_Count count, const char *name) DM_COLD;
int dm_bad_rank_to(int rank, const struct dm_comm *comm, const char *name) DM_COLD;
int dm_bad_rank_from(int rank, const struct dm_comm *comm, const char *name) DM_COLD;
int dm_bad_rank_in(int rank, const struct dm_comm *comm, const char *name) DM_COLD;
int dm_bad_root(int root, const struct dm_comm *comm) DM_COLD;
int dm_bad_tag(int tag, bool may_be_any, const char *name) DM_COLD;
int dm_bad_ptr(const char *name) DM_COLD;
int dm_bad_nneg(MPI_Count n, const char *name) DM_COLD;
int dm_bad_disp(MPI_Aint disp, const char *name) DM_COLD;
int dm_bad_status(const MPI_Status *status, const char *name) DM_COLD;
int dm_bad_same_buf(void) DM_COLD;
/* A predefined object of this name is to be freed: err. */
int dm_bad_free(int err, const char *name) DM_COLD;
int dm_bad_newcomm(const char *name) DM_COLD;
/* An operation that no reduction takes; where count is 0 it does not matter, and *op_p is one that suits all types. */
int dm_bad_op(MPI_Op handle, MPI_Count count, struct dm_op **op_p) DM_COLD;
/* Is one of n counts, which may be a null array, not 0? */
MPI_Count dm_counts_any(struct dm_counts counts, int n);

/* ---- handles ---- */

/* For MPI_Accumulate: predefined only, and good for the basic type of the target's datatype. */
int dm_check_type_cas(MPI_Datatype handle, const char *name, struct dm_type **type_p);
int dm_check_op_acc(MPI_Op handle, MPI_Count count, const struct dm_type *type,
                    struct dm_op **op_p);
/* An error handler that a communicator (window) can have. */
int dm_check_errh_for(enum dm_kind object, MPI_Errhandler handle, struct dm_errhandler **eh_p);
int dm_check_session(MPI_Session handle, struct dm_session **session_p);
int dm_check_file(MPI_File fh, struct dm_file **file_p);
/* MPI_FILE_NULL gives NULL. */
int dm_check_file_any(MPI_File fh, struct dm_file **file_p);
int dm_check_file_free(const MPI_File *fh_p, struct dm_file **file_p);
int dm_check_types(const MPI_Datatype *types, MPI_Count n, const char *name);
int dm_check_message(const MPI_Message *message_p);

/* ---- values ---- */

int dm_check_size(MPI_Aint size, const char *name);
int dm_check_disp_unit(MPI_Aint disp_unit);
int dm_check_lock_type(int lock_type);
int dm_check_assert(int assert_flags);
/* The data representation of packed data: "external32" is the only one. */
int dm_check_datarep(const char *datarep);
/* Of info objects; only that there is one. */
int dm_check_key(const char *key);
int dm_check_value(const char *value);
int dm_check_counts(struct dm_counts counts, MPI_Count n, const char *name);

/* ---- collectives: an argument counts only if is_used ---- */

/* One count for each process of the other side. */
int dm_check_counts_if(bool is_used, struct dm_counts counts, const struct dm_comm *comm,
                       const char *name);
/* Types that move data; where there is nothing to move any handle will do, as in MPICH. */
int dm_check_types_used(const MPI_Datatype *types, struct dm_counts counts, MPI_Count n,
                        const char *name);
int dm_check_types_if(bool is_used, const MPI_Datatype *types, struct dm_counts counts,
                      const struct dm_comm *comm, const char *name);
int dm_check_displs_if(bool is_used, const void *displs, const char *name);

#endif
