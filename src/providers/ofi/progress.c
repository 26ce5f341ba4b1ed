/*
 * Driving the fabric: by consumers that poll, by consumers that wait, and by
 * the progress thread when there is neither.
 *
 * While consumers poll, the thread sleeps on its word for a millisecond at a
 * time and looks whether they still do; it is not on the descriptors then, so
 * that arriving data wakes nobody. Somebody who waits for events takes the
 * descriptors himself (pia.led); the thread sleeps meanwhile, longer and
 * longer as long as nothing happens.
 */
#include "providers/ofi/ofi.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { N_ENTRIES = 16, EQ_EVERY = 64, CLOCK_EVERY = 256, ROUNDS_MAX = 64 };
enum { NAP_MIN_NS = 1000000, NAP_MAX_NS = 64000000, FOLLOW_NS = 10000000, BUSY_POLLS = 16 };
enum { STAY_NS = 50000, STAY_SKIPS_MAX = 63 };
enum { LOOK_NS = 1000000, WARY_LOOK_NS = 100000, WARY_NS = 16000000 };
enum { CM_LEN = sizeof(struct fi_eq_cm_entry) + 512 };

/* What the thread has seen of the consumers. */
struct looks {
    uint64_t when;
    uint64_t wary_until; /* they had stopped polling when it was last looked */
    uint32_t n;
    bool is_busy;
    bool is_same;
};

/* ---- what comes from the fabric ---- */

static void completed(struct dm_ofi_ia *ia, const struct fi_cq_data_entry *entry)
{
    struct dm_ofi_ctx *ctx = entry->op_context;
    struct dm_ofi_done done = {.flags = entry->flags, .len = entry->len, .data = entry->data};

    if ((entry->flags & FI_REMOTE_WRITE) != 0)
        dm_ofi_note_arrived(ia, entry->data);
    else if (ctx != NULL)
        ctx->done(ctx, &done);
}

static void failed(struct dm_ofi_ia *ia)
{
    struct fi_cq_err_entry entry = {0};
    struct dm_ofi_ctx *ctx;
    struct dm_ofi_done done;

    if (fi_cq_readerr(ia->cq, &entry, 0) != 1)
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
        ssize_t n = fi_cq_read(ia->cq, entries, N_ENTRIES);

        if (n == -FI_EAVAIL) {
            failed(ia);
            n = 1;
        } else if (n > 0) {
            for (ssize_t i = 0; i < n; i++)
                completed(ia, &entries[i]);
        }
        if (n <= 0)
            break;
        n_all += (int)n;
    }
    ia->is_in_round = was_in_round;
    return n_all;
}

static void on_cm(struct dm_ofi_ia *ia, uint32_t event, const struct fi_eq_cm_entry *entry,
                  size_t len)
{
    void *context;

    if (event == FI_CONNREQ) {
        dm_ofi_cm_request(ia, entry->fid, entry->info, entry->data, len);
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
        while (dm_ofi_read_cq(ia) > 0) /* its last words */
            continue;
        dm_ofi_cm_shutdown(context);
        break;
    default:
        break;
    }
}

static int read_eq(struct dm_ofi_ia *ia)
{
    DM_ALIGNED(16) char buf[CM_LEN];
    struct fi_eq_cm_entry *entry = (void *)buf;
    int n_all = 0;

    for (;;) {
        uint32_t event = 0;
        ssize_t n = fi_eq_read(ia->eq, &event, buf, sizeof(buf), 0);

        if (n == -FI_EAVAIL) {
            struct fi_eq_err_entry err = {0};

            if (fi_eq_readerr(ia->eq, &err, 0) < 0)
                break;
            if (err.fid != NULL && err.fid->context != NULL && err.fid->fclass == FI_CLASS_EP)
                dm_ofi_cm_error(err.fid->context, err.err);
        } else if (n >= (ssize_t)sizeof(*entry)) {
            on_cm(ia, event, entry, (size_t)n - sizeof(*entry));
        } else {
            break;
        }
        n_all++;
        dm_ofi_conns_end(ia); /* the next event may be of what has ended */
    }
    return n_all;
}

