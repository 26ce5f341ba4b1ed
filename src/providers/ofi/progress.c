/*
 * Driving the fabric: what comes from its queues.
 */
#include "providers/ofi/progress.h"

#include <unistd.h>

#include "providers/ofi/cm.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/key.h"
#include "providers/ofi/rkey.h"
#include "providers/ofi/transport/listener.h"

enum { N_ENTRIES = 16, ROUNDS_MAX = 64 };
enum { CM_LEN = sizeof(struct fi_eq_cm_entry) + 512 };

static void cq_completion(struct dm_ofi_ia *ia, const struct fi_cq_data_entry *entry)
{
    struct dm_ofi_ctx *ctx = entry->op_context;
    struct dm_ofi_done done = {.flags = entry->flags, .len = entry->len, .data = entry->data};

    if ((entry->flags & FI_REMOTE_WRITE) != 0)
        dm_ofi_cqdata_arrived(ia, entry->data);
    else if (ctx != NULL)
        ctx->done(ctx, &done);
}

static void cq_error(struct dm_ofi_ia *ia)
{
    struct fi_cq_err_entry entry = {0};
    struct dm_ofi_ctx *ctx;
    struct dm_ofi_done done;

    if (fi_cq_readerr(ia->fabric.cq, &entry, 0) != 1)
        return;
    ctx = entry.op_context;
    done = (struct dm_ofi_done){.err = entry.err != 0 ? entry.err : FI_EIO,
                                .flags = entry.flags,
                                .len = entry.len,
                                .data = entry.data};
    if (ctx != NULL && (entry.flags & FI_REMOTE_WRITE) == 0)
        ctx->done(ctx, &done);
}

int dm_ofi_read_cq(struct dm_ofi_ia *ia)
{
    struct fi_cq_data_entry entries[N_ENTRIES];
    bool was_in_round = ia->is_in_round;
    int n_all = 0;

    ia->is_in_round = true;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        ssize_t n = fi_cq_read(ia->fabric.cq, entries, N_ENTRIES);

        if (n == -FI_EAVAIL) {
            cq_error(ia);
            n = 1;
        } else if (n > 0) {
            for (ssize_t i = 0; i < n; i++)
                cq_completion(ia, &entries[i]);
        }
        if (n <= 0)
            break;
        n_all += (int)n;
    }
    ia->is_in_round = was_in_round;
    return n_all;
}

static void eq_cm_event(struct dm_ofi_ia *ia, uint32_t event, const struct fi_eq_cm_entry *entry,
                        size_t len)
{
    void *context;

    if (event == FI_CONNREQ) {
        dm_ofi_cm_connreq(ia, entry->fid, entry->info, entry->data, len);
        return;
    }
    context = entry->fid != NULL ? entry->fid->context : NULL;
    if (context == NULL)
        return;
    switch (event) {
    case FI_CONNECTED:
        dm_ofi_cm_connected(context);
        break;
    case FI_SHUTDOWN:
        while (dm_ofi_read_cq(ia) > 0) /* what came before it */
            continue;
        dm_ofi_cm_shutdown(context);
        break;
    default:
        break;
    }
}

static int eq_read(struct dm_ofi_ia *ia)
{
    DM_ALIGNED(16) char buf[CM_LEN];
    struct fi_eq_cm_entry *entry = (void *)buf;
    int n_all = 0;

    for (;;) {
        uint32_t event = 0;
        ssize_t n = fi_eq_read(ia->fabric.eq, &event, buf, sizeof(buf), 0);

        if (n == -FI_EAVAIL) {
            struct fi_eq_err_entry err = {0};

            if (fi_eq_readerr(ia->fabric.eq, &err, 0) < 0)
                break;
            if (err.fid != NULL && err.fid->context != NULL && err.fid->fclass == FI_CLASS_EP)
                dm_ofi_cm_error(err.fid->context, err.err);
        } else if (n >= (ssize_t)sizeof(*entry)) {
            eq_cm_event(ia, event, entry, (size_t)n - sizeof(*entry));
        } else {
            break;
        }
        n_all++;
        dm_ofi_conns_end(ia); /* the next event may be of what has ended */
    }
    return n_all;
}

/* One round. is_thorough: look at connections and clocks, too. */
int dm_ofi_progress_round(struct dm_ofi_ia *ia, bool is_thorough)
{
    int n = dm_ofi_read_cq(ia);

    dm_ofi_conns_end(ia);
    if (ia->n_redirected > 0)
        dm_ofi_cm_redirect(ia);
    if (is_thorough) {
        n += eq_read(ia);
        if (ia->net.next_timer != DM_FUTEX_FOREVER) {
            uint64_t now = dm_futex_now();

            if (now >= ia->net.next_timer)
                dm_ofi_conns_timers(ia, now);
        }
        dm_ofi_conns_end(ia);
    }
    if (!dm_list_is_empty(&ia->waiting))
        dm_ofi_ep_push_all(ia);
    return n;
}

int dm_ofi_progress(struct dm_ofi_ia *ia)
{
    return dm_ofi_progress_round(ia, true);
}

static int ofi_round(struct dm_net *net, bool is_thorough)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)net;

    return dm_ofi_progress_round(ia, is_thorough || ia->n_setup > 0);
}

static bool ofi_can_sleep(struct dm_net *net)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)net;
    struct fid *fids[2] = {&ia->fabric.cq->fid, &ia->fabric.eq->fid};

    return fi_trywait(ia->fabric.fid, fids, 2) == FI_SUCCESS;
}

static void ofi_fork_child(struct dm_net *net)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)net;

    for (uint32_t i = 0; i < ia->numbers.n; i++)
        if (ia->numbers.conns[i] != NULL && ia->numbers.conns[i]->keepalive.sock >= 0)
            close(ia->numbers.conns[i]->keepalive.sock);
    dm_list_for_each (at, &net->pia.objs[DAT_HANDLE_TYPE_PSP])
        dm_ofi_sp_close_fd(dm_container_of(at, struct dm_sp, obj.link));
    dm_list_for_each (at, &net->pia.objs[DAT_HANDLE_TYPE_RSP])
        dm_ofi_sp_close_fd(dm_container_of(at, struct dm_sp, obj.link));
}

const struct dm_net_ops *dm_ofi_net_ops_get(void)
{
    static const struct dm_net_ops ops = {.round = ofi_round,
                                          .can_sleep = ofi_can_sleep,
                                          .fork_child = ofi_fork_child,
                                          .region_open = dm_ofi_region_open,
                                          .region_hidden = dm_ofi_rkey_invalidate,
                                          .region_close = dm_ofi_region_close,
                                          .region_is_left = dm_ofi_rkey_is_left,
                                          .window_is_left = dm_ofi_rkey_is_acked};

    return &ops;
}
