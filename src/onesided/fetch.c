/*
 * MPI_Fetch_and_op and MPI_Compare_and_swap (MPI-4.0 section 12.3.4): one element, the old
 * value comes back. Packets are those of MPI_Get_accumulate, made without a walk.
 */
#include <string.h>

#include "onesided/call.h"
#include "onesided/combine.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "onesided/update.h"
#include "onesided/xfer.h"

#define ELEM_MAX 32 /* bytes of the longest predefined type */

/* An element that this process can address: combined at once. */
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

/* One element on its way. The payload: where the answer goes, the element's place, two values. */
struct fetch {
    struct dm_rma_update update;
    struct dm_type *type;
    struct fetch_payload {
        struct dm_rma_run id;
        struct dm_rma_run run;
        char data[2 * ELEM_MAX];
    } payload;
};

/* By a packet, which is not copied if it can go at once. */
static int fetch_send(const struct dm_rma_update *u)
{
    struct fetch *f = dm_container_of(u, struct fetch, update);
    const struct dm_rma_call *call = u->call;
    struct dm_pkt_rma_acc acc = dm_rma_acc_header(
        call, u->acc.op, u->acc.pkt.flags, 2 * sizeof(struct dm_rma_run) + u->acc.pkt.data_len);
    struct dm_rma_msg *msg;
    struct dm_rma_xfer *x;
    int err;

    /* now: while x waits for its reply a lost target ends it */
    dm_rma_make_space(call);
    err = dm_rma_reply_new(call, u->result, 1, f->type, 0, &x);
    if (err != DM_OK)
        return err;
    acc.n_runs = 1;
    f->payload.id = (struct dm_rma_run){.offset = (uint64_t)(uintptr_t)x};
    f->payload.run = (struct dm_rma_run){.offset = u->acc.offset, .n = 1, .basic = u->acc.basic};
    err = dm_rma_send_deferred(call->win, call->target, false);
    if (err == DM_OK)
        err = dm_chan_send_now(dm_world.chan, dm_rma_proc(call->win, call->target), &acc.pkt,
                               &f->payload);
    if (err == DM_OK)
        dm_rma_state.counts.n_path[DM_PATH_PACKETS]++;
    if (err == DM_EAGAIN) {
        msg = dm_rma_msg_get(call);
        err = DM_ENOMEM;
        if (msg != NULL) {
            memcpy(msg->data, &f->payload, acc.pkt.data_len);
            err = dm_rma_msg_send(msg, &acc.pkt, msg->data);
        }
    }
    if (err != DM_OK)
        dm_rma_xfer_over(x, err);
    return err;
}

/*
 * Start it, with len bytes of operands in f, where this process cannot update the element itself.
 */
static int fetch_start(const struct dm_rma_call *call, struct fetch *f, struct dm_type *type,
                       uint64_t offset, MPI_Op op, int flags, size_t len, void *result)
{
    f->type = type;
    f->update = (struct dm_rma_update){.call = call,
                                       .acc = dm_rma_acc_header(call, op, flags, len),
                                       .n = 1,
                                       .data = f->payload.data,
                                       .result = result,
                                       .send = fetch_send};
    f->update.acc.offset = offset;
    f->update.acc.basic = type->basic;
    return dm_rma_update_start(&f->update);
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
        dm_type_pack(origin, 1, type, 0, f.payload.data, (size_t)type->size);
    return fetch_start(&call, &f, type, offset, op->obj.handle, DM_RMA_FETCH,
                       has_data ? (size_t)type->size : 0, result);
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
    memcpy(f.payload.data, origin, size);
    memcpy(f.payload.data + size, compare, size);
    return fetch_start(&call, &f, type, offset, MPI_REPLACE, DM_RMA_FETCH | DM_RMA_SWAP, 2 * size,
                       result);
}
