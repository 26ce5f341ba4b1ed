/*
 * Strict mode: the calls of DAT that it answers otherwise. Those that look at an endpoint's requests, or
 * end something, find everything carried out that was posted before.
 */
#include "providers/common/strict.h"

#include <string.h>
#include <time.h>

#include "providers/common/evd_lock.h"
#include "util/futex.h"

/* NULL: not a handle of ours, which the call itself will say. */
static struct dm_strict *strict_of(DAT_HANDLE handle)
{
    const struct dm_obj *obj = dm_obj_get_any(handle);

    return obj != NULL && obj->ia != NULL ? obj->ia->strict : NULL;
}

static void strict_finish(DAT_HANDLE handle)
{
    struct dm_strict *strict = strict_of(handle);

    if (strict != NULL)
        dm_strict_finish(strict);
}

/* The object is about to go: what is left for it, too. */
static void strict_let_go(DAT_HANDLE handle)
{
    struct dm_strict *strict = strict_of(handle);

    strict_finish(handle);
    if (strict != NULL)
        dm_strict_drop(strict, handle);
}

/* ---- objects ---- */

static DAT_RETURN strict_ep_free(DAT_EP_HANDLE ep)
{
    strict_let_go(ep);
    return dm_ep_free(ep);
}

static DAT_RETURN strict_ep_reset(DAT_EP_HANDLE ep)
{
    strict_let_go(ep);
    return dm_ep_reset(ep);
}

static DAT_RETURN strict_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
    strict_finish(ep);
    return dm_ep_disconnect(ep, flags);
}

static DAT_RETURN strict_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
                                   const DAT_EP_PARAM *param)
{
    strict_finish(ep);
    return dm_ep_modify(ep, mask, param);
}

static DAT_RETURN strict_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state_p,
                                       DAT_BOOLEAN *recv_idle_p, DAT_BOOLEAN *request_idle_p)
{
    strict_finish(ep);
    return dm_ep_get_status(ep, state_p, recv_idle_p, request_idle_p);
}

static DAT_RETURN strict_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *n_p, DAT_COUNT *span_p)
{
    strict_finish(ep);
    return dm_ep_recv_query(ep, n_p, span_p);
}

static DAT_RETURN strict_lmr_free(DAT_LMR_HANDLE lmr)
{
    strict_finish(lmr);
    return dm_lmr_free(lmr);
}

static DAT_RETURN strict_rmr_free(DAT_RMR_HANDLE rmr)
{
    strict_finish(rmr);
    return dm_rmr_free(rmr);
}

static DAT_RETURN strict_srq_free(DAT_SRQ_HANDLE srq)
{
    strict_let_go(srq);
    return dm_srq_free(srq);
}

static DAT_RETURN strict_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
                                   DAT_SRQ_PARAM *param)
{
    strict_finish(srq);
    return dm_srq_query(srq, mask, param);
}

static DAT_RETURN strict_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n)
{
    strict_finish(srq);
    return dm_srq_resize(srq, n);
}

static DAT_RETURN strict_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low)
{
    strict_finish(srq);
    return dm_srq_set_lw(srq, low);
}

static DAT_RETURN strict_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
    struct dm_strict *strict = strict_of(ia);

    if (strict != NULL && flags == DAT_CLOSE_ABRUPT_FLAG) {
        dm_strict_finish(strict);
        dm_strict_drop(strict, NULL);
    }
    return dm_ia_close(ia, flags);
}

/* ---- events ---- */

/* Is there an event to show? Those that come together are kept for a while, then all are shown. Who is
 * woken by a notification object finds them at once: it would not come again. */
static bool strict_evd_shows(struct dm_evd *evd)
{
    uint64_t now;

    if ((evd->obj.ia->strict->rules & DM_STRICT_EVENTS) == 0 || evd->n_shown > 0 ||
        evd->cno != NULL)
        return true;
    if (evd->obj.ia->is_driven && !dm_evd_ring_has(evd->ring, evd->head))
        evd->obj.ia->ops->ia.poll(evd->obj.ia);
    if (!dm_evd_ring_has(evd->ring, evd->head))
        return false;
    now = dm_futex_now();
    if (evd->show_at == 0)
        evd->show_at = now + DM_STRICT_HOLD_NS;
    if (now < evd->show_at)
        return false;
    dm_evd_lock(evd);
    evd->n_shown = dm_evd_count_ready(evd, UINT64_MAX);
    dm_evd_unlock(evd);
    evd->show_at = 0;
    return true;
}

