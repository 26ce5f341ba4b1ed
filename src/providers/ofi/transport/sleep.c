/*
 * Sleeping of those who wait for events: on the fabric's descriptors, or on the ring's word while
 * another thread has them.
 */
#include "providers/ofi/progress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FOLLOW_NS = 10000000, BUSY_POLL_NS = 50000, BUSY_SKIPS_MAX = 63 };

static void eventfd_drain(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0)
        return; /* nobody had written */
}

void dm_ofi_eventfd_signal(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it is readable anyway */
}

/* May we sleep on the descriptors? The lock is held. */
bool dm_ofi_can_sleep(struct dm_ofi_ia *ia)
{
    struct fid *fids[2] = {&ia->fabric.cq->fid, &ia->fabric.eq->fid};

    return fi_trywait(ia->fabric.fid, fids, 2) == FI_SUCCESS;
}

/* One look at the descriptors and one of our own, not later than the deadline. */
static int fds_poll(struct pollfd fds[3], uint64_t deadline)
{
    uint64_t now = deadline != DM_FUTEX_FOREVER && deadline != 0 ? dm_futex_now() : 0;
    uint64_t left = deadline > now ? deadline - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(left / 1000000000u),
                          .tv_nsec = (long)(left % 1000000000u)};

    return ppoll(fds, 3, deadline != DM_FUTEX_FOREVER ? &ts : NULL, NULL);
}

/*
 * Who waits was woken, perhaps by what is not for it: peers read and write this process's memory. More
 * often comes soon, and waking up costs more than carrying it out. So the waiter polls busily for a
 * moment before it sleeps again; after a moment in vain the next 1, 3, 7 ... 63 times it does not.
 */
static int busy_poll(struct dm_ofi_ia *ia, struct pollfd fds[3], uint64_t deadline)
{
    uint64_t until = dm_ofi_earlier(ia->progress.busy_until, deadline);
    int n = 0;

    ia->progress.busy_until = 0;
    if (dm_futex_now() >= until)
        return 0;
    do {
        n = fds_poll(fds, 0);
        if (n != 0) {
            ia->progress.busy_skips_max = 0;
            return n;
        }
        sched_yield();
    } while (dm_futex_now() < until);
    if (until != deadline) {
        ia->progress.busy_skips_max = ia->progress.busy_skips_max < BUSY_SKIPS_MAX
                                          ? ia->progress.busy_skips_max * 2 + 1
                                          : BUSY_SKIPS_MAX;
        ia->progress.busy_skips = ia->progress.busy_skips_max;
    }
    return 0;
}

static void busy_poll_arm(struct dm_ofi_ia *ia)
{
    if (ia->progress.busy_skips > 0)
        ia->progress.busy_skips--;
    else
        ia->progress.busy_until = dm_futex_now() + BUSY_POLL_NS;
}

/* Sleep on the descriptors and one of our own; 0, ETIMEDOUT or EINTR. */
int dm_ofi_sleep_on(struct dm_ofi_ia *ia, int own_fd, uint64_t deadline)
{
    struct pollfd fds[3] = {{.fd = own_fd, .events = POLLIN},
                            {.fd = ia->fabric.cq_fd, .events = POLLIN},
                            {.fd = ia->fabric.eq_fd, .events = POLLIN}};
    int n = 0;

    if (own_fd == ia->progress.lead_fd && ia->progress.busy_until != 0)
        n = busy_poll(ia, fds, deadline);
    if (n == 0)
        n = fds_poll(fds, deadline);
    if (n < 0)
        return errno == EINTR ? EINTR : 0;
    if ((fds[0].revents & POLLIN) != 0)
        eventfd_drain(own_fd);
    if (own_fd == ia->progress.lead_fd && fds[1].revents != 0)
        busy_poll_arm(ia);
    return n == 0 ? ETIMEDOUT : 0;
}

