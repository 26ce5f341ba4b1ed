/*
 * The progress thread: it sleeps until a socket is ready, a
 * deadline passes or somebody kicks it.
 *
 * A source that is closed is only marked dead, and freed at the end of the
 * thread's round: the round may hold an event of it already.
 */
#include "providers/shm/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "providers/shm/cm.h"
#include "providers/shm/ctrl.h"
#include "providers/shm/transport/datagram.h"
#include "providers/shm/transport/inbox.h"
#include "util/slice.h"

enum { N_EVENTS = 64, NS_PER_MS = 1000000 };

bool dm_shm_src_add(struct dm_shm_ia *ia, struct dm_shm_src *src)
{
    struct epoll_event ev = {.events = EPOLLIN};

    ev.data.ptr = src;
    return epoll_ctl(ia->epoll_fd, EPOLL_CTL_ADD, src->fd, &ev) == 0;
}

void dm_shm_src_poll(struct dm_shm_ia *ia, struct dm_shm_src *src, uint32_t events)
{
    struct epoll_event ev = {.events = events};

    ev.data.ptr = src;
    (void)epoll_ctl(ia->epoll_fd, EPOLL_CTL_MOD, src->fd, &ev);
}

void dm_shm_src_close(struct dm_shm_ia *ia, struct dm_shm_src *src)
{
    if (src->fd < 0)
        return;
    (void)epoll_ctl(ia->epoll_fd, EPOLL_CTL_DEL, src->fd, NULL);
    close(src->fd);
    src->fd = -1;
}

void dm_shm_src_replace(struct dm_shm_ia *ia, struct dm_shm_src *src, int fd)
{
    dm_shm_src_close(ia, src);
    src->fd = fd;
}

static void src_move(struct dm_shm_src *src, struct dm_list *to)
{
    dm_list_del(&src->link);
    dm_list_add_tail(to, &src->link);
}

void dm_shm_src_watch(struct dm_shm_ia *ia, struct dm_shm_src *src)
{
    src_move(src, &ia->srcs);
}

void dm_shm_src_defer_free(struct dm_shm_ia *ia, struct dm_shm_src *src)
{
    dm_shm_src_close(ia, src);
    src->is_dead = true;
    src_move(src, &ia->deferred_free);
}

