/*
 * Memory regions: the end of one.
 */
#include "providers/ofi/key.h"

#include "providers/ofi/conn.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/rkey.h"

/* Nobody may begin to use its memory, and receives are cancelled. */
static void lmr_withdraw(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    dm_net_key_hide(&ia->net, lmr->key);
    dm_list_for_each (it, &ia->net.pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);

        if (ep->base.conn != NULL && ep->base.ep.pz == lmr->pz)
            dm_ofi_recv_recall(ep, lmr->key);
    }
    dm_net_conns_end(&ia->net);
}

static void unsignalled_flushed(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_conn *conn = dm_container_of(ctx, struct dm_ofi_conn, unsignalled.ctx);

    (void)done; /* after an error the fabric has dropped the rest, too */
    conn->unsignalled.is_any = false;
    conn->unsignalled.is_flushing = false;
}

/* A write of nothing, which leaves this side after everything that was unsignalled. */
static void unsignalled_flush(struct dm_ofi_conn *conn)
{
    struct iovec vec = {.iov_base = conn->ctrl.ring};
    struct fi_rma_iov remote = {.addr = conn->ctrl.peer_addr, .key = conn->ctrl.peer_key};
    struct fi_msg_rma msg = {.msg_iov = &vec,
                             .iov_count = 1,
                             .rma_iov = &remote,
                             .rma_iov_count = 1,
                             .context = &conn->unsignalled.ctx};
    ssize_t ret;

    conn->unsignalled.ctx.done = unsignalled_flushed;
    ret = fi_writemsg(conn->fid, &msg, FI_COMPLETION);
    conn->unsignalled.is_flushing = ret == 0;
    if (ret != 0 && ret != -FI_EAGAIN)
        conn->unsignalled.is_any = false; /* not connected: the fabric holds nothing */
}

/* Are all unsignalled writes of the zone done? */
static bool unsignalled_is_none(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    const struct dm_pia *ia = &net->pia;
    bool is_any = false;

    (void)key; /* it is not known which regions */
    dm_list_for_each (it, &ia->objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);
        struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);

        if (ep->base.ep.pz != pz || conn == NULL || conn->fid == NULL || !conn->unsignalled.is_any)
            continue;
        if (!conn->unsignalled.is_flushing)
            unsignalled_flush(conn);
        is_any = is_any || conn->unsignalled.is_any;
    }
    return !is_any;
}

bool dm_ofi_lmr_hide(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    lmr_withdraw(lmr);
    return dm_net_wait_over(&ia->net, lmr->pz, lmr->key, unsignalled_is_none) &&
           dm_net_key_wait(&ia->net, lmr->pz, lmr->key);
}
