/*
 * Requests that are not in use: a pool of the instance, which grows by chunks.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OPS_PER_CHUNK = 32 };

struct op_chunk {
    struct dm_list link;
    struct dm_ofi_op ops[OPS_PER_CHUNK];
};

static bool ops_grow(struct dm_ofi_ia *ia)
{
    struct op_chunk *chunk = malloc(sizeof(*chunk));

    if (chunk == NULL)
        return false;
    dm_list_add_tail(&ia->pool.chunks, &chunk->link);
    for (int i = 0; i < OPS_PER_CHUNK; i++)
        dm_list_add_tail(&ia->pool.free, &chunk->ops[i].link);
    return true;
}

struct dm_ofi_op *dm_ofi_op_new(struct dm_ofi_ep *ep, struct dm_ofi_ia *ia,
                                const struct dm_dto *dto)
{
    struct dm_ofi_op *op;
    DAT_LMR_TRIPLET *seg;

    if (dm_list_is_empty(&ia->pool.free) && !ops_grow(ia))
        return NULL;
    op = dm_container_of(ia->pool.free.prev, struct dm_ofi_op, link);
    seg = op->few;
    op->more = NULL;
    if (dto->n_seg > DM_OFI_OP_SEGS) {
        op->more = malloc(dto->n_seg * sizeof(*seg));
        if (op->more == NULL)
            return NULL;
        seg = op->more;
    }
    dm_list_del(&op->link);
    op->ep = ep;
    op->dto = *dto;
    op->dto.seg = seg;
    if (dto->n_seg > 0)
        memcpy(seg, dto->seg, dto->n_seg * sizeof(*seg));
    op->is_done = false;
    op->is_posted = false;
    op->is_counted = false;
    op->is_requested = false;
    op->is_granted = false;
    op->is_bad = false;
    op->needs_ack = false;
    op->id = 0;
    op->n_pending = 0;
    op->n_unsignalled = 0;
    op->status = DAT_DTO_SUCCESS;
    op->len = 0;
    op->pos = 0;
    op->bounce = NULL;
    op->sinks = NULL;
    op->n_sinks = 0;
    return op;
}

void dm_ofi_op_free(struct dm_ofi_ia *ia, struct dm_ofi_op *op)
{
    while (op->n_sinks > 0)
        fi_close(&op->sinks[--op->n_sinks]->fid);
    free(op->sinks);
    free(op->more);
    free(op->bounce);
    op->sinks = NULL;
    op->more = NULL;
    op->bounce = NULL;
    dm_list_add_tail(&ia->pool.free, &op->link);
}

bool dm_ofi_excess_map(struct dm_ofi_ia *ia)
{
    void *mem;

    if (ia->excess != NULL)
        return true;
    mem = mmap(NULL, DM_OFI_EXCESS_LEN, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        return false;
    ia->excess = mem;
    return true;
}

void dm_ofi_ops_close(struct dm_ofi_ia *ia)
{
    if (ia->excess != NULL)
        munmap(ia->excess, DM_OFI_EXCESS_LEN);
    ia->excess = NULL;
    while (!dm_list_is_empty(&ia->pool.chunks)) {
        struct op_chunk *chunk = dm_container_of(ia->pool.chunks.next, struct op_chunk, link);

        dm_list_del(&chunk->link);
        free(chunk);
    }
    dm_list_init(&ia->pool.free);
}
