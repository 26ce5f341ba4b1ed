/*
 * What sleeping costs: from the post of a send to the return of dat_evd_wait
 * or dat_cno_wait in the other process, which sleeps; and what the poster pays
 * for waking it. The floor: a bare futex in shared memory.
 *
 * The sleeper is the first process; the second waits until it sleeps, and
 * writes down when it posts. Figures are medians of a turn's wakes.
 */
#include "dat_bench.h"

#include <linux/futex.h>
#include <sys/syscall.h>

enum { N_RECVS = 16, IDLE_US = 60, SLOT = 64 };

static DAT_CNO_HANDLE cno;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, int n)
{
    qsort(value, (size_t)n, sizeof(*value), by_value);
    return value[n / 2];
}

static void idle(double us)
{
    double end = dt_now() + us * 1e-6;

    while (dt_now() < end)
        continue;
}

static void post_recv(struct bn *b, uint64_t slot)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->shared.mine, slot * SLOT, SLOT);

    OK(dat_ep_post_recv(b->t.ep, 1, &seg, dt_cookie(slot), DAT_COMPLETION_DEFAULT_FLAG));
}

static void sleep_evd(struct bn *b)
{
    DAT_EVENT event;
    DAT_COUNT n_more;

    OK(dat_evd_wait(b->t.recv_evd, DT_WAIT_US, 1, &event, &n_more));
}

static void sleep_cno(struct bn *b)
{
    DAT_EVD_HANDLE evd;
    DAT_EVENT event;

    do
        OK(dat_cno_wait(cno, DT_WAIT_US, &evd));
    while (dat_evd_dequeue(b->t.recv_evd, &event) != DAT_SUCCESS);
}

static void sleep_futex(struct bn *b)
{
    while (atomic_load(&b->page->futex) == 0)
        syscall(SYS_futex, &b->page->futex, FUTEX_WAIT, 0, NULL, NULL, 0);
    atomic_store(&b->page->futex, 0);
}

static void wake_send(struct bn *b)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    bool is_marked = bn_is_marked(b);

    OK(dat_ep_post_send(b->t.ep, 1, &seg, dt_cookie(0),
                        is_marked ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG));
    if (is_marked)
        bn_reap(b);
}

static void wake_futex(struct bn *b)
{
    atomic_store(&b->page->futex, 1);
    syscall(SYS_futex, &b->page->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* To the page: the sleeper's times (us), or what the waker paid. */
static double wakes(struct bn *b, void (*sleep)(struct bn *), void (*wake)(struct bn *),
                    bool is_cost)
{
    struct bn_page *page = b->page;
    uint64_t base = b->seq;
    double took[BN_WAKES];

    b->seq += BN_WAKES;
    for (int i = 0; i < BN_WAKES; i++) {
        uint64_t stamp;
        double start;

        if (b->is_first) {
            atomic_store(&page->n_ready, base + (uint64_t)i + 1);
            sleep(b);
            stamp = atomic_load(&page->stamp);
            memcpy(&start, &stamp, sizeof(start));
            took[i] = (dt_now() - start) * 1e6;
            if (sleep != sleep_futex)
                post_recv(b, 0);
            continue;
        }
        bn_spin_until(&page->n_ready, base + (uint64_t)i + 1);
        idle(IDLE_US);
        start = dt_now();
        memcpy(&stamp, &start, sizeof(stamp));
        atomic_store(&page->stamp, stamp);
        wake(b);
        page->took[i] = (dt_now() - start) * 1e6;
    }
    dt_meet(&b->t);
    return b->is_first ? median(is_cost ? page->took : took, BN_WAKES) : 0;
}

static double wake_evd(struct bn *b, size_t size)
{
    (void)size;
    return wakes(b, sleep_evd, wake_send, false);
}

static double wake_evd_cost(struct bn *b, size_t size)
{
    (void)size;
    return wakes(b, sleep_evd, wake_send, true);
}

static double wake_cno(struct bn *b, size_t size)
{
    (void)size;
    return wakes(b, sleep_cno, wake_send, false);
}

static double bare_wake(struct bn *b, size_t size)
{
    (void)size;
    return wakes(b, sleep_futex, wake_futex, false);
}

static double bare_wake_cost(struct bn *b, size_t size)
{
    (void)size;
    return wakes(b, sleep_futex, wake_futex, true);
}

static void rows(struct bn *b)
{
    /* One more than is in use: the next is posted after the wake. */
    for (uint64_t slot = 0; slot < N_RECVS; slot++)
        post_recv(b, slot);
    bn_row(b, "wake_evd", 8, "us", wake_evd, "futex", bare_wake);
    bn_row(b, "wake_evd_post", 8, "us", wake_evd_cost, "futex", bare_wake_cost);
    OK(dat_cno_create(b->t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    OK(dat_evd_modify_cno(b->t.recv_evd, cno));
    bn_row(b, "wake_cno", 8, "us", wake_cno, "futex", bare_wake);
}

int main(int argc, char **argv)
{
    return bn_run(argc, argv, rows);
}
