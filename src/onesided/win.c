/*
 * Windows: creation, freeing, group (MPI-4.0 section 12.2).
 *
 * Every rank learns every part (address, size, key) at creation, so that a transfer
 * needs nothing but the origin. The window's own duplicate of the communicator keeps
 * its traffic apart; what is collective here goes over the program's, which has what collectives need.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/node/kept.h"
#include "onesided/call.h"
#include "onesided/flush.h"
#include "onesided/get_modify_put.h"
#include "onesided/lock.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/region.h"
#include "onesided/shared.h"
#include "onesided/state.h"
#include "onesided/target.h"
#include "onesided/win.h"
#include "onesided/update_atomic.h"
#include "onesided/xfer.h"
#include "util/cfg.h"
#include "util/sparse.h"

static size_t win_peers_len(const struct dm_comm *comm)
{
    return (size_t)comm->size * sizeof(struct dm_win_peer);
}

/* Release what a window holds locally; any member may still be missing. */
static void win_release(struct dm_win *win)
{
    struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);

    if (win->map != NULL)
        munmap(win->map, win->map_len);
    dm_rma_unmap_all(win);
    dm_rma_detach_all(win);
    dm_rma_shared_free(win);
    dm_rma_atomic_free(win);
    dm_rma_words_free(win);
    if (win->flavor == MPI_WIN_FLAVOR_ALLOCATE && win->base != NULL)
        dm_adapt_mem_free(adapt, win->base);
    else if (win->mr != NULL)
        dm_adapt_unreg(adapt, win->mr);
    if (win->obj.handle != 0)
        dm_handle_drop(DM_KIND_WIN, &win->obj);
    if (win->eh != NULL)
        dm_errhandler_unref(win->eh);
    if (win->group != NULL)
        dm_group_unref(win->group);
    dm_info_unref(win->info);
    free(win->parts);
    if (win->peers != NULL)
        dm_sparse_free(win->peers, win_peers_len(win->comm));
    if (win->comm != NULL)
        dm_comm_free(win->comm);
    free(win);
}

/* A window object over a duplicate of comm, without memory yet. */
static int win_new(struct dm_comm *comm, int disp_unit, int flavor, struct dm_info *info,
                   struct dm_win **win_p)
{
    struct dm_win *win;
    int err;

    if (comm->remote != NULL)
        return DM_FAIL(DM_ERR_COMM, "a window over an intercommunicator");
    win = calloc(1, sizeof(*win));
    if (win == NULL)
        return DM_FAIL(DM_ENOMEM, "window object, %zu bytes", sizeof(*win));
    win->disp_unit = disp_unit;
    win->flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    win->epoch.access = DM_EPOCH_NONE;
    win->epoch.exposure = DM_EPOCH_NONE;
    dm_list_init(&win->target.lock_queue);
    dm_rma_deferred_init(win);
    dm_rma_regions_init(win);
    err = dm_comm_dup_bare(comm, &win->comm);
    if (err == DM_OK) {
        dm_comm_set_name(win->comm, "a window"); /* DATUM_CHECK says it */
        err = dm_win_set_info(win, info);
    }
    if (err != DM_OK)
        goto err_release;
    err = DM_ENOMEM;
    win->peers = dm_sparse_new(win_peers_len(comm));
    if (win->peers == NULL) {
        DM_FAIL(err, "window over %d processes", comm->size);
        goto err_release;
    }
    win->epoch.last_locked = -1;
    win->group = comm->group;
    dm_group_ref(win->group);
    /* the standard's default, not inherited from the communicator */
    win->eh = &dm_errhandler_unset;
    dm_errhandler_ref(win->eh);
    err = dm_handle_new(DM_KIND_WIN, &win->obj);
    if (err != DM_OK)
        goto err_release;
    *win_p = win;
    return DM_OK;

err_release:
    win_release(win);
    return err;
}

/* Somebody has no part, so nobody gets the window. made_err: what kept this process from it. */
static int fail_parts(const struct dm_win *win, int made_err)
{
    int i = 0;

    if (made_err != DM_OK)
        return made_err;
    while (i < win->comm->size - 1 && win->parts[i].handle != 0)
        i++;
    return DM_FAIL(DM_ENOMEM, "rank %d has no memory for its part of the window", i);
}

