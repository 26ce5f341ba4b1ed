/*
 * Groups and communicators (MPI-4.0 chapter 7): the bodies of the MPI functions. The
 * objects are in src/mpi/core.
 *
 * A new communicator comes back with a handle and one reference; NULL stands for
 * MPI_COMM_NULL. Functions that make one are collective as the standard says and fail
 * with DM_ENOMEM, DM_ERR_OTHER when context ids have run out, or what point-to-point
 * reports.
 */
#ifndef DM_MPI_COMM_COMM_H
#define DM_MPI_COMM_COMM_H

#include "mpi/core/core.h"

int dm_commlayer_start(void);
void dm_commlayer_stop(void);

/* ---- groups, section 7.3 ---- */

static inline int dm_group_size(const struct dm_group *group, int *size)
{
    *size = group->size;
    return DM_OK;
}
static inline int dm_group_rank(const struct dm_group *group, int *rank)
{
    *rank = group->rank;
    return DM_OK;
}
/* DM_ERR_RANK for a rank that is not in group1; MPI_PROC_NULL stays what it is. */
int dm_group_translate_ranks(struct dm_group *group1, int n, const int ranks1[],
                             struct dm_group *group2, int ranks2[]);
int dm_group_compare(struct dm_group *group1, struct dm_group *group2, int *result);
/* A group without members is MPI_GROUP_EMPTY itself. */
int dm_group_union(struct dm_group *group1, struct dm_group *group2, struct dm_group **group_p);
int dm_group_intersection(struct dm_group *group1, struct dm_group *group2,
                          struct dm_group **group_p);
int dm_group_difference(struct dm_group *group1, struct dm_group *group2,
                        struct dm_group **group_p);
/* DM_ERR_RANK for ranks that are not in the group or named twice, DM_ERR_ARG for a bad range. */
int dm_group_incl(struct dm_group *group, int n, const int ranks[], struct dm_group **group_p);
int dm_group_excl(struct dm_group *group, int n, const int ranks[], struct dm_group **group_p);
int dm_group_range_incl(struct dm_group *group, int n, int ranges[][3], struct dm_group **group_p);
int dm_group_range_excl(struct dm_group *group, int n, int ranges[][3], struct dm_group **group_p);
int dm_group_free(struct dm_group *group);

/* ---- communicators, section 7.4 ---- */

static inline int dm_comm_size(const struct dm_comm *comm, int *size)
{
    *size = comm->size;
    return DM_OK;
}
static inline int dm_comm_rank(const struct dm_comm *comm, int *rank)
{
    *rank = comm->rank;
    return DM_OK;
}
int dm_comm_compare(struct dm_comm *comm1, struct dm_comm *comm2, int *result);
int dm_comm_group(struct dm_comm *comm, struct dm_group **group_p);

int dm_comm_dup(struct dm_comm *comm, struct dm_comm **comm_p);
/* For the library's own use: neither the program's attributes nor the topology are copied. */
int dm_comm_dup_bare(struct dm_comm *comm, struct dm_comm **comm_p);
/*
 * The same of an intracommunicator, for a process that may have failed before: it comes and says
 * so, and the call fails everywhere. DM_ENOMEM, if this process has not failed before: it alone has no
 * memory for its own, the others have theirs.
 */
int dm_comm_dup_or_fail(struct dm_comm *comm, int failed, struct dm_comm **comm_p);
int dm_comm_dup_with_info(struct dm_comm *comm, struct dm_info *info, struct dm_comm **comm_p);
/*
 * Nonblocking: the object and its handle are there at once, and may be used when the request
 * is complete. Attributes and hints are those of the time of the call.
 */
int dm_comm_idup(struct dm_comm *comm, struct dm_comm **comm_p, struct dm_req **req_p);
int dm_comm_idup_with_info(struct dm_comm *comm, struct dm_info *info, struct dm_comm **comm_p,
                           struct dm_req **req_p);
/*
 * color MPI_UNDEFINED gives NULL. Of an intercommunicator: the ranks of both sides with that color,
 * NULL when one side has none.
 */
int dm_comm_split(struct dm_comm *comm, int color, int key, struct dm_comm **comm_p);
/*
 * The same for a process that may have failed before: it comes and says so, and the call fails
 * everywhere.
 */
int dm_comm_split_or_fail(struct dm_comm *comm, int failed, int color, int key,
                          struct dm_comm **comm_p);
/*
 * The ranks of one host, or those bound to one instance of the resource that info names
 * (dm_affinity_by_name). MPI_COMM_TYPE_HW_UNGUIDED takes the largest resource that divides them,
 * whose name info gets. NULL when there is none, and for a process that is not bound so.
 * MPI_COMM_TYPE_RESOURCE_GUIDED: the same, or those of the process set that mpi_pset_name of info names.
 * MPIX_COMM_TYPE_NEIGHBORHOOD: those that share the directory that nbhd_common_dirname of info
 * names (split_dir.c); NULL without that.
 */
int dm_comm_split_type(struct dm_comm *comm, int type, int key, struct dm_info *info,
                       struct dm_comm **comm_p);
/* The names of the process sets: the world's processes, and this one. */
#define DM_PSET_WORLD "mpi://WORLD"
#define DM_PSET_SELF  "mpi://SELF"
/* To which kinds of resources the process is restricted ("true"), and to which it is not, by what info may name. */
int dm_get_hw_resource_info(struct dm_info **info_p);
/*
 * A number that those ranks of comm, which is no intercommunicator, have in common that find the
 * same directory under the names they gave; MPI_UNDEFINED for one without. host is the same for
 * processes of one host. Collective.
 */
int dm_comm_dir_color(struct dm_comm *comm, const char *dir, int host, int *color_p);
/*
 * Of all ranks of comm; NULL to those that are not in the group. Over an intercommunicator each
 * side names its own part; NULL when one is empty.
 */
int dm_comm_create(struct dm_comm *comm, struct dm_group *group, struct dm_comm **comm_p);
/* Of the members of the group only. */
int dm_comm_create_group(struct dm_comm *comm, struct dm_group *group, int tag,
                         struct dm_comm **comm_p);
/* The handle ends at once, the object with its last pending operation. */
int dm_comm_free(struct dm_comm *comm);
/* Known hints only; others are ignored. info may be NULL. DM_ENOMEM. */
int dm_comm_set_info(struct dm_comm *comm, struct dm_info *info);
/* All known hints with the values in force. */
int dm_comm_get_info(struct dm_comm *comm, struct dm_info **info_p);

/* ---- intercommunicators, section 7.6 ---- */

static inline int dm_comm_test_inter(const struct dm_comm *comm, int *flag)
{
    *flag = comm->remote != NULL;
    return DM_OK;
}
/* DM_ERR_COMM on an intracommunicator. */
int dm_comm_remote_size(struct dm_comm *comm, int *size);
int dm_comm_remote_group(struct dm_comm *comm, struct dm_group **group_p);
/* peer_comm and remote_leader matter at the local leader only. */
int dm_intercomm_create(struct dm_comm *local_comm, int local_leader, struct dm_comm *peer_comm,
                        int remote_leader, int tag, struct dm_comm **comm_p);
int dm_intercomm_merge(struct dm_comm *comm, int high, struct dm_comm **comm_p);

#endif
