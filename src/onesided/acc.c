/*
 * MPI_Accumulate and MPI_Get_accumulate (MPI-4.0 sections 12.3.4, 12.3.5).
 *
 * Elements that this process can address and the machine can update atomically are combined at
 * once (combine.c). All others travel as packets that the target applies: one engine applies
 * them, in order of arrival, so each element is updated atomically and accumulates of one
 * origin keep their order. Data travels in pieces that fit a ring record and are applied from
 * there.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/call.h"
#include "onesided/combine.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "onesided/update.h"
#include "onesided/update_atomic.h"
#include "onesided/xfer.h"

/* The call being worked on, and the packet being filled. */
struct acc_walk {
    const struct dm_rma_call *call;
    const struct dm_op *op;
    const void *origin; /* type NULL: no data (MPI_NO_OP) */
    size_t count;
    const struct dm_type *type;
    void *result; /* result_type NULL: nothing is fetched */
    size_t result_count;
    struct dm_type *result_type;
    size_t packed; /* bytes of the packed form worked on so far */
    struct dm_rma_msg *msg;
    uint32_t n_runs;
    size_t n_bytes;
    size_t start; /* packed bytes before this packet */
    /* of the target's side */
    uint64_t offset;
    size_t target_count;
    struct dm_type *target_type;
};

/* Send the packet filled so far. */
static int send_filled(struct acc_walk *w)
{
    struct dm_pkt_rma_acc acc;
    struct dm_rma_msg *msg = w->msg;
    size_t data_len = w->type != NULL ? w->n_bytes : 0;
    uint32_t n_records = w->n_runs;
    struct dm_rma_xfer *x = NULL;
    int err;

    if (msg == NULL)
        return DM_OK;
    w->msg = NULL;
    if (w->result_type != NULL) {
        err = dm_rma_reply_new(w->call, w->result, w->result_count, w->result_type, w->start, &x);
        if (err != DM_OK) {
            dm_pool_put(&dm_rma_state.msgs, msg);
            return err;
        }
        n_records++;
        msg->runs[DM_RMA_ACC_RUNS + 1 - n_records] =
            (struct dm_rma_run){.offset = (uint64_t)(uintptr_t)x};
    }
    acc = dm_rma_acc_header(w->call, w->op->obj.handle, w->result_type != NULL ? DM_RMA_FETCH : 0,
                            n_records * sizeof(struct dm_rma_run) + data_len);
    acc.n_runs = w->n_runs;
    err = dm_rma_msg_send(msg, &acc.pkt, &msg->runs[DM_RMA_ACC_RUNS + 1 - n_records]);
    if (err != DM_OK && x != NULL)
        dm_rma_xfer_over(x, err);
    return err;
}

/* A packet with room for an element of size bytes. */
static int acc_reserve(struct acc_walk *w, size_t size)
{
    if (w->msg != NULL && (w->n_runs == DM_RMA_ACC_RUNS || w->n_bytes + size > DM_RMA_ACC_BYTES)) {
        int err = send_filled(w);

        if (err != DM_OK)
            return err;
    }
    if (w->msg != NULL)
        return DM_OK;
    w->msg = dm_rma_msg_new(w->call);
    w->n_runs = 0;
    w->n_bytes = 0;
    w->start = w->packed;
    return w->msg != NULL ? DM_OK : DM_ENOMEM;
}

/* n elements at the target's offset go into packets. */
static int queue_run(struct acc_walk *w, uint64_t offset, size_t n, int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;

    while (n > 0) {
        int err = acc_reserve(w, size);
        size_t part;

        if (err != DM_OK)
            return err;
        part = (DM_RMA_ACC_BYTES - w->n_bytes) / size;
        if (part > n)
            part = n;
        if (w->type != NULL)
            dm_type_pack(w->origin, w->count, w->type, w->packed, w->msg->data + w->n_bytes,
                         part * size);
        w->n_runs++;
        w->msg->runs[DM_RMA_ACC_RUNS + 1 - w->n_runs] =
            (struct dm_rma_run){.offset = offset, .n = (uint32_t)part, .basic = basic};
        w->n_bytes += part * size;
        w->packed += part * size;
        offset += part * (size_t)type->extent;
        n -= part;
    }
    return DM_OK;
}

/* n elements that are updated by the provider's atomic operations. */
static int word_run(struct acc_walk *w, uint64_t offset, size_t n, int basic)
{
    char in[1024], old[1024];

    while (n > 0) {
        size_t part = n < sizeof(in) / sizeof(uint64_t) ? n : sizeof(in) / sizeof(uint64_t);
        size_t len = part * sizeof(uint64_t);
        int err;

        if (w->type != NULL)
            dm_type_pack(w->origin, w->count, w->type, w->packed, in, len);
        err = dm_rma_update_words(w->call, w->op, false, offset, part, basic,
                                  w->type != NULL ? in : NULL, old);
        if (err != DM_OK)
            return err;
        if (w->result_type != NULL)
            dm_type_unpack(w->result, w->result_count, w->result_type, w->packed, old, len);
        w->packed += len;
        offset += len;
        n -= part;
    }
    return DM_OK;
}

