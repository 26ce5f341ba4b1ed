/*
 * The functions of libdat2 that are called. It reads the dat.conf as it is loaded, and writes what it thinks of it to
 * standard output; so it is loaded when the first provider is opened, and quietly: we have read the same file, and
 * say more of it.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_DAT_CALLS_H
#define DM_DAPL_ADAPT_PROVIDER_DAT_CALLS_H

#include <netinet/in.h> /* before the DAT headers, which use sockaddr_in6 */

#include <dat2/udat.h>

/* clang-format off */
#define DM_DAT_CALLS(X) \
    X(cno_create) X(cno_free) X(cno_modify_agent) X(cno_wait) X(cr_accept) X(cr_query) \
    X(cr_reject) X(ep_connect) X(ep_create) X(ep_create_with_srq) X(ep_disconnect) X(ep_free) \
    X(ep_post_rdma_read) X(ep_post_rdma_write) X(ep_post_recv) X(ep_post_send) X(ep_query) \
    X(ep_reset) X(evd_clear_unwaitable) X(evd_create) X(evd_dequeue) X(evd_free) X(evd_post_se) \
    X(evd_resize) X(evd_set_unwaitable) X(evd_wait) X(extension_op) X(ia_close) X(ia_openv) \
    X(ia_query) X(lmr_create) X(lmr_free) X(psp_create) X(psp_create_any) X(psp_free) \
    X(pz_create) X(pz_free) X(rmr_bind) X(rmr_create) X(srq_create) X(srq_free) \
    X(srq_post_recv) X(strerror)
/* clang-format on */

#define DAT_CALL_DECLARE(name) __typeof__(dat_##name) *name;
extern struct dm_dat_state {
    DM_DAT_CALLS(DAT_CALL_DECLARE)
} dm_dat_state;
#undef DAT_CALL_DECLARE

#define dat_cno_create           (*dm_dat_state.cno_create)
#define dat_cno_free             (*dm_dat_state.cno_free)
#define dat_cno_modify_agent     (*dm_dat_state.cno_modify_agent)
#define dat_cno_wait             (*dm_dat_state.cno_wait)
#define dat_cr_accept            (*dm_dat_state.cr_accept)
#define dat_cr_query             (*dm_dat_state.cr_query)
#define dat_cr_reject            (*dm_dat_state.cr_reject)
#define dat_ep_connect           (*dm_dat_state.ep_connect)
#define dat_ep_create            (*dm_dat_state.ep_create)
#define dat_ep_create_with_srq   (*dm_dat_state.ep_create_with_srq)
#define dat_ep_disconnect        (*dm_dat_state.ep_disconnect)
#define dat_ep_free              (*dm_dat_state.ep_free)
#define dat_ep_post_rdma_read    (*dm_dat_state.ep_post_rdma_read)
#define dat_ep_post_rdma_write   (*dm_dat_state.ep_post_rdma_write)
#define dat_ep_post_recv         (*dm_dat_state.ep_post_recv)
#define dat_ep_post_send         (*dm_dat_state.ep_post_send)
#define dat_ep_query             (*dm_dat_state.ep_query)
#define dat_ep_reset             (*dm_dat_state.ep_reset)
#define dat_evd_clear_unwaitable (*dm_dat_state.evd_clear_unwaitable)
#define dat_evd_create           (*dm_dat_state.evd_create)
#define dat_evd_dequeue          (*dm_dat_state.evd_dequeue)
#define dat_evd_free             (*dm_dat_state.evd_free)
#define dat_evd_post_se          (*dm_dat_state.evd_post_se)
#define dat_evd_resize           (*dm_dat_state.evd_resize)
#define dat_evd_set_unwaitable   (*dm_dat_state.evd_set_unwaitable)
#define dat_evd_wait             (*dm_dat_state.evd_wait)
#define dat_extension_op         (*dm_dat_state.extension_op)
#define dat_ia_close             (*dm_dat_state.ia_close)
#define dat_ia_openv             (*dm_dat_state.ia_openv)
#define dat_ia_query             (*dm_dat_state.ia_query)
#define dat_lmr_create           (*dm_dat_state.lmr_create)
#define dat_lmr_free             (*dm_dat_state.lmr_free)
#define dat_psp_create           (*dm_dat_state.psp_create)
#define dat_psp_create_any       (*dm_dat_state.psp_create_any)
#define dat_psp_free             (*dm_dat_state.psp_free)
#define dat_pz_create            (*dm_dat_state.pz_create)
#define dat_pz_free              (*dm_dat_state.pz_free)
#define dat_rmr_bind             (*dm_dat_state.rmr_bind)
#define dat_rmr_create           (*dm_dat_state.rmr_create)
#define dat_srq_create           (*dm_dat_state.srq_create)
#define dat_srq_free             (*dm_dat_state.srq_free)
#define dat_srq_post_recv        (*dm_dat_state.srq_post_recv)
#define dat_strerror             (*dm_dat_state.strerror)

/*
 * Load libdat2 unless it is there; before any of these calls. It is quiet unless DAT_DBG_TYPE is set. DM_EPROVIDER: it
 * cannot be loaded.
 */
int dm_dat_load(void);

#endif
