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

#define BAD_PSP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP)
#define BAD_RSP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP)
#define BAD_CR  DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

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

/* listener: where it is to be, NULL: where the qualifier says. */
static DAT_RETURN sp_new(struct dm_ofi_ia *ia, DAT_HANDLE_TYPE type, DAT_CONN_QUAL qual,
                         struct dm_ofi_listener *listener, struct dm_evd *evd, struct dm_sp **sp_p)
{
    struct dm_ofi_place *place;
    DAT_RETURN ret = place_new(ia, qual, listener, &place);
    struct dm_sp *sp;

    if (ret != DAT_SUCCESS)
        return ret;
    sp = dm_obj_new(ia->pia.obj.provider, &ia->pia, type, sizeof(*sp));
    if (sp == NULL) {
        if (listener != NULL)
            listener->n_refs++; /* stays the caller's */
        place_free(place);
        return DM_DAT_NOMEM;
    }
    sp->listener = place;
    sp->qual = qual;
    sp->evd = evd;
    evd->n_refs++;
    dm_ofi_kick(&ia->pia); /* whoever sleeps has one more thing to sleep on */
    *sp_p = sp;
    return DAT_SUCCESS;
}

static DAT_RETURN sp_args(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
                          struct dm_ofi_ia **ia_p, struct dm_evd **evd_p)
{
    *ia_p = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    if (*ia_p == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    *evd_p = dm_obj_get(evd_handle, DAT_HANDLE_TYPE_EVD);
    if (*evd_p == NULL || (*evd_p)->obj.ia != &(*ia_p)->pia ||
        ((*evd_p)->flags & DAT_EVD_CR_FLAG) == 0)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
    return DAT_SUCCESS;
}

static DAT_RETURN psp_args(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
                           const DAT_PSP_HANDLE *psp_p, struct dm_ofi_ia **ia_p,
                           struct dm_evd **evd_p)
{
    DAT_RETURN ret = sp_args(ia_handle, evd_handle, ia_p, evd_p);

    if (ret != DAT_SUCCESS)
        return ret;
    /* The consumer gives the endpoint in any case: ep_creator says so. */
    if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
        return DM_DAT_ARG(4);
    return psp_p != NULL ? DAT_SUCCESS : DM_DAT_ARG(5);
}

DAT_RETURN dm_ofi_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    struct dm_ofi_ia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp = NULL;
    DAT_RETURN ret = psp_args(ia_handle, evd_handle, flags, psp_p, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->pia.lock);
    ret = sp_new(ia, DAT_HANDLE_TYPE_PSP, qual, NULL, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->flags = flags;
        *psp_p = (DAT_PSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

/* A service point at a port that the system chooses. */
static DAT_RETURN sp_new_any(struct dm_ofi_ia *ia, struct dm_evd *evd, struct dm_sp **sp_p)
{
    DAT_RETURN ret = DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);

    for (int i = 0; i < ANY_TRIES; i++) {
        struct dm_ofi_listener *listener;

        if (listener_new(ia, 0, &listener) != 0)
            return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
        listener->n_refs = 1;
        ret = sp_new(ia, DAT_HANDLE_TYPE_PSP, listener->port, listener, evd, sp_p);
        if (ret == DAT_SUCCESS)
            return ret;
        listener_drop(listener);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) /* by somebody at another port */
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

DAT_RETURN dm_ofi_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual_p,
                                 DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
                                 DAT_PSP_HANDLE *psp_p)
{
    struct dm_ofi_ia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp = NULL;
    DAT_RETURN ret;

    if (qual_p == NULL)
        return DM_DAT_ARG(2);
    ret = psp_args(ia_handle, evd_handle, flags, psp_p, &ia, &evd);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->pia.lock);
    ret = sp_new_any(ia, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->flags = flags;
        *psp_p = (DAT_PSP_HANDLE)sp;
        *qual_p = sp->qual;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

/* Refuse a request; the peer closes when it has heard that. */
static void refuse(struct dm_ofi_conn *conn, uint32_t is_by_consumer, DAT_COUNT len,
                   const void *data)
{
    if (!dm_ofi_hello_send(conn, DM_HELLO_REJECT, is_by_consumer, 0, data, (uint32_t)len))
        dm_ofi_conn_fail(conn, 0);
    else
        dm_ofi_conn_part(conn);
}

static void cr_free(struct dm_cr *cr)
{
    struct dm_ofi_conn *conn = cr->conn;

    if (conn != NULL)
        conn->cr = NULL;
    dm_obj_free(cr);
}

/* Requests of a service point that goes, and calls for it. */
static void drop_requests(struct dm_ofi_ia *ia, const struct dm_sp *sp)
{
    dm_list_for_each_safe (it, next, &ia->pia.objs[DAT_HANDLE_TYPE_CR]) {
        struct dm_cr *cr = dm_container_of(it, struct dm_cr, obj.link);

        if (cr->sp != sp)
            continue;
        if (cr->conn != NULL)
            refuse(cr->conn, 0, 0, NULL);
        cr_free(cr);
    }
    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->sp != sp)
            continue;
        conn->sp = NULL;
        if (conn->state == DM_CONN_EMBRYO)
            dm_ofi_conn_fail(conn, 0);
    }
}

void dm_ofi_sp_destroy(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;

    drop_requests(ia, sp);
    if (sp->ep != NULL) {
        int state = atomic_load(&sp->ep->state);

        if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
            atomic_store(&sp->ep->state, DAT_EP_STATE_UNCONNECTED);
    }
    sp->evd->n_refs--;
    place_free(sp->listener);
    dm_obj_free(sp);
}

void dm_ofi_sp_leave(const struct dm_sp *sp)
{
    const struct dm_ofi_place *place = sp->listener;

    close(place->name_fd);
}

static DAT_RETURN sp_free(struct dm_sp *sp, DAT_RETURN bad)
{
    struct dm_pia *ia;

    if (sp == NULL)
        return bad;
    ia = sp->obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_ofi_sp_destroy(sp);
    dm_ofi_conns_end((struct dm_ofi_ia *)ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_psp_free(DAT_PSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_PSP), BAD_PSP);
}

DAT_RETURN dm_ofi_rsp_free(DAT_RSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_RSP), BAD_RSP);
}

