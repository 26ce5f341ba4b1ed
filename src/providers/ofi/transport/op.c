/*
 * Requests and receives: what the fabric has of one.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "providers/net/op.h"
#include "providers/net/transport.h"

struct dm_net_op *dm_transport_op_new(struct dm_net *net, const struct dm_dto *dto)
{
    struct dm_ofi_op *op = (struct dm_ofi_op *)dm_net_op_new(net, dto);

    if (op == NULL)
        return NULL;
    op->ep = NULL;
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
    op->bounce = NULL;
    op->sinks = NULL;
    op->n_sinks = 0;
    return &op->base;
}

void dm_ofi_op_free(struct dm_ofi_op *op)
{
    while (op->n_sinks > 0)
        fi_close(&op->sinks[--op->n_sinks]->fid);
    free(op->sinks);
    free(op->bounce);
    op->sinks = NULL;
    op->bounce = NULL;
    dm_net_op_free(dm_net_of(&op->ep->base), &op->base);
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

void dm_ofi_excess_unmap(struct dm_ofi_ia *ia)
{
    if (ia->excess != NULL)
        munmap(ia->excess, DM_OFI_EXCESS_LEN);
    ia->excess = NULL;
}
