/*
 * What the peer's memory contexts stand for.
 *
 * A fabric in software answers a request that may not be by closing the
 * connection, without a reason, and knows nothing of zero based regions. So
 * the peer is asked (DM_CTRL_KEY_REQ) before its context is used for the first time, and
 * the request is checked here; the fabric checks it again. When a region goes,
 * its owner invalidates it at the peers that have asked.
 *
 * ia->lock is held in all functions.
 */
#include "providers/ofi/rkey.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/recv.h"

enum { RKEY_N = 64 };

enum rkey_state { RKEY_NONE, RKEY_REQUESTED, RKEY_KNOWN, RKEY_INVALID };

struct dm_ofi_rkey {
    enum rkey_state state;
    bool is_window; /* of an RMR */
    uint32_t key;
    uint32_t priv;
    uint64_t va;
    uint64_t len;
    uint64_t addr;       /* how the fabric addresses it... */
    uint64_t fabric_key; /* ...and by which key */
};

static struct dm_ofi_rkey *rkey_slot(struct dm_ofi_ep *ep, uint32_t key)
{
    return &ep->rkeys[key % RKEY_N];
}

static bool rkey_send_request(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_KEY_REQ, .key = key};
    struct dm_ofi_rkey *rkey;

    if (ep->rkeys == NULL)
        ep->rkeys = calloc(RKEY_N, sizeof(*ep->rkeys));
    if (ep->rkeys == NULL)
        return false;
    rkey = rkey_slot(ep, key);
    rkey->state = RKEY_REQUESTED;
    rkey->key = key;
    dm_ofi_ctrl_post(ep, &ctrl);
    return true;
}

int dm_ofi_rkey_find(struct dm_ofi_ep *ep, const DAT_RMR_TRIPLET *remote, uint64_t len,
                     uint32_t priv, uint64_t *addr_p, uint64_t *key_p)
{
    uint32_t key = remote->rmr_context;
    struct dm_ofi_rkey *rkey = ep->rkeys != NULL ? rkey_slot(ep, key) : NULL;
    uint64_t offset;

    if (rkey == NULL || rkey->key != key || rkey->state == RKEY_NONE)
        return rkey_send_request(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (rkey->state == RKEY_REQUESTED)
        return -FI_EBUSY;
    offset = remote->virtual_address - rkey->va;
    if (rkey->state == RKEY_INVALID || (rkey->priv & priv) == 0 || offset > rkey->len ||
        len > rkey->len - offset)
        return -FI_EACCES;
    *addr_p = rkey->addr + offset;
    *key_p = rkey->fabric_key;
    return 0;
}

int dm_ofi_rkey_check(struct dm_ofi_ep *ep, uint32_t key)
{
    const struct dm_ofi_rkey *rkey = ep->rkeys != NULL ? rkey_slot(ep, key) : NULL;

    if (rkey == NULL || rkey->key != key || rkey->state == RKEY_NONE)
        return rkey_send_request(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (rkey->state == RKEY_REQUESTED)
        return -FI_EBUSY;
    return rkey->state == RKEY_INVALID || !rkey->is_window ? -FI_EACCES : 0;
}

bool dm_ofi_rkey_is_invalid(struct dm_ofi_ep *ep, uint32_t key)
{
    return ep->rkeys != NULL && rkey_slot(ep, key)->key == key &&
           rkey_slot(ep, key)->state == RKEY_INVALID;
}

void dm_ofi_rkeys_drop(struct dm_ofi_ep *ep)
{
    free(ep->rkeys);
    ep->rkeys = NULL;
}

/* ---- ctrl ---- */

void dm_ofi_rkey_request(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_KEY_RSP, .status = 1, .key = key};
    struct dm_net_region *region = dm_net_key_region(&dm_ofi_ia_of(ep)->net, key);

    if (region != NULL && dm_net_region_is_for(region, &ep->base.ep)) {
        region->is_reported = true;
        ctrl.status = 0;
        ctrl.va = region->va;
        ctrl.value[0] = region->len;
        ctrl.value[1] = region->addr;
        ctrl.value[2] = region->priv;
        ctrl.len = region->is_window;
        ctrl.spare = region->mr != NULL ? fi_mr_key((struct fid_mr *)region->mr) : 0;
    }
    dm_ofi_ctrl_post(ep, &ctrl);
}

void dm_ofi_rkey_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_rkey *rkey = ep->rkeys != NULL ? rkey_slot(ep, ctrl->key) : NULL;

    if (rkey == NULL || rkey->key != ctrl->key || rkey->state != RKEY_REQUESTED)
        return;
    rkey->state = ctrl->status == 0 ? RKEY_KNOWN : RKEY_INVALID;
    rkey->va = ctrl->va;
    rkey->len = ctrl->value[0];
    rkey->addr = ctrl->value[1];
    rkey->priv = (uint32_t)ctrl->value[2];
    rkey->fabric_key = ctrl->spare;
    rkey->is_window = ctrl->len != 0;
    dm_ofi_dto_push(ep);
    /* It may come to stand for something yet. */
    if (ctrl->status != 0 && ep->rkeys != NULL && rkey->key == ctrl->key)
        rkey->state = RKEY_NONE;
}

