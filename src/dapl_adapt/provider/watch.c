/*
 * The watch of memory by userfaultfd(2).
 *
 * Ranges are registered for write protection, and nothing is ever protected: so no fault is held up, and
 * the events are all that comes. They come after the pages of unmapped or moved memory have gone, and before those
 * of memory that is given back (madvise) go. Between the beginning of a change and the moment its
 * event was read the kernel refuses UFFDIO_WRITEPROTECT with EAGAIN. That is asked of a page of the watch's
 * own. After "no change under way", and with what was read until then taken into account, a range that is
 * still in `watched` has had the same pages since it came in.
 *
 * Of memory that was given back one cannot tell when its pages have gone. So nothing relies on it
 * until it is unmapped: `doubted`.
 *
 * Pages that an adapter holds stay those of this process when it forks, from Linux 5.19 on: write protection
 * of shared memory came with it, and that feature is demanded.
 */
#include "dapl_adapt/provider/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dapl_adapt/provider/ranges.h"
#include "util/list.h"

#define USER_MODE_ONLY 1            /* faults of the kernel do not matter; needs no privilege */
#define WP_SHARED      (1ULL << 12) /* UFFD_FEATURE_WP_HUGETLBFS_SHMEM */
#define NEWS_MAX       1024
#define RANGES_MAX     8192 /* each may cost the program two mappings of 65530 */
#define TRIAL_PAGES    4
#define TRIAL_MS       2000

struct news {
    uintptr_t start;
    uintptr_t end;
    bool is_removal; /* still mapped */
};

struct log {
    struct news news[NEWS_MAX];
    size_t n;
};

struct dm_watch {
    struct dm_list link; /* in watches */
    int fd;
    int stop_fd;
    pthread_t reader;
    bool has_reader;
    size_t page;
    char *own; /* a page that is watched and never changes */
    pthread_mutex_t lock;
    struct log log[2];
    struct log *noted; /* of the two, the one that the reader writes */
    struct dm_ranges watched;
    struct dm_ranges doubted; /* of them given back */
    bool is_blind;            /* no memory to keep the ranges in */
};

/* ---- children ---- */

/* A child that keeps the descriptor would keep the watch alive when this process has ended it. */
static struct {
    pthread_mutex_t lock;
    bool is_ready;
    struct dm_list list;
} watches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void watch_fork_lock(void)
{
    pthread_mutex_lock(&watches.lock);
}

static void watch_fork_unlock(void)
{
    pthread_mutex_unlock(&watches.lock);
}

static void watch_fork_child(void)
{
    dm_list_for_each (it, &watches.list) {
        struct dm_watch *watch = dm_container_of(it, struct dm_watch, link);

        close(watch->fd);
        close(watch->stop_fd);
        watch->fd = watch->stop_fd = -1;
    }
    watch_fork_unlock();
}

static bool watch_fork_add(struct dm_watch *watch)
{
    bool is_ok = true;

    watch_fork_lock();
    if (!watches.is_ready) {
        dm_list_init(&watches.list);
        is_ok = pthread_atfork(watch_fork_lock, watch_fork_unlock, watch_fork_child) == 0;
        watches.is_ready = is_ok;
    }
    if (is_ok)
        dm_list_add_tail(&watches.list, &watch->link);
    watch_fork_unlock();
    return is_ok;
}

/* ---- the reader ---- */

/* When there is no room the last one spans both: nothing is lost but sharpness. */
static void log_add(struct log *log, uintptr_t start, uintptr_t end, bool is_removal)
{
    struct news *last = log->n > 0 ? &log->news[log->n - 1] : NULL;

    if (last != NULL && last->start <= start && last->end >= end && last->is_removal && is_removal)
        return;
    if (log->n < NEWS_MAX) {
        log->news[log->n++] = (struct news){start, end, is_removal};
        return;
    }
    last->start = start < last->start ? start : last->start;
    last->end = end > last->end ? end : last->end;
    last->is_removal = true;
}

static void log_note(struct log *log, const struct uffd_msg *msg)
{
    switch (msg->event) {
    case UFFD_EVENT_REMAP:
        log_add(log, msg->arg.remap.from, msg->arg.remap.from + msg->arg.remap.len, false);
        log_add(log, msg->arg.remap.to, msg->arg.remap.to + msg->arg.remap.len, false);
        break;
    case UFFD_EVENT_REMOVE:
    case UFFD_EVENT_UNMAP:
        log_add(log, msg->arg.remove.start, msg->arg.remove.end, msg->event == UFFD_EVENT_REMOVE);
        break;
    default:
        break;
    }
}

/* Under the lock: what was read is noted before anybody asks whether a change is under way. */
static void watch_read(struct dm_watch *watch)
{
    struct uffd_msg msg;

    while (read(watch->fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg))
        log_note(watch->noted, &msg);
}

