/*
 * Waiting in the provider: a thread of the program that has nothing else to do, and the progress
 * thread (DATUM_PROGRESS=thread) while the program computes.
 *
 * Where there is a progress thread, only it sleeps here. It does so in a notification object, so that the event
 * queues stay with whoever polls. With DATUM_PROGRESS=threads2 that is for what has come. What was posted has a
 * queue and a notification object of its own, in which the second progress thread sleeps. With DATUM_CQ=split and
 * no such thread one notification object is for both queues, and whoever waits sleeps in it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/notify.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/progress/relay.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/public/progress.h"
#include "util/glock.h"
#include "util/list.h"

#define RING_WAIT  1000 /* us: nothing wakes us when a ring is written */
#define SOFT_WAIT  200000
#define SETUP_WAIT 2000
#define WATCH_WAIT 5000 /* who sleeps so long may wait for one that has died */
#define ARM_WAIT   400  /* shorter sleeps are not worth telling the peers */
#define PAUSE_NS   50000

/*
 * The rail to block in: one in use whose events cannot wake who sleeps in another, if there is one; of those
 * where most would wake us.
 */
static struct dm_ia *wait_choose_rail(const struct dm_adapt *adapt, enum dm_side side)
{
    struct dm_ia *best = NULL;
    bool must_best = false;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        struct dm_ia *ia = adapt->rails.ias[i];
        bool must = ia->n_conns > 0 && !dm_relay_can(ia, side);

        if (best == NULL || must > must_best ||
            (must == must_best && (ia->n_sendrecv > best->n_sendrecv ||
                                   (adapt->sleep.can_notify && ia->n_sendrecv == best->n_sendrecv &&
                                    ia->n_conns > best->n_conns)))) {
            best = ia;
            must_best = must;
        }
    }
    return best;
}

/* Has every peer something to wake us by? Those with rings are asked to notify us. */
static bool wait_can_be_woken(struct dm_adapt *adapt, const struct dm_ia *ia, enum dm_side side,
                              bool may_arm)
{
    struct dm_conn *conn;
    bool can_all = true;

    for (int i = 0; i < adapt->poll.n_active; i++) {
        conn = adapt->poll.active[i];
        if ((conn->ia != ia && !dm_relay_is_on(conn->ia, ia, side)) ||
            !(conn->is_sendrecv || conn->is_armed ||
              (may_arm && adapt->sleep.can_notify && dm_eager_arm(conn))))
            can_all = false;
    }
    if (adapt->poll.datagrams.is_on && may_arm)
        adapt->poll.datagrams.way.sleep(adapt->poll.datagrams.way.arg, true);
    if (adapt->poll.pending.row != NULL && may_arm && adapt->sleep.can_notify)
        atomic_store(&adapt->poll.pending.row->is_asleep, 1);
    return can_all;
}

/* Is anything posted whose end nobody would be woken by? */
static bool wait_has_unwatched(struct dm_adapt *adapt, const struct dm_ia *ia, enum dm_side side)
{
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        if (adapt->rails.ias[i]->n_signalled > 0 &&
            (side == DM_SIDE_REQUEST
                 ? adapt->rails.ias[i] != ia && !dm_relay_is_on(adapt->rails.ias[i], ia, side)
                 : adapt->rails.ias[i]->wake.cno[DM_SIDE_REQUEST] != DAT_HANDLE_NULL &&
                       !atomic_load(&adapt->sleep.is_thread_asleep[DM_SIDE_REQUEST])))
            return true;
    }
    return false;
}

/* How long blocking is safe: only completions wake us. */
static uint64_t wait_safe_us(struct dm_adapt *adapt, const struct dm_ia *ia, enum dm_side side,
                             uint64_t timeout_us)
{
    uint64_t most = SOFT_WAIT;
    bool may_arm = timeout_us >= ARM_WAIT;

    /* With rings, another rail, or peers that may connect with a ring, nobody wakes us. */
    if (wait_has_unwatched(adapt, ia, side) ||
        (side == DM_SIDE_RECV && (!wait_can_be_woken(adapt, ia, side, may_arm) ||
                                  ((adapt->is_demand || adapt->procs.is_serving) &&
                                   !adapt->rings.wants_sendrecv && !adapt->rails.has_wakes))))
        most = (uint64_t)RING_WAIT * adapt->sleep.turns;
    else if (!dm_list_is_empty(&adapt->poll.connecting) || adapt->poll.n_writable_due > 0)
        most = (uint64_t)SETUP_WAIT * adapt->sleep.turns;
    return timeout_us < most ? timeout_us : most;
}

