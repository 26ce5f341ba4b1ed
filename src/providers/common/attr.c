/*
 * Attributes: what our software providers can do, and the checks of what a consumer asks for. A
 * transport that shows others puts them into dm_pia.attrs, as those of a network do (net.c).
 */
#include "providers/common/strict.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

enum { MAX_OBJS = 65535, MAX_READS = 128, EP_DTOS = 16, EP_IOV = 4, EP_READS = 4 };

#define MAX_LEN (1u << 31)

static DAT_NAMED_ATTR provider_attrs[] = {
    {"DAT_EXTENSION_INTERFACE", "TRUE"},
    {DAT_IB_ATTR_IMMED_DATA, "TRUE"},
    {DAT_IB_ATTR_FETCH_AND_ADD, "TRUE"},
    {DAT_IB_ATTR_CMP_AND_SWAP, "TRUE"},
    {DAT_IB_ATTR_UD, "FALSE"},
    {DAT_IB_ATTR_COUNTERS, "FALSE"},
    {"DAT_IB_RDMA_READ", "TRUE"},
    {"DAT_IB_TRANSPORT_MTU", "4096"},
    {"reach", "host"},
    {"last_byte_last", "yes"},
    {"write_taken", DM_TAKEN_TEXT}, /* so many bytes of a write are taken when the post returns */
    {"evd_resize", "yes"},
    {"evd_post_se", "yes"},
    {"threads", "objects"}, /* different threads may use different objects, whatever the line */
    {"qualifiers", "find"}, /* those of dat_psp_create_any() lead to the process at once */
    {"agents", "thread"},   /* the provider's thread calls them, and holds no lock then */
    {"progress", "auto"},   /* the last one: left out where consumers do not drive (is_driven) */
};

void dm_ia_attr_fill(struct dm_pia *ia, DAT_IA_ATTR *attr)
{
    memset(attr, 0, sizeof(*attr));
    strncpy(attr->adapter_name, ia->obj.provider->device_name, DAT_NAME_MAX_LENGTH - 1);
    strncpy(attr->vendor_name, "Datum", DAT_NAME_MAX_LENGTH - 1);
    attr->hardware_version_major = 1;
    attr->firmware_version_major = 1;
    attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->addr;
    attr->max_eps = MAX_OBJS;
    attr->max_dto_per_ep = DM_DTO_MAX;
    attr->max_rdma_read_per_ep_in = MAX_READS;
    attr->max_rdma_read_per_ep_out = MAX_READS;
    attr->max_evds = MAX_OBJS;
    attr->max_evd_qlen = DM_EVD_QLEN_MAX;
    attr->max_iov_segments_per_dto = DM_IOV_MAX;
    attr->max_lmrs = MAX_OBJS;
    attr->max_lmr_block_size = UINT32_MAX;
    attr->max_lmr_virtual_address = UINT64_MAX;
    attr->max_pzs = MAX_OBJS;
    attr->max_message_size = MAX_LEN;
    attr->max_rdma_size = MAX_LEN;
    attr->max_iov_segments_per_rdma_read = DM_IOV_MAX;
    attr->max_iov_segments_per_rdma_write = DM_IOV_MAX;
    attr->max_rdma_read_in = MAX_OBJS;
    attr->max_rdma_read_out = MAX_OBJS;
    attr->max_srqs = MAX_OBJS;
    attr->max_ep_per_srq = MAX_OBJS;
    attr->max_recv_per_srq = DM_DTO_MAX;
    attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
    attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
    attr->max_rmrs = MAX_OBJS;
    attr->max_rmr_target_address = UINT64_MAX;
    attr->zb_supported = DAT_TRUE;
    attr->extension_supported = DAT_EXTENSION_IB;
    attr->extension_version = DAT_IB_EXTENSION_VERSION;
}

