/*
 * Requests and receives: those that are not in use are in a pool of the instance, which grows by
 * chunks.
 */
#include "providers/net/op.h"

enum { OPS_PER_CHUNK = 32 };

/* Behind it are ops of the provider's size. */
struct op_chunk {
    DM_ALIGNED(16) struct dm_list link;
};

bool dm_net_op_pool_grow(struct dm_net *net)
{
    size_t size = net->ops->op_size;
    struct op_chunk *chunk = malloc(sizeof(*chunk) + OPS_PER_CHUNK * size);
    char *at;

    if (chunk == NULL)
        return false;
    dm_list_add_tail(&net->pool.chunks, &chunk->link);
    at = (char *)(chunk + 1);
    for (int i = 0; i < OPS_PER_CHUNK; i++, at += size)
        dm_list_add_tail(&net->pool.free, &((struct dm_net_op *)(void *)at)->link);
    return true;
}

void dm_net_ops_close(struct dm_net *net)
{
    while (!dm_list_is_empty(&net->pool.chunks)) {
        struct op_chunk *chunk = dm_container_of(net->pool.chunks.next, struct op_chunk, link);

        dm_list_del(&chunk->link);
        free(chunk);
    }
    dm_list_init(&net->pool.free);
}

bool dm_net_op_uses(const struct dm_net_op *op, uint32_t key)
{
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        if (op->dto.seg[i].lmr_context == key && op->dto.seg[i].segment_length > 0)
            return true;
    return false;
}

uint64_t dm_net_op_space(const struct dm_net_op *op)
{
    uint64_t len = 0;

    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        len += op->dto.seg[i].segment_length;
    return len;
}