static void part_least(const struct dm_win_part *part, bool is_local, struct dm_win_least *least)
{
    *least = (struct dm_win_least){.is_made = part->handle != 0,
                                   .has_no_file = !is_local || part->fd < 0,
                                   .lock = (int32_t)part->lock.rail,
                                   .lock_inverted = ~(int32_t)part->lock.rail,
                                   .words = (int32_t)part->words.rail,
                                   .words_inverted = ~(int32_t)part->words.rail};
}

static void parts_least(const struct dm_win *win, struct dm_win_least *least)
{
    struct dm_op *min = dm_op_get(MPI_MIN);

    for (int i = 0; i < win->comm->size; i++) {
        struct dm_win_least one;

        part_least(&win->parts[i], dm_node_is_local(dm_rma_proc(win, i)), &one);
        (void)dm_op_apply(min, &one, least, sizeof(one) / sizeof(int32_t), dm_type_get(MPI_INT));
    }
}

/*
 * All processes on one host have one table of parts if they can; others have one each. Then what has to be alike in
 * all is used: who has learnt all parts may begin.
 */
static int learn_parts(struct dm_win *win, struct dm_comm *comm, const struct dm_win_part *own,
                       struct dm_win_least *least)
{
    bool is_one_node = win->comm->size > 1 && dm_node_is_one(win->comm->group);
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int err = DM_OK;

    part_least(own, true, least);
    if (is_one_node)
        err = dm_rma_shared_exchange(win, comm, own, least);
    if (err != DM_OK || least->has_block)
        return err;
    win->parts = calloc((size_t)win->comm->size, sizeof(*win->parts));
    if (win->parts == NULL)
        err = DM_FAIL(DM_ENOMEM, "a window over %d processes", win->comm->size);
    if (err == DM_OK)
        err = dm_allgather(own, sizeof(*own), byte, win->parts, sizeof(*own), byte, comm);
    if (err != DM_OK || is_one_node)
        return err;
    parts_least(win, least);
    return least->is_made ? dm_rma_shared_start(win, comm) : DM_OK;
}

/* Publish this rank's part, if it could be made, and learn the others'. */
static int exchange_parts(struct dm_win *win, struct dm_comm *comm, int made_err)
{
    struct dm_win_part own = {
        .base = (uint64_t)(uintptr_t)win->base,
        .size = win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? INT64_MAX : (uint64_t)win->size,
        .handle = made_err == DM_OK ? win->obj.handle : 0,
        .disp_unit = (uint32_t)win->disp_unit,
        .is_direct =
            win->mr != NULL && dm_adapt_is_registered(win->mr) && dm_cfg()->rma != DM_RMA_EMULATED,
    };
    struct dm_win_least least;
    bool is_mapped = win->is_mapped;
    int err;

    dm_rma_map_offer(win, &own);
    dm_rma_shared_offer(win, &own);
    dm_rma_atomic_offer(win, &own);
    dm_rma_words_offer(win, &own);
    if (own.is_direct)
        dm_adapt_rkey(win->mr, &own.rkey);
    /* who has all parts may begin, by mapping this part or by packets */
    win->is_mapped = true;
    err = learn_parts(win, comm, &own, &least);
    win->is_mapped = is_mapped;
    if (err == DM_OK && !least.is_made)
        err = fail_parts(win, made_err);
    if (err != DM_OK)
        return err;
    dm_rma_atomic_start(win, &least);
    dm_rma_words_start(win, &least);
    dm_rma_map_start(win, &least);
    return DM_OK;
}

static int finish_create(struct dm_win *win, struct dm_comm *comm, int made_err,
                         struct dm_win **win_p)
{
    int err = exchange_parts(win, comm, made_err);

    if (err != DM_OK) {
        win_release(win);
        return err;
    }
    /* the own part needs no transfers; an address in a dynamic window is for the target to check */
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        win->peers[win->comm->rank].map = win->base;
    *win_p = win;
    return DM_OK;
}

int dm_win_create(void *base, size_t size, int disp_unit, struct dm_info *info,
                  struct dm_comm *comm, struct dm_win **win_p)
{
    struct dm_win *win;
    int err = win_new(comm, disp_unit, MPI_WIN_FLAVOR_CREATE, info, &win);