/* Somebody else has the descriptors, and wakes us by the ring's word. */
static int lead_follow(struct dm_ofi_ia *ia, struct dm_evd_ring *ring, uint32_t value,
                       uint64_t deadline)
{
    uint64_t until = deadline;
    int err;

    if (!ia->pia.has_thread) /* the leader may stop, and nobody would take over */
        until = dm_ofi_earlier(deadline, dm_futex_now() + FOLLOW_NS);
    err = dm_futex_wait(&ring->word, value, until);
    return err == ETIMEDOUT && until != deadline ? 0 : err;
}

/* Who waits takes the descriptors, unless another thread is polling: that would
 * be no faster, and arriving data would wake this one for nothing. */
static bool lead_take(struct dm_ofi_ia *ia, struct dm_evd_ring *ring)
{
    uint32_t n = atomic_load_explicit(&ia->progress.n_polls, memory_order_relaxed);
    bool is_other =
        n != ia->progress.n_polls_seen && !pthread_equal(ia->progress.poller, pthread_self());
    struct dm_evd_ring *none = NULL;

    ia->progress.n_polls_seen = n;
    if (ia->mode == DM_OFI_THREAD || (is_other && ia->pia.has_thread))
        return false;
    return atomic_compare_exchange_strong(&ia->pia.led, &none, ring);
}

/* Take the descriptors, if they are free. The lock is held; it is not when
 * this is true, and the caller has to sleep. */
static bool lead_begin(struct dm_ofi_ia *ia, struct dm_evd_ring *ring, uint32_t value)
{
    if (!dm_ofi_can_sleep(ia) || atomic_load(&ring->word) != value) {
        atomic_store(&ia->pia.led, NULL);
        pthread_mutex_unlock(&ia->pia.lock);
        return false;
    }
    atomic_fetch_add_explicit(&ia->progress.n_leads, 1, memory_order_relaxed);
    pthread_mutex_unlock(&ia->pia.lock);
    return true;
}

static int sleep_once(struct dm_ofi_ia *ia, struct dm_evd_ring *ring, uint32_t value,
                      uint64_t deadline)
{
    uint64_t until;
    int err = 0;

    /* Never wait for the lock: who has it may wait for us to leave. */
    if (pthread_mutex_trylock(&ia->pia.lock) != 0) {
        sched_yield();
        return dm_futex_now() >= deadline ? ETIMEDOUT : 0;
    }
    (void)dm_ofi_progress_round(ia, true);
    if (atomic_load(&ring->word) != value || !lead_take(ia, ring)) {
        pthread_mutex_unlock(&ia->pia.lock);
        dm_ofi_run_agents(ia);
        return lead_follow(ia, ring, value, deadline);
    }
    until = ia->pia.has_thread ? deadline : dm_ofi_earlier(deadline, atomic_load(&ia->next_timer));
    if (!lead_begin(ia, ring, value))
        return dm_futex_now() >= deadline ? ETIMEDOUT : 0;
    err = dm_ofi_sleep_on(ia, ia->progress.lead_fd, until);
    atomic_store(&ia->pia.led, NULL);
    if (atomic_load_explicit(&ia->progress.is_waiting, memory_order_relaxed))
        dm_ofi_wake_thread(ia); /* it has gone to sleep for longer */
    if (pthread_mutex_trylock(&ia->pia.lock) == 0) {
        (void)dm_ofi_progress_round(ia, true);
        pthread_mutex_unlock(&ia->pia.lock);
    }
    dm_ofi_run_agents(ia);
    return err == ETIMEDOUT && until != deadline ? 0 : err;
}

/* Events that wake nobody leave the word as it is. */
int dm_ofi_sleep(struct dm_pia *pia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline)
{
    int err = 0;

    while (err == 0 && atomic_load(&ring->word) == value)
        err = sleep_once((struct dm_ofi_ia *)pia, ring, value, deadline);
    return err;
}
