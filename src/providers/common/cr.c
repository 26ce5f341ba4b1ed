/*
 * Connection requests.
 */
#include "providers/common/sp.h"

#include <string.h>

#include "providers/common/provider.h"

static void call_end(struct dm_pia *ia)
{
    if (ia->ops->ia.reap != NULL)
        ia->ops->ia.reap(ia);
}

static void cr_free(struct dm_cr *cr)
{
    if (cr->conn != NULL)
        *cr->conn_cr = NULL;
    dm_obj_free(cr);
}

void dm_cr_lost(struct dm_cr **conn_cr)
{
    if (*conn_cr != NULL)
        (*conn_cr)->conn = NULL;
    *conn_cr = NULL;
}

/* A reserved service point takes one request, for its endpoint. */
static bool rsp_reserve(struct dm_sp *sp)
{
    int reserved = DAT_EP_STATE_RESERVED;

    return sp->obj.type != DAT_HANDLE_TYPE_RSP ||
           atomic_compare_exchange_strong(&sp->ep->state, &reserved,
                                          DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

static void rsp_unreserve(struct dm_sp *sp)
{
    if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
        atomic_store(&sp->ep->state, DAT_EP_STATE_RESERVED);
}

static struct dm_cr *cr_new(struct dm_sp *sp, const struct dm_request *request)
{
    struct dm_pia *ia = sp->obj.ia;
    struct dm_cr *cr = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_CR, sizeof(*cr));

    if (cr == NULL)
        return NULL;
    cr->sp = sp;
    cr->ep = sp->ep;
    cr->conn = request->conn;
    cr->conn_cr = request->conn_cr;
    cr->remote_addr = *request->addr;
    cr->remote_qual = request->qual;
    cr->private_len = (DAT_COUNT)request->data_len;
    memcpy(cr->private_data, request->data, request->data_len);
    *request->conn_cr = cr;
    return cr;
}

/* False: lost. The overflow has been reported. */
static bool cr_report(struct dm_sp *sp, struct dm_cr *cr)
{
    DAT_CR_ARRIVAL_EVENT_DATA event;

    memset(&event, 0, sizeof(event));
    if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
        event.sp_handle.rsp_handle = (DAT_RSP_HANDLE)sp;
    else if (sp->obj.type == DAT_HANDLE_TYPE_CSP)
        event.sp_handle.csp_handle = (DAT_CSP_HANDLE)sp;
    else
        event.sp_handle.psp_handle = (DAT_PSP_HANDLE)sp;
    event.local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&sp->obj.ia->addr;
    event.conn_qual = sp->qual;
    event.cr_handle = (DAT_CR_HANDLE)cr;
    return dm_evd_add_cr(sp->evd, &event);
}

bool dm_cr_arrived(struct dm_sp *sp, const struct dm_request *request)
{
    struct dm_cr *cr;

    if (!rsp_reserve(sp))
        return false;
    cr = cr_new(sp, request);
    if (cr != NULL && cr_report(sp, cr))
        return true;
    if (cr != NULL) /* nobody would ever answer */
        cr_free(cr);
    rsp_unreserve(sp);
    return false;
}

/* A service point goes: reject what it has received. */
void dm_sp_destroy(struct dm_sp *sp)
{
    struct dm_pia *ia = sp->obj.ia;

    dm_list_for_each_safe (it, next, &ia->objs[DAT_HANDLE_TYPE_CR]) {
        struct dm_cr *cr = dm_container_of(it, struct dm_cr, obj.link);

        if (cr->sp != sp)
            continue;
        if (cr->conn != NULL)
            ia->ops->cm.reject(cr->conn, false, 0, NULL);
        cr_free(cr);
    }
    ia->ops->cm.unlisten(sp);
    if (sp->ep != NULL) {
        int state = atomic_load(&sp->ep->state);

        if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
            atomic_store(&sp->ep->state, DAT_EP_STATE_UNCONNECTED);
    }
    sp->evd->n_refs--;
    dm_obj_free(sp);
}

DAT_RETURN dm_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);

    (void)mask;
    if (cr == NULL)
        return DM_DAT_BAD(CR);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote_addr;
    param->remote_port_qual = cr->remote_qual;
    param->private_data_size = cr->private_len;
    param->private_data = cr->private_data;
    param->local_ep_handle = cr->ep;
    return DAT_SUCCESS;
}

static DAT_RETURN cr_accept_locked(struct dm_cr *cr, struct dm_ep *ep, DAT_COUNT len,
                                   const void *data)
{
    void *conn = cr->conn;
    int state = atomic_load(&ep->state);
    int want = cr->ep != NULL ? DAT_EP_STATE_PASSIVE_CONNECTION_PENDING : DAT_EP_STATE_UNCONNECTED;

    if (state != want)
        return dm_ep_bad_state(state);
    if (ep->pz == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
    if (ep->connect_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
    ep->remote_addr = cr->remote_addr;
    ep->remote_qual = 0; /* nobody listens there */
    ep->local_qual = cr->sp->qual;
    cr_free(cr);
    ep->obj.ia->ops->cm.accept(ep, conn, len, data);
    return DAT_SUCCESS;
}

DAT_RETURN dm_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT len,
                        const DAT_PVOID data)
{
    struct dm_cr *cr = dm_obj_get(cr_handle, DAT_HANDLE_TYPE_CR);
    struct dm_ep *ep;
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (cr == NULL)
        return DM_DAT_BAD(CR);
    ia = cr->obj.ia;
    if (cr->ep != NULL && ep_handle == DAT_HANDLE_NULL)
        ep_handle = (DAT_EP_HANDLE)cr->ep;
    ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    if (ep == NULL || ep->obj.ia != ia || (cr->ep != NULL && cr->ep != ep))
        return DM_DAT_BAD(EP);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(3);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(4);
    pthread_mutex_lock(&ia->lock);
    ret = cr->obj.magic == DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CR) ? cr_accept_locked(cr, ep, len, data)
                                                            : DM_DAT_BAD(CR);
    call_end(ia);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT len, const DAT_PVOID data)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);
    struct dm_pia *ia;

    if (cr == NULL)
        return DM_DAT_BAD(CR);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(2);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(3);
    ia = cr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    rsp_unreserve(cr->sp);
    if (cr->conn != NULL)
        ia->ops->cm.reject(cr->conn, true, len, data);
    cr_free(cr);
    call_end(ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

/* The requester asks at the other service point of this host by itself; what
 * the consumer of that sees is a request like any other. Nobody there now: an
 * error, and the request stays with the caller. Nobody there when the requester
 * comes: it is rejected (NON_PEER). */
DAT_RETURN dm_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);
    struct dm_pia *ia;

    if (cr == NULL)
        return DM_DAT_BAD(CR);
    ia = cr->obj.ia;
    if (ia->ops->cm.handoff == NULL)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    if (!ia->ops->cm.is_listening(ia, qual))
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&ia->lock);
    if (cr->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CR)) {
        pthread_mutex_unlock(&ia->lock);
        return DM_DAT_BAD(CR);
    }
    rsp_unreserve(cr->sp);
    if (cr->conn != NULL)
        ia->ops->cm.handoff(cr->conn, qual);
    cr_free(cr);
    call_end(ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}
