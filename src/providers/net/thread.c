/*
 * The progress thread: it drives the network when no consumer does.
 *
 * While consumers poll, it sleeps on its word for a millisecond at a
 * time and looks whether they still do; it is not on the descriptors then, so
 * that arriving data wakes nobody. Somebody who waits for events takes the
 * descriptors (pia.led, sleep.c); the thread sleeps meanwhile, longer and
 * longer as long as nothing happens.
 *
 * Where it wakes up late, others want the core. Then it looks less often: each look takes the core from
 * one of them, and what it did for its consumer would come late anyway.
 */
#include "providers/net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "util/slice.h"

enum { WAIT_MIN_NS = 1000000, WAIT_MAX_NS = 64000000, BUSY_POLLS = 16, POLLS_MIN = 4 };
enum { SHORT_LOOK_NS = 100000, SHORT_FOR_NS = 16000000 };
/* Looks are so many times as far apart as they are late, at most. */
enum { LATE_TIMES = 4, LATE_MAX_NS = 8000000 };

/* What the thread has seen of the consumers. */
struct poll_watch {
    uint64_t when;
    uint64_t short_until; /* they had stopped polling when it was last looked */
    uint32_t n;
    bool is_busy;
    bool is_same;
    uint64_t look_ns; /* from one look to the next while they poll */
    uint64_t cpu_ns;  /* of the process, when it was last looked */
};

static uint64_t process_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * So many polls since the last look: often enough? Measured by the processor time of this process, since it may
 * share its core with others; who sleeps between its polls has at least a few.
 */
static bool watch_is_often(struct poll_watch *watch, uint32_t n_polls)
{
    uint64_t was = watch->cpu_ns;

    watch->cpu_ns = process_cpu_ns();
    return n_polls >= POLLS_MIN && n_polls >= BUSY_POLLS * (watch->cpu_ns - was) / WAIT_MIN_NS;
}

void dm_net_wake_thread(struct dm_net *net)
{
    atomic_fetch_add(&net->progress.word, 1);
    dm_futex_wake(&net->progress.word, 1);
}

void dm_net_kick(struct dm_pia *pia)
{
    struct dm_net *net = (struct dm_net *)pia;

    atomic_store(&net->progress.has_agents, true);
    if (atomic_load(&pia->led) != NULL)
        dm_net_eventfd_signal(net->progress.lead_fd);
    if (!net->pia.has_thread)
        return;
    dm_net_eventfd_signal(net->progress.kick_fd);
    dm_net_wake_thread(net);
}

/* Have consumers polled so often that they will see what comes as soon as the
 * thread would? Not those who look for a completion now and then, and wait for
 * the rest in memory. Looked at once a millisecond; a sleep on the descriptors
 * counts as much as that many polls. */
static bool thread_is_idle(struct dm_net *net, struct poll_watch *watch)
{
    uint32_t n_leads = atomic_load_explicit(&net->progress.n_leads, memory_order_relaxed);
    uint32_t n =
        atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed) + BUSY_POLLS * n_leads;
    uint64_t now = dm_futex_now();

    watch->is_same = n == watch->n;
    if (now - watch->when >= WAIT_MIN_NS) {
        watch->is_busy = watch_is_often(watch, n - watch->n);
        watch->when = now;
        watch->n = n;
    }
    atomic_store_explicit(&net->progress.is_polled, watch->is_busy, memory_order_relaxed);
    return net->mode == DM_NET_AUTO && (watch->is_busy || atomic_load(&net->pia.led) != NULL);
}

/* Off the descriptors, until somebody wakes us or the time has come. */
static void thread_wait(struct dm_net *net, struct poll_watch *watch, uint32_t word, uint64_t ns,
                        uint64_t timer)
{
    uint64_t until = dm_futex_now() + ns, late;

    atomic_store(&net->progress.is_waiting, ns > watch->look_ns);
    if (dm_futex_wait(&net->progress.word, word, dm_net_earlier(timer, until)) == ETIMEDOUT &&
        timer > until) {
        late = LATE_TIMES * (dm_futex_now() - until);
        watch->look_ns = late < WAIT_MIN_NS ? WAIT_MIN_NS : late < LATE_MAX_NS ? late : LATE_MAX_NS;
    }
    atomic_store(&net->progress.is_waiting, false);
}

/* Is that thread of this process running, or ready to? */
static bool thread_is_ready(pid_t id)
{
    char text[128] = {0}; /* "id (name) state ..." */
    const char *name_end;
    int fd;

    snprintf(text, sizeof(text), "/proc/self/task/%d/stat", (int)id);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    if (fd >= 0)
        close(fd);
    name_end = strrchr(text, ')');
    return name_end != NULL && strncmp(name_end, ") R", 3) == 0;
}

