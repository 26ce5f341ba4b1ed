/*
 * What this provider supplies to the common core, by object; see
 * common/provider.h.
 */
#ifndef DM_PROVIDERS_SHM_OPS_H
#define DM_PROVIDERS_SHM_OPS_H

#include "providers/common/common.h"

/* ia.c */
DAT_RETURN dm_shm_ia_open(struct dm_pia *ia, const char *params);
bool dm_shm_ia_start(struct dm_pia *ia);
void dm_shm_ia_stop(struct dm_pia *ia);
void dm_shm_ia_forked(struct dm_pia *ia);
void dm_shm_ia_close(struct dm_pia *ia);
void *dm_shm_mem_alloc(struct dm_pia *ia, size_t len);
void dm_shm_mem_free(struct dm_pia *ia, void *mem);
bool dm_shm_ia_quiesce(struct dm_pia *ia);
/* progress.c */
void dm_shm_kick(struct dm_pia *ia);
/* transport/model.c: only where a network is modelled, consumers drive it */
void dm_shm_model_poll(struct dm_pia *ia);
uint64_t dm_shm_model_deadline(struct dm_pia *ia, struct dm_evd *evd, DAT_TIMEOUT timeout);
int dm_shm_model_sleep(struct dm_pia *ia, struct dm_evd_ring *ring, uint32_t value,
                       uint64_t deadline);
bool dm_shm_model_clock(struct dm_pia *ia, struct dm_clock_source *source);
/* transport/datagram.c */
bool dm_shm_datagrams(struct dm_pia *ia, struct dm_datagrams *datagrams);
int dm_shm_datagram_wait(struct dm_pia *ia, _Atomic uint32_t *word, uint32_t value,
                         uint64_t deadline);
/* ep.c */
bool dm_shm_evd_moved(struct dm_pia *ia, struct dm_evd *evd, bool is_before);
DAT_RETURN dm_shm_ep_create(struct dm_ep *ep);
void dm_shm_ep_destroy(struct dm_ep *ep);
bool dm_shm_ep_close(struct dm_ep *ep);
void dm_shm_ep_refresh(struct dm_ep *ep);
bool dm_shm_ep_has_received(struct dm_ep *ep);
DAT_RETURN dm_shm_ep_modified(struct dm_ep *ep, bool is_queue_new);
void dm_shm_ep_is_idle(struct dm_ep *ep, bool *is_recv_idle_p, bool *is_request_idle_p);
void dm_shm_ep_reset(struct dm_ep *ep);
/* cm.c, transport/csp.c */
DAT_RETURN dm_shm_ep_connect(struct dm_ep *ep, const struct dm_connect *how);
DAT_RETURN dm_shm_ep_common_connect(struct dm_ep *ep, const DAT_COMM *comm,
                                    const struct dm_connect *how);
void dm_shm_ep_disconnect(struct dm_ep *ep);
/* cm_passive.c */
DAT_RETURN dm_shm_cm_listen(struct dm_sp *sp);
DAT_RETURN dm_shm_cm_listen_any(struct dm_sp *sp);
void dm_shm_cm_unlisten(struct dm_sp *sp);
void dm_shm_cm_accept(struct dm_ep *ep, void *conn, DAT_COUNT len, const void *data);
void dm_shm_cm_reject(void *conn, bool is_by_consumer, DAT_COUNT len, const void *data);
bool dm_shm_cm_is_listening(struct dm_pia *ia, DAT_CONN_QUAL qual);
void dm_shm_cm_handoff(void *conn, DAT_CONN_QUAL qual);
/* lmr.c, key.c, rmr.c */
uint32_t dm_shm_key_new(struct dm_pia *ia);
void dm_shm_key_free(struct dm_pia *ia, uint32_t key);
DAT_RETURN dm_shm_lmr_prepare(struct dm_pia *ia, const struct dm_lmr *want);
DAT_RETURN dm_shm_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from);
bool dm_shm_lmr_hide(struct dm_lmr *lmr);
void dm_shm_lmr_deregister(struct dm_lmr *lmr);
void dm_shm_rmr_hide(struct dm_rmr *rmr);
void dm_shm_rmr_shut(struct dm_rmr *rmr);
/* srq.c */
DAT_RETURN dm_shm_srq_create(struct dm_srq *srq);
void dm_shm_srq_destroy(struct dm_srq *srq);
void dm_shm_srq_count(struct dm_srq *srq, uint32_t *n_available_p, uint32_t *n_outstanding_p);
DAT_RETURN dm_shm_srq_resize(struct dm_srq *srq, DAT_COUNT n);
void dm_shm_srq_set_low(struct dm_srq *srq);
uint32_t dm_shm_ep_n_recvs(struct dm_ep *ep);
void dm_shm_ep_set_marks(struct dm_ep *ep, DAT_COUNT soft, DAT_COUNT hard);
/* dto.c, recv.c, srq.c: the calls that post */
DAT_RETURN dm_shm_post(struct dm_ep *ep, const struct dm_dto *dto);
DAT_RETURN dm_shm_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_shm_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_shm_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_shm_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_shm_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie);

#endif
