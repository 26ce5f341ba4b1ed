/*
 * Service points and connection requests: the passive side of connecting
 * (uDAPL 2.0, dat_psp_*, dat_rsp_*, dat_csp_*, dat_cr_*).
 */
#ifndef DM_PROVIDERS_COMMON_SP_H
#define DM_PROVIDERS_COMMON_SP_H

#include "providers/common/ep.h"

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
    struct dm_ep *ep;       /* of a reserved service point */
    void *conn;             /* the provider's; NULL: the peer has given up */
    struct dm_cr **conn_cr; /* where the connection keeps its request */
    union dm_addr remote_addr;
    DAT_PORT_QUAL remote_qual;
    DAT_COUNT private_len;
    uint8_t private_data[DM_PRIVATE_MAX]; /* the consumer may write to it */
};

/* A request as the provider has received it. */
struct dm_request {
    void *conn;
    struct dm_cr **conn_cr; /* a member of conn: set while there is a request */
    const union dm_addr *addr;
    DAT_PORT_QUAL qual;
    uint32_t data_len;
    const void *data;
};

/* A request has arrived for sp: give it to the consumer. False: it is to be rejected (no memory,
 * no room for the event, or sp is a reserved one that has had its request). ia->lock is held. */
bool dm_cr_arrived(struct dm_sp *sp, const struct dm_request *request);
/* The connection of *conn_cr goes (NULL: none): its request stays, for an answer in vain. */
void dm_cr_lost(struct dm_cr **conn_cr);
void dm_sp_destroy(struct dm_sp *sp);
/* The communicator with its defaults filled in. */
DAT_RETURN dm_comm_complete(const DAT_COMM *comm, DAT_COMM *out);

/* DAT calls. */
DAT_RETURN dm_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                         DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p);
DAT_RETURN dm_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual_p, DAT_EVD_HANDLE evd,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p);
DAT_RETURN dm_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dm_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN dm_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
                         DAT_RSP_HANDLE *rsp_p);
DAT_RETURN dm_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dm_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN dm_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
                         DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp_p);
DAT_RETURN dm_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN dm_csp_free(DAT_CSP_HANDLE csp);
DAT_RETURN dm_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN dm_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT len, const DAT_PVOID data);
DAT_RETURN dm_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT len, const DAT_PVOID data);
DAT_RETURN dm_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);

#endif
