/*
 * The communicator object. How communicators are made together is src/mpi/comm.
 *
 * Invariant: world and self exist from dm_core_start to dm_core_stop and are never freed before.
 */
#include "mpi/core/core_priv.h"
#include "util/cfg.h"

#include <stdio.h>
#include <string.h>

#define N_FREE_HOOKS 4
#define CTX_WORLD    0
#define CTX_SELF     2
#define CTX_HIDDEN   4
#define CTX_MIXED    6 /* reserved by dm_ctx_init */

static struct {
    void (*on_free[N_FREE_HOOKS])(struct dm_comm *comm);
    int n_on_free;
} hooks;

void dm_core_on_comm_free(void (*fn)(struct dm_comm *comm))
{
    for (int i = 0; i < hooks.n_on_free; i++)
        if (hooks.on_free[i] == fn)
            return;
    if (hooks.n_on_free < N_FREE_HOOKS)
        hooks.on_free[hooks.n_on_free++] = fn;
}

/* n more communicators of this kind with these processes. */
static void comm_count_fatal(const struct dm_comm *comm, const struct dm_group *group, int n)
{
    if (dm_world.count_fatal == NULL || group == NULL || group->procs == NULL || comm->is_parting ||
        !dm_errhandler_is_fatal(comm->eh))
        return;
    for (int i = 0; i < group->size; i++)
        if (dm_world_is_foreign(group->procs[i]))
            dm_world.count_fatal(group->procs[i], n);
}

void dm_comm_count_fatal(const struct dm_comm *comm, int n)
{
    comm_count_fatal(comm, comm->group, n);
    comm_count_fatal(comm, comm->remote, n);
}

void dm_comm_set_remote(struct dm_comm *comm, struct dm_group *remote)
{
    dm_group_ref(remote);
    comm->remote = remote;
    comm_count_fatal(comm, remote, 1);
}

static int comm_make(struct dm_group *group, uint32_t ctx, struct dm_errhandler *eh,
                     struct dm_comm **comm_p)
{
    struct dm_comm *comm = dm_obj_alloc(DM_KIND_COMM, sizeof(*comm));

    *comm_p = comm;
    if (comm == NULL)
        return DM_FAIL(DM_ENOMEM, "communicator object, %zu bytes", sizeof(*comm));
    dm_group_ref(group);
    dm_errhandler_ref(eh);
    dm_ctx_take(ctx);
    comm->ctx = ctx;
    comm->ctx_send = ctx;
    comm->rank = group->rank;
    comm->size = group->size;
    comm->group = group;
    comm->eh = eh;
    comm->obj.refs = 1;
    comm_count_fatal(comm, group, 1);
    return DM_OK;
}

int dm_comm_new(struct dm_group *group, uint32_t ctx, struct dm_errhandler *eh,
                struct dm_comm **comm_p)
{
    int err = comm_make(group, ctx, eh, comm_p);

    if (err != DM_OK)
        return err;
    err = dm_handle_new(DM_KIND_COMM, &(*comm_p)->obj);
    if (err != DM_OK) {
        dm_comm_unref(*comm_p);
        *comm_p = NULL;
    }
    return err;
}

void dm_comm_destroy(struct dm_comm *comm)
{
    for (int i = 0; i < hooks.n_on_free; i++)
        hooks.on_free[i](comm);
    dm_handle_drop(DM_KIND_COMM, &comm->obj);
    dm_comm_count_fatal(comm, -1);
    dm_ctx_put(comm->ctx);
    dm_comm_unref(comm->local);
    dm_group_unref(comm->group);
    dm_group_unref(comm->remote);
    dm_errhandler_unref(comm->eh);
    dm_info_unref(comm->info);
    dm_topo_unref(comm->topo);
    dm_obj_free(DM_KIND_COMM, comm);
}

int dm_comm_set_name(struct dm_comm *comm, const char *name)
{
    snprintf(comm->name, sizeof(comm->name), "%s", name);
    return DM_OK;
}

int dm_comm_get_name(struct dm_comm *comm, char *name, int *len)
{
    size_t n = strlen(comm->name);

    memcpy(name, comm->name, n + 1); /* no more: callers' buffers may be shorter than the most */
    *len = (int)n;
    return DM_OK;
}

/* The error handler that the launcher or the parent has asked for (MPI-4.0 sections 11.5 and 11.8.4). */
static struct dm_errhandler *comm_initial_errhandler(void)
{
    switch (dm_cfg()->initial_errhandler) {
    case DM_ERRORS_RETURN:
        return &dm_errhandler_return;
    case DM_ERRORS_ABORT:
        return &dm_errhandler_abort;
    default:
        return &dm_errhandler_unset;
    }
}

static int comm_start_one(int handle, int n, const int *procs, uint32_t ctx, const char *name,
                          struct dm_comm **comm_p)
{
    struct dm_group *group;
    int err = dm_group_new(n, procs, NULL, &group);

    if (err != DM_OK)
        return err;
    err = comm_make(group, ctx, comm_initial_errhandler(), comm_p);
    dm_group_unref(group);
    if (err != DM_OK)
        return err;
    dm_comm_set_name(*comm_p, name);
    return dm_handle_bind(DM_KIND_COMM, handle, &(*comm_p)->obj);
}

int dm_comm_start(void)
{
    int err = comm_start_one(MPI_COMM_WORLD, dm_world.size, NULL, CTX_WORLD, "MPI_COMM_WORLD",
                             &dm_world.comm_world);

    if (err == DM_OK)
        err = comm_start_one(MPI_COMM_SELF, 1, &dm_world.rank, CTX_SELF, "MPI_COMM_SELF",
                             &dm_world.comm_self);
    if (err == DM_OK)
        err = comm_make(dm_world.comm_world->group, CTX_HIDDEN, &dm_errhandler_return,
                        &dm_world.comm_hidden);
    return err;
}

int dm_comm_hidden_get(struct dm_group *group, struct dm_comm **comm_p)
{
    int err;

    if (dm_group_is_own(group)) {
        dm_comm_ref(dm_world.comm_hidden);
        *comm_p = dm_world.comm_hidden;
        return DM_OK;
    }
    err = comm_make(group, DM_CTX_NONE, &dm_errhandler_return, comm_p);
    if (err == DM_OK)
        (*comm_p)->ctx = (*comm_p)->ctx_send = CTX_MIXED;
    return err;
}

void dm_comm_stop(void)
{
    dm_comm_unref(dm_world.comm_hidden);
    dm_world.comm_hidden = NULL;
    dm_comm_unref(dm_world.comm_self);
    dm_comm_unref(dm_world.comm_world);
    dm_world.comm_self = NULL;
    dm_world.comm_world = NULL;
    hooks.n_on_free = 0;
}
