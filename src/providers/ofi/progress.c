/*
 * Driving the fabric: what comes from its queues.
 */
#include "providers/ofi/progress.h"

#include "providers/ofi/conn.h"
#include "providers/ofi/ctrl.h"

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
    bool was_in_round = ia->net.is_in_round;
    int n_all = 0;

    ia->net.is_in_round = true;
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
    ia->net.is_in_round = was_in_round;
    return n_all;
}

static void eq_cm_event(struct dm_ofi_ia *ia, uint32_t event, const struct fi_eq_cm_entry *entry,
                        size_t len)
{
    void *context;

    if (event == FI_CONNREQ) {
        dm_ofi_conn_incoming(ia, entry->fid, entry->info, entry->data, len);
        return;
    }
    context = entry->fid != NULL ? entry->fid->context : NULL;
    if (context == NULL)
        return;
    switch (event) {
    case FI_CONNECTED:
        dm_ofi_conn_connected(context);
        break;
    case FI_SHUTDOWN:
        while (dm_ofi_read_cq(ia) > 0) /* what came before it */
            continue;
        dm_ofi_conn_shutdown(context);
        break;
    default:
        break;
    }
}

int dm_ofi_read_eq(struct dm_ofi_ia *ia)
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
                dm_ofi_conn_error(err.fid->context, err.err);
        } else if (n >= (ssize_t)sizeof(*entry)) {
            eq_cm_event(ia, event, entry, (size_t)n - sizeof(*entry));
        } else {
            break;
        }
        n_all++;
        dm_net_conns_end(&ia->net); /* the next event may be of what has ended */
    }
    return n_all;
}

int dm_ofi_round(struct dm_net *net, bool is_thorough)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)net;
    int n;

    is_thorough |= net->n_setup > 0;
    n = dm_ofi_read_cq(ia);
    dm_net_conns_end(net);
    if (net->n_redirected > 0)
        dm_net_cm_redirect(net);
    if (is_thorough) {
        n += dm_ofi_read_eq(ia);
        if (net->next_timer != DM_FUTEX_FOREVER) {
            uint64_t now = dm_futex_now();

            if (now >= net->next_timer)
                dm_net_conns_timers(net, now);
        }
        dm_net_conns_end(net);
    }
    if (!dm_list_is_empty(&net->waiting))
        dm_net_eps_push(net);
    return n;
}

bool dm_ofi_can_sleep(struct dm_net *net)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)net;
    struct fid *fids[2] = {&ia->fabric.cq->fid, &ia->fabric.eq->fid};

    return fi_trywait(ia->fabric.fid, fids, 2) == FI_SUCCESS;
}
