/*
 * MPI_Accumulate (MPI-4.0 section 12.3.4): packets that the target applies.
 *
 * One engine applies them, in order of arrival, so each element is updated atomically
 * and accumulates of one origin keep their order. Data travels in pieces that fit a ring record
 * and are applied from there.
 */
#include <string.h>

#include "onesided/rma.h"

static void msg_done(struct dm_chan_send *send, int err)
{
    struct dm_rma_msg *msg = dm_container_of(send, struct dm_rma_msg, send);

    if (err != DM_OK && msg->win->err == DM_OK)
        msg->win->err = err;
    msg->win->n_pending--;
    msg->win->peers[msg->target].n_pending--;
    dm_pool_put(&dm_rma_state.msgs, msg);
}

struct dm_rma_msg *dm_rma_msg_new(struct dm_win *win, int target)
{
    struct dm_rma_msg *msg;

    /* queued packets hold memory: let some go before making more */
    while (win->peers[target].n_pending > 256 && win->err == DM_OK &&
           !dm_chan_is_lost(dm_world.chan, dm_rma_proc(win, target)))
        dm_chan_progress_wait(dm_world.chan);
    msg = dm_pool_get(&dm_rma_state.msgs);
    if (msg == NULL) {
        DM_FAIL(DM_ENOMEM, "packet of an accumulate");
        return NULL;
    }
    msg->win = win;
    msg->target = target;
    msg->send.done = msg_done;
    msg->send.read = NULL;
    return msg;
}

int dm_rma_msg_send(struct dm_rma_msg *msg, const struct dm_pkt *pkt, const void *payload)
{
    struct dm_win *win = msg->win;
    int target = msg->target;
    int err;

    win->n_pending++;
    win->peers[target].n_pending++;
    win->peers[target].is_unacked = true;
    msg->send.data = payload;
    err = dm_chan_send(dm_world.chan, dm_rma_proc(win, target), pkt, &msg->send);
    if (err != DM_OK)
        msg_done(&msg->send, err);
    return err;
}

/* The accumulate being sent: the origin's data, and the packet being filled. */
struct acc_walk {
    struct dm_win *win;
    int target;
    int op;
    const void *origin;
    size_t count;
    const struct dm_type *type;
    size_t packed; /* bytes of the origin's packed form used so far */
    struct dm_rma_msg *msg;
    uint32_t n_runs;
    size_t n_bytes;
};

static struct dm_pkt_rma_acc acc_header(const struct acc_walk *w, size_t data_len)
{
    return (struct dm_pkt_rma_acc){
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(struct dm_pkt_rma_acc),
                .data_len = (uint32_t)data_len},
        .win = w->win->parts[w->target].handle,
        .op = w->op,
    };
}

/* Send the packet filled so far. */
static int send_filled(struct acc_walk *w)
{
    struct dm_pkt_rma_acc acc;
    struct dm_rma_msg *msg = w->msg;

    if (msg == NULL)
        return DM_OK;
    acc = acc_header(w, w->n_runs * sizeof(struct dm_rma_run) + w->n_bytes);
    acc.n_runs = w->n_runs;
    w->msg = NULL;
    return dm_rma_msg_send(msg, &acc.pkt, &msg->runs[DM_RMA_ACC_RUNS - w->n_runs]);
}

/* Called for each run of equal basic elements of the target, in type map order. */
static int add_run(void *arg, void *addr, size_t n, int basic)
{
    struct acc_walk *w = arg;
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;
    uint64_t offset = (uint64_t)(uintptr_t)addr - w->win->parts[w->target].base;

    while (n > 0) {
        size_t part;

        if (w->msg != NULL &&
            (w->n_runs == DM_RMA_ACC_RUNS || w->n_bytes + size > DM_RMA_ACC_BYTES)) {
            int err = send_filled(w);

            if (err != DM_OK)
                return err;
        }
        if (w->msg == NULL) {
            w->msg = dm_rma_msg_new(w->win, w->target);
            if (w->msg == NULL)
                return DM_ENOMEM;
            w->n_runs = 0;
            w->n_bytes = 0;
        }
        part = (DM_RMA_ACC_BYTES - w->n_bytes) / size;
        if (part > n)
            part = n;
        dm_type_pack(w->origin, w->count, w->type, w->packed, w->msg->data + w->n_bytes,
                     part * size);
        w->n_runs++;
        w->msg->runs[DM_RMA_ACC_RUNS - w->n_runs] =
            (struct dm_rma_run){.offset = offset, .n = (uint32_t)part, .basic = basic};
        w->n_bytes += part * size;
        w->packed += part * size;
        offset += part * (size_t)type->extent;
        n -= part;
    }
    return DM_OK;
}

/* Contiguous elements of one basic type on both sides: no run records, often no copy. */
static int send_plain(struct acc_walk *w, const char *data, uint64_t offset, size_t len,
                      const struct dm_type *basic)
{
    size_t step = DM_RMA_ACC_BYTES / (size_t)basic->size * (size_t)basic->size;

    while (len > 0) {
        size_t part = len < step ? len : step;
        struct dm_pkt_rma_acc acc = acc_header(w, part);
        int err;

        acc.offset = offset;
        acc.basic = basic->obj.handle;
        err = dm_chan_send_now(dm_world.chan, dm_rma_proc(w->win, w->target), &acc.pkt, data);
        if (err == DM_OK) {
            w->win->peers[w->target].is_unacked = true;
        } else if (err == DM_EAGAIN) {
            struct dm_rma_msg *msg = dm_rma_msg_new(w->win, w->target);

            if (msg == NULL)
                return DM_ENOMEM;
            memcpy(msg->data, data, part);
            err = dm_rma_msg_send(msg, &acc.pkt, msg->data);
        }
        if (err != DM_OK)
            return err;
        data += part;
        offset += part;
        len -= part;
    }
    return DM_OK;
}

/* Derived types must be made of one basic type, which op must be allowed on (section 12.3.4). */
static int check_op(const struct dm_op *op, const struct dm_type *type)
{
    if (!op->is_builtin)
        return DM_FAIL(DM_ERR_OP, "only predefined operations can be used with MPI_Accumulate");
    if (op->obj.handle == MPI_REPLACE || op->obj.handle == MPI_NO_OP || type->size == 0)
        return DM_OK;
    if (!type->is_builtin) {
        type = dm_type_get(type->basic);
        if (type == NULL)
            return DM_FAIL(DM_ERR_TYPE,
                           "the target type mixes basic types, which only MPI_REPLACE allows");
    }
    return dm_op_check(op, type);
}

int dm_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                  MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_op *op,
                  struct dm_win *win)
{
    struct acc_walk w = {
        .win = win,
        .target = target,
        .op = op->obj.handle,
        .origin = origin,
        .count = origin_count,
        .type = origin_type,
    };
    uint64_t offset;
    int err;

    if (target == MPI_PROC_NULL)
        return DM_OK;
    err = check_op(op, target_type);
    if (err == DM_OK)
        err = dm_rma_check_call(win, origin_count, origin_type, target, disp, target_count,
                                target_type, &offset);
    if (err != DM_OK)
        return err;
    if (origin_count * (uint64_t)origin_type->size == 0 || op->obj.handle == MPI_NO_OP)
        return DM_OK;
    if (target_type->is_builtin && target_type->is_contig && origin_type == target_type)
        return send_plain(&w, origin, offset, origin_count * (size_t)origin_type->size,
                          target_type);
    err = dm_type_each_run((void *)(uintptr_t)(win->parts[target].base + offset), target_count,
                           target_type, add_run, &w);
    return err != DM_OK ? err : send_filled(&w);
}
