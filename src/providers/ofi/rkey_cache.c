/*
 * What the peer's memory contexts stand for.
 *
 * A fabric in software answers a request that may not be by closing the
 * connection, without a reason, and knows nothing of zero based regions. So
 * the peer is asked (ctrl) before its context is used for the first time, and
 * the request is checked here; the fabric checks it again. When a region goes,
 * its owner tells whom it had reported.
 *
 * ia->lock is held in all functions.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>

enum { RKEY_N = 64 };

#define STUCK_NS 5000000000u /* with peers that stand still */

enum rkey_state { RKEY_NONE, RKEY_ASKED, RKEY_KNOWN, RKEY_GONE };

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

static struct dm_ofi_rkey *slot_of(struct dm_ofi_ep *ep, uint32_t key)
{
    return &ep->rkey[key % RKEY_N];
}

static bool ask(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_ASK_KEY, .key = key};
    struct dm_ofi_rkey *rkey;

    if (ep->rkey == NULL)
        ep->rkey = calloc(RKEY_N, sizeof(*ep->rkey));
    if (ep->rkey == NULL)
        return false;
    rkey = slot_of(ep, key);
    rkey->state = RKEY_ASKED;
    rkey->key = key;
    dm_ofi_ctrl_post(ep, &ctrl);
    return true;
}

int dm_ofi_rkey_find(struct dm_ofi_ep *ep, const DAT_RMR_TRIPLET *remote, uint64_t len,
                     uint32_t priv, uint64_t *addr_p, uint64_t *key_p)
{
    uint32_t key = remote->rmr_context;
    struct dm_ofi_rkey *rkey = ep->rkey != NULL ? slot_of(ep, key) : NULL;
    uint64_t offset;

    if (rkey == NULL || rkey->key != key || rkey->state == RKEY_NONE)
        return ask(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (rkey->state == RKEY_ASKED)
        return -FI_EBUSY;
    offset = remote->virtual_address - rkey->va;
    if (rkey->state == RKEY_GONE || (rkey->priv & priv) == 0 || offset > rkey->len ||
        len > rkey->len - offset)
        return -FI_EACCES;
    *addr_p = rkey->addr + offset;
    *key_p = rkey->fabric_key;
    return 0;
}

int dm_ofi_rkey_check(struct dm_ofi_ep *ep, uint32_t key)
{
    const struct dm_ofi_rkey *rkey = ep->rkey != NULL ? slot_of(ep, key) : NULL;

    if (rkey == NULL || rkey->key != key || rkey->state == RKEY_NONE)
        return ask(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (rkey->state == RKEY_ASKED)
        return -FI_EBUSY;
    return rkey->state == RKEY_GONE || !rkey->is_window ? -FI_EACCES : 0;
}

bool dm_ofi_rkey_is_gone(struct dm_ofi_ep *ep, uint32_t key)
{
    return ep->rkey != NULL && slot_of(ep, key)->key == key && slot_of(ep, key)->state == RKEY_GONE;
}

void dm_ofi_rkey_forget(struct dm_ofi_ep *ep)
{
    free(ep->rkey);
    ep->rkey = NULL;
}

/* ---- ctrl ---- */

void dm_ofi_rkey_asked(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_KEY, .status = 1, .key = key};
    struct dm_ofi_region *region = dm_ofi_key_region(dm_ofi_ia_of(ep), key);

    if (region != NULL && region->pz == ep->ep.pz && (region->only == NULL || region->only == ep)) {
        region->is_reported = true;
        ctrl.status = 0;
        ctrl.va = region->va;
        ctrl.value[0] = region->len;
        ctrl.value[1] = region->addr;
        ctrl.value[2] = region->priv;
        ctrl.len = region->is_window;
        ctrl.spare = region->mr != NULL ? fi_mr_key(region->mr) : 0;
    }
    dm_ofi_ctrl_post(ep, &ctrl);
}

void dm_ofi_rkey_answered(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_rkey *rkey = ep->rkey != NULL ? slot_of(ep, ctrl->key) : NULL;

    if (rkey == NULL || rkey->key != ctrl->key || rkey->state != RKEY_ASKED)
        return;
    rkey->state = ctrl->status == 0 ? RKEY_KNOWN : RKEY_GONE;
    rkey->va = ctrl->va;
    rkey->len = ctrl->value[0];
    rkey->addr = ctrl->value[1];
    rkey->priv = (uint32_t)ctrl->value[2];
    rkey->fabric_key = ctrl->spare;
    rkey->is_window = ctrl->len != 0;
    dm_ofi_push(ep);
    /* It may come to stand for something yet. */
    if (ctrl->status != 0 && ep->rkey != NULL && rkey->key == ctrl->key)
        rkey->state = RKEY_NONE;
}

void dm_ofi_rkey_gone(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_rkey *rkey = ep->rkey != NULL ? slot_of(ep, key) : NULL;

    /* What has been asked will be answered: this was on its way before. */
    if (rkey != NULL && rkey->key == key && rkey->state != RKEY_ASKED)
        rkey->state = RKEY_GONE;
    ep->n_gone_due++;
    dm_ofi_rkey_confirm(ep);
}

/* What has been written is there before the confirmation; what is read may
 * still be on its way to us. */
void dm_ofi_rkey_confirm(struct dm_ofi_ep *ep)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_GONE_OK, .value = {ep->n_gone_due}};

    if (ep->n_gone_due == 0 || ep->n_reads > 0 || ep->conn == NULL)
        return;
    ep->n_gone_due = 0;
    dm_ofi_ctrl_post(ep, &ctrl);
}

bool dm_ofi_rkey_is_confirmed(const struct dm_ofi_ia *ia, const struct dm_pz *pz)
{
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL && ep->n_gone_asked > 0)
            return false;
    }
    return true;
}

void dm_ofi_rkey_confirmed(struct dm_ofi_ep *ep, uint64_t n)
{
    if (ep->n_gone_asked == 0)
        return;
    ep->n_gone_asked -= n < ep->n_gone_asked ? (uint32_t)n : ep->n_gone_asked;
    if (ep->n_gone_asked > 0)
        return;
    dm_list_for_each (it, &ep->ep.obj.ia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *other = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (other != ep && other->ep.pz == ep->ep.pz && other->conn != NULL &&
            !dm_list_is_empty(&other->queue))
            dm_ofi_wait_for_space(other);
    }
    dm_ofi_push(ep); /* at once: its peer may break the connection next */
    if (!dm_ofi_ia_of(ep)->is_in_round)
        dm_ofi_kick(ep->ep.obj.ia);
}

static bool is_confirmed(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL &&
            (ep->n_gone_asked > 0 || dm_ofi_ep_is_using(ep, key) || dm_ofi_recvs_is_using(ep, key)))
            return false;
    }
    return true;
}

bool dm_ofi_rkey_wait(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    return dm_ofi_wait(ia, pz, key, is_confirmed);
}

bool dm_ofi_wait(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key,
                 dm_ofi_is_over *is_over)
{
    uint64_t until = 0;

    while (!is_over(ia, pz, key)) {
        uint64_t now = dm_futex_now();

        if (until == 0)
            until = now + STUCK_NS;
        if (now >= until)
            return false;
        dm_ofi_pump(ia);
    }
    return true;
}

void dm_ofi_rkey_report_gone(struct dm_ofi_ia *ia, const struct dm_ofi_region *region)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_KEY_GONE, .key = region->last_key};

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->conn != NULL && ep->conn->state == DM_CONN_UP && ep->ep.pz == region->pz) {
            ep->n_gone_asked++;
            dm_ofi_ctrl_post(ep, &ctrl);
        }
    }
}
