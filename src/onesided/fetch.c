/*
 * MPI_Fetch_and_op and MPI_Compare_and_swap (MPI-4.0 section 12.3.4): one element, the old
 * value comes back. Packets are those of MPI_Get_accumulate, made without a walk.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/call.h"
#include "onesided/combine.h"
#include "onesided/get_modify_put.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "onesided/xfer.h"

#define ELEM_MAX 32 /* bytes of the longest predefined type */

/* An element of mine: combined at once, if it is a plain one. */
static int fetch_at(const struct dm_rma_call *call, char *at, const void *origin, void *result,
                    const struct dm_type *type, struct dm_op *op)
{
    bool has_data = op->obj.handle != MPI_NO_OP;
    char data[ELEM_MAX], old[ELEM_MAX];
    int err;

    if (type->size == type->extent)
        return dm_rma_combine(call->win, call->target, op, at, 1, type->basic,
                              has_data ? origin : NULL, result);
    if (has_data)
        dm_type_pack(origin, 1, type, 0, data, (size_t)type->size);
    err = dm_rma_combine(call->win, call->target, op, at, 1, type->basic, has_data ? data : NULL,
                         old);
    if (err == DM_OK)
        dm_type_unpack(result, 1, type, 0, old, (size_t)type->size);
    return err;
}

/* The payload: where the answer goes, the element's place, and up to two values. */
struct fetch {
    struct dm_rma_run id;
    struct dm_rma_run run;
    char data[2 * ELEM_MAX];
};

/* By a target on this host that is looking; types with holes are not worth it. */
static bool send_by_target(const struct dm_rma_call *call, const struct fetch *f, size_t len,
                           MPI_Op op, int flags, void *result, const struct dm_type *type)
{
    const struct dm_pkt_rma_acc acc = {
        .pkt = {.flags = (uint8_t)flags, .data_len = (uint32_t)len},
        .op = op,
        .offset = f->run.offset,
        .basic = f->run.basic,
    };

    return type->size == type->extent &&
           dm_rma_assist(call, DM_ASSIST_UPDATE, &acc, f->data, result, (size_t)type->size);
}

/* By RDMA, where the target computes. */
static bool fetch_update_direct(const struct dm_rma_call *call, const struct fetch *f, MPI_Op op,
                                int flags, void *result, const struct dm_type *type, int *err_p)
{
    const struct dm_pkt_rma_acc acc = {
        .pkt.flags = (uint8_t)flags, .op = op, .offset = f->run.offset, .basic = f->run.basic};
    char old[ELEM_MAX];

    if (!dm_rma_get_modify_put(call, &acc, 1, f->data, old, err_p))
        return false;
    if (*err_p == DM_OK)
        dm_type_unpack(result, 1, type, 0, old, (size_t)type->size);
    return true;
}

/* Send it; len bytes of data are in f. */
static int send_fetch(const struct dm_rma_call *call, struct fetch *f, size_t len, MPI_Op op,
                      int flags, void *result, struct dm_type *type)
{
    struct dm_pkt_rma_acc acc = {
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(acc),
                .flags = (uint8_t)flags,
                .data_len = (uint32_t)(2 * sizeof(struct dm_rma_run) + len)},
        .win = call->win->parts[call->target].handle,
        .op = op,
        .n_runs = 1,
    };
    struct dm_rma_msg *msg;
    struct dm_rma_xfer *x;
    int err;

    if (send_by_target(call, f, len, op, flags, result, type))
        return DM_OK;
    dm_rma_assist_flush(call->win, call->target);
    if (fetch_update_direct(call, f, op, flags, result, type, &err))
        return err;
    /* now: while x waits for its reply a lost target ends it */
    dm_rma_make_space(call);
    err = dm_rma_reply_new(call, result, 1, type, 0, &x);
    if (err != DM_OK)
        return err;
    f->id = (struct dm_rma_run){.offset = (uint64_t)(uintptr_t)x};
    err = dm_rma_send_deferred(call->win, call->target, false);
    if (err == DM_OK)
        err = dm_chan_send_now(dm_world.chan, dm_rma_proc(call->win, call->target), &acc.pkt, f);
    if (err == DM_EAGAIN) {
        msg = dm_rma_msg_get(call);
        err = DM_ENOMEM;
        if (msg != NULL) {
            memcpy(msg->data, f, acc.pkt.data_len);
            err = dm_rma_msg_send(msg, &acc.pkt, msg->data);
        }
    }
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

