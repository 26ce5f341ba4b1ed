/*
 * Argument checks that are not worth inlining. All return DM_OK or an enum dm_err with its detail
 * recorded; `name` is the argument's, for that text. The hot ones are in check_inl.h.
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
int dm_bad_root(int root, const struct dm_comm *comm) DM_COLD;
int dm_bad_tag(int tag, bool may_be_any, const char *name) DM_COLD;
int dm_bad_ptr(const char *name) DM_COLD;
/* An operation that no reduction takes; where count is 0 it does not matter, and *op_p is one that suits all types. */
int dm_bad_op(MPI_Op handle, MPI_Count count, struct dm_op **op_p) DM_COLD;
/* Is one of n counts, which may be a null array, not 0? */
MPI_Count dm_counts_any(struct dm_counts counts, int n);

/* ---- handles ---- */

int dm_check_op(MPI_Op handle, struct dm_op **op_p);
/* For MPI_Accumulate: predefined only, and good for the basic type of the target's datatype. */
int dm_check_type_cas(MPI_Datatype handle, const char *name, struct dm_type **type_p);
int dm_check_op_acc(MPI_Op handle, MPI_Count count, const struct dm_type *type,
                    struct dm_op **op_p);
int dm_check_errh(MPI_Errhandler handle, struct dm_errhandler **eh_p);
/* An error handler that a communicator (window) can have. */
int dm_check_errh_for(enum dm_kind object, MPI_Errhandler handle, struct dm_errhandler **eh_p);
int dm_check_session(MPI_Session handle, struct dm_session **session_p);
int dm_check_file(MPI_File fh, struct dm_file **file_p);
/* MPI_FILE_NULL gives NULL. */
int dm_check_file_any(MPI_File fh, struct dm_file **file_p);
int dm_check_file_free(const MPI_File *fh_p, struct dm_file **file_p);
int dm_check_info(MPI_Info handle, struct dm_info **info_p);
/* MPI_INFO_NULL gives NULL. */
int dm_check_info_null(MPI_Info handle, struct dm_info **info_p);
int dm_check_types(const MPI_Datatype *types, MPI_Count n, const char *name);
int dm_check_type_ptr(const MPI_Datatype *handle_p, struct dm_type **type_p);
/* Request handles that must name a request; the null handle is wrong. */
int dm_check_req_live(const MPI_Request *request_p);
int dm_check_message(const MPI_Message *message_p);
/* A status that is to be read or changed. */
int dm_check_status(const MPI_Status *status, const char *name);

/* Handles to free: not predefined ones, unless freeing them has no effect. */
int dm_check_comm_free(const MPI_Comm *handle_p, struct dm_comm **comm_p);
int dm_check_type_free(const MPI_Datatype *handle_p, struct dm_type **type_p);
int dm_check_op_free(const MPI_Op *handle_p, struct dm_op **op_p);
int dm_check_win_free(const MPI_Win *handle_p, struct dm_win **win_p);
int dm_check_errh_free(const MPI_Errhandler *handle_p, struct dm_errhandler **eh_p);
int dm_check_info_free(const MPI_Info *handle_p, struct dm_info **info_p);
/* *number_p: the keyval, which the body replaces. */
int dm_check_keyval_free(const int *keyval_p, int *number_p);

/* ---- values ---- */

/* The position of MPI_Pack, widened. */
int dm_check_pos(const int *position, MPI_Count *wide_p);
int dm_check_disp(MPI_Aint disp, const char *name);
int dm_check_size(MPI_Aint size, const char *name);
int dm_check_disp_unit(MPI_Aint disp_unit);
/* Numbers whose error class is MPI_ERR_ARG. */
int dm_check_nneg(MPI_Count n, const char *name);
int dm_check_rank_in(int rank, const struct dm_comm *comm, const char *name);
int dm_check_lock_type(int lock_type);
int dm_check_assert(int assert_flags);
int dm_check_str(const char *text, const char *name);
/* The data representation of packed data: "external32" is the only one. */
int dm_check_datarep(const char *datarep);
/* Of info objects; only that there is one. */
int dm_check_key(const char *key);
int dm_check_value(const char *value);
int dm_check_fn(const void *fn, const char *name);
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
/* MPI_IN_PLACE is allowed here. */
int dm_check_buf_coll(bool is_used, const void *buf, size_t count, const struct dm_type *type,
                      const char *name);
/* The result of a reduction must not be its input. */
int dm_check_buf_reduce(const void *sendbuf, const void *recvbuf, size_t count,
                        const struct dm_type *type, bool is_used);

#endif