/* Has who polls had no core since then? It takes what has come when it has one. */
static bool poller_lacks_core(struct dm_net *net, uint64_t since, uint64_t cpu_since)
{
    return (process_cpu_ns() - cpu_since) * 2 < dm_futex_now() - since &&
           thread_is_ready(atomic_load_explicit(&net->progress.poller_id, memory_order_relaxed));
}

/* Consumers that seemed to poll may wait in memory by now for what only we would bring
 * now. If something is there and nobody takes it for a moment, neither by polling nor in
 * a long call, they are looked at more often for a while. */
static void thread_look_again(struct dm_net *net, struct poll_watch *watch, uint32_t word,
                              bool is_short)
{
    uint32_t n = atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed);
    uint64_t since, cpu_since;

    if (atomic_load(&net->pia.led) != NULL)
        return;
    since = dm_futex_now();
    cpu_since = process_cpu_ns();
    thread_wait(net, watch, word, is_short ? SHORT_LOOK_NS : watch->look_ns,
                atomic_load(&net->next_timer));
    if (n != atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed) ||
        atomic_load(&net->pia.led) != NULL || atomic_load(&net->progress.word) != word ||
        pthread_mutex_trylock(&net->pia.lock) != 0)
        return;
    pthread_mutex_unlock(&net->pia.lock);
    if (dm_net_sleep_on(net, net->progress.kick_fd, dm_futex_now()) == ETIMEDOUT ||
        poller_lacks_core(net, since, cpu_since))
        return;
    watch->is_busy = false;
    watch->when = dm_futex_now();
    watch->n = n;
    watch->short_until = watch->when + SHORT_FOR_NS;
}

/*
 * Take the lock. Not if a consumer has it who polls: its calls may be few because they
 * are long, and waiting for it would cost it a system call each time.
 */
static bool thread_lock(struct dm_net *net, struct poll_watch *watch, bool is_idle)
{
    if (pthread_mutex_trylock(&net->pia.lock) == 0)
        return true;
    if (!is_idle && net->mode == DM_NET_AUTO && !atomic_load(&net->progress.is_stopping) &&
        atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed) != watch->n) {
        watch->is_busy = true;
        watch->when = dm_futex_now();
        return false;
    }
    pthread_mutex_lock(&net->pia.lock);
    return true;
}

static void *net_progress_thread(void *arg)
{
    struct dm_net *net = arg;
    struct poll_watch watch = {.look_ns = WAIT_MIN_NS};
    uint64_t ns = WAIT_MIN_NS;

    dm_slice_shorten();
    for (;;) {
        uint32_t word = atomic_load(&net->progress.word);
        bool is_idle = thread_is_idle(net, &watch);
        bool is_stopping;
        bool is_ready = false;
        bool is_short;
        uint64_t timer;

        timer = atomic_load(&net->next_timer);
        if (!is_idle || (timer != DM_FUTEX_FOREVER && dm_futex_now() >= timer)) {
            if (!thread_lock(net, &watch, is_idle))
                continue;
            (void)net->ops->round(net, true);
            is_ready = !is_idle && net->ops->can_sleep(net);
            timer = atomic_load(&net->next_timer);
            pthread_mutex_unlock(&net->pia.lock);
        }
        is_stopping = atomic_load(&net->progress.is_stopping);
        if (is_stopping)
            return NULL;
        if (atomic_exchange(&net->progress.has_agents, false)) {
            dm_cno_run_agents(&net->pia);
            continue;
        }
        if (is_idle) {
            /* Nothing but one and the same waiter: look less often. */
            if (!watch.is_same)
                ns = watch.look_ns;
            else if (ns < WAIT_MAX_NS)
                ns *= 2;
            is_short = watch.short_until > dm_futex_now();
            thread_wait(net, &watch, word, is_short ? SHORT_LOOK_NS : ns, timer);
            thread_look_again(net, &watch, word, is_short);
            continue;
        }
        ns = WAIT_MIN_NS;
        if (is_ready && !atomic_load(&net->progress.is_stopping))
            (void)dm_net_sleep_on(net, net->progress.kick_fd, timer);
    }
}

bool dm_net_progress_start(struct dm_net *net)
{
    net->progress.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    net->progress.lead_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->progress.kick_fd < 0 || net->progress.lead_fd < 0)
        return false;
    return net->mode == DM_NET_MANUAL || dm_prov_thread_start(&net->pia, net_progress_thread);
}

void dm_net_progress_stop(struct dm_net *net)
{
    if (!net->pia.has_thread)
        return;
    atomic_store(&net->progress.is_stopping, true);
    dm_net_kick(&net->pia);
    pthread_join(net->pia.thread, NULL);
}

void dm_net_progress_close(struct dm_net *net)
{
    if (net->progress.kick_fd >= 0)
        close(net->progress.kick_fd);
    if (net->progress.lead_fd >= 0)
        close(net->progress.lead_fd);
    net->progress.kick_fd = net->progress.lead_fd = -1;
}