/* n elements in one packet, of data_len bytes of operands. */
static int fetch_packet(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc, size_t n,
                        const char *data, size_t data_len, char *result)
{
    struct dm_rma_msg *msg = dm_rma_msg_new(call);
    struct dm_rma_run *records;
    struct dm_pkt_rma_acc head = *acc;
    struct dm_rma_xfer *x;
    int err;

    if (msg == NULL)
        return DM_ENOMEM;
    err = dm_rma_reply_new(call, result, n, dm_type_get(acc->basic), 0, &x);
    if (err != DM_OK) {
        dm_pool_put(&dm_rma_state.msgs, msg);
        return err;
    }
    records = &msg->runs[DM_RMA_ACC_RUNS - 1];
    records[0] = (struct dm_rma_run){.offset = (uint64_t)(uintptr_t)x};
    records[1] = (struct dm_rma_run){.offset = acc->offset, .n = (uint32_t)n, .basic = acc->basic};
    memcpy(msg->data, data, data_len);
    head.pkt.data_len = (uint32_t)(2 * sizeof(*records) + data_len);
    head.n_runs = 1;
    err = dm_rma_msg_send(msg, &head.pkt, records);
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

int dm_rma_update_remote(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                         const char *data, char *result, size_t result_len)
{
    bool is_fetch = (acc->pkt.flags & DM_RMA_FETCH) != 0;
    size_t size = (size_t)dm_type_get(acc->basic)->size;
    size_t n = (is_fetch ? result_len : acc->pkt.data_len) / size;
    struct dm_pkt_rma_acc head = {
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(head),
                .flags = acc->pkt.flags,
                .data_len = acc->pkt.data_len},
        .win = call->win->parts[call->target].handle,
        .op = acc->op,
        .offset = acc->offset,
        .basic = acc->basic,
    };
    int err = DM_OK;

    if (dm_rma_get_modify_put(call, &head, n, data, is_fetch ? result : NULL, &err))
        return err;
    if (!is_fetch)
        return dm_rma_send_plain(call, &head, data, acc->pkt.data_len);
    while (n > 0 && err == DM_OK) {
        size_t part = n < DM_RMA_ACC_BYTES / size ? n : DM_RMA_ACC_BYTES / size;
        size_t len = acc->pkt.flags & DM_RMA_SWAP ? 2 * size
                     : acc->op != MPI_NO_OP       ? part * size
                                                  : 0;

        err = fetch_packet(call, &head, part, data, len, result);
        data += len;
        result += part * size;
        head.offset += part * size;
        n -= part;
    }
    return err;
}

int dm_fetch_and_op(const void *origin, void *result, struct dm_type *type, int target,
                    MPI_Aint disp, struct dm_op *op, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    bool has_data = op->obj.handle != MPI_NO_OP;
    int basic = type->basic;
    struct fetch f;
    uint64_t offset;
    char *map;
    int err;

    if (dm_likely(type->is_builtin)) {
        map = dm_rma_quick_update(win, target, disp, (size_t)type->extent, basic);
        if (map != NULL && op->is_builtin && dm_op_check(op, type) == DM_OK)
            return fetch_at(&call, map, origin, result, type, op);
    }
    if (target == MPI_PROC_NULL)
        return DM_OK;
    if (!type->is_builtin)
        return DM_FAIL(DM_ERR_TYPE, "MPI_Fetch_and_op takes predefined datatypes only");
    err = dm_rma_check_call(win, 1, type, target, disp, 1, type, &offset);
    if (err != DM_OK || type->size == 0)
        return err;
    map = dm_rma_map(&call);
    if (map != NULL && dm_rma_may_combine(win, target, basic, map + offset))
        return fetch_at(&call, map + offset, origin, result, type, op);
    if (has_data)
        dm_type_pack(origin, 1, type, 0, f.data, (size_t)type->size);
    f.run = (struct dm_rma_run){.offset = offset, .n = 1, .basic = basic};
    return send_fetch(&call, &f, has_data ? (size_t)type->size : 0, op->obj.handle, DM_RMA_FETCH,
                      result, type);
}

int dm_compare_and_swap(const void *origin, const void *compare, void *result, struct dm_type *type,
                        int target, MPI_Aint disp, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    size_t size = (size_t)type->size;
    int basic = type->basic;
    struct fetch f;
    uint64_t offset;
    char *map;
    int err;

    if (target == MPI_PROC_NULL)
        return DM_OK;
    err = dm_rma_check_call(win, 1, type, target, disp, 1, type, &offset);
    if (err != DM_OK)
        return err;
    map = dm_rma_map(&call);
    if (map != NULL && dm_rma_may_combine(win, target, basic, map + offset)) {
        dm_rma_swap(win, target, map + offset, basic, origin, compare, result);
        return DM_OK;
    }
    f.run = (struct dm_rma_run){.offset = offset, .n = 1, .basic = basic};
    memcpy(f.data, origin, size);
    memcpy(f.data + size, compare, size);
    return send_fetch(&call, &f, 2 * size, MPI_REPLACE, DM_RMA_FETCH | DM_RMA_SWAP, result, type);
}
