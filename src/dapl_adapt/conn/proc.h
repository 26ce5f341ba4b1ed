/*
 * The table of other jobs' processes.
 */
#ifndef DM_DAPL_ADAPT_CONN_PROC_H
#define DM_DAPL_ADAPT_CONN_PROC_H

#include <stdint.h>

#include "dapl_adapt/core/proc.h"

struct dm_adapt;

/* Room for the file descriptors of rails and of n more processes, where limits allow. */
void dm_procs_want_files(int n);
void dm_procs_init(struct dm_adapt *adapt);
/* Forget all of them, whose connections are gone. */
void dm_procs_fini(struct dm_adapt *adapt);
/* The process with that identity, also one that is leaving; NULL: not known. Lock held. */
struct dm_proc *dm_procs_find(const struct dm_adapt *adapt, struct dm_proc_id id);
/* A number for a process that has none. NULL: out of memory, or of numbers. Lock held. */
struct dm_proc *dm_procs_add(struct dm_adapt *adapt, struct dm_proc_id id,
                             enum dm_proc_state state);
/* Its connection is to be closed, and then its number is free. Lock held. */
void dm_procs_leave(struct dm_adapt *adapt, struct dm_proc *proc);
/* Nobody has that number any more. Lock held; the main thread. */
void dm_procs_free(struct dm_adapt *adapt, struct dm_proc *proc);

#endif
