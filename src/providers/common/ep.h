/*
 * What endpoints, protection zones and connection objects have in every
 * provider.
 */
#ifndef DM_PROVIDERS_COMMON_EP_H
#define DM_PROVIDERS_COMMON_EP_H

#include "providers/common/evd.h"

#define DM_PRIVATE_MAX 512 /* bytes of private data */
#define DM_IOV_MAX     32  /* segments of one DTO */
#define DM_DTO_MAX     16384

struct dm_pz {
    struct dm_obj obj;
    uint32_t id;
    int n_refs; /* endpoints and LMRs */
};

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
    DAT_SRQ_HANDLE srq;
    /* Also counts n_recv_reaped where peers see it; NULL: they need not. */
    _Atomic(_Atomic uint32_t *) n_recv_shown;
    DAT_EP_ATTR attr;
    union dm_addr remote_addr;
    DAT_CONN_QUAL remote_qual;
    DAT_CONN_QUAL local_qual;
    DAT_COMM comm;                        /* of common connects */
    uint8_t private_data[DM_PRIVATE_MAX]; /* of the last connection event */
};

/* A public, reserved or common service point; which one says obj.type. */
struct dm_sp {
    struct dm_obj obj;
    DAT_CONN_QUAL qual;
    struct dm_evd *evd;
    DAT_PSP_FLAGS flags;
    struct dm_ep *ep;   /* of a reserved one */
    DAT_COMM comm;      /* of a common one... */
    union dm_addr addr; /* ...where it listens */
    void *listener;     /* the provider's */
};

struct dm_cr {
    struct dm_obj obj;
    struct dm_sp *sp;
    struct dm_ep *ep; /* of a reserved service point */
    void *conn;       /* the provider's */
    union dm_addr remote_addr;
    DAT_PORT_QUAL remote_qual;
    DAT_COUNT private_len;
    uint8_t private_data[DM_PRIVATE_MAX]; /* the consumer may write to it */
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
/* The arguments of dat_ep_modify: what the endpoint would be. shared_pz: that
 * of its shared receive queue, or NULL. */
DAT_RETURN dm_ep_modify_check(const struct dm_ep *ep, const struct dm_pz *shared_pz,
                              DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
                              struct dm_ep *want);
/* Make it that; ia->lock is held. */
void dm_ep_modify(struct dm_ep *ep, const struct dm_ep *want);
/* The INVALID_STATE code that names the state. */
DAT_RETURN dm_ep_bad_state(int state);
/* Take or drop the endpoint's references to its PZ and EVDs. */
void dm_ep_hold(struct dm_ep *ep);
void dm_ep_release(struct dm_ep *ep);

/* Fill attributes from this; sizes of everything are zeroed first. */
void dm_ia_attr_fill(struct dm_pia *ia, DAT_IA_ATTR *attr);
void dm_provider_attr_fill(struct dm_pia *ia, DAT_PROVIDER_ATTR *attr);
/* The host's first IPv4 address that is not loopback, else 127.0.0.1. */
void dm_ia_local_addr(struct sockaddr_in *addr);
/* Does this address belong to this host? */
bool dm_ia_is_local_addr(const struct sockaddr *addr);

/* DAT calls. */
DAT_RETURN dm_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz_p);
DAT_RETURN dm_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN dm_pz_free(DAT_PZ_HANDLE pz);
DAT_RETURN dm_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dm_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dm_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dm_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);

/* Put the calls that need nothing from the provider into the table. */
void dm_prov_table_common(DAT_PROVIDER *provider);

#endif
