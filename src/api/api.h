/*
 * What the generated wrappers (PMPI_X) and the files of src/api share: entering and leaving the
 * library, errors, and the bodies that are written here.
 */
#ifndef DM_API_API_H
#define DM_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/op/op.h"
#include "onesided/onesided.h"
#include "usage/usage.h"
#include "util/port.h"

struct dm_session; /* api/session.h */

/* ---- wrappers ---- */

/* Whose error handler a failed call runs. */
enum dm_owner {
    DM_OWNER_NONE,    /* no object of the call's: MPI_COMM_SELF's */
    DM_OWNER_COMM,    /* struct dm_comm */
    DM_OWNER_WIN,     /* struct dm_win */
    DM_OWNER_SESSION, /* struct dm_session */
    DM_OWNER_ERRH,    /* struct dm_errhandler: of the object that the call was to make */
    DM_OWNER_FILE,    /* struct dm_file; NULL: that of MPI_FILE_NULL */
    DM_OWNER_BLAME    /* the object that the body names (dm_core_blame) */
};

/* A function as error texts show it. */
struct dm_fn {
    const char *name;
    const char *args; /* "name=letter name=letter": see kinds.tbl */
    enum dm_owner owner;
    int index; /* among all of them (calls.h); 0: it has none */
};

/* Read by every call: one test covers "not initialized" and "take the lock". */
struct dm_api {
    bool
        is_slow; /* before MPI_Init, after MPI_Finalize, with MPI_THREAD_MULTIPLE, is_profiled, has_events, DATUM_CHECK */
    bool is_profiled; /* DATUM_STATS=calls */
    bool has_events;  /* tools want events, or have wanted some (tool_event.h) */
};
extern struct dm_api dm_api;

/* The slow way in: ends the job outside of MPI_Init .. MPI_Finalize, else takes the lock. */
void dm_api_enter(const struct dm_fn *fn);
/* The same for a function that may be called at any time (MPI-4.0 section 11.4.1). */
void dm_api_enter_early(const struct dm_fn *fn);
/* The slow way out. */
void dm_api_leave(void);
/* The same of a call with a buffer of count elements of a type (NULL: it was of no use here). */
void dm_api_leave_with(size_t count, const struct dm_type *type);

/*
 * A call failed: make an error code, leave the library, and call the error handler of the owner (see
 * enum dm_owner; NULL when there is none), or else MPI_COMM_SELF's or MPI_COMM_WORLD's. The program's
 * arguments follow, as fn->args says. Returns the code if the handler returns.
 */
int dm_api_fail(const struct dm_fn *fn, int err, void *owner, ...) DM_COLD;
/*
 * Call a communicator's error handler with a text, outside of a call that could return an error: then it is printed.
 * Without may_call not if it is the program's: false.
 */
bool dm_api_raise(struct dm_comm *comm, const char *text, bool may_call) DM_COLD;
/* DM_ENOTSUP for a function of a part of the standard that there is not yet. */
int dm_api_unsupported(const struct dm_fn *fn, const char *part) DM_COLD;
/* Replace enum dm_err in the MPI_ERROR of n statuses by MPI error codes. */
void dm_api_statuses(int n, MPI_Status *statuses) DM_COLD;

/* Handle of an object that a body made. */
#define DM_HANDLE(o, null) ((o) != NULL ? (o)->obj.handle : (null))
/* Any pointer, also to a function, for dm_api_fail. */
#define DM_PTR(p) ((const void *)(intptr_t)(p))

/* An int result from a wide one: MPI_UNDEFINED when it does not fit. */
static inline int dm_count_clip(MPI_Count n)
{
    return n > INT32_MAX ? MPI_UNDEFINED : (int)n;
}

/* Read the settings, if nobody has yet. */
int dm_api_load_settings(void);

/* ---- error codes ---- */

/* MPI error class of an enum dm_err. */
int dm_errcode_class(int err);
/* A code of this class that remembers text (cut to MPI_MAX_ERROR_STRING - 1). */
int dm_errcode_new(int mpi_class, const char *text);
/*
 * Call the error handler eh with a code, outside the global lock. A user's function gets a copy of the
 * handle: an int, or an MPI_File for those of files. What the call has to return: a user's function may change it.
 */
int dm_errcode_raise(struct dm_errhandler *eh, const void *handle, int code, const char *text);
/* Attribute MPI_LASTUSEDCODE. */
int dm_errcode_last(void);
/* End the job with this exit code; text is printed as an error. */
void dm_api_abort(int exit_code, const char *text) DM_NORETURN;

/* Set the data symbols that the Fortran library reads (data.c); at start. */
void dm_data_start(void);

/* ---- bodies that take what the program passes and return what MPI returns ---- */

