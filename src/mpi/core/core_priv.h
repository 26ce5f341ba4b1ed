/*
 * Between the files of src/mpi/core.
 */
#ifndef DM_MPI_CORE_CORE_PRIV_H
#define DM_MPI_CORE_CORE_PRIV_H

#include "mpi/core/core.h"

/* Forget all handles but those of info objects and error handlers; at the very end. */
void dm_handle_fini(void);
/* All context ids are free but those of the predefined and the hidden communicators. */
void dm_ctx_init(void);
/* The world and self communicators, bound to their handles; and their end. */
int dm_comm_start(void);
void dm_comm_stop(void);
/* The shared completed request. */
int dm_req_start(void);
/* MPI_INFO_ENV. */
int dm_info_start(void);
void dm_info_stop(void);

#endif