static void *watch_main(void *arg)
{
    struct dm_watch *watch = arg;
    struct pollfd fds[2] = {{.fd = watch->fd, .events = POLLIN},
                            {.fd = watch->stop_fd, .events = POLLIN}};

    while (fds[1].revents == 0 && (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) {
        if (poll(fds, 2, -1) < 0)
            continue;
        pthread_mutex_lock(&watch->lock);
        watch_read(watch);
        pthread_mutex_unlock(&watch->lock);
    }
    return NULL;
}

static bool watch_start(struct dm_watch *watch)
{
    sigset_t all, old;

    sigfillset(&all); /* signals belong to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    watch->has_reader = pthread_create(&watch->reader, NULL, watch_main, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return watch->has_reader;
}

/* ---- ranges ---- */

static bool watch_register(const struct dm_watch *watch, uintptr_t start, uintptr_t end)
{
    struct uffdio_register reg = {.range = {.start = start, .len = end - start},
                                  .mode = UFFDIO_REGISTER_MODE_WP};

    return ioctl(watch->fd, UFFDIO_REGISTER, &reg) == 0;
}

static void watch_unregister(const struct dm_watch *watch, uintptr_t start, uintptr_t end)
{
    struct uffdio_range range = {.start = start, .len = end - start};

    (void)ioctl(watch->fd, UFFDIO_UNREGISTER, &range);
}

/* "start-end perms offset device inode name": is it private, and no file's? */
static bool map_is_private(const char *line)
{
    char perms[5];
    unsigned long inode;

    return sscanf(line, "%*x-%*x %4s %*x %*s %lu", perms, &inode) == 2 && perms[3] == 'p' &&
           inode == 0;
}

/* By the kernel's list of mappings. */
static bool maps_are_private(uintptr_t start, uintptr_t end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    bool is_ok = maps != NULL;

    while (is_ok && start < end && getline(&line, &size, maps) > 0) {
        char *rest;
        uintptr_t from = (uintptr_t)strtoull(line, &rest, 16);
        uintptr_t to = (uintptr_t)strtoull(rest + 1, NULL, 16);

        if (to <= start)
            continue;
        is_ok = from <= start && map_is_private(line);
        start = to;
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return is_ok && start >= end;
}

bool dm_watch_covers(const struct dm_watch *watch, uintptr_t start, uintptr_t end)
{
    return !watch->is_blind && dm_ranges_cover(&watch->watched, start, end) &&
           !dm_ranges_touch(&watch->doubted, start, end);
}

bool dm_watch_add(struct dm_watch *watch, uintptr_t start, uintptr_t end)
{
    if (dm_watch_covers(watch, start, end))
        return true;
    if (watch->is_blind || watch->watched.n >= RANGES_MAX ||
        dm_ranges_touch(&watch->doubted, start, end) || !watch_register(watch, start, end))
        return false;
    /* watched from now on: what the list says holds until there are news */
    if (maps_are_private(start, end) && dm_ranges_add(&watch->watched, start, end))
        return true;
    if (!dm_ranges_touch(&watch->watched, start, end))
        watch_unregister(watch, start, end);
    return false;
}

/* ---- news ---- */

/* Is no change of a watched range under way? */
static bool watch_is_still(const struct dm_watch *watch)
{
    struct uffdio_writeprotect none = {.range = {(uintptr_t)watch->own, watch->page}, .mode = 0};

    return ioctl(watch->fd, UFFDIO_WRITEPROTECT, &none) == 0;
}

static void watch_apply(struct dm_watch *watch, const struct news *news)
{
    if (news->is_removal) {
        watch->is_blind |= !dm_ranges_add(&watch->doubted, news->start, news->end);
        return;
    }
    (void)dm_ranges_cut(&watch->watched, news->start, news->end);
    (void)dm_ranges_cut(&watch->doubted, news->start, news->end);
}

bool dm_watch_drain(struct dm_watch *watch,
                    void (*changed)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
    struct log *taken;
    bool is_still;

    pthread_mutex_lock(&watch->lock);
    is_still = watch_is_still(watch);
    if (!is_still) {
        watch_read(watch);
        is_still = watch_is_still(watch);
    }
    taken = watch->noted;
    watch->noted = taken == &watch->log[0] ? &watch->log[1] : &watch->log[0];
    pthread_mutex_unlock(&watch->lock);
    for (size_t i = 0; i < taken->n; i++) {
        watch_apply(watch, &taken->news[i]);
        changed(arg, taken->news[i].start, taken->news[i].end);
    }
    taken->n = 0;
    return is_still && !watch->is_blind;
}

/* ---- opening ---- */

static void trial_count(void *arg, uintptr_t start, uintptr_t end)
{
    (void)start;
    (void)end;
    (*(int *)arg)++;
}

static void *trial_unmap(void *arg)
{
    munmap(arg, (size_t)sysconf(_SC_PAGESIZE));
    return NULL;
}

/* While a page is being unmapped and nobody has read of it: is a change under way? */
static bool trial_shows_changes(struct dm_watch *watch, char *page)
{
    struct pollfd news = {.fd = watch->fd, .events = POLLIN};
    pthread_t thread;
    bool is_ok;

    pthread_mutex_lock(&watch->lock);
    is_ok = watch_is_still(watch);
    if (pthread_create(&thread, NULL, trial_unmap, page) != 0) {
        pthread_mutex_unlock(&watch->lock);
        munmap(page, watch->page);
        return false;
    }
    is_ok = poll(&news, 1, TRIAL_MS) == 1 && !watch_is_still(watch) && errno == EAGAIN && is_ok;
    watch_read(watch);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(thread, NULL);
    return is_ok;
}

/* Watched pages are unmapped, given back, and moved: is each reported, and where it was? */
static bool watch_try(struct dm_watch *watch)
{
    size_t page = watch->page;
    char *mem =
        mmap(NULL, TRIAL_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t start = (uintptr_t)mem;
    int n_reports = 0;
    bool is_ok;

    if (mem == MAP_FAILED)
        return false;
    memset(mem, 1, TRIAL_PAGES * page);
    is_ok = dm_watch_add(watch, start, start + TRIAL_PAGES * page) &&
            trial_shows_changes(watch, mem) && madvise(mem + page, page, MADV_DONTNEED) == 0 &&
            mremap(mem + 2 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, mem) == mem &&
            dm_watch_drain(watch, trial_count, &n_reports) && n_reports > 0;
    for (int i = 0; i < TRIAL_PAGES; i++)
        is_ok = is_ok && dm_watch_covers(watch, start + (size_t)i * page,
                                         start + (size_t)(i + 1) * page) == (i == 3);
    munmap(mem, TRIAL_PAGES * page);
    (void)dm_watch_drain(watch, trial_count, &n_reports);
    return is_ok;
}

static bool watch_open_fd(struct dm_watch *watch, char *why, size_t len)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                         UFFD_FEATURE_EVENT_REMOVE |
                                         UFFD_FEATURE_PAGEFAULT_FLAG_WP | WP_SHARED};

    watch->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    if (watch->fd < 0) {
        snprintf(why, len, "userfaultfd: %s", strerror(errno));
        return false;
    }
    if (ioctl(watch->fd, UFFDIO_API, &api) != 0) {
        snprintf(why, len, "userfaultfd cannot watch memory before Linux 5.19");
        return false;
    }
    watch->stop_fd = eventfd(0, EFD_CLOEXEC);
    watch->own =
        mmap(NULL, watch->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (watch->stop_fd < 0 || watch->own == MAP_FAILED ||
        !watch_register(watch, (uintptr_t)watch->own, (uintptr_t)watch->own + watch->page)) {
        snprintf(why, len, "userfaultfd cannot watch a page: %s", strerror(errno));
        return false;
    }
    return true;
}

struct dm_watch *dm_watch_open(char *why, size_t len)
{
    struct dm_watch *watch = calloc(1, sizeof(*watch));

    snprintf(why, len, "no memory");
    if (watch == NULL)
        return NULL;
    watch->fd = watch->stop_fd = -1;
    watch->own = MAP_FAILED;
    watch->page = (size_t)sysconf(_SC_PAGESIZE);
    watch->noted = &watch->log[0];
    dm_list_init(&watch->link);
    pthread_mutex_init(&watch->lock, NULL);
    if (!watch_open_fd(watch, why, len)) {
        dm_watch_close(watch);
        return NULL;
    }
    if (!watch_fork_add(watch) || !watch_start(watch) || !watch_try(watch)) {
        snprintf(why, len, "userfaultfd does not report changes as it should");
        dm_watch_close(watch);
        return NULL;
    }
    why[0] = '\0';
    return watch;
}

/* While the reader is there what is watched ends with the descriptor; only then nobody can wait for it. */
void dm_watch_close(struct dm_watch *watch)
{
    uint64_t one = 1;

    watch_fork_lock();
    dm_list_del(&watch->link);
    watch_fork_unlock();
    if (watch->has_reader) {
        (void)!write(watch->stop_fd, &one, sizeof(one));
        pthread_join(watch->reader, NULL);
    }
    if (watch->fd >= 0)
        close(watch->fd);
    if (watch->stop_fd >= 0)
        close(watch->stop_fd);
    if (watch->own != MAP_FAILED)
        munmap(watch->own, watch->page);
    dm_ranges_free(&watch->watched);
    dm_ranges_free(&watch->doubted);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