/* n elements that this process can address are combined at once. */
static int combine_run(struct acc_walk *w, char *dst, size_t n, int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;
    char in[1024], old[1024];

    dm_rma_state.counts.n_path[DM_PATH_LOAD_STORE]++;
    if (w->type != NULL && w->result_type == NULL && w->type->is_contig) {
        const char *data = (const char *)w->origin + w->type->true_lb + w->packed;

        w->packed += n * size;
        return dm_rma_combine(w->call->win, w->call->target, w->op, dst, n, basic, data, NULL);
    }
    while (n > 0) {
        size_t part = n < sizeof(in) / size ? n : sizeof(in) / size;
        int err;

        if (w->type != NULL)
            dm_type_pack(w->origin, w->count, w->type, w->packed, in, part * size);
        err = dm_rma_combine(w->call->win, w->call->target, w->op, dst, part, basic,
                             w->type != NULL ? in : NULL, w->result_type != NULL ? old : NULL);
        if (err != DM_OK)
            return err;
        if (w->result_type != NULL)
            dm_type_unpack(w->result, w->result_count, w->result_type, w->packed, old, part * size);
        w->packed += part * size;
        dst += part * (size_t)type->extent;
        n -= part;
    }
    return DM_OK;
}

/* Called for each run of equal basic elements of the target, in type map order. */
static int add_run(void *arg, void *addr, size_t n, int basic)
{
    struct acc_walk *w = arg;
    const struct dm_win *win = w->call->win;
    uint64_t offset = (uint64_t)(uintptr_t)addr - win->parts[w->call->target].base;
    bool is_word = dm_rma_is_word(win, basic, offset);
    char *map = is_word ? NULL : dm_rma_map(w->call);
    int err;

    /* a packet half filled by this call is a different place, but its results are a row */
    if (is_word) {
        err = send_filled(w);
        return err != DM_OK ? err : word_run(w, offset, n, basic);
    }
    if (map == NULL || !dm_rma_may_combine(win, w->call->target, basic, map + offset))
        return queue_run(w, offset, n, basic);
    err = send_filled(w);
    return err != DM_OK ? err : combine_run(w, map + offset, n, basic);
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

/* The runs of the target are combined at once, or go into packets. */
static int acc_runs(struct acc_walk *w)
{
    uint64_t base = w->call->win->parts[w->call->target].base;
    int err;

    if (w->target_count * (uint64_t)w->target_type->size == 0)
        return DM_OK;
    dm_rma_assist_flush(w->call->win, w->call->target);
    err = dm_type_each_run((void *)(uintptr_t)(base + w->offset), w->target_count, w->target_type,
                           add_run, w);
    return err != DM_OK ? err : send_filled(w);
}

/* Are these elements of one basic type without gaps, on both sides? */
static bool acc_is_plain(const struct dm_type *type, const struct dm_type *target_type)
{
    return target_type->is_builtin && target_type->is_contig && type == target_type;
}

/* n plain elements where this process cannot update them itself. */
static int acc_start_plain(struct acc_walk *w, size_t n)
{
    bool has_data = w->type != NULL, is_fetch = w->result_type != NULL;
    size_t len = n * (size_t)w->target_type->size;
    struct dm_rma_update u = {
        .call = w->call,
        .acc = dm_rma_acc_header(w->call, w->op->obj.handle, is_fetch ? DM_RMA_FETCH : 0,
                                 has_data ? len : 0),
        .n = n,
        .data = has_data ? w->origin : NULL,
        .result = w->result,
        .send = is_fetch ? dm_rma_update_send_fetch : dm_rma_update_send,
    };

    u.acc.offset = w->offset;
    u.acc.basic = w->target_type->basic;
    return dm_rma_update_start(&u);
}

int dm_rma_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                      struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                      struct dm_type *target_type, struct dm_op *op)
{
    struct acc_walk w = {.call = call,
                         .op = op,
                         .origin = origin,
                         .count = origin_count,
                         .type = origin_type,
                         .target_count = target_count,
                         .target_type = target_type};
    int err = check_op(op, target_type);

    if (err == DM_OK)
        err = dm_rma_check_call(call->win, origin_count, origin_type, call->target, disp,
                                target_count, target_type, &w.offset);
    /* no bytes have no place: a dynamic window's target would refuse them */
    if (err != DM_OK || op->obj.handle == MPI_NO_OP || origin_count == 0)
        return err;
    if (acc_is_plain(origin_type, target_type) && dm_rma_map(call) == NULL)
        return acc_start_plain(&w, origin_count);
    return acc_runs(&w);
}

