/*
 * Driving the fabric: what comes from its queues, and consumers that poll. Those that wait are in
 * sleep.c, the thread for when there is neither in thread.c.
 */
#include "providers/ofi/progress.h"

#include <poll.h>

#include "providers/ofi/cm.h"
#include "providers/ofi/ctrl.h"

enum { N_ENTRIES = 16, EQ_EVERY = 64, ROUNDS_MAX = 64, WAIT_MS = 1 };
enum { CM_LEN = sizeof(struct fi_eq_cm_entry) + 512 };

#define STUCK_NS 5000000000u /* with peers that stand still */

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
        if (ia->next_timer != DM_FUTEX_FOREVER) {
            uint64_t now = dm_futex_now();

            if (now >= ia->next_timer)
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

void dm_ofi_progress_wait(struct dm_ofi_ia *ia)
{
    struct fid *fids[2] = {&ia->fabric.cq->fid, &ia->fabric.eq->fid};
    struct pollfd fds[2] = {{.fd = ia->fabric.cq_fd, .events = POLLIN},
                            {.fd = ia->fabric.eq_fd, .events = POLLIN}};

    if (dm_ofi_progress(ia) == 0 && fi_trywait(ia->fabric.fid, fids, 2) == 0)
        (void)poll(fds, 2, WAIT_MS);
}

bool dm_ofi_wait_over(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key,
                      dm_ofi_is_over *is_over)
{
    uint64_t until = 0;

    while (!is_over(ia, pz, key)) {
        uint64_t now = dm_futex_now();

        if (until == 0)
            until = now + STUCK_NS;
        if (now >= until)
            return false;
        dm_ofi_progress_wait(ia);
    }
    return true;
}

/* Without a thread, agents of CNOs run in whoever drives. */
void dm_ofi_run_agents(struct dm_ofi_ia *ia)
{
    if (!ia->pia.has_thread &&
        atomic_load_explicit(&ia->progress.has_agents, memory_order_relaxed) &&
        atomic_exchange(&ia->progress.has_agents, false))
        dm_cno_run_agents(&ia->pia);
}

void dm_ofi_poll(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    uint32_t n;

    if (pthread_mutex_trylock(&pia->lock) != 0)
        return; /* somebody drives it */
    n = atomic_load_explicit(&ia->progress.n_polls, memory_order_relaxed) + 1;
    atomic_store_explicit(&ia->progress.n_polls, n, memory_order_relaxed);
    ia->progress.poller = pthread_self();
    (void)dm_ofi_progress_round(ia, ia->n_setup > 0 || n % EQ_EVERY == 0);
    pthread_mutex_unlock(&pia->lock);
    dm_ofi_run_agents(ia);
}
