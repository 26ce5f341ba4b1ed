/*
 * Memory contexts: index and generation. Freed indices are reused in order of
 * freeing, with a new generation; an index whose generations are used up is
 * retired, so no context ever comes back. Index 0 is not used. ia->lock is held
 * in all functions.
 */
#include "providers/tcp/key.h"

#include <stdlib.h>

#include "providers/tcp/dto.h"

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024, GROW = 64, INDEX_N = DM_TCP_KEY_INDEX + 1, LAST_GEN = 0xffff };
enum { GEN_SHIFT = 16 };

static uint32_t tcp_key_index(uint32_t key)
{
    return key & DM_TCP_KEY_INDEX;
}

static bool tcp_keys_grow(struct dm_tcp_ia *ia)
{
    uint32_t n = ia->keys.n == 0 ? GROW : ia->keys.n * 2;
    struct dm_tcp_region *regions;
    uint32_t *free_keys;

    regions = realloc(ia->keys.regions, n * sizeof(*regions));
    if (regions == NULL)
        return false;
    memset(regions + ia->keys.n, 0, (n - ia->keys.n) * sizeof(*regions));
    ia->keys.regions = regions;
    free_keys = malloc(n * sizeof(*free_keys));
    if (free_keys == NULL)
        return false;
    for (uint32_t i = 0; i < ia->keys.n_free; i++)
        free_keys[i] = ia->keys.free[(ia->keys.free_head + i) % ia->keys.n];
    free(ia->keys.free);
    ia->keys.free = free_keys;
    ia->keys.free_head = 0;
    ia->keys.n = n;
    return true;
}

/* An unused index; false when all are taken. */
static bool tcp_index_take(struct dm_tcp_ia *ia, uint32_t *index_p)
{
    if (ia->keys.n_used == 0)
        ia->keys.n_used = 1;
    if (ia->keys.n_free < REUSE_AFTER && ia->keys.n_used < INDEX_N &&
        (ia->keys.n_used < ia->keys.n || tcp_keys_grow(ia))) {
        *index_p = ia->keys.n_used++;
        return true;
    }
    if (ia->keys.n_free == 0)
        return false;
    *index_p = ia->keys.free[ia->keys.free_head];
    ia->keys.free_head = (ia->keys.free_head + 1) % ia->keys.n;
    ia->keys.n_free--;
    return true;
}

uint32_t dm_tcp_key_new(struct dm_pia *pia)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)pia;
    struct dm_tcp_region *region;
    uint32_t index;

    if (!tcp_index_take(ia, &index))
        return 0;
    region = &ia->keys.regions[index];
    region->last_key = ((region->last_key >> GEN_SHIFT) + 1) << GEN_SHIFT | index;
    return region->last_key;
}

void dm_tcp_key_open(struct dm_tcp_ia *ia, const struct dm_tcp_region *want)
{
    struct dm_tcp_region *region = &ia->keys.regions[tcp_key_index(want->key)];

    *region = *want;
    region->last_key = want->key;
}

bool dm_tcp_key_is_open(const struct dm_tcp_ia *ia, uint32_t key)
{
    uint32_t index = tcp_key_index(key);

    return key != 0 && index < ia->keys.n_used && ia->keys.regions[index].key == key;
}

bool dm_tcp_key_is_window(const struct dm_tcp_ep *ep, uint32_t key)
{
    const struct dm_tcp_ia *ia = dm_tcp_ia_of(ep);
    const struct dm_tcp_region *region = &ia->keys.regions[tcp_key_index(key)];

    return dm_tcp_key_is_open(ia, key) && region->is_window && region->pz == ep->ep.pz &&
           (region->only == NULL || region->only == ep);
}

void dm_tcp_key_hide(struct dm_tcp_ia *ia, uint32_t key)
{
    struct dm_tcp_region *region = &ia->keys.regions[tcp_key_index(key)];

    if (region->key == key)
        region->key = 0;
}

/* Does the peer write to the region now, or is it to get something from there? */
static bool conn_is_using(const struct dm_tcp_conn *conn, uint32_t key)
{
    const struct dm_tcp_in *in = &conn->in;

    if (in->left > 0 && in->head.type <= DM_TCP_WRITE_IMMED && in->head.key == key)
        return true;
    if (in->op != NULL && dm_tcp_op_uses(in->op, key))
        return true;
    dm_list_for_each (it, &conn->out.answers)
        if (dm_container_of(it, struct dm_tcp_answer, link)->key == key)
            return true;
    return false;
}

bool dm_tcp_key_is_used(const struct dm_tcp_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &ia->net.pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_tcp_ep *ep = dm_container_of(it, struct dm_tcp_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL && ep->conn->state != DM_CONN_CLOSED &&
            (dm_tcp_dto_is_using(ep, key) || conn_is_using(ep->conn, key)))
            return true;
    }
    return false;
}

static bool key_is_unused(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    return !dm_tcp_key_is_used((struct dm_tcp_ia *)net, pz, key);
}

bool dm_tcp_key_wait(struct dm_tcp_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    return dm_net_wait_over(&ia->net, pz, key, key_is_unused);
}

void dm_tcp_key_free(struct dm_pia *pia, uint32_t key)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)pia;

    if (key >> GEN_SHIFT == LAST_GEN)
        return;
    ia->keys.free[(ia->keys.free_head + ia->keys.n_free) % ia->keys.n] = tcp_key_index(key);
    ia->keys.n_free++;
}

void dm_tcp_keys_close(struct dm_tcp_ia *ia)
{
    free(ia->keys.regions);
    free(ia->keys.free);
    ia->keys.regions = NULL;
    ia->keys.free = NULL;
    ia->keys.n = 0;
    ia->keys.n_used = 0;
    ia->keys.n_free = 0;
}
