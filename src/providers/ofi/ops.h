/*
 * What this provider supplies to the common core, by object; see
 * common/provider.h.
 */
#ifndef DM_PROVIDERS_OFI_OPS_H
#define DM_PROVIDERS_OFI_OPS_H

#include "providers/common/common.h"

/* ia.c */
DAT_RETURN dm_ofi_ia_open(struct dm_pia *ia, const char *params);
bool dm_ofi_ia_start(struct dm_pia *ia);
void dm_ofi_ia_disconnect(struct dm_pia *ia);
void dm_ofi_ia_stop(struct dm_pia *ia);
void dm_ofi_ia_close(struct dm_pia *ia);
void dm_ofi_ia_reap(struct dm_pia *ia);
/* ep.c */
DAT_RETURN dm_ofi_ep_create(struct dm_ep *ep);
void dm_ofi_ep_destroy(struct dm_ep *ep);
DAT_RETURN dm_ofi_ep_modified(struct dm_ep *ep, bool is_queue_new);
void dm_ofi_ep_is_idle(struct dm_ep *ep, bool *is_recv_idle_p, bool *is_request_idle_p);
void dm_ofi_ep_reset(struct dm_ep *ep);
/* cm.c */
DAT_RETURN dm_ofi_ep_connect(struct dm_ep *ep, const struct dm_connect *how);
void dm_ofi_ep_disconnect(struct dm_ep *ep);
/* cm_passive.c */
DAT_RETURN dm_ofi_cm_listen(struct dm_sp *sp);
DAT_RETURN dm_ofi_cm_listen_any(struct dm_sp *sp);
void dm_ofi_cm_unlisten(struct dm_sp *sp);
void dm_ofi_cm_accept(struct dm_ep *ep, void *conn, DAT_COUNT len, const void *data);
void dm_ofi_cm_reject(void *conn, bool is_by_consumer, DAT_COUNT len, const void *data);
bool dm_ofi_cm_is_listening(struct dm_pia *ia, DAT_CONN_QUAL qual);
void dm_ofi_cm_handoff(void *conn, DAT_CONN_QUAL qual);
/* lmr.c */
bool dm_ofi_lmr_hide(struct dm_lmr *lmr);
/* srq.c */
DAT_RETURN dm_ofi_srq_create(struct dm_srq *srq);
void dm_ofi_srq_destroy(struct dm_srq *srq);
void dm_ofi_srq_count(struct dm_srq *srq, uint32_t *n_available_p, uint32_t *n_outstanding_p);
DAT_RETURN dm_ofi_srq_resize(struct dm_srq *srq, DAT_COUNT n);
void dm_ofi_srq_set_low(struct dm_srq *srq);
uint32_t dm_ofi_ep_n_recvs(struct dm_ep *ep);
void dm_ofi_ep_set_marks(struct dm_ep *ep, DAT_COUNT soft, DAT_COUNT hard);
/* dto.c, recv.c, srq.c: the calls that post */
DAT_RETURN dm_ofi_post(struct dm_ep *ep, const struct dm_dto *dto);
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
DAT_RETURN dm_ofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie);

#endif
