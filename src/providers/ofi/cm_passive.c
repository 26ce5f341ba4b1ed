/*
 * Service points and connection requests: the passive side.
 *
 * A qualifier below 65536 is that TCP port when it is free; others, and those
 * that are not, are at one of a sequence of ports. Several service points of an
 * instance share a port. On one host (of network namespaces) an abstract name
 * of the address and the qualifier shows that it is taken; it is gone with its
 * process.
 */
#include "providers/ofi/calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EMBRYOS_MAX = 1024, ANY_TRIES = 64 };
#define LINGER_NS 2000000000u /* of ports without a service point */

/* ---- places ---- */

/* The name of a qualifier on this host; -1 when it is taken, -2 on errors. */
static int name_take(const struct dm_ofi_ia *ia, DAT_CONN_QUAL qual)
{
    const union dm_addr *own = &ia->pia.addr;
    const void *bytes = own->sa.sa_family == AF_INET6 ? (const void *)&own->in6.sin6_addr
                                                      : (const void *)&own->in.sin_addr;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char text[INET6_ADDRSTRLEN] = "";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_taken;
    int len;

    if (fd < 0)
        return -2;
    (void)inet_ntop(own->sa.sa_family, bytes, text, sizeof(text));
    len = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "datum-ofi.%s.%016llx", text,
                   (unsigned long long)qual);
    if (bind(fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
        return fd;
    is_taken = errno == EADDRINUSE;
    close(fd);
    return is_taken ? -1 : -2;
}

static struct dm_ofi_listener *listener_find(struct dm_ofi_ia *ia, uint16_t port)
{
    dm_list_for_each (it, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (listener->port == port)
            return listener;
    }
    return NULL;
}

static uint16_t port_of(struct fid_pep *pep)
{
    union dm_addr addr;
    size_t len = sizeof(addr);

    if (fi_getname(&pep->fid, &addr, &len) != 0)
        return 0;
    return ntohs(addr.sa.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

/* Listen on a port (0: any); 0 or an error of the fabric. */
static int listener_new(struct dm_ofi_ia *ia, uint16_t port, struct dm_ofi_listener **listener_p)
{
    struct dm_ofi_listener *listener = calloc(1, sizeof(*listener));
    struct fi_info *info = fi_dupinfo(ia->info);
    int err = -FI_ENOMEM;

    if (listener == NULL || info == NULL)
        goto out;
    dm_ofi_addr_set_port(info->src_addr, port);
    err = fi_passive_ep(ia->fabric, info, &listener->pep, listener);
    if (err != 0)
        goto out;
    listener->ia = ia;
    err = fi_pep_bind(listener->pep, &ia->eq->fid, 0);
    if (err == 0)
        err = fi_listen(listener->pep);
    if (err != 0) {
        fi_close(&listener->pep->fid);
        goto out;
    }
    listener->port = port_of(listener->pep);
    dm_list_add_tail(&ia->listeners, &listener->link);
    *listener_p = listener;
    listener = NULL;
out:
    free(listener);
    if (info != NULL)
        fi_freeinfo(info);
    return err;
}

static void listener_drop(struct dm_ofi_listener *listener)
{
    if (--listener->n_refs > 0)
        return;
    /* Those who are calling would never hear of it. */
    listener->close_at = dm_futex_now() + LINGER_NS;
    dm_ofi_timer_at(listener->ia, listener->close_at);
}

static void listener_close(struct dm_ofi_listener *listener)
{
    dm_list_del(&listener->link);
    fi_close(&listener->pep->fid);
    free(listener);
}

uint64_t dm_ofi_listeners_timers(struct dm_ofi_ia *ia, uint64_t now)
{
    uint64_t next = DM_FUTEX_FOREVER;

    dm_list_for_each_safe (it, after, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (listener->n_refs > 0)
            continue;
        if (listener->close_at <= now)
            listener_close(listener);
        else if (listener->close_at < next)
            next = listener->close_at;
    }
    return next;
}

/*
 * A port for a qualifier: one of the sequence that connectors go through. CONN_QUAL_IN_USE when all
 * are taken.
 */
static DAT_RETURN listen_for(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual,
                             struct dm_ofi_listener **listener_p)
{
    uint16_t port;
    int err = 0;

    for (uint32_t n = 0; (port = dm_ofi_qual_port(qual, n)) != 0; n++) {
        *listener_p = listener_find(ia, port);
        if (*listener_p == NULL)
            err = listener_new(ia, port, listener_p);
        if (*listener_p != NULL) {
            (*listener_p)->n_refs++;
            return DAT_SUCCESS;
        }
        /* libfabric says EIO when there are no descriptors left */
        if (err != -FI_EADDRINUSE && err != -FI_EACCES)
            return DM_DAT_NOMEM;
    }
    return DM_DAT_BARE(DAT_CONN_QUAL_IN_USE);
}

static DAT_RETURN place_new(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual,
                            struct dm_ofi_listener *listener, struct dm_ofi_place **place_p)
{
    uint64_t until = dm_futex_now() + LINGER_NS + LINGER_NS / 8;
    struct dm_ofi_place *place = calloc(1, sizeof(*place));
    DAT_RETURN ret = DAT_SUCCESS;

    if (place == NULL)
        return DM_DAT_NOMEM;
    place->name_fd = name_take(ia, qual);
    if (place->name_fd < 0) {
        ret = place->name_fd == -1 ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;
        free(place);
        return ret;
    }
    place->listener = listener;
    if (listener == NULL)
        ret = listen_for(ia, qual, &place->listener);
    /* Another process may have given its ports back a moment ago. */
    while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && dm_futex_now() < until) {
        dm_ofi_pump(ia);
        ret = listen_for(ia, qual, &place->listener);
    }
    if (ret != DAT_SUCCESS) {
        close(place->name_fd);
        free(place);
        return ret;
    }
    *place_p = place;
    return DAT_SUCCESS;
}

static void place_free(struct dm_ofi_place *place)
{
    listener_drop(place->listener);
    close(place->name_fd);
    free(place);
}

/* ---- service points ---- */

DAT_RETURN dm_ofi_cm_listen(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;
    struct dm_ofi_place *place;
    DAT_RETURN ret = place_new(ia, sp->qual, NULL, &place);

    if (ret != DAT_SUCCESS)
        return ret;
    sp->listener = place;
    dm_ofi_kick(&ia->pia); /* whoever sleeps has one more thing to sleep on */
    return DAT_SUCCESS;
}

/* At a port that the system chooses. */
DAT_RETURN dm_ofi_cm_listen_any(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;

    for (int i = 0; i < ANY_TRIES; i++) {
        struct dm_ofi_listener *listener;
        struct dm_ofi_place *place;
        DAT_RETURN ret;

        if (listener_new(ia, 0, &listener) != 0)
            return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
        listener->n_refs = 1;
        ret = place_new(ia, listener->port, listener, &place);
        if (ret == DAT_SUCCESS) {
            sp->qual = listener->port;
            sp->listener = place;
            dm_ofi_kick(&ia->pia);
            return ret;
        }
        listener_drop(listener);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) /* by somebody at another port */
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

/* The peer closes when it has heard that. */
void dm_ofi_cm_reject(void *any, bool is_by_consumer, DAT_COUNT len, const void *data)
{
    struct dm_ofi_conn *conn = any;

    if (!dm_ofi_hello_send(conn, DM_HELLO_REJECT, is_by_consumer, 0, data, (uint32_t)len))
        dm_ofi_conn_fail(conn, 0);
    else
        dm_ofi_conn_part(conn);
}

void dm_ofi_cm_unlisten(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;

    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->sp != sp)
            continue;
        conn->sp = NULL;
        if (conn->state == DM_CONN_EMBRYO)
            dm_ofi_conn_fail(conn, 0);
    }
    place_free(sp->listener);
}

void dm_ofi_sp_leave(const struct dm_sp *sp)
{
    const struct dm_ofi_place *place = sp->listener;

    close(place->name_fd);
}

/* ---- requests ---- */

static struct dm_sp *sp_find(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual)
{
    static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP};

    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, &ia->pia.objs[types[i]]) {
            struct dm_sp *sp = dm_container_of(it, struct dm_sp, obj.link);

            if (sp->qual == qual)
                return sp;
        }
    }
    return NULL;
}