bool dm_adapt_is_woken(const struct dm_adapt *adapt)
{
    return adapt->rails.n_ias == 1 && adapt->poll.n_active > 0 &&
           adapt->poll.n_sendrecv == adapt->poll.n_active && !adapt->poll.datagrams.is_on;
}

static void wait_pause_ns(long ns)
{
    const struct timespec pause = {0, ns};

    nanosleep(&pause, NULL);
}

/* Is there something to do now? */
static bool wait_is_due(struct dm_adapt *adapt)
{
    if (dm_poll_rare(adapt) > 0 || adapt->poll.done_head != NULL || adapt->poll.n_dying > 0 ||
        atomic_load_explicit(&adapt->shared.n_notes, memory_order_relaxed) > 0 ||
        dm_datagram_is_due(&adapt->poll.datagrams))
        return true;
    for (int i = 0; i < adapt->poll.n_plain; i++) {
        if (dm_rx_has(&adapt->poll.active[i]->rx))
            return true;
    }
    return adapt->poll.pending.row != NULL && dm_pending_has(&adapt->poll.pending);
}

/* Nobody else may hold that notification object of the rail. True: an event ended it. */
static bool wait_block_cno(const struct dm_ia *ia, enum dm_side side, uint64_t timeout_us)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_RETURN rc = dat_cno_wait(ia->wake.cno[side], (DAT_TIMEOUT)timeout_us, &evd);

    if (rc != DAT_SUCCESS && DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY &&
        DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED)
        wait_pause_ns(PAUSE_NS);
    return rc == DAT_SUCCESS;
}

static void wait_block_evd(struct dm_ia *ia, uint64_t timeout_us)
{
    DAT_COUNT n_more = 0;
    DAT_EVENT event;
    DAT_RETURN rc;
    int levels;

    ia->is_waited_on = true;
    levels = dm_glock_release_all();
    rc = dat_evd_wait(ia->dto_evd, (DAT_TIMEOUT)timeout_us, 1, &event, &n_more);
    dm_glock_reacquire(levels);
    ia->is_waited_on = false;
    if (rc == DAT_SUCCESS) {
        ia->counts.n_wakes++;
        ia->counts.n_taken[DM_SIDE_REQUEST] += ia->counts_taken;
        dm_poll_event(ia, &event);
    } else if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED) {
        wait_pause_ns(PAUSE_NS);
    }
}

/* Nobody need notify us any more. */
static void wait_is_over(struct dm_adapt *adapt)
{
    if (adapt->poll.datagrams.is_on)
        adapt->poll.datagrams.way.sleep(adapt->poll.datagrams.way.arg, false);
    if (adapt->poll.pending.row != NULL)
        atomic_store_explicit(&adapt->poll.pending.row->is_asleep, 0, memory_order_relaxed);
}

static void wait_relay(struct dm_adapt *adapt, struct dm_ia *ia, enum dm_side side,
                       uint64_t timeout_us)
{
    if (timeout_us >= ARM_WAIT)
        dm_relay_begin(adapt, ia, side);
    else
        adapt->sleep.relays[side] = NULL;
}

