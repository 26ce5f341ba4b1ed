/*
 * Sessions, as every layer sees them; what they do is the business of api/session.c.
 */
#ifndef DM_MPI_CORE_SESSION_OBJ_H
#define DM_MPI_CORE_SESSION_OBJ_H

#include "mpi/core/handle.h"

struct dm_bsend;      /* mpi/pt2pt/bsend.c */
struct dm_errhandler; /* errhandler.h */

struct dm_session {
    struct dm_obj obj;
    struct dm_errhandler *eh;
    struct dm_bsend *bsend; /* MPI_Session_attach_buffer, or NULL */
    int thread_level;
    char alloc_kinds
        [MPI_MAX_INFO_VAL]; /* mpi_memory_alloc_kinds that it may have; "": was not asked */
};

#endif