void dm_provider_attr_fill(struct dm_pia *ia, DAT_PROVIDER_ATTR *attr)
{
    DAT_BOOLEAN merging[6][6];

    memset(attr, 0, sizeof(*attr));
    strncpy(attr->provider_name, ia->obj.provider->device_name, DAT_NAME_MAX_LENGTH - 1);
    attr->provider_version_major = 1;
    attr->dapl_version_major = 2; /* libdat2 finds us by these on close */
    attr->dapl_version_minor = 0;
    attr->is_thread_safe = ia->is_safe_line ? DAT_TRUE : DAT_FALSE;
    /* A bit mask; VIRTUAL, which is 0, is understood. */
    attr->lmr_mem_types_supported = (DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
    attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
    attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
    attr->completion_flags_supported =
        (DAT_COMPLETION_FLAGS)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
                               DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
                               DAT_COMPLETION_EVD_THRESHOLD_FLAG);
    attr->max_private_data_size = DM_PRIVATE_MAX;
    attr->ep_creator = DAT_PSP_CREATES_EP_NEVER;
    attr->pz_support = DAT_PZ_UNIQUE;
    attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            merging[i][j] = (i == 5) == (j == 5) ? DAT_TRUE : DAT_FALSE;
    memcpy((void *)(uintptr_t)attr->evd_stream_merging_supported, merging, sizeof(merging));
    attr->srq_supported = DAT_TRUE;
    attr->srq_watermarks_supported = 1;
    attr->srq_ep_pz_difference_supported = DAT_FALSE;
    attr->srq_info_supported = 1;
    attr->ep_recv_info_supported = 1;
    attr->dto_async_return_guaranteed = DAT_FALSE;
    attr->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
    attr->num_provider_specific_attr =
        (int)(sizeof(provider_attrs) / sizeof(provider_attrs[0])) - (ia->is_driven ? 0 : 1);
    attr->provider_specific_attr = provider_attrs;
    if (ia->attrs != NULL) {
        attr->num_provider_specific_attr = ia->n_attrs;
        attr->provider_specific_attr = ia->attrs;
    }
    if (ia->strict != NULL)
        dm_strict_attr(ia, attr);
}

static void ep_attr_default(DAT_EP_ATTR *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->service_type = DAT_SERVICE_TYPE_RC;
    attr->max_message_size = MAX_LEN;
    attr->max_rdma_size = MAX_LEN;
    attr->qos = DAT_QOS_BEST_EFFORT;
    attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
    attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
    attr->max_recv_dtos = EP_DTOS;
    attr->max_request_dtos = EP_DTOS;
    attr->max_recv_iov = EP_IOV;
    attr->max_request_iov = EP_IOV;
    attr->max_rdma_read_in = EP_READS;
    attr->max_rdma_read_out = EP_READS;
    attr->max_rdma_read_iov = EP_IOV;
    attr->max_rdma_write_iov = EP_IOV;
    attr->srq_soft_hw = DAT_HW_DEFAULT;
}

static bool is_iov_ok(DAT_COUNT n)
{
    return n >= 0 && n <= DM_IOV_MAX;
}

/* Receives wake their waiter always, when solicited, unless unsignalled, or as
 * the threshold says: one of these. Requests may have any flag. */
static bool are_flags_ok(const DAT_EP_ATTR *attr)
{
    const unsigned known = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
                           DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
                           DAT_COMPLETION_EVD_THRESHOLD_FLAG;

    switch ((unsigned)attr->recv_completion_flags) {
    case DAT_COMPLETION_DEFAULT_FLAG:
    case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
    case DAT_COMPLETION_UNSIGNALLED_FLAG:
    case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
        return ((unsigned)attr->request_completion_flags & ~known) == 0;
    default:
        return false;
    }
}

