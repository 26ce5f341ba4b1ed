/*
 * Event dispatchers: life cycle and state; the consumer's side is in evd_wait.c.
 */
#include "providers/common/evd.h"

#include <sched.h>
#include <string.h>

#include "providers/common/provider.h"

#define STREAMS_OK ((DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG))

/* Wake the waiter, wherever it sleeps. */
static void evd_wake(struct dm_evd *evd)
{
    dm_evd_ring_wake(evd->ring);
    if (atomic_load(&evd->obj.ia->led) == evd->ring)
        evd->obj.ia->ops->ia.kick(evd->obj.ia);
}

/* Let producers see the CNO, or not. */
static void evd_publish_cno(struct dm_evd *evd)
{
    int64_t distance = 0;

    if (evd->cno != NULL && evd->is_enabled)
        distance = (char *)evd->cno->ring - (char *)evd->ring;
    atomic_store(&evd->ring->cno, distance);
}

DAT_RETURN dm_evd_new(struct dm_pia *ia, DAT_COUNT qlen, struct dm_cno *cno, DAT_EVD_FLAGS flags,
                      struct dm_evd **evd_p)
{
    uint64_t size;
    size_t len = dm_evd_ring_len((uint64_t)qlen, &size);
    struct dm_evd *evd = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_EVD, sizeof(*evd));

    if (evd == NULL)
        return DM_DAT_NOMEM;
    evd->ring = ia->ops->ia.mem_alloc(ia, len);
    if (evd->ring == NULL) {
        dm_obj_free(evd);
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    }
    dm_evd_ring_init(evd->ring, size, (uint64_t)(uintptr_t)evd);
    pthread_mutex_init(&evd->lock, NULL);
    evd->qlen = qlen;
    evd->flags = flags;
    evd->cno = cno;
    evd->is_enabled = true;
    if (cno != NULL)
        cno->n_refs++;
    evd_publish_cno(evd);
    *evd_p = evd;
    return DAT_SUCCESS;
}

void dm_evd_destroy(struct dm_evd *evd)
{
    struct dm_pia *ia = evd->obj.ia;

    atomic_store(&evd->is_dead, true);
    while (atomic_load(&evd->is_waiting)) {
        evd_wake(evd);
        sched_yield();
    }
    if (evd->cno != NULL)
        evd->cno->n_refs--;
    ia->ops->ia.mem_free(ia, evd->ring);
    evd->ring = NULL;
    pthread_mutex_destroy(&evd->lock);
    dm_obj_free(evd);
}

DAT_RETURN dm_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
                         DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_cno *cno = NULL;
    struct dm_evd *evd = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (qlen <= 0)
        return DM_DAT_ARG(2);
    if (qlen > DM_EVD_QLEN_MAX)
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    if (flags == 0 || ((unsigned)flags & ~(unsigned)STREAMS_OK) != 0 ||
        (flags & DAT_EVD_ASYNC_FLAG) != 0)
        return DM_DAT_ARG(4);
    if (evd_p == NULL)
        return DM_DAT_ARG(5);
    pthread_mutex_lock(&ia->lock);
    if (cno_handle != DAT_HANDLE_NULL) {
        cno = dm_obj_get(cno_handle, DAT_HANDLE_TYPE_CNO);
        if (cno == NULL || cno->obj.ia != ia) {
            pthread_mutex_unlock(&ia->lock);
            return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
        }
    }
    ret = dm_evd_new(ia, qlen, cno, flags, &evd);
    pthread_mutex_unlock(&ia->lock);
    if (ret == DAT_SUCCESS)
        *evd_p = (DAT_EVD_HANDLE)evd;
    return ret;
}

static struct dm_evd *evd_get(DAT_EVD_HANDLE handle)
{
    return dm_obj_get(handle, DAT_HANDLE_TYPE_EVD);
}

DAT_RETURN dm_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
    struct dm_evd *evd = evd_get(handle);
    unsigned state;

    (void)mask;
    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(evd->obj.ia);
    param->evd_qlen = evd->qlen;
    state = evd->is_enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED;
    state |= atomic_load(&evd->is_unwaitable) ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE;
    state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
    param->evd_state = (DAT_EVD_STATE)state;
    param->cno_handle = evd->cno;
    param->evd_flags = evd->flags;
    return DAT_SUCCESS;
}

DAT_RETURN dm_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
    struct dm_evd *evd = evd_get(handle);
    struct dm_cno *cno = NULL;

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    if (cno_handle != DAT_HANDLE_NULL) {
        cno = dm_obj_get(cno_handle, DAT_HANDLE_TYPE_CNO);
        if (cno == NULL || cno->obj.ia != evd->obj.ia)
            return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    }
    pthread_mutex_lock(&evd->obj.ia->lock);
    if (evd->cno != NULL)
        evd->cno->n_refs--;
    evd->cno = cno;
    if (cno != NULL)
        cno->n_refs++;
    pthread_mutex_lock(&evd->lock); /* nobody here triggers the old one any more */
    evd_publish_cno(evd);
    pthread_mutex_unlock(&evd->lock);
    /* What is already queued counts as new for this CNO. */
    if (cno != NULL && evd->is_enabled && dm_evd_ring_has(evd->ring, evd->head) &&
        dm_cno_ring_trigger(cno->ring, evd->ring->handle))
        evd->obj.ia->ops->ia.kick(evd->obj.ia);
    pthread_mutex_unlock(&evd->obj.ia->lock);
    return DAT_SUCCESS;
}

