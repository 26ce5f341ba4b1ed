/*
 * MPI_Comm_accept and MPI_Comm_connect: the roots connect, then both groups build an intercommunicator
 * over their bridge.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/process/process.h"
#include "mpi/process/state.h"
#include "util/cfg.h"
#include "util/clock.h"

#define TEXT_LEN 512 /* of what went wrong */

int dm_process_check_comm(const struct dm_comm *comm)
{
    return comm->remote == NULL
               ? DM_OK
               : DM_FAIL(DM_ERR_COMM,
                         "comm is an intercommunicator; an intracommunicator is needed");
}

int dm_process_check_info(MPI_Info handle, struct dm_info **info_p)
{
    *info_p = dm_handle_get(DM_KIND_INFO, handle);
    return *info_p != NULL || handle == MPI_INFO_NULL
               ? DM_OK
               : DM_FAIL(DM_ERR_INFO, "info is 0x%x, which is no info object", (unsigned)handle);
}

int dm_process_report(struct dm_comm *comm, int root, int err, int n, int *values)
{
    char text[TEXT_LEN] = "";
    int said = err;
    int moved;

    if (comm->size == 1)
        return err;
    if (comm->rank == root && err != DM_OK)
        snprintf(text, sizeof(text), "%s", dm_err_detail());
    moved = dm_bcast(&said, 1, dm_type_get(MPI_INT), root, comm);
    if (moved == DM_OK && said != DM_OK)
        moved = dm_bcast(text, sizeof(text), dm_type_get(MPI_CHAR), root, comm);
    else if (moved == DM_OK && n > 0)
        moved = dm_bcast(values, (size_t)n, dm_type_get(MPI_INT), root, comm);
    if (err != DM_OK)
        return err;
    if (moved != DM_OK)
        return moved;
    return said == DM_OK ? DM_OK : DM_FAIL(said, "at the root, rank %d: %.400s", root, text);
}

int dm_process_join_groups(struct dm_comm *comm, int root, int err, struct dm_bridge *bridge,
                           struct dm_comm **comm_p)
{
    err = dm_process_report(comm, root, err, 1, &bridge->tag);
    if (err == DM_OK)
        err = dm_intercomm_create(comm, root, bridge->comm, 0, bridge->tag, comm_p);
    if (err == DM_OK)
        dm_jobs_review();
    dm_handshake_part(bridge);
    return err;
}

/* Seconds of the info key "timeout". */
static int accept_read_wait(const struct dm_info *info, uint64_t default_us,
                            struct dm_handshake_wait *wait_p)
{
    const char *text = info != NULL ? dm_info_value(info, "timeout") : NULL;
    char *end;
    double seconds;

    *wait_p = (struct dm_handshake_wait){
        .until = default_us == UINT64_MAX ? UINT64_MAX : dm_clock_after(default_us)};
    if (text == NULL)
        return DM_OK;
    errno = 0;
    seconds = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || isnan(seconds) || seconds < 0)
        return DM_FAIL(DM_ERR_INFO_VALUE,
                       "the value of the info key timeout is \"%.100s\"; seconds are wanted", text);
    wait_p->until = seconds > 1e9 ? UINT64_MAX : dm_clock_after((uint64_t)(seconds * 1e6));
    return DM_OK;
}

/* What both have in common: at the root `go` looks for the other one. */
static int accept_or_connect(int (*go)(const char *, const struct dm_handshake_wait *,
                                       struct dm_bridge *),
                             uint64_t default_us, const char *port_name, MPI_Info handle, int root,
                             struct dm_comm *comm, struct dm_comm **comm_p)
{
    struct dm_bridge bridge = {0};
    struct dm_handshake_wait wait;
    struct dm_info *info;
    int err = dm_process_check_comm(comm);

    *comm_p = NULL;
    if (err != DM_OK)
        return err;
    if (comm->rank == root) {
        err = dm_process_check_info(handle, &info);
        if (err == DM_OK)
            err = accept_read_wait(info, default_us, &wait);
        if (err == DM_OK && port_name == NULL)
            err = DM_FAIL(DM_ERR_PORT, "port_name is a null pointer");
        if (err == DM_OK)
            err = go(port_name, &wait, &bridge);
    }
    return dm_process_join_groups(comm, root, err, &bridge, comm_p);
}

int dm_comm_accept(const char *port_name, MPI_Info info, int root, struct dm_comm *comm,
                   struct dm_comm **comm_p)
{
    return accept_or_connect(dm_handshake_accept, UINT64_MAX, port_name, info, root, comm, comm_p);
}

int dm_comm_connect(const char *port_name, MPI_Info info, int root, struct dm_comm *comm,
                    struct dm_comm **comm_p)
{
    return accept_or_connect(dm_handshake_connect, dm_cfg()->timeout, port_name, info, root, comm,
                             comm_p);
}

int dm_open_port(struct dm_info *info, char *port_name)
{
    (void)info;
    return dm_handshake_open(port_name);
}

int dm_close_port(const char *port_name)
{
    return dm_handshake_close(port_name);
}