DAT_RETURN dm_ep_attr_check(const DAT_EP_ATTR *attr, bool has_recv, bool has_request,
                            DAT_EP_ATTR *out)
{
    if (attr == NULL) {
        ep_attr_default(out);
        return DAT_SUCCESS;
    }
    if (attr->service_type != DAT_SERVICE_TYPE_RC || attr->qos != DAT_QOS_BEST_EFFORT)
        return DM_DAT_ARG(6);
    if (attr->max_recv_dtos < 0 || attr->max_recv_dtos > DM_DTO_MAX || attr->max_request_dtos < 0 ||
        attr->max_request_dtos > DM_DTO_MAX)
        return DM_DAT_ARG(6);
    if (has_recv != (attr->max_recv_dtos != 0) || has_request != (attr->max_request_dtos != 0))
        return DM_DAT_ARG(6);
    if ((has_recv && attr->max_recv_iov == 0) || !is_iov_ok(attr->max_recv_iov) ||
        !is_iov_ok(attr->max_request_iov) || !is_iov_ok(attr->max_rdma_read_iov) ||
        !is_iov_ok(attr->max_rdma_write_iov))
        return DM_DAT_ARG(6);
    if (attr->max_rdma_read_in < 0 || attr->max_rdma_read_in > MAX_READS ||
        attr->max_rdma_read_out < 0 || attr->max_rdma_read_out > MAX_READS)
        return DM_DAT_ARG(6);
    if (!are_flags_ok(attr))
        return DM_DAT_ARG(6);
    *out = *attr;
    return DAT_SUCCESS;
}

DAT_RETURN dm_ep_bad_state(int state)
{
    static const DAT_RETURN_SUBTYPE subs[] = {
        [DAT_EP_STATE_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONNECTED,
        [DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONFIGURED,
        [DAT_EP_STATE_RESERVED] = DAT_INVALID_STATE_EP_RESERVED,
        [DAT_EP_STATE_UNCONFIGURED_RESERVED] = DAT_INVALID_STATE_EP_UNCONFRESERVED,
        [DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = DAT_INVALID_STATE_EP_PASSCONNPENDING,
        [DAT_EP_STATE_UNCONFIGURED_PASSIVE] = DAT_INVALID_STATE_EP_UNCONFPASSIVE,
        [DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = DAT_INVALID_STATE_EP_ACTCONNPENDING,
        [DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = DAT_INVALID_STATE_EP_TENTCONNPENDING,
        [DAT_EP_STATE_UNCONFIGURED_TENTATIVE] = DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
        [DAT_EP_STATE_CONNECTED] = DAT_INVALID_STATE_EP_CONNECTED,
        [DAT_EP_STATE_DISCONNECT_PENDING] = DAT_INVALID_STATE_EP_DISCPENDING,
        [DAT_EP_STATE_DISCONNECTED] = DAT_INVALID_STATE_EP_DISCONNECTED,
        [DAT_EP_STATE_COMPLETION_PENDING] = DAT_INVALID_STATE_EP_COMPLPENDING,
    };

    return DM_DAT(DAT_INVALID_STATE, subs[state]);
}

void dm_ia_local_addr(struct sockaddr_in *addr)
{
    struct ifaddrs *list = NULL;

    memset(addr, 0, sizeof(*addr));
    addr->sin_family = AF_INET;
    addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (getifaddrs(&list) != 0)
        return;
    for (struct ifaddrs *it = list; it != NULL; it = it->ifa_next) {
        const struct sockaddr_in *in = (const void *)it->ifa_addr;

        if (in == NULL || in->sin_family != AF_INET ||
            (ntohl(in->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET)
            continue;
        addr->sin_addr = in->sin_addr;
        break;
    }
    freeifaddrs(list);
}

bool dm_ia_is_local_addr(const struct sockaddr *sa)
{
    const struct sockaddr_in *addr = (const void *)sa;
    struct ifaddrs *list = NULL;
    bool is_local = false;

    if (addr->sin_family != AF_INET)
        return false;
    if ((ntohl(addr->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET)
        return true;
    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *it = list; it != NULL && !is_local; it = it->ifa_next) {
        const struct sockaddr_in *in = (const void *)it->ifa_addr;

        is_local =
            in != NULL && in->sin_family == AF_INET && in->sin_addr.s_addr == addr->sin_addr.s_addr;
    }
    freeifaddrs(list);
    return is_local;
}
