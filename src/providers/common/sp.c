/*
 * Service points: public, reserved and common ones.
 */
#include "providers/common/sp.h"

#include <string.h>

#include "providers/common/provider.h"

/* The arguments that all of them have. */
static DAT_RETURN sp_args(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle, struct dm_pia **ia_p,
                          struct dm_evd **evd_p)
{
    *ia_p = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    if (*ia_p == NULL)
        return DM_DAT_BAD(IA);
    *evd_p = dm_obj_get(evd_handle, DAT_HANDLE_TYPE_EVD);
    if (*evd_p == NULL || (*evd_p)->obj.ia != *ia_p || ((*evd_p)->flags & DAT_EVD_CR_FLAG) == 0)
        return DM_DAT_BAD(EVD_CR);
    return DAT_SUCCESS;
}

static DAT_RETURN psp_args(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
                           const DAT_PSP_HANDLE *psp_p, struct dm_pia **ia_p, struct dm_evd **evd_p)
{
    DAT_RETURN ret = sp_args(ia_handle, evd_handle, ia_p, evd_p);

    if (ret != DAT_SUCCESS)
        return ret;
    /* The consumer gives the endpoint in any case: ep_creator says so. */
    if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
        return DM_DAT_ARG(4);
    return psp_p != NULL ? DAT_SUCCESS : DM_DAT_ARG(5);
}

/* A service point as want says, where listen() listens; ia->lock is held. */
static DAT_RETURN sp_new(struct dm_evd *evd, DAT_HANDLE_TYPE type, const struct dm_sp *want,
                         DAT_RETURN (*listen)(struct dm_sp *sp), struct dm_sp **sp_p)
{
    struct dm_pia *ia = evd->obj.ia;
    struct dm_sp *sp = dm_obj_new(ia->obj.provider, ia, type, sizeof(*sp));
    DAT_RETURN ret;

    if (sp == NULL)
        return DM_DAT_NOMEM;
    sp->qual = want->qual;
    sp->flags = want->flags;
    sp->comm = want->comm;
    sp->addr = want->addr;
    sp->evd = evd;
    ret = listen(sp);
    if (ret != DAT_SUCCESS) {
        dm_obj_free(sp);
        return ret;
    }
    evd->n_refs++;
    *sp_p = sp;
    return DAT_SUCCESS;
}