static DAT_RETURN evd_set_enabled(DAT_EVD_HANDLE handle, bool is_enabled)
{
    struct dm_evd *evd = evd_get(handle);

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    pthread_mutex_lock(&evd->obj.ia->lock);
    evd->is_enabled = is_enabled;
    evd_publish_cno(evd);
    if (is_enabled && evd->cno != NULL && dm_evd_ring_has(evd->ring, evd->head) &&
        dm_cno_ring_trigger(evd->cno->ring, evd->ring->handle))
        evd->obj.ia->ops->ia.kick(evd->obj.ia);
    pthread_mutex_unlock(&evd->obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_evd_enable(DAT_EVD_HANDLE handle)
{
    return evd_set_enabled(handle, true);
}

DAT_RETURN dm_evd_disable(DAT_EVD_HANDLE handle)
{
    return evd_set_enabled(handle, false);
}

DAT_RETURN dm_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
    struct dm_evd *evd = evd_get(handle);

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    atomic_store(&evd->is_unwaitable, true);
    evd_wake(evd);
    return DAT_SUCCESS;
}

DAT_RETURN dm_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
    struct dm_evd *evd = evd_get(handle);

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    atomic_store(&evd->is_unwaitable, false);
    return DAT_SUCCESS;
}

/* Move what is queued to a bigger ring; all producers are held off. */
static void evd_move_ring(struct dm_evd *evd, struct dm_evd_ring *to)
{
    struct dm_evd_ring *from = evd->ring;
    uint64_t n = 0;

    while (dm_evd_ring_has(from, evd->head)) {
        struct dm_evd_slot *slot = dm_evd_ring_slot(from, evd->head);

        if ((atomic_load(&slot->state) & DM_SLOT_PHASE_MASK) == DM_SLOT_FULL) {
            to->slots[n].item = slot->item;
            atomic_store(&to->slots[n].state, dm_slot_state(to->size, n, 0, DM_SLOT_FULL));
            n++;
        }
        evd->head++;
    }
    atomic_store(&to->tail, n);
    evd->head = 0;
    evd->ring = to;
}

/* Where peers do not reach rings there is nobody to keep off. */
static bool evd_ring_moved(struct dm_pia *ia, struct dm_evd *evd, bool is_before)
{
    return ia->ops->ia.evd_moved == NULL || ia->ops->ia.evd_moved(ia, evd, is_before);
}

static DAT_RETURN evd_resize_locked(struct dm_evd *evd, DAT_COUNT qlen)
{
    struct dm_pia *ia = evd->obj.ia;
    struct dm_evd_ring *old = evd->ring;
    struct dm_evd_ring *ring;
    uint64_t size;
    size_t len = dm_evd_ring_len((uint64_t)qlen, &size);

    if (dm_evd_count_ready(evd, UINT64_MAX) > qlen)
        return DM_DAT(DAT_INVALID_STATE, 0);
    if (size > old->size) {
        ring = ia->ops->ia.mem_alloc(ia, len);
        if (ring == NULL)
            return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
        dm_evd_ring_init(ring, size, (uint64_t)(uintptr_t)evd);
        if (!evd_ring_moved(ia, evd, true)) {
            (void)evd_ring_moved(ia, evd, false);
            ia->ops->ia.mem_free(ia, ring);
            return DM_DAT(DAT_INVALID_STATE, 0);
        }
        evd_move_ring(evd, ring);
        evd_publish_cno(evd);
        (void)evd_ring_moved(ia, evd, false);
        ia->ops->ia.mem_free(ia, old);
    }
    evd->qlen = qlen;
    return DAT_SUCCESS;
}

DAT_RETURN dm_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
    struct dm_evd *evd = evd_get(handle);
    bool is_free = false;
    DAT_RETURN ret;

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    if (qlen <= 0)
        return DM_DAT_ARG(2);
    if (qlen > DM_EVD_QLEN_MAX)
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    if (!atomic_compare_exchange_strong(&evd->is_waiting, &is_free, true))
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    pthread_mutex_lock(&evd->obj.ia->lock);
    pthread_mutex_lock(&evd->lock);
    ret = evd_resize_locked(evd, qlen);
    pthread_mutex_unlock(&evd->lock);
    pthread_mutex_unlock(&evd->obj.ia->lock);
    atomic_store(&evd->is_waiting, false);
    return ret;
}

DAT_RETURN dm_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
    struct dm_evd *evd = evd_get(handle);
    struct dm_evd_item item = {.number = DAT_SOFTWARE_EVENT};
    enum dm_evd_added added;
    bool is_led;

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    if (event == NULL || event->event_number != DAT_SOFTWARE_EVENT)
        return DM_DAT_ARG(2);
    if ((evd->flags & DAT_EVD_SOFTWARE_FLAG) == 0)
        return DM_DAT_ARG(1);
    memcpy(item.data, &event->event_data, sizeof(item.data));
    /* On either line: any thread may do this at any time, while another one moves the ring, too. */
    pthread_mutex_lock(&evd->lock);
    added = dm_evd_ring_add(evd->ring, DM_EVD_OWNER_LOCAL, &item);
    is_led = atomic_load(&evd->obj.ia->led) == evd->ring;
    pthread_mutex_unlock(&evd->lock);
    if (added == DM_EVD_FULL)
        return DM_DAT(DAT_QUEUE_FULL, 0);
    if (added == DM_EVD_ADDED_AGENT || is_led)
        evd->obj.ia->ops->ia.kick(evd->obj.ia);
    return DAT_SUCCESS;
}

DAT_RETURN dm_evd_free(DAT_EVD_HANDLE handle)
{
    struct dm_evd *evd = evd_get(handle);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (evd == NULL)
        return DM_DAT_BAD_EVD;
    ia = evd->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (evd->n_refs > 0 || evd == ia->async_evd)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    else
        dm_evd_destroy(evd);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
