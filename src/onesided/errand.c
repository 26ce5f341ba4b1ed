/*
 * Errands: short transfers to private memory of a process of the same host.
 *
 * Nobody else can address such memory: RDMA to it is a system call. Its owner, when it waits
 * inside the library, is several times faster. So the origin writes what it wants into its own
 * place in the control block, rings the target's bell and waits for about as long as the answer of a
 * target that looks takes. A target that does not, because it computes or sleeps, finds nothing later:
 * the origin has taken the errand back and goes by RDMA or a packet. After that it does not try for a
 * growing number of transfers, so that such targets cost next to nothing.
 */
#include <string.h>

#include "onesided/ctl.h"
#include "util/cfg.h"
#include "util/clock.h"

#define PATIENCE_NS 1200
#define LOOKS       64 /* between looks at the clock */
#define SKIPS_CALL  7
#define SKIPS_MAX   63 /* transfers */

static void carry_out(struct dm_win *win, struct dm_rma_errand *e)
{
    const struct dm_pkt_rma_acc *acc = &e->acc;
    struct dm_rma_run run = {.offset = acc->offset, .n = 1, .basic = acc->basic};
    bool is_fetch = (acc->pkt.flags & (DM_RMA_SWAP | DM_RMA_FETCH)) != 0;
    size_t size = (size_t)dm_type_get(acc->basic)->size;
    char old[DM_RMA_ERRAND_BYTES];
    char *at;

    e->err = DM_OK;
    if (e->kind == DM_ERRAND_GET) {
        at = dm_rma_place(win, acc->offset, acc->pkt.data_len);
        if (at != NULL)
            memcpy(e->data, at, acc->pkt.data_len);
        else
            e->err = DM_ERR_RMA_RANGE;
        return;
    }
    if (!(acc->pkt.flags & DM_RMA_SWAP))
        run.n = (is_fetch ? e->result_len : acc->pkt.data_len) / (uint32_t)size;
    e->err = dm_rma_apply(win, acc, &run, e->data, is_fetch ? old : NULL);
    if (is_fetch)
        memcpy(e->data, old, run.n * size);
}

/* What one origin wants of me, if it still does. */
static int serve(struct dm_win *win, int seat)
{
    struct dm_rma_errand *e = &win->node->errands[seat];
    uint32_t asked = DM_ERRAND_ASKED + (uint32_t)win->node->me;

    if (dm_atomic_load(&e->state) != asked)
        return 0;
    if (!dm_rma_try_enter(win)) {
        /* later, if it is not taken back */
        dm_atomic_or(&dm_rma_my_seat(win)->bell, UINT64_C(1) << seat % 64);
        return 0;
    }
    if (!dm_atomic_cas(&e->state, &asked, DM_ERRAND_TAKEN)) {
        dm_rma_leave(win);
        return 0;
    }
    if (e->kind >= DM_ERRAND_FROM_ME) {
        dm_rma_leave(win);
        dm_rma_help(win, seat, e);
        return 1;
    }
    carry_out(win, e);
    dm_rma_leave(win);
    dm_atomic_store(&e->state, DM_ERRAND_DONE);
    return 1;
}

static int look(struct dm_chan_hook *hook)
{
    struct dm_rma_node *node = dm_container_of(hook, struct dm_rma_node, hook);
    uint64_t *bell = &dm_rma_my_seat(node->win)->bell;
    uint64_t bits;
    int n = 0;

    if (dm_likely(dm_atomic_load(bell) == 0))
        return 0;
    bits = dm_atomic_swap(bell, 0);
    for (int i = 0; i < node->n; i++) {
        if (bits >> i % 64 & 1)
            n += serve(node->win, i);
    }
    return n;
}

/* Is my part one that others on this host cannot address? */
static bool is_private(const struct dm_win *win)
{
    return win->flavor == MPI_WIN_FLAVOR_DYNAMIC ||
           (win->flavor == MPI_WIN_FLAVOR_CREATE && win->size > 0 &&
            win->parts[win->comm->rank].fd < 0);
}

void dm_rma_errand_start(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    if (dm_cfg()->rma != DM_RMA_AUTO || node->n < 2 || !is_private(win) ||
        dm_adapt_is_crowded(dm_chan_adapt(dm_world.chan)))
        return;
    node->win = win;
    node->hook.fn = look;
    dm_chan_hook_add(dm_world.chan, &node->hook);
}

void dm_rma_errand_stop(struct dm_win *win)
{
    dm_chan_hook_del(dm_world.chan, &win->node->hook);
}

