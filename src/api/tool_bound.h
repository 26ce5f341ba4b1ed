/*
 * Performance variables that are bound to a communicator or a window (MPI-4.0 section 15.3.7): lengths of
 * queues, which are counted when they are read, and what is counted while a handle exists. They are there
 * before MPI_Init; their objects are not.
 */
#ifndef DM_API_TOOL_BOUND_H
#define DM_API_TOOL_BOUND_H

#include <stdbool.h>
#include <stdint.h>

struct dm_tool_bound_info {
    const char *name;
    const char *desc;
    int var_class; /* MPI_T_PVAR_CLASS_* */
    int bind;      /* MPI_T_BIND_* */
};
/* So many variables there are, by index. */
int dm_tool_n_bound(void);
/* Those bound to communicators come first. */
int dm_tool_n_bound_to_comm(void);
void dm_tool_bound_info(int index, struct dm_tool_bound_info *info);
/* Does its value go up and down by itself, so that it is read-only, and cannot be stopped? */
bool dm_tool_bound_is_level(int index);

/* A variable with its object. */
struct dm_tool_bound;
/* obj: address of the object's handle. MPI_T_ERR_*; MPI_T_ERR_INVALID_HANDLE: it has no object. */
int dm_tool_bound_new(int index, const void *obj, struct dm_tool_bound **bound_p);
void dm_tool_bound_free(struct dm_tool_bound *bound);
/* MPI_T_ERR_INVALID_HANDLE: the object has been freed. */
int dm_tool_bound_start(struct dm_tool_bound *bound);
int dm_tool_bound_stop(struct dm_tool_bound *bound);
int dm_tool_bound_read(struct dm_tool_bound *bound, uint64_t *value);
int dm_tool_bound_write(struct dm_tool_bound *bound, uint64_t value);
/* Set it to what it starts with, after its value is in *value; or NULL. */
int dm_tool_bound_reset(struct dm_tool_bound *bound, uint64_t *value);
/* MPI_Finalize: as if all objects had been freed. */
void dm_tool_bound_close(void);

#endif