void dm_adapt_wait(struct dm_adapt *adapt, uint64_t timeout_us)
{
    struct dm_ia *ia = wait_choose_rail(adapt, DM_SIDE_RECV);
    bool is_woken;
    int levels;

    if (wait_is_due(adapt))
        return;
    if (ia == NULL || adapt->sleep.is_waiting) {
        levels = dm_glock_release_all();
        wait_pause_ns(PAUSE_NS);
        dm_glock_reacquire(levels);
        return;
    }
    wait_relay(adapt, ia, DM_SIDE_RECV, timeout_us);
    timeout_us = wait_safe_us(adapt, ia, DM_SIDE_RECV, timeout_us);
    if ((adapt->sleep.can_notify || adapt->poll.datagrams.is_on) &&
        wait_is_due(adapt)) { /* since the peers were asked */
        dm_relay_end(adapt, DM_SIDE_RECV);
        wait_is_over(adapt);
        return;
    }
    adapt->sleep.is_waiting = true;
    ia->counts.n_waits++;
    if (ia->wake.cno[DM_SIDE_RECV] != DAT_HANDLE_NULL) {
        levels = dm_glock_release_all();
        is_woken = wait_block_cno(ia, DM_SIDE_RECV, timeout_us);
        dm_glock_reacquire(levels);
        ia->counts.n_wakes += is_woken;
    } else {
        wait_block_evd(ia, timeout_us);
    }
    dm_relay_end(adapt, DM_SIDE_RECV);
    wait_is_over(adapt);
    adapt->sleep.is_waiting = false;
    if (timeout_us >= WATCH_WAIT && !wait_is_due(adapt))
        dm_eager_datagrams_watch(adapt);
}

/* ---- progress threads ---- */

bool dm_adapt_sleep_begin(struct dm_adapt *adapt, struct dm_adapt_sleep *sleep)
{
    struct dm_ia *ia = wait_choose_rail(adapt, sleep->side);

    if (wait_is_due(adapt))
        return false;
    sleep->ia = ia;
    wait_relay(adapt, ia, sleep->side, sleep->timeout_us);
    sleep->timeout_us = wait_safe_us(adapt, ia, sleep->side, sleep->timeout_us);
    if (wait_is_due(adapt)) {
        dm_relay_end(adapt, sleep->side);
        return false;
    }
    atomic_store(&adapt->sleep.is_thread_asleep[sleep->side], true);
    return true;
}

bool dm_adapt_sleep_check(const struct dm_adapt_sleep *sleep)
{
    struct dm_adapt *adapt = sleep->adapt;

    if (!atomic_load(&adapt->sleep.is_thread_asleep[sleep->side]))
        return false;
    if (sleep->ia == wait_choose_rail(adapt, sleep->side) &&
        sleep->timeout_us <= wait_safe_us(adapt, sleep->ia, sleep->side, sleep->timeout_us) &&
        !wait_is_due(adapt))
        return true;
    dm_adapt_wake(adapt, sleep->side);
    return false;
}

bool dm_adapt_sleep(const struct dm_adapt_sleep *sleep)
{
    bool is_woken = false;

    if (sleep->ia->wake.cno[sleep->side] != DAT_HANDLE_NULL)
        is_woken = wait_block_cno(sleep->ia, sleep->side, sleep->timeout_us);
    else
        wait_pause_ns((long)(sleep->timeout_us < RING_WAIT ? sleep->timeout_us : RING_WAIT) * 1000);
    dm_relay_end(sleep->adapt, sleep->side);
    if (sleep->side == DM_SIDE_RECV)
        wait_is_over(sleep->adapt);
    atomic_store(&sleep->adapt->sleep.is_thread_asleep[sleep->side], false);
    return is_woken;
}

bool dm_adapt_has_rails(const struct dm_adapt *adapt)
{
    return adapt->rails.n_ias > 0;
}

bool dm_adapt_has_sides(const struct dm_adapt *adapt)
{
    return adapt->rails.has_sides;
}

bool dm_adapt_awaits_place(const struct dm_adapt *adapt)
{
    return adapt->poll.datagrams.is_on && !dm_list_is_empty(&adapt->poll.datagrams.blocked);
}

bool dm_adapt_is_oversubscribed(const struct dm_adapt *adapt)
{
    return adapt->is_oversubscribed;
}

void dm_adapt_wake(struct dm_adapt *adapt, enum dm_side side)
{
    dm_rails_wake(&adapt->rails, side);
}
