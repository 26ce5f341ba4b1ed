/*
 * Service points and connection requests: the passive side.
 *
 * A qualifier is a listening socket in the abstract name space, which all
 * processes of the node share; binding it twice fails, and it is gone at once
 * when its process dies.
 */
#include "providers/shm/cm.h"

#include "providers/shm/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ANY_FIRST = 0x10000, ANY_TRIES = 100000 };
enum { EMBRYOS_MAX = 64, PAUSE_NS = 10000000 };
#define EMBRYO_NS 5000000000u

#define BAD_PSP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP)
#define BAD_RSP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP)
#define BAD_CR  DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

DAT_RETURN dm_shm_sp_new(struct dm_shm_ia *ia, DAT_HANDLE_TYPE type, const struct dm_shm_name *name,
                         struct dm_evd *evd, struct dm_sp **sp_p)
{
    struct dm_shm_listener *listener;
    struct dm_sp *sp;
    int fd = -1;
    DAT_RETURN ret = dm_shm_cm_listen(name, &fd);

    if (ret != DAT_SUCCESS)
        return ret;
    sp = dm_obj_new(ia->pia.obj.provider, &ia->pia, type, sizeof(*sp));
    listener = calloc(1, sizeof(*listener));
    if (sp == NULL || listener == NULL) {
        if (sp != NULL)
            dm_obj_free(sp);
        free(listener);
        close(fd);
        return DM_DAT_NOMEM;
    }
    listener->src.kind = DM_SRC_LISTEN;
    listener->src.fd = fd;
    listener->sp = sp;
    dm_list_add_tail(&ia->srcs, &listener->src.link);
    sp->listener = listener;
    sp->evd = evd;
    evd->n_refs++;
    if (!dm_shm_src_add(ia, &listener->src)) {
        dm_shm_sp_destroy(sp);
        return DM_DAT_NOMEM;
    }
    *sp_p = sp;
    return DAT_SUCCESS;
}

static DAT_RETURN sp_new(struct dm_shm_ia *ia, DAT_HANDLE_TYPE type, DAT_CONN_QUAL qual,
                         struct dm_evd *evd, struct dm_sp **sp_p)
{
    struct dm_shm_name name;
    DAT_RETURN ret;

    dm_shm_cm_name(qual, &name);
    ret = dm_shm_sp_new(ia, type, &name, evd, sp_p);
    if (ret == DAT_SUCCESS)
        (*sp_p)->qual = qual;
    return ret;
}

DAT_RETURN dm_shm_sp_args(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
                          struct dm_shm_ia **ia_p, struct dm_evd **evd_p)
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