DAT_RETURN dm_ofi_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
                             DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_p)
{
    struct dm_ofi_ia *ia;
    struct dm_evd *evd;
    struct dm_oep *ep;
    struct dm_sp *sp = NULL;
    DAT_RETURN ret = sp_args(ia_handle, evd_handle, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    if (ep == NULL || ep->ep.obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (rsp_p == NULL)
        return DM_DAT_ARG(5);
    pthread_mutex_lock(&ia->pia.lock);
    if (atomic_load(&ep->ep.state) != DAT_EP_STATE_UNCONNECTED)
        ret = dm_ep_bad_state(atomic_load(&ep->ep.state));
    else
        ret = sp_new(ia, DAT_HANDLE_TYPE_RSP, qual, NULL, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->ep = &ep->ep;
        atomic_store(&ep->ep.state, DAT_EP_STATE_RESERVED);
        *rsp_p = (DAT_RSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
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

/* A reserved service point takes one request, for its endpoint. */
static bool reserve(struct dm_sp *sp)
{
    int reserved = DAT_EP_STATE_RESERVED;

    return sp->obj.type != DAT_HANDLE_TYPE_RSP ||
           atomic_compare_exchange_strong(&sp->ep->state, &reserved,
                                          DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

static void unreserve(struct dm_sp *sp)
{
    if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
        atomic_store(&sp->ep->state, DAT_EP_STATE_RESERVED);
}

static struct dm_cr *cr_new(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_cr *cr = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_CR, sizeof(*cr));

    if (cr == NULL)
        return NULL;
    cr->sp = conn->sp;
    cr->ep = conn->sp->ep;
    cr->conn = conn;
    memcpy(&cr->remote_addr, hello->addr, sizeof(hello->addr));
    cr->remote_qual = hello->qual;
    cr->private_len = (DAT_COUNT)hello->data_len;
    memcpy(cr->private_data, hello->data, hello->data_len);
    conn->cr = cr;
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
    return cr;
}

void dm_ofi_cm_asked(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_sp *sp = conn->sp;
    DAT_CR_ARRIVAL_EVENT_DATA event;
    struct dm_cr *cr;

    dm_ofi_conn_meet(conn, hello);
    if (!reserve(sp)) {
        refuse(conn, 0, 0, NULL);
        return;
    }
    cr = cr_new(conn, hello);
    if (cr == NULL) {
        unreserve(sp);
        refuse(conn, 0, 0, NULL);
        return;
    }
    memset(&event, 0, sizeof(event));
    if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
        event.sp_handle.rsp_handle = (DAT_RSP_HANDLE)sp;
    else
        event.sp_handle.psp_handle = (DAT_PSP_HANDLE)sp;
    event.local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->pia.addr;
    event.conn_qual = sp->qual;
    event.cr_handle = (DAT_CR_HANDLE)cr;
    if (dm_evd_add_cr(sp->evd, &event))
        return;
    /* Lost: nobody would ever answer. The overflow has been reported. */
    unreserve(sp);
    refuse(conn, 0, 0, NULL);
    cr_free(cr);
}

/* Answer a request: it waits for the confirmation now. */
static void answer(struct dm_ofi_conn *conn, struct dm_oep *ep, DAT_COUNT len, const void *data)
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

static DAT_RETURN accept_locked(struct dm_cr *cr, struct dm_oep *ep, DAT_COUNT len,
                                const void *data)
{
    struct dm_ofi_conn *conn = cr->conn;
    int state = atomic_load(&ep->ep.state);
    int want = cr->ep != NULL ? DAT_EP_STATE_PASSIVE_CONNECTION_PENDING : DAT_EP_STATE_UNCONNECTED;

    if (state != want)
        return dm_ep_bad_state(state);
    if (ep->ep.pz == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
    if (ep->ep.connect_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
    ep->ep.remote_addr = cr->remote_addr;
    ep->ep.remote_qual = 0; /* nobody listens there */
    ep->ep.local_qual = cr->sp->qual;
    cr_free(cr);
    if (conn != NULL && conn->state == DM_CONN_CR) {
        answer(conn, ep, len, data);
        return DAT_SUCCESS;
    }
    /* The other side has given up meanwhile. */
    atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
    dm_ofi_ep_flush(ep);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
                    (DAT_EP_HANDLE)ep, NULL, 0);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT len,
                            const DAT_PVOID data)
{
    struct dm_cr *cr = dm_obj_get(cr_handle, DAT_HANDLE_TYPE_CR);
    struct dm_oep *ep;
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (cr == NULL)
        return BAD_CR;
    ia = cr->obj.ia;
    if (cr->ep != NULL && ep_handle == DAT_HANDLE_NULL)
        ep_handle = (DAT_EP_HANDLE)cr->ep;
    ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    if (ep == NULL || ep->ep.obj.ia != ia || (cr->ep != NULL && cr->ep != &ep->ep))
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(3);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(4);
    pthread_mutex_lock(&ia->lock);
    ret = cr->obj.magic == DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CR) ? accept_locked(cr, ep, len, data)
                                                            : BAD_CR;
    dm_ofi_conns_end((struct dm_ofi_ia *)ia);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_ofi_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT len, const DAT_PVOID data)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);
    struct dm_pia *ia;

    if (cr == NULL)
        return BAD_CR;
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(2);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(3);
    ia = cr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    unreserve(cr->sp);
    if (cr->conn != NULL)
        refuse(cr->conn, 1, len, data);
    cr_free(cr);
    dm_ofi_conns_end((struct dm_ofi_ia *)ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

/* Does somebody on this host listen to it? */
static bool is_known(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual)
{
    int fd = name_take(ia, qual);

    if (fd >= 0)
        close(fd);
    return fd == -1;
}

/* The requester asks at the other service point of this host by itself; what
 * the consumer of that sees is a request like any other. Nobody there now: an
 * error, and the request stays with the caller. Nobody there when the requester
 * comes: it is rejected (NON_PEER). */
DAT_RETURN dm_ofi_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);
    struct dm_pia *ia;

    if (cr == NULL)
        return BAD_CR;
    ia = cr->obj.ia;
    if (!is_known((struct dm_ofi_ia *)ia, qual))
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&ia->lock);
    if (cr->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CR)) {
        pthread_mutex_unlock(&ia->lock);
        return BAD_CR;
    }
    unreserve(cr->sp);
    if (cr->conn != NULL) {
        struct dm_ofi_conn *conn = cr->conn;

        if (dm_ofi_hello_send(conn, DM_HELLO_HANDOFF, 0, qual, NULL, 0))
            dm_ofi_conn_part(conn);
        else
            dm_ofi_conn_fail(conn, 0);
    }
    cr_free(cr);
    dm_ofi_conns_end((struct dm_ofi_ia *)ia);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}
