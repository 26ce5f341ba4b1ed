/*
 * The objects that every part of the MPI layer needs, one header each: handles, the world, groups,
 * communicators, requests, error handlers, info, attributes, topologies. Other layers include this
 * one.
 *
 * Everything here is used under the global lock.
 */
#ifndef DM_MPI_CORE_CORE_H
#define DM_MPI_CORE_CORE_H

#include "mpi/core/attr.h"
#include "mpi/core/comm_obj.h"
#include "mpi/core/counts.h"
#include "mpi/core/ctx.h"
#include "mpi/core/errhandler.h"
#include "mpi/core/event.h"
#include "mpi/core/group.h"
#include "mpi/core/handle.h"
#include "mpi/core/info.h"
#include "mpi/core/request.h"
#include "mpi/core/session_obj.h"
#include "mpi/core/status.h"
#include "mpi/core/topo_obj.h"
#include "mpi/core/world.h"
#include "util/err.h"

/*
 * A body whose MPI function names no communicator, window or file (MPI_Wait, ...) failed on behalf
 * of this one: its error handler is the one to call. One that was freed stays until then.
 */
void dm_core_blame(struct dm_comm *comm, struct dm_win *win);
/*
 * Before an error handler runs, whose own failures are its own: nobody is to blame any more. A freed communicator
 * whose handler it is, for the caller to drop when it has run; NULL: none.
 */
struct dm_comm *dm_core_unblame(void);
void dm_core_blame_file(struct dm_file *file);
/* A collective of a communicator, or perhaps another persistent operation of it; dm_core_blamed_coll: NULL if it is none. */
void dm_core_blame_coll(struct dm_comm *comm);
struct dm_comm *dm_core_blamed_coll(void);
void dm_core_blamed(struct dm_comm **comm_p, struct dm_win **win_p, struct dm_file **file_p);
/*
 * fn runs when a communicator loses its last reference, before its memory goes: for layers that
 * keep something in it (coll, topo). A few may register, at start.
 */
void dm_core_on_comm_free(void (*fn)(struct dm_comm *comm));

/* Create what may be used at any time: predefined error handlers and MPI_INFO_ENV. */
int dm_core_early(void);
/* Create the predefined objects of core (world and self communicators, groups, error handlers). */
int dm_core_start(void);
void dm_core_stop(void);

#endif
