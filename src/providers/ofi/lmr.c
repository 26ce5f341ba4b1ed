/*
 * Memory regions: a context, and what the fabric is shown of the memory if
 * peers may use it. The file of shared memory is of no use here: the memory is
 * the caller's, as any.
 */
#include "providers/ofi/calls.h"

DAT_RETURN dm_ofi_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;
    struct dm_ofi_region region = {.key = dm_ofi_key_new(lmr->obj.ia),
                                   .pz = lmr->pz,
                                   .va = lmr->va,
                                   .len = lmr->len,
                                   .addr = lmr->addr,
                                   .priv = DM_PRIV_LMR(lmr->priv)};

    (void)file;
    (void)from;
    if (region.key == 0)
        return DM_DAT_NO_REGION;
    if (!dm_ofi_key_open(ia, &region)) {
        dm_ofi_key_free(lmr->obj.ia, region.key);
        return DM_DAT_NO_REGION;
    }
    lmr->key = region.key;
    return DAT_SUCCESS;
}

/* Nobody may begin to use its memory, and receives are taken back. */
static void withdraw(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    dm_ofi_key_hide(ia, lmr->key);
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->conn != NULL && ep->ep.pz == lmr->pz)
            dm_ofi_recvs_forget(ep, lmr->key);
    }
    dm_ofi_conns_end(ia);
}

static void fence_over(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_conn *conn = dm_container_of(ctx, struct dm_ofi_conn, fence_ctx);

    (void)done; /* after an error the fabric has dropped the rest, too */
    conn->is_lent = false;
    conn->is_fenced = false;
}

/* A write of nothing, which leaves this side after everything that was untracked. */
static void fence(struct dm_ofi_conn *conn)
{
    struct iovec vec = {.iov_base = conn->mailbox};
    struct fi_rma_iov remote = {.addr = conn->peer_mail, .key = conn->peer_mail_key};
    struct fi_msg_rma msg = {.msg_iov = &vec,
                             .iov_count = 1,
                             .rma_iov = &remote,
                             .rma_iov_count = 1,
                             .context = &conn->fence_ctx};
    ssize_t ret;

    conn->fence_ctx.done = fence_over;
    ret = fi_writemsg(conn->fid, &msg, FI_COMPLETION);
    conn->is_fenced = ret == 0;
    if (ret != 0 && ret != -FI_EAGAIN)
        conn->is_lent = false; /* not connected: the fabric holds nothing */
}

/* Has the fabric sent what it was lent? */
static bool is_returned(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    bool is_any = false;

    (void)key; /* it is not known which regions */
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);
        struct dm_ofi_conn *conn = ep->conn;

        if (ep->ep.pz != pz || conn == NULL || conn->fid == NULL || !conn->is_lent)
            continue;
        if (!conn->is_fenced)
            fence(conn);
        is_any = is_any || conn->is_lent;
    }
    return !is_any;
}

bool dm_ofi_lmr_hide(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    withdraw(lmr);
    return dm_ofi_wait(ia, lmr->pz, lmr->key, is_returned) &&
           dm_ofi_far_wait(ia, lmr->pz, lmr->key);
}

void dm_ofi_lmr_deregister(struct dm_lmr *lmr)
{
    dm_ofi_key_shut((struct dm_ofi_ia *)lmr->obj.ia, lmr->key);
    dm_ofi_key_free(lmr->obj.ia, lmr->key);
}
