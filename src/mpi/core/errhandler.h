/*
 * Error handler objects; calling them is the business of src/api.
 */
#ifndef DM_MPI_CORE_ERRHANDLER_H
#define DM_MPI_CORE_ERRHANDLER_H

#include "mpi/core/handle.h"

struct dm_comm; /* comm_obj.h */

/* DM_EH_UNSET: nobody has set one. Then it is MPI_COMM_WORLD's, as programs for MPICH rely on. */
enum dm_errhandler_kind {
    DM_EH_FATAL,
    DM_EH_RETURN,
    DM_EH_ABORT,
    DM_EH_THROW,
    DM_EH_UNSET,
    DM_EH_USER
};
/* Calls a handler of C++ or Fortran: object is 0 for a communicator, 1 for a file, 2 for a window. */
typedef void(dm_errhandler_bound)(int object, void *handle_p, int *code, void (*fn)(void));
struct dm_errhandler {
    struct dm_obj obj;
    enum dm_errhandler_kind kind;
    int object; /* enum dm_kind: DM_KIND_COMM, WIN, FILE, SESSION: what a user handler takes */
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } fn;
    dm_errhandler_bound *bound; /* fn is for this to call; NULL: fn is called as it is */
    bool is_cxx;                /* it throws, or all is well */
};
void dm_errhandler_ref(struct dm_errhandler *eh);
void dm_errhandler_unref(struct dm_errhandler *eh);
/* Does it end the job? An unset one does: what the world has may change later. */
bool dm_errhandler_is_fatal(const struct dm_errhandler *eh);
enum { DM_EH_N_BUILTIN = DM_EH_USER };
extern struct dm_errhandler dm_errhandlers[DM_EH_N_BUILTIN]; /* predefined: by kind */
#define dm_errhandler_fatal  dm_errhandlers[DM_EH_FATAL]
#define dm_errhandler_return dm_errhandlers[DM_EH_RETURN]
#define dm_errhandler_abort  dm_errhandlers[DM_EH_ABORT]
#define dm_errhandler_unset  dm_errhandlers[DM_EH_UNSET]

/* Bodies of the MPI functions (MPI-4.0 section 9.3). */
int dm_comm_create_errhandler(MPI_Comm_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_win_create_errhandler(MPI_Win_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_file_create_errhandler(MPI_File_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_session_create_errhandler(MPI_Session_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_comm_set_errhandler(struct dm_comm *comm, struct dm_errhandler *eh);
int dm_comm_get_errhandler(struct dm_comm *comm, struct dm_errhandler **eh_p);
int dm_errhandler_free(struct dm_errhandler *eh);
/* Replace the handler in *slot_p, which holds a reference (communicators, windows). */
void dm_errhandler_set(struct dm_errhandler **slot_p, struct dm_errhandler *eh);

#endif
