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
#include "onesided/get_modify_put.h"
#include "onesided/map.h"
#include "onesided/msg.h"
#include "onesided/state.h"
#include "onesided/xfer.h"

#define RECORD_SPARE 256 /* bytes of a record that are left to headers */
#define LONG_SKIPS   3 /* long updates at most before it is asked again whether the target looks */

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
};

static struct dm_pkt_rma_acc acc_header(const struct acc_walk *w, size_t data_len)
{
    return (struct dm_pkt_rma_acc){
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(struct dm_pkt_rma_acc),
                .data_len = (uint32_t)data_len},
        .win = w->call->win->parts[w->call->target].handle,
        .op = w->op->obj.handle,
    };
}

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
    acc = acc_header(w, n_records * sizeof(struct dm_rma_run) + data_len);
    acc.pkt.flags = w->result_type != NULL ? DM_RMA_FETCH : 0;
    acc.n_runs = w->n_runs;
    err = dm_rma_msg_send(msg, &acc.pkt, &msg->runs[DM_RMA_ACC_RUNS + 1 - n_records]);
    if (err != DM_OK && x != NULL)
        dm_rma_xfer_over(x, err);
    return err;
}

/* A packet with room for an element of size bytes. */
static int acc_want_space(struct acc_walk *w, size_t size)
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
        int err = acc_want_space(w, size);
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

/* n elements that this process can address are combined at once. */
static int combine_run(struct acc_walk *w, char *dst, size_t n, int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    size_t size = (size_t)type->size;
    char in[1024], old[1024];

    dm_rma_state.counts.n_mapped++;
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
    char *map = dm_rma_map(w->call);
    int err;

    /* a packet half filled by this call is a different place, but its results are a row */
    if (map == NULL || !dm_rma_may_combine(win, w->call->target, basic, map + offset))
        return queue_run(w, offset, n, basic);
    err = send_filled(w);
    return err != DM_OK ? err : combine_run(w, map + offset, n, basic);
}

/*
 * Bytes of data that a packet may have if it goes at once: a record of the pipe is long where each
 * costs system calls.
 */
static size_t longest_now(const struct dm_win *win, int target)
{
    size_t good = dm_chan_eager_good(dm_world.chan, dm_rma_proc(win, target)) / 2;

    return good > 2 * DM_RMA_ACC_BYTES ? good - RECORD_SPARE : DM_RMA_ACC_BYTES;
}

static struct dm_pkt_rma_acc plain_header(const struct acc_walk *w, uint64_t offset, size_t len,
                                          const struct dm_type *basic)
{
    struct dm_pkt_rma_acc acc = acc_header(w, len);

    acc.offset = offset;
    acc.basic = basic->basic;
    return acc;
}

/*
 * A target that computes would apply nothing: then the elements are updated by RDMA, if they can
 * be. Long updates are for one that looks, which is asked by an assist that does nothing.
 */
static bool acc_update_direct(struct acc_walk *w, const struct dm_pkt_rma_acc *acc, size_t n,
                              const char *data, char *old, int *err_p)
{
    const struct dm_pkt_rma_acc nothing = {
        .op = MPI_REPLACE, .offset = acc->offset, .basic = MPI_BYTE};

    struct dm_win_peer *peer = &w->call->win->peers[w->call->target];

    if (!dm_rma_is_guarded(w->call->win, w->call->target))
        return false;
    if (n * (size_t)dm_type_get(acc->basic)->size > DM_RMA_ASSIST_BYTES) {
        peer->assist_backoff.left =
            peer->assist_backoff.left < LONG_SKIPS ? peer->assist_backoff.left : LONG_SKIPS;
        if (dm_rma_assist_now(w->call, DM_ASSIST_PUT, &nothing, "", NULL, 0))
            return false;
    }
    return dm_rma_get_modify_put(w->call, acc, n, data, old, err_p);
}

int dm_rma_send_plain(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                      const char *data, size_t len)
{
    size_t step = longest_now(call->win, call->target),
           size = (size_t)dm_type_get(acc->basic)->size;
    struct dm_pkt_rma_acc piece = *acc;

    while (len > 0) {
        size_t part = (len < step ? len : step) / size * size;
        int err;

        piece.pkt.data_len = (uint32_t)part;
        err = dm_rma_packet(call, &piece, data);
        if (err == DM_EAGAIN) {
            step = DM_RMA_ACC_BYTES;
            continue;
        }
        if (err != DM_OK)
            return err;
        data += part;
        piece.offset += part;
        len -= part;
    }
    return DM_OK;
}