    if (err != DM_OK)
        return err;
    win->base = base;
    win->size = (MPI_Aint)size;
    if (size > 0) {
        err = dm_adapt_reg(dm_chan_adapt(dm_world.chan), base, size, &win->mr);
        /* out of registrations: packets serve this part */
        err = err == DM_EAGAIN ? DM_OK : err;
    }
    return finish_create(win, comm, err, win_p);
}

int dm_win_allocate(size_t size, int disp_unit, struct dm_info *info, struct dm_comm *comm,
                    void *baseptr, struct dm_win **win_p)
{
    struct dm_win *win;
    int err = win_new(comm, disp_unit, MPI_WIN_FLAVOR_ALLOCATE, info, &win);

    if (err != DM_OK)
        return err;
    win->size = (MPI_Aint)size;
    if (size > 0)
        err = dm_adapt_mem_alloc(dm_chan_adapt(dm_world.chan), size, &win->base, &win->mr);
    err = finish_create(win, comm, err, win_p);
    if (err == DM_OK)
        *(void **)baseptr = win->base;
    return err;
}

int dm_win_allocate_shared(size_t size, int disp_unit, struct dm_info *info, struct dm_comm *comm,
                           void *baseptr, struct dm_win **win_p)
{
    struct dm_win *win;
    int err = win_new(comm, disp_unit, MPI_WIN_FLAVOR_SHARED, info, &win);

    if (err != DM_OK)
        return err;
    win->size = (MPI_Aint)size;
    err = dm_rma_share(win, comm);
    if (err != DM_OK) {
        win_release(win);
        return err;
    }
    *(void **)baseptr = win->base;
    return finish_create(win, comm, DM_OK, win_p);
}

int dm_win_create_dynamic(struct dm_info *info, struct dm_comm *comm, struct dm_win **win_p)
{
    struct dm_win *win;
    int err = win_new(comm, 1, MPI_WIN_FLAVOR_DYNAMIC, info, &win);

    return err != DM_OK ? err : finish_create(win, comm, DM_OK, win_p);
}

int dm_win_free(struct dm_win *win)
{
    int err;

    if (win->epoch.access != DM_EPOCH_NONE && win->epoch.access != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC,
                       "the window is freed inside an access epoch (%s): end it first",
                       win->epoch.access == DM_EPOCH_START ? "MPI_Win_start" : "MPI_Win_lock");
    if (win->epoch.exposure == DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC,
                       "the window is freed inside an exposure epoch: call MPI_Win_wait first");
    err = dm_attr_delete_all(win->obj.handle, &win->attrs);
    if (err != DM_OK)
        return err;
    /* refused transfers of an epoch that nobody has ended do not keep the window */
    err = dm_rma_flush_all(win);
    /* replies that nobody wants any more: they name records of this window */
    if (err != DM_EPEER && dm_rma_wait(win, -1, &win->pending.n_late) != DM_OK)
        err = DM_EPEER;
    if (err == DM_EPEER)
        return err;
    /* nobody may still send here when the handle becomes invalid */
    err = dm_rma_barrier(win);
    /* nobody acknowledges an unlock: it was sent before that, but may take another way */
    if (err == DM_OK)
        err = dm_rma_wait(win, -1, &win->target.n_lock_holders);
    if (err != DM_OK)
        return err;
    win_release(win);
    return DM_OK;
}

int dm_win_get_group(struct dm_win *win, struct dm_group **group_p)
{
    return dm_group_copy(win->group, group_p);
}

int dm_onesided_start(void)
{
    dm_pool_init(&dm_rma_state.msgs, sizeof(struct dm_rma_msg), 16, 0);
    dm_pool_init(&dm_rma_state.xfers, sizeof(struct dm_rma_xfer), 64, 0);
    dm_list_init(&dm_rma_state.views);
    dm_list_init(&dm_rma_state.kept);
    dm_list_init(&dm_rma_state.assisting);
    dm_rma_req_start();
    dm_rma_xfer_start();
    dm_rma_target_start();
    return DM_OK;
}

void dm_onesided_stop(void)
{
    dm_pool_fini(&dm_rma_state.msgs);
    dm_pool_fini(&dm_rma_state.xfers);
    dm_pool_fini(&dm_rma_state.reqs);
    dm_rma_get_modify_put_stop();
    dm_rma_map_stop();
    dm_node_kept_stop(&dm_rma_state.kept);
}
