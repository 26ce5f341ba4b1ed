/*
 * The way in and out of a call that looks further: before MPI is there and after, of several threads, watched.
 */
#include "api/api.h"

#include <stdio.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/tool_event.h"
#include "mpi/core/core.h"
#include "util/glock.h"
#include "util/log.h"
#include "util/stack.h"

static const char *state_text(void)
{
    switch (dm_world.state) {
    case DM_WORLD_BEFORE:
        return "before MPI_Init; call MPI_Init first";
    case DM_WORLD_IDLE:
        return "when no session was left; call MPI_Session_init first";
    default:
        return "after MPI_Finalize, which must be the last call";
    }
}

static void api_enter(const struct dm_fn *fn)
{
    dm_glock_enter();
    dm_stack_enter(fn->name); /* this way in is code apart */
    if (dm_unlikely(dm_api.is_profiled))
        dm_calls_enter(fn);
    if (dm_unlikely(dm_api.has_events))
        dm_tool_events_enter();
}

void dm_api_enter(const struct dm_fn *fn)
{
    if (dm_unlikely(dm_world.state != DM_WORLD_UP)) {
        dm_log_error("%s was called %s", fn->name, state_text());
        fflush(stdout);
        _exit(MPI_ERR_OTHER);
    }
    api_enter(fn);
}

/* Any thread may call in then, whatever level is asked for later. */
void dm_api_enter_early(const struct dm_fn *fn)
{
    if (dm_world.state != DM_WORLD_UP)
        dm_glock_enable(true);
    api_enter(fn);
    if (dm_core_early() != DM_OK) {
        dm_log_error("%s: %s", fn->name, dm_err_detail());
        _exit(MPI_ERR_OTHER);
    }
}

void dm_api_leave(void)
{
    dm_api_leave_with(0, NULL);
}

void dm_api_leave_with(size_t count, const struct dm_type *type)
{
    if (dm_unlikely(dm_api.is_profiled))
        dm_calls_leave(type != NULL ? (uint64_t)count * (uint64_t)type->size : 0);
    dm_stack_leave();
    dm_glock_leave();
    if (dm_unlikely(dm_api.has_events))
        dm_tool_events_leave();
}
