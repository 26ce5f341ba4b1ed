/*
 * Endpoints: checking what a consumer asks for.
 */
#include "providers/common/srq.h"

#include <string.h>

/* An optional EVD argument; false if the handle is bad or of a wrong kind. */
static bool get_evd(struct dm_pia *ia, DAT_EVD_HANDLE handle, unsigned flags, struct dm_evd **evd_p)
{
    *evd_p = NULL;
    if (handle == DAT_HANDLE_NULL)
        return true;
    *evd_p = dm_obj_get(handle, DAT_HANDLE_TYPE_EVD);
    return *evd_p != NULL && (*evd_p)->obj.ia == ia && ((unsigned)(*evd_p)->flags & flags) != 0;
}

/* The attributes of an endpoint whose receives are shared: those of its own
 * queue do not count. */
static DAT_RETURN shared_attr_check(const DAT_EP_ATTR *attr, bool has_request, DAT_EP_ATTR *out)
{
    DAT_EP_ATTR own;
    DAT_RETURN ret;

    if (attr != NULL) {
        own = *attr;
        own.max_recv_dtos = 0;
        own.max_recv_iov = 0;
        attr = &own;
    }
    ret = dm_ep_attr_check(attr, false, has_request, out);
    out->max_recv_dtos = 0;
    out->max_recv_iov = 0;
    return ret;
}

DAT_RETURN dm_ep_create_check(struct dm_pia *ia, const DAT_HANDLE handles[4],
                              const DAT_EP_ATTR *attr, const DAT_EP_HANDLE *ep_p,
                              struct dm_ep *want)
{
    if (handles[0] != DAT_HANDLE_NULL) {
        want->pz = dm_obj_get(handles[0], DAT_HANDLE_TYPE_PZ);
        if (want->pz == NULL || want->pz->obj.ia != ia)
            return DM_DAT_BAD(PZ);
    }
    if (!get_evd(ia, handles[1], DAT_EVD_DTO_FLAG, &want->recv_evd))
        return DM_DAT_BAD(EVD_RECV);
    if (!get_evd(ia, handles[2], DAT_EVD_DTO_FLAG, &want->request_evd))
        return DM_DAT_BAD(EVD_REQUEST);
    if (!get_evd(ia, handles[3], DAT_EVD_CONNECTION_FLAG, &want->connect_evd))
        return DM_DAT_BAD(EVD_CONN);
    if (ep_p == NULL)
        return DM_DAT_ARG(want->srq != NULL ? 8 : 7);
    if (want->srq != NULL)
        return shared_attr_check(attr, want->request_evd != NULL, &want->attr);
    return dm_ep_attr_check(attr, want->recv_evd != NULL, want->request_evd != NULL, &want->attr);
}

/* The attributes as modified; what is not in the mask stays. */
static void merge_attr(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *from)
{
    const struct {
        DAT_EP_PARAM_MASK bit;
        size_t offset;
    } fields[] = {
        {DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, offsetof(DAT_EP_ATTR, service_type)},
        {DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, offsetof(DAT_EP_ATTR, max_message_size)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, offsetof(DAT_EP_ATTR, max_rdma_size)},
        {DAT_EP_FIELD_EP_ATTR_QOS, offsetof(DAT_EP_ATTR, qos)},
        {DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, offsetof(DAT_EP_ATTR, recv_completion_flags)},
        {DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
         offsetof(DAT_EP_ATTR, request_completion_flags)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, offsetof(DAT_EP_ATTR, max_recv_dtos)},
        {DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, offsetof(DAT_EP_ATTR, max_request_dtos)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, offsetof(DAT_EP_ATTR, max_recv_iov)},
        {DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, offsetof(DAT_EP_ATTR, max_request_iov)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, offsetof(DAT_EP_ATTR, max_rdma_read_in)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, offsetof(DAT_EP_ATTR, max_rdma_read_out)},
        {DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, offsetof(DAT_EP_ATTR, srq_soft_hw)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, offsetof(DAT_EP_ATTR, max_rdma_read_iov)},
        {DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, offsetof(DAT_EP_ATTR, max_rdma_write_iov)},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if ((mask & fields[i].bit) != 0) /* all are enums or 32-bit integers */
            memcpy((char *)attr + fields[i].offset, (const char *)from + fields[i].offset, 4);
}

DAT_RETURN dm_ep_modify_check(const struct dm_ep *ep, DAT_EP_PARAM_MASK mask,
                              const DAT_EP_PARAM *param, struct dm_ep *want)
{
    const DAT_EP_PARAM_MASK fixed =
        DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |
        DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |
        DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_SRQ_HANDLE;
    struct dm_pia *ia = ep->obj.ia;
    DAT_RETURN ret;

    if ((mask & fixed) != 0)
        return DM_DAT_ARG(2);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(want, 0, sizeof(*want));
    want->pz = ep->pz;
    want->recv_evd = ep->recv_evd;
    want->request_evd = ep->request_evd;
    want->connect_evd = ep->connect_evd;
    if ((mask & DAT_EP_FIELD_PZ_HANDLE) != 0) {
        want->pz = dm_obj_get(param->pz_handle, DAT_HANDLE_TYPE_PZ);
        if (want->pz == NULL || want->pz->obj.ia != ia)
            return DM_DAT_BAD(PZ);
    }
    if ((mask & DAT_EP_FIELD_RECV_EVD_HANDLE) != 0 &&
        !get_evd(ia, param->recv_evd_handle, DAT_EVD_DTO_FLAG, &want->recv_evd))
        return DM_DAT_BAD(EVD_RECV);
    if ((mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) != 0 &&
        !get_evd(ia, param->request_evd_handle, DAT_EVD_DTO_FLAG, &want->request_evd))
        return DM_DAT_BAD(EVD_REQUEST);
    if ((mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) != 0 &&
        !get_evd(ia, param->connect_evd_handle, DAT_EVD_CONNECTION_FLAG, &want->connect_evd))
        return DM_DAT_BAD(EVD_CONN);
    want->attr = ep->attr;
    merge_attr(&want->attr, mask, &param->ep_attr);
    if (ep->srq != NULL &&
        (want->pz != ep->srq->pz || want->recv_evd == NULL || want->attr.max_recv_dtos != 0))
        return DM_DAT_ARG(3); /* an endpoint without a receive queue stays one */
    ret = dm_ep_attr_check(&want->attr, want->attr.max_recv_dtos != 0,
                           want->attr.max_request_dtos != 0, &want->attr);
    return ret == DAT_SUCCESS ? DAT_SUCCESS : DM_DAT_ARG(3);
}

void dm_ep_modify_to(struct dm_ep *ep, const struct dm_ep *want)
{
    dm_ep_release(ep);
    ep->pz = want->pz;
    ep->recv_evd = want->recv_evd;
    ep->request_evd = want->request_evd;
    ep->connect_evd = want->connect_evd;
    ep->attr = want->attr;
    dm_ep_hold(ep);
}
