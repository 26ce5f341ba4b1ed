/*
 * Endpoints (uDAPL 2.0, dat_ep_*): what they have in every provider.
 */
#ifndef DM_PROVIDERS_COMMON_EP_H
#define DM_PROVIDERS_COMMON_EP_H

#include "providers/common/evd.h"
#include "providers/common/pz.h"

#define DM_PRIVATE_MAX 512 /* bytes of private data */
#define DM_IOV_MAX     32  /* segments of one DTO */
#define DM_DTO_MAX     16384
/* Bytes of an RDMA write whose source is free when the post returns; and as text. */
#define DM_TAKEN_MAX  32768
#define DM_TAKEN_TEXT "32768"

struct dm_srq;
struct dm_strict_ep;

/* First member of a provider's endpoint. */
struct dm_ep {
    struct dm_obj obj;
    _Atomic int state; /* DAT_EP_STATE */
    /* Completions dequeued so far; moved by the EVD's consumer only. */
    _Atomic uint32_t n_request_reaped;
    _Atomic uint32_t n_recv_reaped;
    struct dm_pz *pz;
    struct dm_evd *recv_evd;
    struct dm_evd *request_evd;
    struct dm_evd *connect_evd;
    struct dm_srq *srq; /* its receives come from there */
    /* Also counts n_recv_reaped where peers see it; NULL: they need not. */
    _Atomic(_Atomic uint32_t *) n_recv_shown;
    DAT_EP_ATTR attr;
    bool is_draining; /* graceful disconnect pending: when the last request is over */
    /* Of who posts without ia->lock on the thread-safe line; before it. */
    pthread_mutex_t post_lock;
    pthread_mutex_t recv_lock;
    union dm_addr remote_addr;
    DAT_CONN_QUAL remote_qual;
    DAT_CONN_QUAL local_qual;
    DAT_COMM comm;                        /* of common connects */
    uint8_t private_data[DM_PRIVATE_MAX]; /* of the last connection event */
    struct dm_strict_ep *strict;          /* NULL: not strict */
};

/* Where to connect, and with which private data. */
struct dm_connect {
    const struct sockaddr *addr;
    DAT_CONN_QUAL qual;
    DAT_TIMEOUT timeout;
    DAT_COUNT len;
    const void *data;
};

/* attr NULL: the defaults. Otherwise check it against our limits and the
 * presence of the EVDs; fills *out. */
DAT_RETURN dm_ep_attr_check(const DAT_EP_ATTR *attr, bool has_recv, bool has_request,
                            DAT_EP_ATTR *out);
/* The arguments of dat_ep_create: PZ and the EVDs for receives, requests and
 * connections. Fills want; want->srq says whether there is one. */
DAT_RETURN dm_ep_create_check(struct dm_pia *ia, const DAT_HANDLE handles[4],
                              const DAT_EP_ATTR *attr, const DAT_EP_HANDLE *ep_p,
                              struct dm_ep *want);
/* The arguments of dat_ep_modify: what the endpoint would be. */
DAT_RETURN dm_ep_modify_check(const struct dm_ep *ep, DAT_EP_PARAM_MASK mask,
                              const DAT_EP_PARAM *param, struct dm_ep *want);
/* Make it that; ia->lock is held. */
void dm_ep_modify_to(struct dm_ep *ep, const struct dm_ep *want);
/* The INVALID_STATE code that names the state. */
DAT_RETURN dm_ep_bad_state(int state);
/* Take or drop the endpoint's references to its PZ and EVDs. */
void dm_ep_hold(struct dm_ep *ep);
void dm_ep_release(struct dm_ep *ep);
void dm_ep_destroy(struct dm_ep *ep); /* ia->lock is held */

/* DAT calls. */
DAT_RETURN dm_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                        DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                        const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p);
DAT_RETURN dm_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                 DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                                 DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p);
DAT_RETURN dm_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dm_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN dm_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state_p, DAT_BOOLEAN *recv_idle_p,
                            DAT_BOOLEAN *request_idle_p);
DAT_RETURN dm_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
DAT_RETURN dm_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *n_p, DAT_COUNT *span_p);
DAT_RETURN dm_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN dm_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN dm_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
                         DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos,
                         DAT_CONNECT_FLAGS flags);
DAT_RETURN dm_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
                             DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos);
DAT_RETURN dm_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_TIMEOUT timeout,
                                DAT_COUNT len, const DAT_PVOID data);
DAT_RETURN dm_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

#endif