void dm_ofi_rkey_invalidated(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_rkey *rkey = ep->rkeys != NULL ? rkey_slot(ep, key) : NULL;

    /* What has been asked will be answered: this was on its way before. */
    if (rkey != NULL && rkey->key == key && rkey->state != RKEY_REQUESTED)
        rkey->state = RKEY_INVALID;
    ep->n_inval_due++;
    dm_ofi_rkey_ack(ep);
}

/* What has been written is there before the confirmation; what is read may
 * still be on its way to us. */
void dm_ofi_rkey_ack(struct dm_ofi_ep *ep)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_INVAL_ACK, .value = {ep->n_inval_due}};

    if (ep->n_inval_due == 0 || ep->n_reads > 0 || ep->base.conn == NULL)
        return;
    ep->n_inval_due = 0;
    dm_ofi_ctrl_post(ep, &ctrl);
}

bool dm_ofi_rkey_is_acked(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    (void)key; /* acknowledgements are counted */
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);

        if (ep->base.ep.pz == pz && ep->base.conn != NULL && ep->n_inval_unacked > 0)
            return false;
    }
    return true;
}

void dm_ofi_rkey_acked(struct dm_ofi_ep *ep, uint64_t n)
{
    if (ep->n_inval_unacked == 0)
        return;
    ep->n_inval_unacked -= n < ep->n_inval_unacked ? (uint32_t)n : ep->n_inval_unacked;
    if (ep->n_inval_unacked > 0)
        return;
    dm_list_for_each (it, &ep->base.ep.obj.ia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *other = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);

        if (other != ep && other->base.ep.pz == ep->base.ep.pz && other->base.conn != NULL &&
            !dm_list_is_empty(&other->base.queue))
            dm_net_ep_wait(&other->base);
    }
    dm_ofi_dto_push(ep); /* at once: its peer may break the connection next */
    if (!dm_ofi_ia_of(ep)->net.is_in_round)
        dm_net_kick(ep->base.ep.obj.ia);
}

bool dm_ofi_rkey_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);

        if (ep->base.ep.pz == pz && ep->base.conn != NULL &&
            (ep->n_inval_unacked > 0 || dm_ofi_dto_is_using(ep, key) ||
             dm_ofi_recv_is_using(ep, key)))
            return false;
    }
    return true;
}

void dm_ofi_rkey_invalidate(struct dm_net *net, const struct dm_net_region *region)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_KEY_INVAL, .key = region->last_key};

    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, base.ep.obj.link);

        if (ep->base.conn != NULL && ep->base.conn->state == DM_CONN_UP &&
            ep->base.ep.pz == region->pz) {
            ep->n_inval_unacked++;
            dm_ofi_ctrl_post(ep, &ctrl);
        }
    }
}