DAT_RETURN dm_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
                         DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    struct dm_sp want = {.qual = qual, .flags = flags};
    struct dm_pia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp;
    DAT_RETURN ret = psp_args(ia_handle, evd_handle, flags, psp_p, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = sp_new(evd, DAT_HANDLE_TYPE_PSP, &want, ia->ops->cm.listen, &sp);
    if (ret == DAT_SUCCESS)
        *psp_p = (DAT_PSP_HANDLE)sp;
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual_p,
                             DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    struct dm_sp want = {.flags = flags};
    struct dm_pia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp;
    DAT_RETURN ret;

    if (qual_p == NULL)
        return DM_DAT_ARG(2);
    ret = psp_args(ia_handle, evd_handle, flags, psp_p, &ia, &evd);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = sp_new(evd, DAT_HANDLE_TYPE_PSP, &want, ia->ops->cm.listen_any, &sp);
    if (ret == DAT_SUCCESS) {
        *psp_p = (DAT_PSP_HANDLE)sp;
        *qual_p = sp->qual;
    }
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
                         DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_p)
{
    struct dm_sp want = {.qual = qual};
    struct dm_pia *ia;
    struct dm_evd *evd;
    struct dm_ep *ep;
    struct dm_sp *sp;
    DAT_RETURN ret = sp_args(ia_handle, evd_handle, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    if (ep == NULL || ep->obj.ia != ia)
        return DM_DAT_BAD(EP);
    if (rsp_p == NULL)
        return DM_DAT_ARG(5);
    pthread_mutex_lock(&ia->lock);
    if (atomic_load(&ep->state) != DAT_EP_STATE_UNCONNECTED)
        ret = dm_ep_bad_state(atomic_load(&ep->state));
    else
        ret = sp_new(evd, DAT_HANDLE_TYPE_RSP, &want, ia->ops->cm.listen, &sp);
    if (ret == DAT_SUCCESS) {
        sp->ep = ep;
        atomic_store(&ep->state, DAT_EP_STATE_RESERVED);
        *rsp_p = (DAT_RSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_comm_complete(const DAT_COMM *comm, DAT_COMM *out)
{
    *out = *comm;
    if (out->domain == 0)
        out->domain = AF_INET;
    if (out->type == 0)
        out->type = SOCK_STREAM;
    if (out->domain != AF_INET || (out->type != SOCK_STREAM && out->type != SOCK_SEQPACKET))
        return DM_DAT(DAT_COMM_NOT_SUPPORTED, 0);
    return DAT_SUCCESS;
}

/* The port of an address of this host, or of any of its addresses. */
static uint16_t csp_port(const struct sockaddr *addr)
{
    const struct sockaddr_in *in = (const void *)addr;

    if (addr->sa_family != AF_INET ||
        (in->sin_addr.s_addr != INADDR_ANY && !dm_ia_is_local_addr(addr)))
        return 0;
    return ntohs(in->sin_port);
}

DAT_RETURN dm_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
                         DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_p)
{
    struct dm_sp want = {.qual = 0};
    struct dm_pia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp;
    DAT_RETURN ret = sp_args(ia_handle, evd_handle, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    if (comm == NULL)
        return DM_DAT_ARG(2);
    if (addr == NULL)
        return DM_DAT_ARG(3);
    if (csp_p == NULL)
        return DM_DAT_ARG(5);
    if (ia->ops->ep.common_connect == NULL)
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    ret = dm_comm_complete(comm, &want.comm);
    if (ret != DAT_SUCCESS)
        return ret;
    want.qual = csp_port(addr);
    if (want.qual == 0)
        return DM_DAT(DAT_INVALID_ADDRESS, 0);
    memcpy(&want.addr.in, addr, sizeof(want.addr.in));
    pthread_mutex_lock(&ia->lock);
    ret = sp_new(evd, DAT_HANDLE_TYPE_CSP, &want, ia->ops->cm.listen, &sp);
    if (ret == DAT_SUCCESS)
        *csp_p = (DAT_CSP_HANDLE)sp;
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_PSP);

    (void)mask;
    if (sp == NULL)
        return DM_DAT_BAD(PSP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->conn_qual = sp->qual;
    param->evd_handle = sp->evd;
    param->psp_flags = sp->flags;
    return DAT_SUCCESS;
}

DAT_RETURN dm_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_RSP);

    (void)mask;
    if (sp == NULL)
        return DM_DAT_BAD(RSP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->conn_qual = sp->qual;
    param->evd_handle = sp->evd;
    param->ep_handle = sp->ep;
    return DAT_SUCCESS;
}

DAT_RETURN dm_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_CSP);

    (void)mask;
    if (sp == NULL)
        return DM_DAT_BAD(CSP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->comm = &sp->comm; /* valid until the service point is freed */
    param->address_ptr = (DAT_IA_ADDRESS_PTR)&sp->addr;
    param->evd_handle = (DAT_EVD_HANDLE)sp->evd;
    return DAT_SUCCESS;
}

static DAT_RETURN sp_free(struct dm_sp *sp, DAT_RETURN bad)
{
    struct dm_pia *ia;

    if (sp == NULL)
        return bad;
    ia = sp->obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_sp_destroy(sp);
    if (ia->ops->ia.reap != NULL)
        ia->ops->ia.reap(ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_psp_free(DAT_PSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_PSP), DM_DAT_BAD(PSP));
}

DAT_RETURN dm_rsp_free(DAT_RSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_RSP), DM_DAT_BAD(RSP));
}

DAT_RETURN dm_csp_free(DAT_CSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_CSP), DM_DAT_BAD(CSP));
}
