/*
 * The two functions that libdat2 looks for, and the table of this provider.
 */
#include "providers/ofi/calls.h"

extern void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
extern void dat_provider_fini(const DAT_PROVIDER_INFO *info);

static void fill(DAT_PROVIDER *p, bool is_threadsafe)
{
    p->ia_open_func = is_threadsafe ? dm_ofi_ia_open_safe : dm_ofi_ia_open;
    p->ia_query_func = dm_ofi_ia_query;
    p->ia_close_func = dm_ofi_ia_close;
    p->cr_accept_func = dm_ofi_cr_accept;
    p->cr_reject_func = dm_ofi_cr_reject;
    p->cr_handoff_func = dm_ofi_cr_handoff;
    p->ep_connect_func = dm_ofi_ep_connect;
    p->ep_dup_connect_func = dm_ofi_ep_dup_connect;
    p->ep_disconnect_func = dm_ofi_ep_disconnect;
    p->psp_create_func = dm_ofi_psp_create;
    p->psp_create_any_func = dm_ofi_psp_create_any;
    p->psp_free_func = dm_ofi_psp_free;
    p->rsp_create_func = dm_ofi_rsp_create;
    p->rsp_free_func = dm_ofi_rsp_free;
    p->ep_create_func = dm_ofi_ep_create;
    p->ep_create_with_srq_func = dm_ofi_ep_create_with_srq;
    p->ep_set_watermark_func = dm_ofi_ep_set_watermark;
    p->ep_recv_query_func = dm_ofi_ep_recv_query;
    p->srq_create_func = dm_ofi_srq_create;
    p->srq_free_func = dm_ofi_srq_free;
    p->srq_post_recv_func = dm_ofi_srq_post_recv;
    p->srq_query_func = dm_ofi_srq_query;
    p->srq_resize_func = dm_ofi_srq_resize;
    p->srq_set_lw_func = dm_ofi_srq_set_lw;
    p->ep_query_func = dm_ofi_ep_query;
    p->ep_modify_func = dm_ofi_ep_modify;
    p->ep_post_send_func = dm_ofi_post_send;
    p->ep_post_recv_func = dm_ofi_post_recv;
    p->ep_post_rdma_read_func = dm_ofi_post_rdma_read;
    p->ep_post_rdma_write_func = dm_ofi_post_rdma_write;
    p->ep_get_status_func = dm_ofi_ep_get_status;
    p->ep_free_func = dm_ofi_ep_free;
    p->ep_reset_func = dm_ofi_ep_reset;
    p->lmr_create_func = dm_ofi_lmr_create;
    p->lmr_query_func = dm_ofi_lmr_query;
    p->lmr_free_func = dm_ofi_lmr_free;
    p->rmr_create_func = dm_ofi_rmr_create;
    p->rmr_create_for_ep_func = dm_ofi_rmr_create_for_ep;
    p->rmr_query_func = dm_ofi_rmr_query;
    p->rmr_bind_func = dm_ofi_rmr_bind;
    p->rmr_free_func = dm_ofi_rmr_free;
    p->ep_post_send_with_invalidate_func = dm_ofi_post_send_with_invalidate;
    p->ep_post_rdma_read_to_rmr_func = dm_ofi_post_rdma_read_to_rmr;
    p->handle_extendedop_func = dm_ofi_extended_op;
}

DM_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
    dm_prov_init(info, params, fill);
}

DM_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
    dm_prov_fini(info);
}