static DAT_RETURN strict_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
    struct dm_evd *evd = (struct dm_evd *)handle;
    DAT_RETURN ret;

    if (!dm_obj_is(evd, DAT_HANDLE_TYPE_EVD) || event == NULL || atomic_load(&evd->is_waiting))
        return dm_evd_dequeue(handle, event);
    dm_strict_run(evd->obj.ia->strict);
    if (!strict_evd_shows(evd))
        return DM_DAT_BARE(DAT_QUEUE_EMPTY);
    do {
        ret = dm_evd_dequeue(handle, event);
        evd->n_shown -= evd->n_shown > 0;
    } while (ret == DAT_SUCCESS && !dm_strict_is_shown(evd->obj.ia->strict, event));
    return ret;
}

static DAT_RETURN strict_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                                  DAT_EVENT *event, DAT_COUNT *n_more_p)
{
    const struct timespec pause = {.tv_nsec = DM_STRICT_HOLD_NS};
    struct dm_strict *strict = strict_of(handle);
    struct dm_evd *evd = (struct dm_evd *)handle;
    DAT_RETURN ret;

    if (strict == NULL)
        return dm_evd_wait(handle, timeout, threshold, event, n_more_p);
    dm_strict_run(strict);
    do
        ret = dm_evd_wait(handle, timeout, threshold, event, n_more_p);
    while (ret == DAT_SUCCESS && !dm_strict_is_shown(strict, event));
    if (ret == DAT_SUCCESS && (strict->rules & DM_STRICT_EVENTS) != 0) {
        evd->n_shown = *n_more_p;
        if (timeout > 0)
            nanosleep(&pause, NULL);
    }
    return ret;
}

void dm_strict_table(DAT_PROVIDER *p)
{
    p->ia_close_func = strict_ia_close;
    p->ep_free_func = strict_ep_free;
    p->ep_reset_func = strict_ep_reset;
    p->ep_disconnect_func = strict_ep_disconnect;
    p->ep_modify_func = strict_ep_modify;
    p->ep_get_status_func = strict_ep_get_status;
    p->ep_recv_query_func = strict_ep_recv_query;
    p->lmr_free_func = strict_lmr_free;
    p->rmr_free_func = strict_rmr_free;
    p->srq_free_func = strict_srq_free;
    p->srq_query_func = strict_srq_query;
    p->srq_resize_func = strict_srq_resize;
    p->srq_set_lw_func = strict_srq_set_lw;
    p->evd_dequeue_func = strict_evd_dequeue;
    p->evd_wait_func = strict_evd_wait;
}

void dm_strict_attr(struct dm_pia *ia, DAT_PROVIDER_ATTR *attr)
{
    struct dm_strict *strict = ia->strict;
    int n = attr->num_provider_specific_attr;

    if ((strict->rules & DM_STRICT_IOV) != 0)
        attr->iov_ownership_on_return = DAT_IOV_PROVIDER_MOD;
    if (n > (int)(sizeof(strict->attrs) / sizeof(strict->attrs[0])))
        return;
    memcpy(strict->attrs, attr->provider_specific_attr, (size_t)n * sizeof(strict->attrs[0]));
    for (int i = 0; i < n; i++) {
        if (strcmp(strict->attrs[i].name, "last_byte_last") == 0 &&
            (strict->rules & DM_STRICT_LAST) != 0)
            strict->attrs[i].value = (char *)(uintptr_t) "no";
        if (strcmp(strict->attrs[i].name, "write_taken") == 0) /* requests are kept for a while */
            strict->attrs[i].value = (char *)(uintptr_t) "0";
    }
    attr->provider_specific_attr = strict->attrs;
}