/* Contiguous elements of one basic type on both sides: no run records, often no copy. */
static int send_plain(struct acc_walk *w, const char *data, uint64_t offset, size_t len,
                      const struct dm_type *basic)
{
    const struct dm_rma_call *call = w->call;
    struct dm_pkt_rma_acc acc = plain_header(w, offset, len, basic);
    bool is_near = call->win->peers[call->target].lrank >= 0;
    int err;

    if (is_near && len <= DM_RMA_ASSIST_BYTES &&
        dm_rma_assist(call, DM_ASSIST_UPDATE, &acc, data, NULL, 0))
        return DM_OK;
    dm_rma_assist_flush(call->win, call->target);
    if (is_near && !dm_rma_is_busy(call->win, call->target) &&
        acc_update_direct(w, &acc, len / (size_t)basic->size, data, NULL, &err))
        return err;
    if (len <= DM_RMA_ACC_BYTES && call->req == NULL &&
        dm_rma_prefers_packets(call->win, call->target))
        return dm_rma_defer(call, &acc, data);
    return dm_rma_send_plain(call, &acc, data, len);
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

/* Origin and result are in w; then the target is walked. */
static int walk(struct acc_walk *w, uint64_t offset, size_t target_count,
                struct dm_type *target_type)
{
    uint64_t base = w->call->win->parts[w->call->target].base;
    int err;

    if (target_count * (uint64_t)target_type->size == 0)
        return DM_OK;
    dm_rma_assist_flush(w->call->win, w->call->target);
    err =
        dm_type_each_run((void *)(uintptr_t)(base + offset), target_count, target_type, add_run, w);
    return err != DM_OK ? err : send_filled(w);
}

int dm_rma_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                      struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                      struct dm_type *target_type, struct dm_op *op)
{
    struct acc_walk w = {
        .call = call, .op = op, .origin = origin, .count = origin_count, .type = origin_type};
    uint64_t offset;
    int err = check_op(op, target_type);

    if (err == DM_OK)
        err = dm_rma_check_call(call->win, origin_count, origin_type, call->target, disp,
                                target_count, target_type, &offset);
    /* nothing has no place: a target would refuse to look for it among its regions */
    if (err != DM_OK || op->obj.handle == MPI_NO_OP || origin_count == 0)
        return err;
    if (target_type->is_builtin && target_type->is_contig && origin_type == target_type &&
        dm_rma_map(call) == NULL)
        return send_plain(&w, origin, offset, origin_count * (size_t)origin_type->size,
                          target_type);
    return walk(&w, offset, target_count, target_type);
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
                         .type = origin_type,
                         .result = result,
                         .result_count = result_count,
                         .result_type = result_type};
    uint64_t offset = 0;
    int err = check_op(op, target_type);

    if (op->obj.handle == MPI_NO_OP)
        w.type = NULL;
    if (err == DM_OK)
        err = dm_rma_check_call(call->win, result_count, result_type, call->target, disp,
                                target_count, target_type, &offset);
    if (err == DM_OK && w.type != NULL)
        err = dm_rma_check_sizes(origin_count, origin_type, target_count, target_type);
    if (err != DM_OK || result_count == 0)
        return err;
    if (target_type->is_builtin && target_type->is_contig && result_type == target_type &&
        (w.type == NULL || origin_type == target_type) && dm_rma_map(call) == NULL) {
        size_t len = result_count * (size_t)result_type->size;
        struct dm_pkt_rma_acc acc = plain_header(&w, offset, w.type != NULL ? len : 0, target_type);

        acc.pkt.flags = DM_RMA_FETCH;
        if (len <= DM_RMA_ASSIST_BYTES &&
            dm_rma_assist(call, DM_ASSIST_UPDATE, &acc, w.type != NULL ? origin : NULL, result,
                          len))
            return DM_OK;
        dm_rma_assist_flush(call->win, call->target);
        if (acc_update_direct(&w, &acc, result_count, w.type != NULL ? origin : NULL, result, &err))
            return err;
    }
    return walk(&w, offset, target_count, target_type);
}

int dm_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                  MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_op *op,
                  struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};

    if (dm_likely(origin_type == target_type && origin_count == target_count &&
                  origin_type->is_builtin && origin_type->size == origin_type->extent &&
                  origin_count <= INT32_MAX && op->is_builtin && op->obj.handle != MPI_NO_OP)) {
        size_t len = origin_count * (size_t)origin_type->size;
        int basic = origin_type->basic;
        char *at = dm_rma_quick_update(win, target, disp, len, basic);

        if (at != NULL && dm_op_check(op, origin_type) == DM_OK)
            return dm_rma_combine(win, target, op, at, origin_count, basic, origin, NULL);
    }
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_accumulate(&call, origin, origin_count, origin_type,
                                                       disp, target_count, target_type, op);
}

int dm_get_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                      void *result, size_t result_count, struct dm_type *result_type, int target,
                      MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                      struct dm_op *op, struct dm_win *win)
{
    const struct dm_rma_call call = {.win = win, .target = target};
    bool has_data = op->obj.handle != MPI_NO_OP;

    if (dm_likely(result_type == target_type && result_count == target_count &&
                  (!has_data || (origin_type == target_type && origin_count == target_count)) &&
                  target_type->is_builtin && target_type->size == target_type->extent &&
                  target_count <= INT32_MAX && op->is_builtin)) {
        size_t len = target_count * (size_t)target_type->size;
        char *at = dm_rma_quick_update(win, target, disp, len, target_type->basic);

        if (at != NULL && (!has_data || dm_op_check(op, target_type) == DM_OK))
            return dm_rma_combine(win, target, op, at, target_count, target_type->basic,
                                  has_data ? origin : NULL, result);
    }
    return target == MPI_PROC_NULL ? DM_OK
                                   : dm_rma_get_accumulate(&call, origin, origin_count, origin_type,
                                                           result, result_count, result_type, disp,
                                                           target_count, target_type, op);
}