int dm_rma_get_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                          struct dm_type *origin_type, void *result, size_t result_count,
                          struct dm_type *result_type, MPI_Aint disp, size_t target_count,
                          struct dm_type *target_type, struct dm_op *op)
{
    struct acc_walk w = {.call = call,
                         .op = op,
                         .origin = origin,
                         .count = origin_count,
                         .type = op->obj.handle != MPI_NO_OP ? origin_type : NULL,
                         .result = result,
                         .result_count = result_count,
                         .result_type = result_type,
                         .target_count = target_count,
                         .target_type = target_type};
    int err = check_op(op, target_type);

    if (err == DM_OK)
        err = dm_rma_check_call(call->win, result_count, result_type, call->target, disp,
                                target_count, target_type, &w.offset);
    if (err == DM_OK && w.type != NULL)
        err = dm_rma_check_sizes(origin_count, origin_type, target_count, target_type);
    if (err != DM_OK || result_count == 0)
        return err;
    if (acc_is_plain(result_type, target_type) && (w.type == NULL || origin_type == target_type) &&
        dm_rma_map(call) == NULL)
        return acc_start_plain(&w, result_count);
    return acc_runs(&w);
}

static inline bool quick_accumulate(const void *origin, size_t origin_count,
                                    struct dm_type *origin_type, int target, MPI_Aint disp,
                                    size_t target_count, struct dm_type *target_type,
                                    struct dm_op *op, struct dm_win *win, int *err_p)
{
    if (dm_likely(origin_type == target_type && origin_count == target_count &&
                  origin_type->is_builtin && origin_type->size == origin_type->extent &&
                  origin_count <= INT32_MAX && op->is_builtin && op->obj.handle != MPI_NO_OP)) {
        size_t len = origin_count * (size_t)origin_type->size;
        int basic = origin_type->basic;
        char *at = dm_rma_quick_update(win, target, disp, len, basic);

        if (at == NULL || dm_op_check(op, origin_type) != DM_OK)
            return false;
        *err_p = dm_rma_combine(win, target, op, at, origin_count, basic, origin, NULL);
        return true;
    }
    return false;
}

bool dm_rma_quick_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                             int target, MPI_Aint disp, size_t target_count,
                             struct dm_type *target_type, struct dm_op *op, struct dm_win *win,
                             int *err_p)
{
    return quick_accumulate(origin, origin_count, origin_type, target, disp, target_count,
                            target_type, op, win, err_p);
}

int dm_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                  MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_op *op,
                  struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (quick_accumulate(origin, origin_count, origin_type, target, disp, target_count, target_type,
                         op, win, &err))
        return err;
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_accumulate(&call, origin, origin_count, origin_type,
                                                       disp, target_count, target_type, op);
}

static inline bool quick_get_accumulate(const void *origin, size_t origin_count,
                                        struct dm_type *origin_type, void *result,
                                        size_t result_count, struct dm_type *result_type,
                                        int target, MPI_Aint disp, size_t target_count,
                                        struct dm_type *target_type, struct dm_op *op,
                                        struct dm_win *win, int *err_p)
{
    bool has_data = op->obj.handle != MPI_NO_OP;

    if (dm_likely(result_type == target_type && result_count == target_count &&
                  (!has_data || (origin_type == target_type && origin_count == target_count)) &&
                  target_type->is_builtin && target_type->size == target_type->extent &&
                  target_count <= INT32_MAX && op->is_builtin)) {
        size_t len = target_count * (size_t)target_type->size;
        char *at = dm_rma_quick_update(win, target, disp, len, target_type->basic);

        if (at == NULL || (has_data && dm_op_check(op, target_type) != DM_OK))
            return false;
        *err_p = dm_rma_combine(win, target, op, at, target_count, target_type->basic,
                                has_data ? origin : NULL, result);
        return true;
    }
    return false;
}

bool dm_rma_quick_get_accumulate(const void *origin, size_t origin_count,
                                 struct dm_type *origin_type, void *result, size_t result_count,
                                 struct dm_type *result_type, int target, MPI_Aint disp,
                                 size_t target_count, struct dm_type *target_type, struct dm_op *op,
                                 struct dm_win *win, int *err_p)
{
    return quick_get_accumulate(origin, origin_count, origin_type, result, result_count,
                                result_type, target, disp, target_count, target_type, op, win,
                                err_p);
}

int dm_get_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                      void *result, size_t result_count, struct dm_type *result_type, int target,
                      MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                      struct dm_op *op, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (quick_get_accumulate(origin, origin_count, origin_type, result, result_count, result_type,
                             target, disp, target_count, target_type, op, win, &err))
        return err;
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_get_accumulate(&call, origin, origin_count, origin_type,
                                                           result, result_count, result_type, disp,
                                                           target_count, target_type, op);
}
