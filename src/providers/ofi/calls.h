/*
 * The calls of this provider that libdat2 dispatches to. Semantics: uDAPL 2.0.
 */
#ifndef DM_PROVIDERS_OFI_CALLS_H
#define DM_PROVIDERS_OFI_CALLS_H

#include "providers/ofi/ofi.h"

DAT_RETURN dm_ofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                          DAT_IA_HANDLE *ia_p);
DAT_RETURN dm_ofi_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                               DAT_IA_HANDLE *ia_p);
DAT_RETURN dm_ofi_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_p, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR *attr);
DAT_RETURN dm_ofi_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_RETURN dm_ofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                             DAT_VLEN len, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
                             DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p,
                             DAT_LMR_CONTEXT *lmr_context_p, DAT_RMR_CONTEXT *rmr_context_p,
                             DAT_VLEN *len_p, DAT_VADDR *va_p);
DAT_RETURN dm_ofi_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dm_ofi_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN dm_ofi_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                            DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p);
DAT_RETURN dm_ofi_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                                     DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
                                     DAT_EP_HANDLE *ep_p);
DAT_RETURN dm_ofi_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
DAT_RETURN dm_ofi_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *n_p, DAT_COUNT *span_p);
DAT_RETURN dm_ofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *srq_p);
DAT_RETURN dm_ofi_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dm_ofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie);
DAT_RETURN dm_ofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dm_ofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n);
DAT_RETURN dm_ofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low);
DAT_RETURN dm_ofi_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN dm_ofi_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state_p, DAT_BOOLEAN *recv_idle_p,
                                DAT_BOOLEAN *request_idle_p);
DAT_RETURN dm_ofi_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN dm_ofi_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN dm_ofi_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dm_ofi_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
                             DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos,
                             DAT_CONNECT_FLAGS flags);
DAT_RETURN dm_ofi_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
                                 DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos);
DAT_RETURN dm_ofi_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR addr, DAT_TIMEOUT timeout,
                                    DAT_COUNT len, const DAT_PVOID data);
DAT_RETURN dm_ofi_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
                             DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp_p);
DAT_RETURN dm_ofi_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN dm_ofi_csp_free(DAT_CSP_HANDLE csp);
DAT_RETURN dm_ofi_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
DAT_RETURN dm_ofi_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p);
DAT_RETURN dm_ofi_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual_p, DAT_EVD_HANDLE evd,
                                 DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p);
DAT_RETURN dm_ofi_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN dm_ofi_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
                             DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp_p);
DAT_RETURN dm_ofi_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN dm_ofi_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT len,
                            const DAT_PVOID data);
DAT_RETURN dm_ofi_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);
DAT_RETURN dm_ofi_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT len, const DAT_PVOID data);
DAT_RETURN dm_ofi_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_ofi_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_ofi_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_ofi_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_ofi_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                                            DAT_BOOLEAN is_invalidate, DAT_RMR_CONTEXT context);
DAT_RETURN dm_ofi_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
                                        DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                        DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_ofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p);
DAT_RETURN dm_ofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p);
DAT_RETURN dm_ofi_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dm_ofi_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                           DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
                           DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                           DAT_RMR_CONTEXT *context_p);
DAT_RETURN dm_ofi_rmr_free(DAT_RMR_HANDLE rmr);
DAT_RETURN dm_ofi_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP number, va_list args);

#endif