bool dm_rma_errand_may(const struct dm_win *win, int target)
{
    const struct dm_win_peer *peer = &win->peers[target];

    return peer->seat >= 0 && peer->map == NULL && target != win->comm->rank &&
           dm_cfg()->rma == DM_RMA_AUTO && !win->node->is_sharing;
}

void dm_rma_errand_ask(struct dm_win *win, int target, struct dm_rma_errand *e)
{
    int seat = win->peers[target].seat, me = win->node->me;

    dm_atomic_store(&e->state, DM_ERRAND_ASKED + (uint32_t)seat);
    dm_atomic_or(&dm_rma_seat(win, seat)->bell, UINT64_C(1) << me % 64);
}

bool dm_rma_errand_undo(const struct dm_win *win, int target, struct dm_rma_errand *e)
{
    uint32_t asked = DM_ERRAND_ASKED + (uint32_t)win->peers[target].seat;

    return dm_atomic_cas(&e->state, &asked, DM_ERRAND_NONE);
}

void dm_rma_errand_went(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    peer->n_skips = peer->most_skips = 0;
    peer->n_alone = peer->most_alone = 0;
    peer->is_called = false;
}

/*
 * The target did not look: do not try for a while. If it only sleeps, inside the library, one packet makes it look again for
 * some time.
 */
static void put_off(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    peer->most_skips = peer->most_skips < SKIPS_MAX ? peer->most_skips * 2 + 1 : SKIPS_MAX;
    peer->n_skips = peer->most_skips;
    if (peer->is_called || peer->most_skips < SKIPS_CALL)
        return;
    peer->is_called = true;
    dm_rma_state.counts.n_wakes++;
    dm_rma_note(win, target, DM_PKT_RMA_WAKE, 0);
}

/*
 * The target has begun, which is over soon, unless somebody stops it dead: nobody else shall have to wait
 * for me meanwhile. DM_EPEER.
 */
static int await_end(struct dm_win *win, int target, const struct dm_rma_errand *e)
{
    uint32_t n = 0;
    int err = DM_OK;

    while (dm_atomic_load(&e->state) != DM_ERRAND_DONE && err == DM_OK) {
        dm_rma_pause(&n);
        if (n % LOOKS != 0)
            continue;
        win->node->is_sharing = true;
        dm_chan_progress_test(dm_world.chan);
        win->node->is_sharing = false;
        if (dm_atomic_load(&e->state) != DM_ERRAND_DONE)
            err = dm_rma_check_lost(win, target);
    }
    return err;
}

/*
 * Did the target come, before our patience was at an end? If not it will not any more. It may
 * be waiting for us in the same way.
 */
static bool is_carried_out(struct dm_win *win, int target, struct dm_rma_errand *e, int *err_p)
{
    struct dm_rma_node *node = win->node;
    uint64_t until = dm_clock_ns() + PATIENCE_NS;

    do {
        for (int i = 0; i < LOOKS; i++) {
            if (dm_atomic_load(&e->state) == DM_ERRAND_DONE)
                return true;
        }
        dm_cpu_relax();
        if (node->hook.is_on)
            look(&node->hook);
    } while (dm_clock_ns() < until);
    if (dm_rma_errand_undo(win, target, e))
        return false;
    *err_p = await_end(win, target, e);
    return true;
}

bool dm_rma_errand(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                   const void *data, void *result, size_t result_len)
{
    struct dm_win *win = call->win;
    struct dm_rma_errand *e;
    int err = DM_OK;

    if (acc->pkt.data_len > sizeof(e->data) || !dm_rma_errand_may(win, call->target))
        return false;
    if (win->peers[call->target].n_skips > 0) {
        win->peers[call->target].n_skips--;
        return false;
    }
    e = &win->node->errands[win->node->me];
    e->kind = data == NULL && acc->op == MPI_REPLACE ? DM_ERRAND_GET : DM_ERRAND_UPDATE;
    e->acc = *acc;
    e->result_len = (uint32_t)result_len;
    if (data != NULL)
        memcpy(e->data, data, acc->pkt.data_len);
    dm_rma_errand_ask(win, call->target, e);
    if (!is_carried_out(win, call->target, e, &err)) {
        put_off(win, call->target);
        return false;
    }
    if (err == DM_OK) {
        dm_rma_errand_went(win, call->target);
        dm_rma_state.counts.n_errands++;
        err = e->err;
    }
    if (err != DM_OK)
        dm_rma_refused(call, err);
    else if (result != NULL)
        memcpy(result, e->data, result_len);
    return true;
}
