/*
 * Sleeping of those who wait for events: on the network's descriptors, or on the ring's word while
 * another thread has them.
 */
#include "providers/net/net.h"

#include <errno.h>
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

void dm_net_eventfd_signal(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it is readable anyway */
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
static int busy_poll(struct dm_net *net, struct pollfd fds[3], uint64_t deadline)
{
    uint64_t until = dm_net_earlier(net->progress.busy_until, deadline);
    int n = 0;

    net->progress.busy_until = 0;
    if (dm_futex_now() >= until)
        return 0;
    do {
        n = fds_poll(fds, 0);
        if (n != 0) {
            net->progress.busy_skips_max = 0;
            return n;
        }
        sched_yield();
    } while (dm_futex_now() < until);
    if (until != deadline) {
        net->progress.busy_skips_max = net->progress.busy_skips_max < BUSY_SKIPS_MAX
                                           ? net->progress.busy_skips_max * 2 + 1
                                           : BUSY_SKIPS_MAX;
        net->progress.busy_skips = net->progress.busy_skips_max;
    }
    return 0;
}

static void busy_poll_arm(struct dm_net *net)
{
    if (net->progress.busy_skips > 0)
        net->progress.busy_skips--;
    else
        net->progress.busy_until = dm_futex_now() + BUSY_POLL_NS;
}

/* Sleep on the descriptors and one of our own; 0, ETIMEDOUT or EINTR. */
int dm_net_sleep_on(struct dm_net *net, int own_fd, uint64_t deadline)
{
    struct pollfd fds[3] = {{.fd = own_fd, .events = POLLIN},
                            {.fd = net->fds[0], .events = POLLIN},
                            {.fd = net->fds[1], .events = POLLIN}};
    int n = 0;

    if (own_fd == net->progress.lead_fd && net->progress.busy_until != 0)
        n = busy_poll(net, fds, deadline);
    if (n == 0)
        n = fds_poll(fds, deadline);
    if (n < 0)
        return errno == EINTR ? EINTR : 0;
    if ((fds[0].revents & POLLIN) != 0)
        eventfd_drain(own_fd);
    if (own_fd == net->progress.lead_fd && fds[1].revents != 0)
        busy_poll_arm(net);
    return n == 0 ? ETIMEDOUT : 0;
}

/* Somebody else has the descriptors, and wakes us by the ring's word. */
static int lead_follow(struct dm_net *net, struct dm_evd_ring *ring, uint32_t value,
                       uint64_t deadline)
{
    uint64_t until = deadline;
    int err;

    if (!net->pia.has_thread) /* the leader may stop, and nobody would take over */
        until = dm_net_earlier(deadline, dm_futex_now() + FOLLOW_NS);
    err = dm_futex_wait(&ring->word, value, until);
    return err == ETIMEDOUT && until != deadline ? 0 : err;
}

/* Who waits takes the descriptors, unless another thread is polling: that would
 * be no faster, and arriving data would wake this one for nothing. */
static bool lead_take(struct dm_net *net, struct dm_evd_ring *ring)
{
    uint32_t n = atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed);
    bool is_other =
        n != net->progress.n_polls_seen && !pthread_equal(net->progress.poller, pthread_self());
    struct dm_evd_ring *none = NULL;

    net->progress.n_polls_seen = n;
    if (net->mode == DM_NET_THREAD || (is_other && net->pia.has_thread))
        return false;
    return atomic_compare_exchange_strong(&net->pia.led, &none, ring);
}

/* Take the descriptors, if they are free. The lock is held; it is not when
 * this is true, and the caller has to sleep. */
static bool lead_begin(struct dm_net *net, struct dm_evd_ring *ring, uint32_t value)
{
    if (!net->ops->can_sleep(net) || atomic_load(&ring->word) != value) {
        atomic_store(&net->pia.led, NULL);
        pthread_mutex_unlock(&net->pia.lock);
        return false;
    }
    atomic_fetch_add_explicit(&net->progress.n_leads, 1, memory_order_relaxed);
    pthread_mutex_unlock(&net->pia.lock);
    return true;
}

static int sleep_once(struct dm_net *net, struct dm_evd_ring *ring, uint32_t value,
                      uint64_t deadline)
{
    uint64_t until;
    int err = 0;

    /* Never wait for the lock: who has it may wait for us to leave. */
    if (pthread_mutex_trylock(&net->pia.lock) != 0) {
        sched_yield();
        return dm_futex_now() >= deadline ? ETIMEDOUT : 0;
    }
    (void)net->ops->round(net, true);
    if (atomic_load(&ring->word) != value || !lead_take(net, ring)) {
        pthread_mutex_unlock(&net->pia.lock);
        dm_net_run_agents(net);
        return lead_follow(net, ring, value, deadline);
    }
    until =
        net->pia.has_thread ? deadline : dm_net_earlier(deadline, atomic_load(&net->next_timer));
    if (!lead_begin(net, ring, value))
        return dm_futex_now() >= deadline ? ETIMEDOUT : 0;
    err = dm_net_sleep_on(net, net->progress.lead_fd, until);
    atomic_store(&net->pia.led, NULL);
    if (atomic_load_explicit(&net->progress.is_waiting, memory_order_relaxed))
        dm_net_wake_thread(net); /* it has gone to sleep for longer */
    if (pthread_mutex_trylock(&net->pia.lock) == 0) {
        (void)net->ops->round(net, true);
        pthread_mutex_unlock(&net->pia.lock);
    }
    dm_net_run_agents(net);
    return err == ETIMEDOUT && until != deadline ? 0 : err;
}

/* Events that wake nobody leave the word as it is. */
int dm_net_sleep(struct dm_pia *pia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline)
{
    int err = 0;

    while (err == 0 && atomic_load(&ring->word) == value)
        err = sleep_once((struct dm_net *)pia, ring, value, deadline);
    return err;
}