/* One round. is_thorough: look at connections and clocks, too. */
static int drive(struct dm_ofi_ia *ia, bool is_thorough)
{
    int n = dm_ofi_read_cq(ia);

    dm_ofi_conns_end(ia);
    if (ia->n_moving > 0)
        dm_ofi_cm_move(ia);
    if (is_thorough) {
        n += read_eq(ia);
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
    return drive(ia, true);
}

/* Without a thread, agents of CNOs run in whoever drives. */
static void run_agents(struct dm_ofi_ia *ia)
{
    if (!ia->pia.has_thread && atomic_load_explicit(&ia->has_agents, memory_order_relaxed) &&
        atomic_exchange(&ia->has_agents, false))
        dm_cno_run_agents(&ia->pia);
}

void dm_ofi_poll(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    uint32_t n;

    if (pthread_mutex_trylock(&pia->lock) != 0)
        return; /* somebody drives it */
    n = atomic_load_explicit(&ia->n_polls, memory_order_relaxed) + 1;
    atomic_store_explicit(&ia->n_polls, n, memory_order_relaxed);
    ia->poller = pthread_self();
    (void)drive(ia, ia->n_setup > 0 || n % EQ_EVERY == 0);
    pthread_mutex_unlock(&pia->lock);
    run_agents(ia);
}

/* ---- sleeping ---- */

static void drain_fd(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0)
        return; /* nobody had written */
}

static void signal_fd(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it is readable anyway */
}

/* May we sleep on the descriptors? The lock is held. */
static bool can_sleep(struct dm_ofi_ia *ia)
{
    struct fid *fids[2] = {&ia->cq->fid, &ia->eq->fid};

    return fi_trywait(ia->fabric, fids, 2) == FI_SUCCESS;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One look at the descriptors and one of our own, not later than the deadline. */
static int poll_fds(struct pollfd fds[3], uint64_t deadline)
{
    uint64_t now = deadline != DM_FUTEX_FOREVER && deadline != 0 ? dm_futex_now() : 0;
    uint64_t left = deadline > now ? deadline - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(left / 1000000000u),
                          .tv_nsec = (long)(left % 1000000000u)};

    return ppoll(fds, 3, deadline != DM_FUTEX_FOREVER ? &ts : NULL, NULL);
}

/*
 * Who waits was woken, perhaps by what is not for it: peers read and write this process's memory. More of it
 * often comes soon, and waking up costs more than carrying it out. So the waiter stays for a moment
 * before it sleeps again; after a moment in vain the next 1, 3, 7 ... 63 times it does not.
 */
static int stay(struct dm_ofi_ia *ia, struct pollfd fds[3], uint64_t deadline)
{
    uint64_t until = earlier(ia->stay_until, deadline);
    int n = 0;

    ia->stay_until = 0;
    if (dm_futex_now() >= until)
        return 0;
    do {
        n = poll_fds(fds, 0);
        if (n != 0) {
            ia->stay_most = 0;
            return n;
        }
        sched_yield();
    } while (dm_futex_now() < until);
    if (until != deadline) {
        ia->stay_most = ia->stay_most < STAY_SKIPS_MAX ? ia->stay_most * 2 + 1 : STAY_SKIPS_MAX;
        ia->stay_skips = ia->stay_most;
    }
    return 0;
}

static void may_stay(struct dm_ofi_ia *ia)
{
    if (ia->stay_skips > 0)
        ia->stay_skips--;
    else
        ia->stay_until = dm_futex_now() + STAY_NS;
}

/* Sleep on the descriptors and one of our own; 0, ETIMEDOUT or EINTR. */
static int sleep_on(struct dm_ofi_ia *ia, int own_fd, uint64_t deadline)
{
    struct pollfd fds[3] = {{.fd = own_fd, .events = POLLIN},
                            {.fd = ia->cq_fd, .events = POLLIN},
                            {.fd = ia->eq_fd, .events = POLLIN}};
    int n = 0;

    if (own_fd == ia->lead_fd && ia->stay_until != 0)
        n = stay(ia, fds, deadline);
    if (n == 0)
        n = poll_fds(fds, deadline);
    if (n < 0)
        return errno == EINTR ? EINTR : 0;
    if ((fds[0].revents & POLLIN) != 0)
        drain_fd(own_fd);
    if (own_fd == ia->lead_fd && fds[1].revents != 0)
        may_stay(ia);
    return n == 0 ? ETIMEDOUT : 0;
}

/* Somebody else has the descriptors, and wakes us by the ring's word. */
static int follow(struct dm_ofi_ia *ia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline)
{
    uint64_t until = deadline;
    int err;

    if (!ia->pia.has_thread) /* who leads may leave, and nobody would follow him */
        until = earlier(deadline, dm_futex_now() + FOLLOW_NS);
    err = dm_futex_wait(&ring->word, value, until);
    return err == ETIMEDOUT && until != deadline ? 0 : err;
}