/* Somebody who calls and says nothing has only so long, and there are only so
 * many of his kind: the oldest goes. */
static void bound_embryos(struct dm_ofi_ia *ia)
{
    struct dm_ofi_conn *oldest = NULL;
    int n = 0;

    dm_list_for_each (it, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->state != DM_CONN_EMBRYO)
            continue;
        oldest = oldest != NULL ? oldest : conn;
        n++;
    }
    if (n >= EMBRYOS_MAX)
        dm_ofi_conn_fail(oldest, 0);
}

/* The one that the event is of, which may be late: NULL then. */
static struct dm_ofi_listener *listener_of(struct dm_ofi_ia *ia, const struct fid *fid)
{
    dm_list_for_each (it, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (&listener->pep->fid == fid)
            return listener;
    }
    return NULL;
}

/* A call for a listener that is closed, which is needed to refuse it: the caller
 * hears of it when the socket is closed, or would wait for ever. */
static void turn_away(struct dm_ofi_ia *ia, struct fi_info *info)
{
    struct fid_ep *ep;

    if (fi_endpoint(ia->domain, info, &ep, NULL) == 0)
        fi_close(&ep->fid);
    fi_freeinfo(info);
}

void dm_ofi_cm_request(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                       const void *data, size_t len)
{
    struct dm_ofi_listener *listener = listener_of(ia, fid);
    struct dm_ofi_conn *conn = NULL;
    struct dm_ofi_call call = {0};
    struct dm_sp *sp = NULL;

    if (listener == NULL) {
        turn_away(ia, info);
        return;
    }
    if (len >= sizeof(call))
        memcpy(&call, data, sizeof(call));
    if (call.magic == DM_OFI_MAGIC && call.version == DM_OFI_VERSION)
        sp = sp_find(ia, call.qual);
    if (sp != NULL)
        conn = dm_ofi_conn_new(ia, DM_CONN_EMBRYO);
    if (conn == NULL) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        fi_freeinfo(info);
        return;
    }
    bound_embryos(ia);
    conn->sp = sp;
    dm_ofi_conn_timer(conn, dm_futex_now() + ia->timeout_ns);
    if (!dm_ofi_conn_open(conn, info)) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        dm_ofi_conn_fail(conn, 0);
    } else if (fi_accept(conn->fid, NULL, 0) != 0) {
        dm_ofi_conn_fail(conn, 0);
    }
    fi_freeinfo(info);
}

