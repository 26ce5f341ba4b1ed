/*
 * What the peer's memory contexts stand for.
 *
 * A fabric in software answers a request that may not be by closing the
 * connection, without a reason, and knows nothing of zero based regions. So
 * the peer is asked (mail) before its context is used for the first time, and
 * the request is checked here; the fabric checks it again. When a region goes,
 * its owner tells whom it had told.
 *
 * ia->lock is held in all functions.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>

enum { FAR_N = 64 };

#define PATIENCE_NS 5000000000u /* with peers that stand still */

enum far_state { FAR_NONE, FAR_ASKED, FAR_KNOWN, FAR_GONE };

struct dm_ofi_far {
    enum far_state state;
    bool is_window; /* of an RMR */
    uint32_t key;
    uint32_t priv;
    uint64_t va;
    uint64_t len;
    uint64_t addr;       /* how the fabric addresses it... */
    uint64_t fabric_key; /* ...and by which key */
};

static struct dm_ofi_far *slot_of(struct dm_ofi_ep *ep, uint32_t key)
{
    return &ep->far[key % FAR_N];
}

static bool ask(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_ASK_KEY, .key = key};
    struct dm_ofi_far *far;

    if (ep->far == NULL)
        ep->far = calloc(FAR_N, sizeof(*ep->far));
    if (ep->far == NULL)
        return false;
    far = slot_of(ep, key);
    far->state = FAR_ASKED;
    far->key = key;
    dm_ofi_mail_post(ep, &mail);
    return true;
}

int dm_ofi_far_find(struct dm_ofi_ep *ep, const DAT_RMR_TRIPLET *remote, uint64_t len,
                    uint32_t priv, uint64_t *addr_p, uint64_t *key_p)
{
    uint32_t key = remote->rmr_context;
    struct dm_ofi_far *far = ep->far != NULL ? slot_of(ep, key) : NULL;
    uint64_t offset;

    if (far == NULL || far->key != key || far->state == FAR_NONE)
        return ask(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (far->state == FAR_ASKED)
        return -FI_EBUSY;
    offset = remote->virtual_address - far->va;
    if (far->state == FAR_GONE || (far->priv & priv) == 0 || offset > far->len ||
        len > far->len - offset)
        return -FI_EACCES;
    *addr_p = far->addr + offset;
    *key_p = far->fabric_key;
    return 0;
}

int dm_ofi_far_check(struct dm_ofi_ep *ep, uint32_t key)
{
    const struct dm_ofi_far *far = ep->far != NULL ? slot_of(ep, key) : NULL;

    if (far == NULL || far->key != key || far->state == FAR_NONE)
        return ask(ep, key) ? -FI_EBUSY : -FI_EACCES;
    if (far->state == FAR_ASKED)
        return -FI_EBUSY;
    return far->state == FAR_GONE || !far->is_window ? -FI_EACCES : 0;
}

bool dm_ofi_far_is_gone(struct dm_ofi_ep *ep, uint32_t key)
{
    return ep->far != NULL && slot_of(ep, key)->key == key && slot_of(ep, key)->state == FAR_GONE;
}

void dm_ofi_far_forget(struct dm_ofi_ep *ep)
{
    free(ep->far);
    ep->far = NULL;
}

/* ---- mail ---- */

void dm_ofi_far_asked(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_KEY, .status = 1, .key = key};
    struct dm_ofi_region *region = dm_ofi_key_region(dm_ofi_ia_of(ep), key);

    if (region != NULL && region->pz == ep->ep.pz && (region->only == NULL || region->only == ep)) {
        region->is_told = true;
        mail.status = 0;
        mail.va = region->va;
        mail.value[0] = region->len;
        mail.value[1] = region->addr;
        mail.value[2] = region->priv;
        mail.len = region->is_window;
        mail.spare = region->mr != NULL ? fi_mr_key(region->mr) : 0;
    }
    dm_ofi_mail_post(ep, &mail);
}

void dm_ofi_far_told(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_far *far = ep->far != NULL ? slot_of(ep, mail->key) : NULL;

    if (far == NULL || far->key != mail->key || far->state != FAR_ASKED)
        return;
    far->state = mail->status == 0 ? FAR_KNOWN : FAR_GONE;
    far->va = mail->va;
    far->len = mail->value[0];
    far->addr = mail->value[1];
    far->priv = (uint32_t)mail->value[2];
    far->fabric_key = mail->spare;
    far->is_window = mail->len != 0;
    dm_ofi_push(ep);
    /* It may come to stand for something yet. */
    if (mail->status != 0 && ep->far != NULL && far->key == mail->key)
        far->state = FAR_NONE;
}

void dm_ofi_far_gone(struct dm_ofi_ep *ep, uint32_t key)
{
    struct dm_ofi_far *far = ep->far != NULL ? slot_of(ep, key) : NULL;

    /* What has been asked will be answered: this was on its way before. */
    if (far != NULL && far->key == key && far->state != FAR_ASKED)
        far->state = FAR_GONE;
    ep->n_gone_due++;
    dm_ofi_far_confirm(ep);
}

/* What has been written is there before the confirmation; what is read may
 * still be on its way to us. */
void dm_ofi_far_confirm(struct dm_ofi_ep *ep)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_GONE_OK, .value = {ep->n_gone_due}};

    if (ep->n_gone_due == 0 || ep->n_reads > 0 || ep->conn == NULL)
        return;
    ep->n_gone_due = 0;
    dm_ofi_mail_post(ep, &mail);
}

bool dm_ofi_far_is_confirmed(const struct dm_ofi_ia *ia, const struct dm_pz *pz)
{
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL && ep->n_gone_asked > 0)
            return false;
    }
    return true;
}

void dm_ofi_far_confirmed(struct dm_ofi_ep *ep, uint64_t n)
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
            dm_ofi_wait_for_room(other);
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

bool dm_ofi_far_wait(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key)
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
            until = now + PATIENCE_NS;
        if (now >= until)
            return false;
        dm_ofi_pump(ia);
    }
    return true;
}

void dm_ofi_far_tell_gone(struct dm_ofi_ia *ia, const struct dm_ofi_region *region)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_KEY_GONE, .key = region->last_key};

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_ofi_ep *ep = dm_container_of(it, struct dm_ofi_ep, ep.obj.link);

        if (ep->conn != NULL && ep->conn->state == DM_CONN_UP && ep->ep.pz == region->pz) {
            ep->n_gone_asked++;
            dm_ofi_mail_post(ep, &mail);
        }
    }
}
