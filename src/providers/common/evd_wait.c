/*
 * Event dispatchers: dequeuing and waiting.
 *
 * One consumer at a time; is_waiting is set while one waits, and then others
 * are refused. On the thread-safe line evd->lock serialises dequeuing and
 * local producers against resizing; on the other line the consumer program
 * does that.
 */
#include "providers/common/evd.h"

#include <errno.h>
#include <string.h>

#include "providers/common/evd_lock.h"
#include "providers/common/provider.h"
#include "util/futex.h"

/* Let the peer see how many receives have been dequeued. */
static void evd_show_reaped(struct dm_ep *ep)
{
    atomic_store(atomic_load(&ep->n_recv_shown), atomic_load(&ep->n_recv_reaped));
}

/* Take the event at the head; it is there. */
static bool evd_take(struct dm_evd *evd, DAT_EVENT *event)
{
    uint64_t head = atomic_load_explicit(&evd->head, memory_order_relaxed);
    struct dm_evd_slot *slot = dm_evd_ring_slot(evd->ring, head);
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    bool is_event = (state & DM_SLOT_PHASE_MASK) == DM_SLOT_FULL;
    uint32_t tag = slot->item.tag;

    if (is_event) {
        event->event_number = (DAT_EVENT_NUMBER)slot->item.number;
        event->evd_handle = (DAT_EVD_HANDLE)evd;
        memcpy(&event->event_data, slot->item.data, sizeof(slot->item.data));
        event->event_extension_data[0] = slot->item.ext;
        event->event_extension_data[1] = 0;
        if (dm_unlikely(slot->item.number >= DAT_IB_EXTENSION_RANGE_BASE))
            event->event_extension_data[1] = slot->item.data[DM_ITEM_EXTRA];
    }
    atomic_store_explicit(&slot->state,
                          dm_slot_state(evd->ring->size, head + evd->ring->size, 0, DM_SLOT_FREE),
                          memory_order_release);
    atomic_store_explicit(&evd->head, head + 1, memory_order_relaxed);
    if (is_event && tag != DM_TAG_NONE) {
        struct dm_ep *ep = event->event_data.dto_completion_event_data.ep_handle;

        if (dm_unlikely(event->event_number == DAT_RMR_BIND_COMPLETION_EVENT))
            memcpy(&ep, (const uint64_t *)(const void *)&event->event_data + DM_ITEM_EXTRA,
                   sizeof(ep));
        if ((ep->obj.gen & DM_TAG_GEN_MASK) == tag >> 2) {
            _Atomic uint32_t *n =
                DM_TAG_KIND(tag) == DM_TAG_RECV ? &ep->n_recv_reaped : &ep->n_request_reaped;

            atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                                  memory_order_release);
            if (dm_unlikely(atomic_load_explicit(&ep->n_recv_shown, memory_order_relaxed) != NULL))
                evd_show_reaped(ep);
        }
    }
    return is_event;
}

/* Has the provider something to do when its consumer finds nothing? */
static inline bool evd_is_poll_due(const struct dm_evd *evd)
{
    const struct dm_pia *ia = evd->obj.ia;

    return ia->is_driven ||
           (ia->due != NULL && dm_unlikely(atomic_load_explicit(ia->due, memory_order_relaxed)));
}

DAT_RETURN dm_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
    struct dm_evd *evd = (struct dm_evd *)handle;
    DAT_RETURN ret = DM_DAT_BARE(DAT_QUEUE_EMPTY);

    if (dm_unlikely(!dm_obj_is(evd, DAT_HANDLE_TYPE_EVD)))
        return DM_DAT_BAD_EVD;
    if (dm_unlikely(event == NULL))
        return DM_DAT_ARG(2);
    if (dm_unlikely(atomic_load_explicit(&evd->is_waiting, memory_order_relaxed)))
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    if (evd_is_poll_due(evd) && !dm_evd_ring_has(evd->ring, evd->head))
        evd->obj.ia->ops->ia.poll(evd->obj.ia);
    if (!evd->obj.ia->is_threadsafe) {
        while (dm_evd_ring_has(evd->ring, evd->head))
            if (evd_take(evd, event))
                return DAT_SUCCESS;
        return ret;
    }
    dm_evd_lock(evd);
    while (ret != DAT_SUCCESS && dm_evd_ring_has(evd->ring, evd->head))
        if (evd_take(evd, event))
            ret = DAT_SUCCESS;
    dm_evd_unlock(evd);
    return ret;
}

