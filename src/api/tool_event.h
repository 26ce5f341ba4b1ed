/*
 * Events for tools (MPI-4.0 section 15.3.8): when they are reported.
 *
 * What the library raises (mpi/core/event.h) is queued, with its time, and reported by a thread of the
 * program when it leaves its outermost MPI call. No lock is held then, so a callback may call whatever it
 * likes while MPI is there: all levels of safety are right, and one for MPI_T_CB_REQUIRE_NONE goes first.
 * After MPI_Finalize only those from MPI_T_CB_REQUIRE_MPI_RESTRICTED on are called.
 */
#ifndef DM_API_TOOL_EVENT_H
#define DM_API_TOOL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* The tools interface is up: is_on; or has been closed by its last user. */
void dm_tool_events_switch(bool is_on);
/* A thread begins an MPI call, inside the global lock or not; and has ended one, outside: events are reported. */
void dm_tool_events_enter(void);
void dm_tool_events_leave(void);

/* ---- types ---- */

/* What MPI_T_event_copy gives. */
struct dm_tool_event_data {
    int first;
    int second;
    uint64_t number;
};
/* An element of an event and its size; NULL: there is no such element. */
const void *dm_tool_event_element(const struct dm_tool_event_data *data, enum dm_event_kind kind,
                                  int element, size_t *size_p);
bool dm_tool_event_is_type(int index);
/* MPI_T_BIND_*; the index is right. */
int dm_tool_event_bind(int index);
/* An info object without keys, as there are no hints; nothing when info_p is NULL. MPI_T_ERR_*. */
int dm_tool_new_info(MPI_Info *info_p);

#endif
