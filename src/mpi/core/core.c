/*
 * Start and end of the objects that every part of the MPI layer needs, and the note of
 * whose error handler a failed completion call belongs to.
 */
#include "mpi/core/core_priv.h"

struct dm_world dm_world;
struct dm_event_state dm_event_state;

static struct {
    struct dm_comm *comm;
    struct dm_comm *held; /* comm, if it was freed, and the request that fails is the last of it */
    struct dm_win *win;
    struct dm_file *file;
    bool is_coll;
} blame;

static struct dm_group group_empty = {.rank = MPI_UNDEFINED, .session = MPI_SESSION_NULL};

void dm_core_blame(struct dm_comm *comm, struct dm_win *win)
{
    struct dm_comm *before = blame.held;

    blame.held = comm != NULL && comm->is_freed ? comm : NULL;
    if (blame.held != NULL)
        dm_comm_ref(comm);
    dm_comm_unref(before);
    blame.comm = comm;
    blame.win = win;
    blame.file = NULL;
    blame.is_coll = false;
}

struct dm_comm *dm_core_unblame(void)
{
    struct dm_comm *held = blame.held;

    blame.held = NULL;
    dm_core_blame(NULL, NULL);
    return held;
}

void dm_core_blame_coll(struct dm_comm *comm)
{
    dm_core_blame(comm, NULL);
    blame.is_coll = true;
}

void dm_core_blame_file(struct dm_file *file)
{
    dm_core_blame(NULL, NULL);
    blame.file = file;
}

struct dm_comm *dm_core_blamed_coll(void)
{
    return blame.is_coll ? blame.comm : NULL;
}

void dm_core_blamed(struct dm_comm **comm_p, struct dm_win **win_p, struct dm_file **file_p)
{
    *comm_p = blame.comm;
    *win_p = blame.win;
    *file_p = blame.file;
}

int dm_core_early(void)
{
    int err = DM_OK;

    if (dm_handle_get(DM_KIND_INFO, MPI_INFO_ENV) != NULL)
        return DM_OK;
    for (int i = 0; i < DM_EH_UNSET && err == DM_OK; i++)
        err = dm_handle_bind(DM_KIND_ERRHANDLER, dm_errhandlers[i].obj.handle,
                             &dm_errhandlers[i].obj);
    return err == DM_OK ? dm_info_start() : err;
}

int dm_core_start(void)
{
    int err;

    dm_ctx_init();
    err = dm_core_early();
    if (err == DM_OK)
        err = dm_handle_bind(DM_KIND_GROUP, MPI_GROUP_EMPTY, &group_empty.obj);
    if (err == DM_OK)
        err = dm_req_start();
    if (err == DM_OK)
        err = dm_comm_start();
    return err;
}

void dm_core_stop(void)
{
    dm_comm_stop();
    dm_info_stop();
    dm_handle_fini();
}