/* Number of events ready in a row, looking no further than max. */
DAT_COUNT dm_evd_count_ready(struct dm_evd *evd, uint64_t max)
{
    uint64_t n = 0;
    DAT_COUNT n_events = 0;

    while (n < evd->ring->size && (uint64_t)n_events < max &&
           dm_evd_ring_has(evd->ring, evd->head + n)) {
        uint64_t state = atomic_load_explicit(&dm_evd_ring_slot(evd->ring, evd->head + n)->state,
                                              memory_order_relaxed);

        if ((state & DM_SLOT_PHASE_MASK) == DM_SLOT_FULL)
            n_events++;
        n++;
    }
    return n_events;
}

int dm_evd_sleep(struct dm_pia *ia, _Atomic uint32_t *word, uint32_t value, uint64_t deadline)
{
    return ia->ops->ia.wait != NULL ? ia->ops->ia.wait(ia, word, value, deadline)
                                    : dm_futex_wait(word, value, deadline);
}

/* Sleep until the ring has more than n_now events or somebody wakes us. */
static int evd_wait_more(struct dm_evd *evd, DAT_COUNT threshold, uint64_t deadline)
{
    struct dm_evd_ring *ring = evd->ring;
    uint32_t word = atomic_load(&ring->word);
    int err = 0;

    atomic_store(&ring->want, evd->head + (uint64_t)threshold);
    atomic_store(&ring->is_sleeping, 1);
    atomic_thread_fence(memory_order_seq_cst); /* before the look at slots; see publish() */
    if (dm_evd_count_ready(evd, (uint64_t)threshold) < threshold && !atomic_load(&evd->is_dead) &&
        !atomic_load(&evd->is_unwaitable)) {
        dm_evd_unlock(evd);
        err = evd->obj.ia->is_driven ? evd->obj.ia->ops->ia.sleep(evd->obj.ia, ring, word, deadline)
                                     : dm_evd_sleep(evd->obj.ia, &ring->word, word, deadline);
        dm_evd_lock(evd);
    }
    atomic_store(&ring->is_sleeping, 0);
    return err;
}

static uint64_t evd_deadline(struct dm_evd *evd, DAT_TIMEOUT timeout)
{
    struct dm_pia *ia = evd->obj.ia;

    if (ia->is_driven && ia->ops->ia.deadline != NULL)
        return ia->ops->ia.deadline(ia, evd, timeout);
    return dm_futex_deadline(timeout);
}

static DAT_RETURN evd_wait_loop(struct dm_evd *evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                                DAT_EVENT *event, DAT_COUNT *n_more_p)
{
    uint64_t deadline = 0; /* not known yet: the clock is read only to sleep */
    int err = 0;

    for (;;) {
        if (atomic_load(&evd->is_dead))
            return DM_DAT(DAT_ABORT, 0);
        if (atomic_load(&evd->is_unwaitable))
            return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        if (dm_evd_count_ready(evd, (uint64_t)threshold) >= threshold) {
            while (!evd_take(evd, event))
                continue;
            *n_more_p = dm_evd_count_ready(evd, UINT64_MAX);
            return DAT_SUCCESS;
        }
        if (err == EINTR)
            return DM_DAT(DAT_INTERRUPTED_CALL, 0);
        if (timeout == 0 || err == ETIMEDOUT) {
            *n_more_p = dm_evd_count_ready(evd, UINT64_MAX);
            return DM_DAT_BARE(DAT_TIMEOUT_EXPIRED);
        }
        if (deadline == 0)
            deadline = evd_deadline(evd, timeout);
        err = evd_wait_more(evd, threshold, deadline);
    }
}

DAT_RETURN dm_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                       DAT_EVENT *event, DAT_COUNT *n_more_p)
{
    struct dm_evd *evd = dm_obj_get(handle, DAT_HANDLE_TYPE_EVD);
    bool is_free = false;
    DAT_RETURN ret;

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    if (threshold <= 0 || threshold > evd->qlen)
        return DM_DAT_ARG(3);
    if (event == NULL)
        return DM_DAT_ARG(4);
    if (n_more_p == NULL)
        return DM_DAT_ARG(5);
    if (!atomic_compare_exchange_strong(&evd->is_waiting, &is_free, true))
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    if (evd->obj.ia->is_driven && timeout == 0)
        evd->obj.ia->ops->ia.poll(evd->obj.ia);
    dm_evd_lock(evd);
    ret = evd_wait_loop(evd, timeout, threshold, event, n_more_p);
    dm_evd_unlock(evd);
    atomic_store(&evd->is_waiting, false);
    return ret;
}