/* Who waits takes the descriptors, unless another thread is polling: that would
 * be no faster, and arriving data would wake this one for nothing. */
static bool take_lead(struct dm_ofi_ia *ia, struct dm_evd_ring *ring)
{
    uint32_t n = atomic_load_explicit(&ia->n_polls, memory_order_relaxed);
    bool is_other = n != ia->n_polls_seen && !pthread_equal(ia->poller, pthread_self());
    struct dm_evd_ring *none = NULL;

    ia->n_polls_seen = n;
    if (ia->mode == DM_OFI_THREAD || (is_other && ia->pia.has_thread))
        return false;
    return atomic_compare_exchange_strong(&ia->pia.led, &none, ring);
}

/* Take the descriptors, if they are free. The lock is held; it is not when
 * this is true, and the caller has to sleep. */
static bool lead(struct dm_ofi_ia *ia, struct dm_evd_ring *ring, uint32_t value)
{
    if (!can_sleep(ia) || atomic_load(&ring->word) != value) {
        atomic_store(&ia->pia.led, NULL);
        pthread_mutex_unlock(&ia->pia.lock);
        return false;
    }
    atomic_fetch_add_explicit(&ia->n_leads, 1, memory_order_relaxed);
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
    (void)drive(ia, true);
    if (atomic_load(&ring->word) != value || !take_lead(ia, ring)) {
        pthread_mutex_unlock(&ia->pia.lock);
        run_agents(ia);
        return follow(ia, ring, value, deadline);
    }
    until = ia->pia.has_thread ? deadline : earlier(deadline, atomic_load(&ia->next_timer));
    if (!lead(ia, ring, value))
        return dm_futex_now() >= deadline ? ETIMEDOUT : 0;
    err = sleep_on(ia, ia->lead_fd, until);
    atomic_store(&ia->pia.led, NULL);
    if (atomic_load_explicit(&ia->is_napping, memory_order_relaxed))
        dm_ofi_wake_thread(ia); /* it has gone to sleep for longer */
    if (pthread_mutex_trylock(&ia->pia.lock) == 0) {
        (void)drive(ia, true);
        pthread_mutex_unlock(&ia->pia.lock);
    }
    run_agents(ia);
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

/* ---- the thread ---- */

void dm_ofi_wake_thread(struct dm_ofi_ia *ia)
{
    atomic_fetch_add(&ia->word, 1);
    dm_futex_wake(&ia->word, 1);
}

void dm_ofi_kick(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    atomic_store(&ia->has_agents, true);
    if (atomic_load(&pia->led) != NULL)
        signal_fd(ia->lead_fd);
    if (!ia->pia.has_thread)
        return;
    signal_fd(ia->kick_fd);
    dm_ofi_wake_thread(ia);
}

/* Have consumers polled so often that they will see what comes as soon as the
 * thread would? Not those who look for a completion now and then, and wait for
 * the rest in memory. Looked at once a millisecond; a sleep on the descriptors
 * counts as much as that many polls. */
static bool is_tended(struct dm_ofi_ia *ia, struct looks *looks)
{
    uint32_t n_leads = atomic_load_explicit(&ia->n_leads, memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&ia->n_polls, memory_order_relaxed) + BUSY_POLLS * n_leads;
    uint64_t now = dm_futex_now();

    looks->is_same = n == looks->n;
    if (now - looks->when >= NAP_MIN_NS) {
        looks->is_busy = n - looks->n >= BUSY_POLLS * ((now - looks->when) / NAP_MIN_NS);
        looks->when = now;
        looks->n = n;
    }
    return ia->mode == DM_OFI_AUTO && (looks->is_busy || atomic_load(&ia->pia.led) != NULL);
}

/* Off the descriptors, until somebody wakes us or the time has come. */
static void nap(struct dm_ofi_ia *ia, uint32_t word, uint64_t ns, uint64_t timer)
{
    atomic_store(&ia->is_napping, ns > NAP_MIN_NS);
    (void)dm_futex_wait(&ia->word, word, earlier(timer, dm_futex_now() + ns));
    atomic_store(&ia->is_napping, false);
}

/* They who seemed to poll may have gone on to wait in memory for what only we would bring
 * now. If something is there and nobody takes it for a moment, neither by polling nor in
 * a long call, they are not trusted so long for a while. */
static void look_again(struct dm_ofi_ia *ia, struct looks *looks, uint32_t word, bool is_wary)
{
    uint32_t n = atomic_load_explicit(&ia->n_polls, memory_order_relaxed);

    if (atomic_load(&ia->pia.led) != NULL)
        return;
    nap(ia, word, is_wary ? WARY_LOOK_NS : LOOK_NS, atomic_load(&ia->next_timer));
    if (n != atomic_load_explicit(&ia->n_polls, memory_order_relaxed) ||
        atomic_load(&ia->pia.led) != NULL || atomic_load(&ia->word) != word ||
        pthread_mutex_trylock(&ia->pia.lock) != 0)
        return;
    pthread_mutex_unlock(&ia->pia.lock);
    if (sleep_on(ia, ia->kick_fd, dm_futex_now()) == ETIMEDOUT)
        return;
    looks->is_busy = false;
    looks->when = dm_futex_now();
    looks->n = n;
    looks->wary_until = looks->when + WARY_NS;
}

/*
 * Take the lock. Not if a consumer has it who polls: his calls may be few because they
 * are long, and waiting for him would cost him a system call each time.
 */
static bool enter(struct dm_ofi_ia *ia, struct looks *looks, bool is_tended_now)
{
    if (pthread_mutex_trylock(&ia->pia.lock) == 0)
        return true;
    if (!is_tended_now && ia->mode == DM_OFI_AUTO && !atomic_load(&ia->is_stopping) &&
        atomic_load_explicit(&ia->n_polls, memory_order_relaxed) != looks->n) {
        looks->is_busy = true;
        looks->when = dm_futex_now();
        return false;
    }
    pthread_mutex_lock(&ia->pia.lock);
    return true;
}

static void *run(void *arg)
{
    struct dm_ofi_ia *ia = arg;
    struct looks looks = {0};
    uint64_t ns = NAP_MIN_NS;

    dm_thread_short_slice();
    for (;;) {
        uint32_t word = atomic_load(&ia->word);
        bool is_tended_now = is_tended(ia, &looks);
        bool is_stopping;
        bool is_ready = false;
        bool is_wary;
        uint64_t timer;

        timer = atomic_load(&ia->next_timer);
        if (!is_tended_now || (timer != DM_FUTEX_FOREVER && dm_futex_now() >= timer)) {
            if (!enter(ia, &looks, is_tended_now))
                continue;
            (void)drive(ia, true);
            is_ready = !is_tended_now && can_sleep(ia);
            timer = atomic_load(&ia->next_timer);
            pthread_mutex_unlock(&ia->pia.lock);
        }
        is_stopping = atomic_load(&ia->is_stopping);
        if (is_stopping)
            return NULL;
        if (atomic_exchange(&ia->has_agents, false)) {
            dm_cno_run_agents(&ia->pia);
            continue;
        }
        if (is_tended_now) {
            /* Nothing but one and the same waiter: look less often. */
            if (!looks.is_same)
                ns = NAP_MIN_NS;
            else if (ns < NAP_MAX_NS)
                ns *= 2;
            is_wary = looks.wary_until > dm_futex_now();
            nap(ia, word, is_wary ? WARY_LOOK_NS : ns, timer);
            look_again(ia, &looks, word, is_wary);
            continue;
        }
        ns = NAP_MIN_NS;
        if (is_ready && !atomic_load(&ia->is_stopping))
            (void)sleep_on(ia, ia->kick_fd, timer);
    }
}

static bool open_fds(struct dm_ofi_ia *ia)
{
    ia->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ia->lead_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ia->kick_fd >= 0 && ia->lead_fd >= 0)
        return true;
    if (ia->kick_fd >= 0)
        close(ia->kick_fd);
    return false;
}

bool dm_ofi_progress_start(struct dm_ofi_ia *ia)
{
    ia->next_timer = DM_FUTEX_FOREVER;
    if (!open_fds(ia))
        return false;
    if (ia->mode == DM_OFI_MANUAL)
        return true;
    if (dm_prov_thread_start(&ia->pia, run))
        return true;
    close(ia->kick_fd);
    close(ia->lead_fd);
    return false;
}

void dm_ofi_progress_stop(struct dm_ofi_ia *ia)
{
    if (ia->pia.has_thread) {
        atomic_store(&ia->is_stopping, true);
        dm_ofi_kick(&ia->pia);
        pthread_join(ia->pia.thread, NULL);
    }
    close(ia->kick_fd);
    close(ia->lead_fd);
}
