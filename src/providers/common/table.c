/*
 * The 79-slot table: every slot answers, so that libdat2, which calls them
 * unchecked, never jumps to NULL. What a provider does not have, the calls find
 * missing in its operations.
 */
#include "providers/common/init.h"

#include <string.h>

#include "providers/common/provider.h"

static void table_events(DAT_PROVIDER *p)
{
    p->cno_create_func = dm_cno_create;
    p->cno_modify_agent_func = dm_cno_modify_agent;
    p->cno_fd_create_func = dm_cno_fd_create;
    p->cno_trigger_func = dm_cno_trigger;
    p->cno_query_func = dm_cno_query;
    p->cno_free_func = dm_cno_free;
    p->cno_wait_func = dm_cno_wait;
    p->evd_create_func = dm_evd_create;
    p->evd_query_func = dm_evd_query;
    p->evd_modify_cno_func = dm_evd_modify_cno;
    p->evd_enable_func = dm_evd_enable;
    p->evd_disable_func = dm_evd_disable;
    p->evd_wait_func = dm_evd_wait;
    p->evd_resize_func = dm_evd_resize;
    p->evd_post_se_func = dm_evd_post_se;
    p->evd_dequeue_func = dm_evd_dequeue;
    p->evd_free_func = dm_evd_free;
    p->evd_set_unwaitable_func = dm_evd_set_unwaitable;
    p->evd_clear_unwaitable_func = dm_evd_clear_unwaitable;
}

/* All but those that post and events. */
static void table_objects(DAT_PROVIDER *p)
{
    p->ia_query_func = dm_ia_query;
    p->ia_close_func = dm_ia_close;
    p->ia_ha_related_func = dm_ia_ha_related;
    p->set_consumer_context_func = dm_obj_set_context;
    p->get_consumer_context_func = dm_obj_get_context;
    p->get_handle_type_func = dm_obj_get_type;
    p->cr_accept_func = dm_cr_accept;
    p->cr_reject_func = dm_cr_reject;
    p->cr_handoff_func = dm_cr_handoff;
    p->csp_create_func = dm_csp_create;
    p->csp_query_func = dm_csp_query;
    p->csp_free_func = dm_csp_free;
    p->psp_create_func = dm_psp_create;
    p->psp_create_any_func = dm_psp_create_any;
    p->psp_free_func = dm_psp_free;
    p->rsp_create_func = dm_rsp_create;
    p->rsp_free_func = dm_rsp_free;
    p->ep_create_func = dm_ep_create;
    p->ep_create_with_srq_func = dm_ep_create_with_srq;
    p->ep_modify_func = dm_ep_modify;
    p->ep_get_status_func = dm_ep_get_status;
    p->ep_set_watermark_func = dm_ep_set_watermark;
    p->ep_recv_query_func = dm_ep_recv_query;
    p->ep_reset_func = dm_ep_reset;
    p->ep_free_func = dm_ep_free;
    p->ep_connect_func = dm_ep_connect;
    p->ep_dup_connect_func = dm_ep_dup_connect;
    p->ep_common_connect_func = dm_ep_common_connect;
    p->ep_disconnect_func = dm_ep_disconnect;
    p->ep_post_send_with_invalidate_func = dm_post_send_with_invalidate;
    p->ep_post_rdma_read_to_rmr_func = dm_post_rdma_read_to_rmr;
    p->lmr_create_func = dm_lmr_create;
    p->lmr_query_func = dm_lmr_query;
    p->lmr_free_func = dm_lmr_free;
    p->lmr_sync_rdma_read_func = dm_lmr_sync;
    p->lmr_sync_rdma_write_func = dm_lmr_sync;
    p->rmr_create_func = dm_rmr_create;
    p->rmr_create_for_ep_func = dm_rmr_create_for_ep;
    p->rmr_query_func = dm_rmr_query;
    p->rmr_bind_func = dm_rmr_bind;
    p->rmr_free_func = dm_rmr_free;
    p->srq_create_func = dm_srq_create;
    p->srq_query_func = dm_srq_query;
    p->srq_resize_func = dm_srq_resize;
    p->srq_set_lw_func = dm_srq_set_lw;
    p->srq_free_func = dm_srq_free;
    p->handle_extendedop_func = dm_extended_op;
    p->pz_create_func = dm_pz_create;
    p->pz_query_func = dm_pz_query;
    p->pz_free_func = dm_pz_free;
    p->psp_query_func = dm_psp_query;
    p->rsp_query_func = dm_rsp_query;
    p->ep_query_func = dm_ep_query;
    p->cr_query_func = dm_cr_query;
}

void dm_prov_table(DAT_PROVIDER *p, const struct dm_prov_ops *ops, bool is_threadsafe)
{
    memset(p, 0, sizeof(*p));
    p->ia_open_func = is_threadsafe ? dm_ia_open_safe : dm_ia_open;
    table_events(p);
    table_objects(p);
    p->ep_post_send_func = ops->post_send;
    p->ep_post_recv_func = ops->post_recv;
    p->ep_post_rdma_read_func = ops->post_rdma_read;
    p->ep_post_rdma_write_func = ops->post_rdma_write;
    p->srq_post_recv_func = ops->srq_post_recv;
}