DAT_RETURN dm_shm_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    struct dm_shm_ia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp = NULL;
    DAT_RETURN ret = dm_shm_sp_args(ia_handle, evd_handle, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    /* The consumer gives the endpoint in any case: ep_creator says so. */
    if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
        return DM_DAT_ARG(4);
    if (psp_p == NULL)
        return DM_DAT_ARG(5);
    pthread_mutex_lock(&ia->pia.lock);
    ret = sp_new(ia, DAT_HANDLE_TYPE_PSP, qual, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->flags = flags;
        *psp_p = (DAT_PSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

DAT_RETURN dm_shm_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual_p, DAT_EVD_HANDLE evd,
                                 DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_p)
{
    /* Start somewhere else in every process, so that they rarely collide. */
    DAT_CONN_QUAL first = ANY_FIRST + (DAT_CONN_QUAL)(uint32_t)getpid() * 256u;

    if (qual_p == NULL)
        return DM_DAT_ARG(2);
    for (DAT_CONN_QUAL i = 0; i < ANY_TRIES; i++) {
        DAT_RETURN ret = dm_shm_psp_create(ia, first + i, evd, flags, psp_p);

        if (ret == DAT_SUCCESS)
            *qual_p = first + i;
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

/* Refuse a request and forget it. */
static void refuse(struct dm_shm_conn *conn, uint32_t is_by_consumer, DAT_COUNT len,
                   const void *data)
{
    struct dm_shm_msg msg = {
        .type = DM_MSG_REJECT, .status = is_by_consumer, .data_len = (uint32_t)len};

    if (len > 0)
        memcpy(msg.data, data, (size_t)len);
    dm_shm_msg_send(conn, &msg, -1);
    dm_shm_conn_close(conn);
}

static void cr_free(struct dm_cr *cr)
{
    struct dm_shm_conn *conn = cr->conn;

    if (conn != NULL)
        conn->cr = NULL;
    dm_obj_free(cr);
}

void dm_shm_sp_destroy(struct dm_sp *sp)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)sp->obj.ia;
    struct dm_shm_listener *listener = sp->listener;

    dm_list_for_each_safe (it, next, &ia->pia.objs[DAT_HANDLE_TYPE_CR]) {
        struct dm_cr *cr = dm_container_of(it, struct dm_cr, obj.link);

        if (cr->sp != sp)
            continue;
        if (cr->conn != NULL)
            refuse(cr->conn, 0, 0, NULL);
        cr_free(cr);
    }
    dm_shm_embryos_close(ia, sp, NULL);
    if (sp->ep != NULL) {
        struct dm_sep *ep = (struct dm_sep *)sp->ep;
        int state = atomic_load(&ep->ep.state);

        if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
            atomic_store(&ep->ep.state, DAT_EP_STATE_UNCONNECTED);
    }
    sp->evd->n_refs--;
    dm_shm_src_bury(ia, &listener->src);
    dm_obj_free(sp);
}

static DAT_RETURN sp_free(struct dm_sp *sp, DAT_RETURN bad)
{
    struct dm_pia *ia;

    if (sp == NULL)
        return bad;
    ia = sp->obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_shm_sp_destroy(sp);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_psp_free(DAT_PSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_PSP), BAD_PSP);
}

DAT_RETURN dm_shm_rsp_free(DAT_RSP_HANDLE handle)
{
    return sp_free(dm_obj_get(handle, DAT_HANDLE_TYPE_RSP), BAD_RSP);
}

DAT_RETURN dm_shm_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
                             DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_p)
{
    struct dm_shm_ia *ia;
    struct dm_evd *evd;
    struct dm_sep *ep;
    struct dm_sp *sp = NULL;
    DAT_RETURN ret = dm_shm_sp_args(ia_handle, evd_handle, &ia, &evd);

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
        ret = sp_new(ia, DAT_HANDLE_TYPE_RSP, qual, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->ep = &ep->ep;
        atomic_store(&ep->ep.state, DAT_EP_STATE_RESERVED);
        *rsp_p = (DAT_RSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

/* Somebody who connects and says nothing has only so long, and there are only
 * so many of his kind: the oldest goes. */
static void bound_embryos(struct dm_shm_ia *ia)
{
    if (ia->n_embryos < EMBRYOS_MAX)
        return;
    dm_list_for_each (it, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->state == DM_CONN_EMBRYO) {
            dm_shm_conn_close(conn);
            return;
        }
    }
}

static void embryo_new(struct dm_shm_ia *ia, const struct dm_shm_listener *listener, int fd)
{
    struct dm_shm_conn *conn = NULL;
    pid_t pid;

    if (dm_shm_cm_trusted(fd, &pid))
        conn = dm_shm_conn_new(ia, fd, DM_CONN_EMBRYO);
    if (conn == NULL) {
        close(fd);
        return;
    }
    bound_embryos(ia);
    ia->n_embryos++;
    conn->sp = listener->sp;
    conn->host = listener->host;
    conn->deadline = dm_futex_now() + EMBRYO_NS;
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    if (dm_shm_src_add(ia, &conn->src))
        dm_shm_conn_ready(conn, 0); /* the request is here already, as a rule */
    else
        dm_shm_conn_close(conn);
}

void dm_shm_listener_ready(struct dm_shm_ia *ia, struct dm_shm_listener *listener)
{
    int fd;

    if (listener->paused != 0)
        dm_shm_src_poll(ia, &listener->src, EPOLLIN);
    listener->paused = 0;
    do {
        fd = accept4(listener->src.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            embryo_new(ia, listener, fd);
        if (listener->src.is_dead) /* somebody who waited has been found */
            return;
    } while (fd >= 0 || errno == ECONNABORTED || errno == EINTR);
    if (errno == EAGAIN)
        return;
    if (errno == EMFILE || errno == ENFILE)
        dm_shm_no_descriptor(ia);
    /* Out of descriptors or memory: requests wait in the backlog. */
    listener->paused = dm_futex_now() + PAUSE_NS;
    dm_shm_src_poll(ia, &listener->src, 0);
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

void dm_shm_conn_request(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_shm_ia *ia = conn->ia;
    struct dm_sp *sp = conn->sp;
    DAT_CR_ARRIVAL_EVENT_DATA event;
    struct dm_cr *cr;

    if (msg->type != DM_MSG_REQUEST || !dm_shm_cm_meet(conn, msg, fd)) {
        refuse(conn, 0, 0, NULL);
        return;
    }
    if (conn->host != NULL) {
        dm_shm_common_met(conn, msg, fd);
        return;
    }
    if (!reserve(sp)) {
        refuse(conn, 0, 0, NULL);
        return;
    }
    cr = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_CR, sizeof(*cr));
    if (cr == NULL) {
        unreserve(sp);
        refuse(conn, 0, 0, NULL);
        return;
    }
    cr->sp = sp;
    cr->ep = sp->ep;
    cr->conn = conn;
    cr->remote_addr = ia->pia.addr;
    cr->remote_addr.in.sin_addr.s_addr = msg->addr;
    cr->remote_qual = msg->qual;
    cr->private_len = (DAT_COUNT)msg->data_len;
    memcpy(cr->private_data, msg->data, msg->data_len);
    conn->cr = cr;
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
    ia->n_embryos--;
    memset(&event, 0, sizeof(event));
    if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
        event.sp_handle.rsp_handle = (DAT_RSP_HANDLE)sp;
    else if (sp->obj.type == DAT_HANDLE_TYPE_CSP)
        event.sp_handle.csp_handle = (DAT_CSP_HANDLE)sp;
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

void dm_shm_cm_answer(struct dm_shm_conn *conn, struct dm_sep *ep, DAT_COUNT len, const void *data)
{
    struct dm_shm_msg msg = {.type = DM_MSG_ACCEPT, .data_len = (uint32_t)len};

    conn->state = DM_CONN_ACCEPTED;
    dm_shm_ep_attach(ep, conn);
    atomic_store(&ep->ep.state, DAT_EP_STATE_COMPLETION_PENDING);
    atomic_store(&ep->sh->link, DM_LINK_WAIT);
    dm_shm_cm_describe(conn, &msg);
    if (len > 0)
        memcpy(msg.data, data, (size_t)len);
    dm_shm_msg_send(conn, &msg, conn->ia->seg.fd);
}

static DAT_RETURN accept_locked(struct dm_cr *cr, struct dm_sep *ep, DAT_COUNT len,
                                const void *data)
{
    struct dm_shm_conn *conn = cr->conn;
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
    if (conn == NULL) { /* the other side has given up meanwhile */
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DM_MSG_NONE);
        cr_free(cr);
        return DAT_SUCCESS;
    }
    cr_free(cr);
    ep->sh->conn_data_len = 0;
    dm_shm_cm_answer(conn, ep, len, data);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT len,
                            const DAT_PVOID data)
{
    struct dm_cr *cr = dm_obj_get(cr_handle, DAT_HANDLE_TYPE_CR);
    struct dm_sep *ep;
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
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_shm_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT len, const DAT_PVOID data)
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
    if (cr->ep != NULL)
        atomic_store(&cr->ep->state, DAT_EP_STATE_RESERVED);
    if (cr->conn != NULL)
        refuse(cr->conn, 1, len, data);
    cr_free(cr);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

/* The requester asks at the other service point by itself; what the consumer
 * of that sees is a request like any other. Nobody there now: an error, and
 * the request stays with the caller. Nobody there when the requester comes: it
 * is rejected (NON_PEER). */
DAT_RETURN dm_shm_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
    struct dm_shm_msg msg = {.type = DM_MSG_HANDOFF, .qual = qual};
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);
    struct dm_shm_name name;
    struct dm_pia *ia;

    if (cr == NULL)
        return BAD_CR;
    dm_shm_cm_name(qual, &name);
    if (!dm_shm_cm_is_there(&name))
        return DM_DAT_ARG(2);
    ia = cr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (cr->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CR)) {
        pthread_mutex_unlock(&ia->lock);
        return BAD_CR;
    }
    unreserve(cr->sp);
    if (cr->conn != NULL) {
        dm_shm_msg_send(cr->conn, &msg, -1);
        dm_shm_conn_close(cr->conn);
    }
    cr_free(cr);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}