void dm_ofi_cm_asked(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    union dm_addr addr;
    const struct dm_request request = {.conn = conn,
                                       .conn_cr = &conn->cr,
                                       .addr = &addr,
                                       .qual = hello->qual,
                                       .data_len = hello->data_len,
                                       .data = hello->data};

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, hello->addr, sizeof(hello->addr));
    dm_ofi_conn_meet(conn, hello);
    if (!dm_cr_arrived(conn->sp, &request)) {
        dm_ofi_cm_reject(conn, false, 0, NULL);
        return;
    }
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
}

/* Answer a request: it waits for the confirmation now. */
static void answer(struct dm_ofi_conn *conn, struct dm_ofi_ep *ep, DAT_COUNT len, const void *data)
{
    struct dm_ofi_ia *ia = conn->ia;

    conn->state = DM_CONN_ACCEPTED;
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&ep->ep.state, DAT_EP_STATE_COMPLETION_PENDING);
    dm_ofi_conn_timer(conn, dm_futex_now() + ia->timeout_ns);
    if (!dm_ofi_hello_expect(conn)) {
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        return;
    }
    dm_ofi_ep_hand_over(ep);
    if (!dm_ofi_hello_send(conn, DM_HELLO_ACCEPT, 0, 0, data, (uint32_t)len))
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

void dm_ofi_cm_accept(struct dm_ep *any, void *any_conn, DAT_COUNT len, const void *data)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    struct dm_ofi_conn *conn = any_conn;

    if (conn != NULL && conn->state == DM_CONN_CR) {
        answer(conn, ep, len, data);
        return;
    }
    /* The other side has given up meanwhile. */
    atomic_store(&any->state, DAT_EP_STATE_DISCONNECTED);
    dm_ofi_ep_flush(ep);
    dm_evd_add_conn(any->connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
                    (DAT_EP_HANDLE)ep, NULL, 0);
}

bool dm_ofi_cm_is_listening(struct dm_pia *pia, DAT_CONN_QUAL qual)
{
    int fd = name_take((struct dm_ofi_ia *)pia, qual);

    if (fd >= 0)
        close(fd);
    return fd == -1;
}

void dm_ofi_cm_handoff(void *any, DAT_CONN_QUAL qual)
{
    struct dm_ofi_conn *conn = any;

    if (dm_ofi_hello_send(conn, DM_HELLO_HANDOFF, 0, qual, NULL, 0))
        dm_ofi_conn_part(conn);
    else
        dm_ofi_conn_fail(conn, 0);
}