int dm_init(int *argc, char ***argv);
int dm_init_thread(int *argc, char ***argv, int required, int *provided);
int dm_finalize(void);
int dm_initialized(int *flag);
int dm_finalized(int *flag);
int dm_abort(MPI_Comm comm, int errorcode);
double dm_wtime(void);
double dm_wtick(void);
int dm_get_version(int *version, int *subversion);
int dm_get_library_version(char *version, int *resultlen);
int dm_pcontrol(int level);
MPI_Aint dm_aint_add(MPI_Aint base, MPI_Aint disp);
MPI_Aint dm_aint_diff(MPI_Aint addr1, MPI_Aint addr2);
int dm_error_class(int errorcode, int *errorclass);
int dm_error_string(int errorcode, char *string, int *resultlen);

/* ---- bodies as everywhere ---- */

int dm_query_thread(int *provided);
int dm_is_thread_main(int *flag);
int dm_get_processor_name(char *name, int *resultlen);
int dm_get_address(const void *location, MPI_Aint *address);
int dm_add_error_class(int *errorclass);
int dm_add_error_code(int errorclass, int *errorcode);
int dm_add_error_string(int errorcode, const char *string);
int dm_comm_call_errhandler(struct dm_comm *comm, int errorcode);
int dm_win_call_errhandler(struct dm_win *win, int errorcode);
int dm_delete_error_class(int errorclass);
int dm_delete_error_code(int errorcode);
int dm_delete_error_string(int errorcode);
int dm_win_set_errhandler(struct dm_win *win, struct dm_errhandler *eh);
int dm_win_get_errhandler(struct dm_win *win, struct dm_errhandler **eh_p);
int dm_win_set_name(struct dm_win *win, const char *name);
int dm_win_get_name(struct dm_win *win, char *name, int *len);
int dm_type_extent(struct dm_type *type, MPI_Aint *extent);
int dm_type_lb(struct dm_type *type, MPI_Aint *displacement);
int dm_type_ub(struct dm_type *type, MPI_Aint *displacement);
int dm_status_set_elements(MPI_Status *status, struct dm_type *type, MPI_Count count);
int dm_status_set_cancelled_flag(MPI_Status *status, int flag);
int dm_status_set_error(MPI_Status *status, int err);
int dm_status_get_error(const MPI_Status *status, int *err);
int dm_status_set_source(MPI_Status *status, int source);
int dm_status_get_source(const MPI_Status *status, int *source);
int dm_status_set_tag(MPI_Status *status, int tag);
int dm_status_get_tag(const MPI_Status *status, int *tag);
int dm_status_c2f(const MPI_Status *c_status, MPI_Fint *f_status);
int dm_status_f2c(const MPI_Fint *f_status, MPI_Status *c_status);
int dm_status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status);
int dm_status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status);
int dm_status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status);
int dm_status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status);

/* ---- beyond the standard: what memory other than the host's can be used, which is none ---- */

int dm_gpu_query_support(int gpu_type, int *is_supported);
int dm_query_cuda_support(void);
int dm_query_ze_support(void);
int dm_query_hip_support(void);

/* ---- files ---- */

int dm_file_call_errhandler(struct dm_file *file, int errorcode);

/*
 * ---- hooks of the Fortran and C++ libraries ----
 * type is MPICH's: 0 a pointer, 1 an MPI_Aint, 3 an int.
 */

int dm_comm_get_attr_as(struct dm_comm *comm, int keyval, void *value_p, int *flag, int type);
int dm_comm_set_attr_as(struct dm_comm *comm, int keyval, void *value, int type);
int dm_type_get_attr_as(struct dm_type *type, int keyval, void *value_p, int *flag, int as);
int dm_type_set_attr_as(struct dm_type *type, int keyval, void *value, int as);
int dm_win_get_attr_as(struct dm_win *win, int keyval, void *value_p, int *flag, int type);
int dm_win_set_attr_as(struct dm_win *win, int keyval, void *value, int type);

/* ---- attributes: value_p is the address of a pointer ---- */

int dm_comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del,
                          int *keyval, void *extra);
int dm_comm_free_keyval(int *keyval);
int dm_comm_set_attr(struct dm_comm *comm, int keyval, void *value);
int dm_comm_get_attr(struct dm_comm *comm, int keyval, void *value_p, int *flag);
int dm_comm_delete_attr(struct dm_comm *comm, int keyval);
int dm_type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del,
                          int *keyval, void *extra);
int dm_type_free_keyval(int *keyval);
int dm_type_set_attr(struct dm_type *type, int keyval, void *value);
int dm_type_get_attr(struct dm_type *type, int keyval, void *value_p, int *flag);
int dm_type_delete_attr(struct dm_type *type, int keyval);
int dm_win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *del,
                         int *keyval, void *extra);
int dm_win_free_keyval(int *keyval);
int dm_win_set_attr(struct dm_win *win, int keyval, void *value);
int dm_win_get_attr(struct dm_win *win, int keyval, void *value_p, int *flag);
int dm_win_delete_attr(struct dm_win *win, int keyval);

#endif
