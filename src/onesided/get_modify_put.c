/*
 * Get-modify-put: updates of private memory of a process of the same host that computes.
 *
 * Its owner would have to apply packets, and does not come. So the origin takes the exclusive lock
 * of the part, which keeps its owner out, too (combine.c), reads the elements by RDMA, combines
 * them in a copy and writes them back. That is two system calls, more than a waiting target needs
 * (assist_origin.c).
 */
#include <stdlib.h>
#include <string.h>

#include "onesided/combine.h"
#include "onesided/get_modify_put.h"
#include "onesided/map.h"
#include "onesided/state.h"

#define COPY_BYTES 65536

struct gmp_transfer {
    struct dm_rdma rdma;
    struct dm_wait_word word;
    bool is_over;
    int err;
};

static bool gmp_transfer_is_over(struct dm_wait_word *word)
{
    return dm_container_of(word, struct gmp_transfer, word)->is_over;
}

static void gmp_transfer_done(struct dm_rdma *rdma, int err)
{
    struct gmp_transfer *t = dm_container_of(rdma, struct gmp_transfer, rdma);

    t->err = err;
    t->is_over = true;
}

/* Between the copy and len bytes at offset of the target's part. */
static int gmp_transfer(const struct dm_rma_call *call, uint64_t offset, size_t len, bool is_read)
{
    const struct dm_win_part *part = &call->win->parts[call->target];
    struct gmp_transfer t = {.rdma.done = gmp_transfer_done, .word.is_over = gmp_transfer_is_over};
    int proc = dm_rma_proc(call->win, call->target);
    int err;

    if (is_read)
        err = dm_chan_rdma_read(dm_world.chan, proc, &t.rdma, dm_rma_state.copy,
                                dm_rma_state.copy_mr, part->base + offset, &part->rkey, len);
    else
        err = dm_chan_rdma_write(dm_world.chan, proc, &t.rdma, dm_rma_state.copy,
                                 dm_rma_state.copy_mr, part->base + offset, &part->rkey, len);
    if (err != DM_OK)
        return err;
    dm_wait_until(dm_world.chan, &t.word);
    return t.err;
}

/* So many elements as the copy holds. */
static int update_piece(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                        uint64_t offset, size_t n, const char *data, char *old)
{
    const struct dm_type *type = dm_type_get(acc->basic);
    size_t len = dm_rma_span(type, n);
    int err = dm_rma_excl_lock(call->win, call->target);

    if (err != DM_OK)
        return err;
    err = gmp_transfer(call, offset, len, true);
    if (err == DM_OK && acc->pkt.flags & DM_RMA_SWAP)
        dm_rma_swap_copy(dm_rma_state.copy, acc->basic, data, data + type->size, old);
    else if (err == DM_OK)
        err = dm_rma_combine_copy(dm_op_get(acc->op), dm_rma_state.copy, n, acc->basic,
                                  acc->op == MPI_NO_OP ? NULL : data, old);
    if (err == DM_OK && acc->op != MPI_NO_OP)
        err = gmp_transfer(call, offset, len, false);
    dm_rma_excl_unlock(call->win, call->target);
    return err;
}

static bool gmp_is_free(struct dm_wait_word *word)
{
    (void)word;
    return !dm_rma_state.is_updating;
}

/* The copy, for one call at a time: other threads may wait for it. */
static bool gmp_begin(void)
{
    struct dm_wait_word word = {.is_over = gmp_is_free, .is_untold = true};
    struct dm_adapt *adapt = dm_chan_adapt(dm_world.chan);

    dm_wait_until(dm_world.chan, &word);
    if (dm_rma_state.copy == NULL) {
        char *copy = aligned_alloc(DM_CACHE_LINE, COPY_BYTES);

        if (copy == NULL || dm_adapt_reg(adapt, copy, COPY_BYTES, &dm_rma_state.copy_mr) != DM_OK) {
            free(copy);
            return false;
        }
        dm_rma_state.copy = copy;
    }
    dm_rma_state.is_updating = true;
    return true;
}

bool dm_rma_get_modify_put(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                           size_t n, const char *data, char *old, int *err_p)
{
    const struct dm_type *type = dm_type_get(acc->basic);
    size_t size = (size_t)type->size, most = COPY_BYTES / (size_t)type->extent;
    uint64_t offset = acc->offset;

    /* what lies in a hole, or behind the last element, may be changed by others meanwhile */
    if (dm_rma_span(type, n) != n * size)
        return false;
    if (!dm_rma_is_guarded(call->win, call->target) || call->target == call->win->comm->rank ||
        dm_rma_is_busy(call->win, call->target) || !gmp_begin())
        return false;
    dm_rma_state.counts.n_path[DM_PATH_GET_MODIFY_PUT]++;
    *err_p = DM_OK;
    while (n > 0 && *err_p == DM_OK) {
        size_t part = n < most ? n : most;

        *err_p = update_piece(call, acc, offset, part, data, old);
        data += data != NULL ? part * size : 0;
        old += old != NULL ? part * size : 0;
        offset += part * (size_t)type->extent;
        n -= part;
    }
    dm_rma_state.is_updating = false;
    return true;
}

void dm_rma_get_modify_put_stop(void)
{
    if (dm_rma_state.copy == NULL)
        return;
    dm_adapt_unreg(dm_chan_adapt(dm_world.chan), dm_rma_state.copy_mr);
    free(dm_rma_state.copy);
    dm_rma_state.copy = NULL;
}