void dm_shm_kick(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    uint64_t one = 1;

    atomic_store(&ia->has_agents, true);
    if (pia->has_thread && pthread_equal(pia->thread, pthread_self())) { /* it need not be woken */
        ia->is_kicked = true;
        return;
    }
    if (atomic_load(&ia->is_polling)) {
        atomic_store(&ia->is_kick_due, true);
        /* Who polls sees that, unless it has ended: then one of the two takes it back. */
        if (atomic_load(&ia->is_polling) || !atomic_exchange(&ia->is_kick_due, false))
            return;
    }
    if (write(ia->kick.fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it is awake anyway */
}

void dm_shm_poll(struct dm_pia *pia)
{
    if (pia->is_driven)
        dm_shm_model_poll(pia);
    else
        dm_shm_inbox_poll(pia);
}

static void src_free_dead(struct dm_shm_ia *ia)
{
    while (!dm_list_is_empty(&ia->deferred_free)) {
        struct dm_shm_src *src = dm_container_of(ia->deferred_free.next, struct dm_shm_src, link);

        dm_list_del(&src->link);
        free(src); /* the first member of what was allocated */
    }
}

/* Run what is due for a source; when it is due again. */
static uint64_t src_timer(struct dm_shm_ia *ia, struct dm_shm_src *src, uint64_t now)
{
    struct dm_shm_listener *listener = (struct dm_shm_listener *)src;
    struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

    if (src->kind == DM_SRC_LISTEN && listener->paused != 0) {
        if (listener->paused <= now)
            dm_shm_listener_ready(ia, listener);
        return listener->paused != 0 ? listener->paused : DM_FUTEX_FOREVER;
    }
    if (src->kind != DM_SRC_CONN)
        return DM_FUTEX_FOREVER;
    dm_shm_ctrl_flush(conn);
    if (src->is_dead)
        return DM_FUTEX_FOREVER;
    if (conn->deadline <= now || conn->state == DM_CONN_RETRY || conn->state == DM_CONN_QUIESCING)
        dm_shm_cm_timeout(conn);
    if (src->is_dead)
        return DM_FUTEX_FOREVER;
    if (conn->state == DM_CONN_UP && dm_list_is_empty(&conn->out.list))
        src_move(src, &ia->quiet_srcs);
    return dm_shm_cm_due(conn, now);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Run what is due; the time in ms until the next, -1 for never. */
static int src_timers(struct dm_shm_ia *ia)
{
    uint64_t next = DM_FUTEX_FOREVER;
    uint64_t now = dm_futex_now();
    struct dm_list *it;

    dm_shm_doorbell_look(ia);
    next = dm_shm_inbox_look(ia);
    it = ia->srcs.next;
    while (it != &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_list *after = it->next;

        next = earlier(next, src_timer(ia, src, now));
        /* It may have taken its neighbour along: that is in another list now. */
        if (after != &ia->srcs && dm_container_of(after, struct dm_shm_src, link)->is_dead)
            after = ia->srcs.next;
        it = after;
    }
    now = dm_futex_now();
    next = earlier(next, dm_shm_guard_look(ia, now));
    next = earlier(next, dm_shm_inbox_ring_late(ia));
    /* An earlier time that was set stays: the next connection need not set one then. */
    if (next < ia->wake_at || ia->wake_at <= now)
        ia->wake_at = next;
    next = ia->wake_at;
    if (next == DM_FUTEX_FOREVER)
        return -1;
    return next > now ? (int)((next - now) / NS_PER_MS) + 1 : 0;
}

static void src_ready(struct dm_shm_ia *ia, const struct epoll_event *ev)
{
    struct dm_shm_src *src = ev->data.ptr;
    uint64_t count;

    if (src->is_dead)
        return;
    switch (src->kind) {
    case DM_SRC_KICK:
        if (read(src->fd, &count, sizeof(count)) < 0)
            return;
        break;
    case DM_SRC_LISTEN:
        dm_shm_listener_ready(ia, (struct dm_shm_listener *)src);
        break;
    case DM_SRC_CONN:
        dm_shm_conn_ready((struct dm_shm_conn *)src);
        break;
    case DM_SRC_DOORBELL:
        dm_shm_doorbell_ready(ia);
        break;
    case DM_SRC_GUARDED:
        dm_shm_guard_ready(ia, (struct dm_shm_guarded *)src);
        break;
    }
}

static void *shm_progress_thread(void *arg)
{
    struct dm_shm_ia *ia = arg;
    struct epoll_event ev[N_EVENTS];
    int timeout = -1;

    dm_slice_shorten();
    for (;;) {
        int n = epoll_wait(ia->epoll_fd, ev, N_EVENTS, timeout);
        bool is_stopping;

        pthread_mutex_lock(&ia->pia.lock);
        for (int i = 0; i < n; i++)
            src_ready(ia, &ev[i]);
        ia->is_kicked = false;
        timeout = src_timers(ia);
        dm_shm_datagram_wake(ia);
        src_free_dead(ia);
        is_stopping = ia->is_stopping;
        pthread_mutex_unlock(&ia->pia.lock);
        if (is_stopping)
            return NULL;
        if (atomic_exchange(&ia->has_agents, false))
            dm_cno_run_agents(&ia->pia);
        if (ia->is_kicked)
            timeout = 0;
    }
}

bool dm_shm_progress_start(struct dm_shm_ia *ia)
{
    dm_list_init(&ia->srcs);
    dm_list_init(&ia->quiet_srcs);
    dm_list_init(&ia->deferred_free);
    ia->wake_at = DM_FUTEX_FOREVER;
    ia->kick.kind = DM_SRC_KICK;
    ia->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    ia->kick.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ia->epoll_fd < 0 || ia->kick.fd < 0 || !dm_shm_src_add(ia, &ia->kick) ||
        !dm_shm_doorbell_open(ia))
        goto err_close;
    if (dm_prov_thread_start(&ia->pia, shm_progress_thread))
        return true;
    dm_shm_doorbell_close(ia);
err_close:
    if (ia->epoll_fd >= 0)
        close(ia->epoll_fd);
    if (ia->kick.fd >= 0)
        close(ia->kick.fd);
    return false;
}

static void srcs_end(struct dm_shm_ia *ia, struct dm_list *srcs)
{
    while (!dm_list_is_empty(srcs)) {
        struct dm_shm_src *src = dm_container_of(srcs->next, struct dm_shm_src, link);

        if (src->kind == DM_SRC_CONN)
            dm_shm_conn_close((struct dm_shm_conn *)src);
        else
            dm_shm_src_defer_free(ia, src);
    }
}

static void srcs_close_fds(const struct dm_list *srcs)
{
    dm_list_for_each (it, srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);

        if (src->fd >= 0)
            close(src->fd);
    }
}

void dm_shm_srcs_forked(struct dm_shm_ia *ia)
{
    srcs_close_fds(&ia->srcs);
    srcs_close_fds(&ia->quiet_srcs);
    close(ia->doorbell.src.fd);
}

void dm_shm_progress_stop(struct dm_shm_ia *ia)
{
    pthread_mutex_lock(&ia->pia.lock);
    ia->is_stopping = true;
    pthread_mutex_unlock(&ia->pia.lock);
    dm_shm_kick(&ia->pia);
    pthread_join(ia->pia.thread, NULL);
    dm_shm_guard_leave(ia);
    dm_shm_doorbell_leave(ia);
    dm_shm_inbox_end(ia);
    srcs_end(ia, &ia->srcs); /* requests that came in the end */
    srcs_end(ia, &ia->quiet_srcs);
    src_free_dead(ia);
    dm_shm_doorbell_close(ia);
    close(ia->epoll_fd);
    close(ia->kick.fd);
}
