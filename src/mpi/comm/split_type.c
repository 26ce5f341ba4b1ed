/*
 * MPI_Comm_split_type: by host, under the name that the standard reserves, and by what is below a
 * host (util/affinity.h).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/procs.h"
#include "mpi/node/node.h"
#include "util/affinity.h"

#define RESOURCE_KEY "mpi_hw_resource_type"
#define HOST_NAME    "mpi_shared_memory"
#define PSET_KEY     "mpi_pset_name"

#define DIRECTORY_KEY "nbhd_common_dirname"

/* Kinds of resources beside those of a place. */
enum { NOTHING = -1, HOST = DM_N_AFFINITY_LEVELS, LARGEST, DIRECTORY, PSET_WORLD, PSET_SELF };

/* Would a part for each host be smaller than comm? */
static bool split_spans_hosts(const struct dm_comm *comm)
{
    return dm_node_first_remote(comm->group, dm_world.rank) >= 0 ||
           (comm->remote != NULL && dm_node_first_remote(comm->remote, dm_world.rank) >= 0);
}

/* What info asks for. */
static int split_info_kind(const struct dm_info *info)
{
    const char *value = dm_info_value(info, RESOURCE_KEY);

    if (value == NULL)
        return NOTHING;
    return strcmp(value, HOST_NAME) == 0 ? (int)HOST : dm_affinity_by_name(value);
}

/* The same, or what set of processes it asks for; who names both gets neither. */
static int split_info_pset(const struct dm_info *info)
{
    const char *name = dm_info_value(info, PSET_KEY);

    if (name == NULL)
        return split_info_kind(info);
    if (dm_info_value(info, RESOURCE_KEY) != NULL)
        return NOTHING;
    if (strcasecmp(name, DM_PSET_WORLD) == 0)
        return PSET_WORLD;
    return strcasecmp(name, DM_PSET_SELF) == 0 ? PSET_SELF : NOTHING;
}

/*
 * The largest resource that not all of comm, which is on one host, share; NOTHING if there is none.
 */
static int split_kind_agree(struct dm_comm *comm, int *kind_p)
{
    int seen[2 * DM_N_AFFINITY_LEVELS]; /* highest number, and highest of the negative ones */
    int err;

    for (int i = 0; i < DM_N_AFFINITY_LEVELS; i++) {
        seen[2 * i] = dm_affinity_instance((enum dm_affinity_level)i);
        seen[2 * i + 1] = -seen[2 * i];
    }
    *kind_p = NOTHING;
    err = dm_allreduce(MPI_IN_PLACE, seen, 2 * DM_N_AFFINITY_LEVELS, dm_type_get(MPI_INT),
                       dm_op_get(MPI_MAX), comm);
    for (int i = 0; i < DM_N_AFFINITY_LEVELS && *kind_p == NOTHING; i++)
        if (seen[2 * i] != -seen[2 * i + 1])
            *kind_p = i;
    return err;
}

/*
 * The processes of each host, and then of each instance there. Who takes part is known after the
 * first of both splits.
 */
static int split_places(struct dm_comm *comm, int *kind_p, int key, struct dm_comm **comm_p)
{
    int instance = -1;
    struct dm_comm *host;
    int err = dm_comm_split(comm, dm_procs_host_color(comm), key, &host);

    if (err != DM_OK || host == NULL)
        return err;
    if (*kind_p == LARGEST)
        err = split_kind_agree(host, kind_p);
    if (err == DM_OK && *kind_p != NOTHING) {
        instance = dm_affinity_instance((enum dm_affinity_level) * kind_p);
        err = dm_comm_split(host, instance < 0 ? MPI_UNDEFINED : instance, key, comm_p);
    }
    dm_comm_unref(host);
    return err;
}

/* Those that name a directory, then by what they find there. */
static int split_dirs(struct dm_comm *comm, const struct dm_info *info, int key,
                      struct dm_comm **comm_p)
{
    const char *dir = dm_info_value(info, DIRECTORY_KEY);
    struct dm_comm *part;
    int color;
    int err = dm_comm_split(comm, dir != NULL ? 0 : MPI_UNDEFINED, key, &part);

    if (err != DM_OK || part == NULL)
        return err;
    err = dm_comm_dir_color(part, dir, dm_procs_host_color(comm), &color);
    err = dm_comm_split_or_fail(part, err, color, key, comm_p);
    dm_comm_unref(part);
    return err;
}

/* Of the kinds for which one split is enough. */
static int split_color(struct dm_comm *comm, int kind)
{
    struct dm_proc_id me;

    switch (kind) {
    case HOST:
        return dm_procs_host_color(comm);
    case PSET_WORLD:
        me = dm_adapt_proc_id(dm_chan_adapt(dm_world.chan), dm_world.rank);
        return (int)(me.job & INT32_MAX);
    case PSET_SELF:
        return comm->rank;
    default:
        return MPI_UNDEFINED;
    }
}

static int split_kind(struct dm_comm *comm, int err, int *kind_p, const struct dm_info *info,
                      int key, struct dm_comm **comm_p)
{
    if (err == DM_OK && *kind_p == DIRECTORY)
        return split_dirs(comm, info, key, comm_p);
    if (err == DM_OK && (*kind_p == LARGEST || (*kind_p >= 0 && *kind_p < DM_N_AFFINITY_LEVELS)))
        return split_places(comm, kind_p, key, comm_p);
    return dm_comm_split_or_fail(comm, err, split_color(comm, *kind_p), key, comm_p);
}

int dm_comm_split_type(struct dm_comm *comm, int type, int key, struct dm_info *info,
                       struct dm_comm **comm_p)
{
    int kind = NOTHING;
    int err = DM_OK;

    *comm_p = NULL;
    switch (type) {
    case MPI_COMM_TYPE_SHARED:
        kind = HOST;
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        kind = split_info_kind(info);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        if (split_spans_hosts(comm))
            kind = HOST;
        else if (comm->remote == NULL)
            kind = LARGEST;
        break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        kind = split_info_pset(info);
        break;
    case MPIX_COMM_TYPE_NEIGHBORHOOD:
        if (comm->remote == NULL)
            kind = DIRECTORY;
        break;
    case MPI_UNDEFINED:
        break;
    default:
        err = DM_FAIL(DM_ERR_ARG, "split_type is %d, which is none of MPI_COMM_TYPE_*", type);
    }
    err = split_kind(comm, err, &kind, info, key, comm_p);
    if (err != DM_OK || *comm_p == NULL || info == NULL)
        return err;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED)
        return dm_info_set(info, RESOURCE_KEY,
                           kind == HOST ? HOST_NAME
                                        : dm_affinity_name((enum dm_affinity_level)kind));
    return dm_comm_set_info(*comm_p, info);
}

int dm_get_hw_resource_info(struct dm_info **info_p)
{
    struct dm_info *info;
    int err = dm_info_create(&info);

    *info_p = NULL;
    if (err != DM_OK)
        return err;
    err = dm_info_set(info, HOST_NAME, "true");
    for (int i = 0; i < DM_N_AFFINITY_LEVELS && err == DM_OK; i++) {
        enum dm_affinity_level level = (enum dm_affinity_level)i;
        char name[32];

        snprintf(name, sizeof(name), "hwloc://%s", dm_affinity_name(level));
        err = dm_info_set(info, name, dm_affinity_instance(level) >= 0 ? "true" : "false");
    }
    if (err != DM_OK) {
        dm_info_unref(info);
        return err;
    }
    *info_p = info;
    return DM_OK;
}
