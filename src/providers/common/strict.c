/*
 * Strict mode: requests that are kept, and carried out late.
 *
 * There is one queue for all endpoints of an instance. When its oldest request is due all of them are
 * carried out, so that completions come together. Requests of an endpoint stay in order. Before one is
 * carried out its triplets are read where the consumer has them, and overwritten: the provider below
 * gets a copy, so that nothing is touched after a completion can be seen.
 *
 * On the inside a strict instance is thread-safe on either line, for its thread.
 */
#include "providers/common/strict.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "providers/common/init.h"
#include "util/futex.h"
#include "util/log.h"

#define POISON 0xdb

/* A request or receive that is kept. */
struct strict_op {
    struct dm_list link;
    struct dm_ep *ep;              /* NULL: a receive of */
    struct dm_srq *srq;            /* this */
    struct dm_dto dto;             /* .seg: the consumer's, or `mine` */
    const DAT_RMR_TRIPLET *remote; /* the consumer's, NULL: dto.remote */
    bool is_kept;                  /* the triplets are the consumer's */
    bool is_begun;                 /* the last byte is placed */
    DAT_LMR_TRIPLET mine[];        /* as they were posted */
};

/* The cookie of the write of a last byte. */
static const char last_byte;

bool dm_strict_read(const char *params, unsigned *rules_p)
{
    static const char *const words[] = {"iov", "first", "last", "events"};
    char text[64] = "no";
    char *save = NULL;

    *rules_p = 0;
    (void)dm_prov_param(params, "strict", text, sizeof(text));
    if (strcmp(text, "no") == 0)
        return true;
    if (strcmp(text, "yes") == 0) {
        *rules_p = DM_STRICT_IOV | DM_STRICT_FIRST | DM_STRICT_LAST | DM_STRICT_EVENTS;
        return true;
    }
    for (char *word = strtok_r(text, "+", &save); word != NULL; word = strtok_r(NULL, "+", &save)) {
        unsigned i = 0;

        while (i < sizeof(words) / sizeof(words[0]) && strcmp(word, words[i]) != 0)
            i++;
        if (i == sizeof(words) / sizeof(words[0]))
            return false;
        *rules_p |= 1u << i;
    }
    return *rules_p != 0;
}

/* ---- carrying out ---- */

static void strict_op_free(struct dm_strict *strict, struct strict_op *op)
{
    dm_list_del(&op->link);
    atomic_fetch_sub(&strict->n, 1);
    if (op->ep != NULL && op->dto.kind == DM_OP_RECV)
        op->ep->strict->n_recvs--;
    else if (op->ep != NULL)
        op->ep->strict->n_requests--;
    free(op);
}

/* Take the triplets from the consumer's memory, and leave it unusable. */
static void strict_take(struct strict_op *op)
{
    size_t len = op->dto.n_seg * sizeof(op->mine[0]);
    void *theirs = (void *)(uintptr_t)op->dto.seg;

    if (!op->is_kept)
        return;
    if (memcmp(op->mine, theirs, len) != 0 ||
        (op->remote != NULL && memcmp(&op->dto.remote, op->remote, sizeof(*op->remote)) != 0))
        dm_log_error(
            "strict: the triplets of a request (kind %d, cookie 0x%llx) were changed before "
            "it had completed; they are the provider's until then (DAT_IOV_PROVIDER_MOD)",
            (int)op->dto.kind, (unsigned long long)op->dto.cookie.as_64);
    memcpy(op->mine, theirs, len);
    memset(theirs, POISON, len);
    op->dto.seg = op->mine;
    if (op->remote != NULL)
        op->dto.remote = *op->remote;
    op->remote = NULL;
    op->is_kept = false;
}

/* It cannot be posted any more: complete it as flushed. No slot of the provider's was used. */
static void strict_flush(struct strict_op *op)
{
    struct dm_evd_item item = dm_dto_item(op->ep, &op->dto, DAT_DTO_ERR_FLUSHED, 0);

    item.tag = DM_TAG_NONE;
    if (op->dto.kind == DM_OP_BIND) {
        pthread_mutex_lock(&op->ep->obj.ia->lock);
        dm_rmr_bound(op->dto.bind);
        pthread_mutex_unlock(&op->ep->obj.ia->lock);
    }
    (void)dm_evd_add(op->dto.kind == DM_OP_RECV ? op->ep->recv_evd : op->ep->request_evd, &item);
}

/* False: the provider has no room now. */
static bool strict_exec(struct dm_strict *strict, struct strict_op *op)
{
    DAT_LMR_TRIPLET *seg = op->mine;
    DAT_RETURN ret;

    strict_take(op);
    if (op->ep == NULL)
        ret = strict->real->srq_post_recv((DAT_SRQ_HANDLE)op->srq, (DAT_COUNT)op->dto.n_seg, seg,
                                          op->dto.cookie);
    else if (op->dto.kind == DM_OP_RECV)
        ret = strict->real->post_recv((DAT_EP_HANDLE)op->ep, (DAT_COUNT)op->dto.n_seg, seg,
                                      op->dto.cookie, op->dto.flags);
    else
        ret = strict->real->post(op->ep, &op->dto);
    if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
        return false;
    if (ret != DAT_SUCCESS && op->ep != NULL)
        strict_flush(op);
    return true;
}

/* Write the last byte of what a write is to bring. True: it is on its way. */
static bool strict_begin(struct dm_strict *strict, struct strict_op *op)
{
    const DAT_LMR_TRIPLET *theirs = op->dto.seg;
    struct dm_dto dto = op->dto;
    DAT_LMR_TRIPLET seg;
    uint64_t len = 0;

    memset(&seg, 0, sizeof(seg));
    for (uint32_t i = 0; i < op->dto.n_seg; i++) {
        len += theirs[i].segment_length;
        if (theirs[i].segment_length > 0)
            seg = theirs[i];
    }
    op->is_begun = true;
    if (len < 2)
        return false;
    seg.virtual_address += seg.segment_length - 1;
    seg.segment_length = 1;
    if (op->remote != NULL)
        dto.remote = *op->remote;
    dto.remote.virtual_address += len - 1;
    dto.remote.segment_length = 1;
    dto.seg = &seg;
    dto.n_seg = 1;
    dto.flags = DAT_COMPLETION_SUPPRESS_FLAG;
    dto.cookie.as_64 = (uint64_t)(uintptr_t)&last_byte;
    return strict->real->post(op->ep, &dto) == DAT_SUCCESS;
}

/* Has nothing of the same queue been left behind in this pass? */
static bool strict_is_free(const struct dm_strict *strict, const struct strict_op *op)
{
    return op->ep == NULL || op->ep->strict->blocked != strict->pass;
}

static void strict_leave(const struct dm_strict *strict, const struct strict_op *op)
{
    if (op->ep != NULL)
        op->ep->strict->blocked = strict->pass;
}

/* One walk over the queue; is_all: whatever is due. */
static void strict_pass(struct dm_strict *strict, bool is_all)
{
    uint64_t now = dm_futex_now();

    strict->pass++;
    dm_list_for_each_safe (it, next, &strict->queue) {
        struct strict_op *op = dm_container_of(it, struct strict_op, link);

        if (!strict_is_free(strict, op))
            continue;
        if ((op->is_begun || !strict_begin(strict, op) || is_all) && strict_exec(strict, op))
            strict_op_free(strict, op);
        else
            strict_leave(strict, op);
    }
    if (!dm_list_is_empty(&strict->queue))
        strict->due = now + DM_STRICT_HOLD_NS;
}

void dm_strict_run(struct dm_strict *strict)
{
    if (atomic_load(&strict->n) == 0)
        return;
    pthread_mutex_lock(&strict->lock);
    if (!dm_list_is_empty(&strict->queue) && strict->due <= dm_futex_now())
        strict_pass(strict, false);
    pthread_mutex_unlock(&strict->lock);
}

void dm_strict_finish(struct dm_strict *strict)
{
    pthread_mutex_lock(&strict->lock);
    strict_pass(strict, true);
    pthread_mutex_unlock(&strict->lock);
}

void dm_strict_drop(struct dm_strict *strict, const void *owner)
{
    pthread_mutex_lock(&strict->lock);
    dm_list_for_each_safe (it, next, &strict->queue) {
        struct strict_op *op = dm_container_of(it, struct strict_op, link);

        if (owner != NULL && (const void *)op->ep != owner && (const void *)op->srq != owner)
            continue;
        if (op->dto.kind == DM_OP_BIND) {
            pthread_mutex_lock(&op->ep->obj.ia->lock);
            dm_rmr_bound(op->dto.bind);
            pthread_mutex_unlock(&op->ep->obj.ia->lock);
        }
        strict_op_free(strict, op);
    }
    pthread_mutex_unlock(&strict->lock);
}

/* ---- the thread, for consumers that do not call ---- */

static void *strict_main(void *arg)
{
    struct dm_strict *strict = arg;
    const struct timespec pause = {.tv_nsec = DM_STRICT_HOLD_NS};

    pthread_mutex_lock(&strict->lock);
    while (!strict->is_stopping) {
        if (dm_list_is_empty(&strict->queue)) {
            pthread_cond_wait(&strict->is_asked, &strict->lock);
            continue;
        }
        pthread_mutex_unlock(&strict->lock);
        nanosleep(&pause, NULL);
        dm_strict_run(strict);
        pthread_mutex_lock(&strict->lock);
    }
    pthread_mutex_unlock(&strict->lock);
    return NULL;
}

static void strict_free(struct dm_pia *ia)
{
    struct dm_strict *strict = ia->strict;

    pthread_mutex_lock(&strict->lock);
    strict->is_stopping = true;
    pthread_cond_signal(&strict->is_asked);
    pthread_mutex_unlock(&strict->lock);
    if (strict->is_running)
        pthread_join(strict->thread, NULL);
    pthread_cond_destroy(&strict->is_asked);
    pthread_mutex_destroy(&strict->lock);
    free(strict);
    ia->strict = NULL;
}

static bool strict_start(struct dm_pia *ia)
{
    const struct dm_strict_ops *ops = dm_container_of(ia->ops, struct dm_strict_ops, ops);
    struct dm_strict *strict = calloc(1, sizeof(*strict));

    if (strict == NULL)
        return false;
    strict->real = ops->real;
    strict->rules = ops->rules;
    pthread_mutex_init(&strict->lock, NULL);
    pthread_cond_init(&strict->is_asked, NULL);
    dm_list_init(&strict->queue);
    ia->strict = strict;
    strict->is_running = ops->real->ia.start(ia);
    if (!strict->is_running || pthread_create(&strict->thread, NULL, strict_main, strict) == 0) {
        if (strict->is_running)
            return true;
    } else {
        strict->is_running = false;
        ops->real->ia.stop(ia);
    }
    strict_free(ia);
    return false;
}

static void strict_stop(struct dm_pia *ia)
{
    const struct dm_prov_ops *real = ia->strict->real;

    real->ia.stop(ia);
    strict_free(ia);
}

/* ---- posting ---- */

/* The state that decides what a post does, as of now. */
static int strict_state(const struct dm_strict *strict, struct dm_ep *ep)
{
    int state;

    pthread_mutex_lock(&ep->obj.ia->lock);
    if (strict->real->ep.refresh != NULL)
        strict->real->ep.refresh(ep);
    state = atomic_load(&ep->state);
    if (strict->real->ep.has_received == NULL || strict->real->ep.has_received(ep))
        ep->strict->has_received = true;
    pthread_mutex_unlock(&ep->obj.ia->lock);
    return state;
}

/* MPA: who has accepted sends nothing before the first data of the peer (RFC 5044, 7.1.2). */
static DAT_RETURN strict_check_first(const struct dm_strict *strict, struct dm_ep *ep)
{
    if ((strict->rules & DM_STRICT_FIRST) == 0 || !ep->strict->is_acceptor ||
        ep->strict->has_received)
        return DAT_SUCCESS;
    if (!ep->strict->is_reported)
        dm_log_error("%s: strict: the accepting side posts a request before it has received "
                     "anything; who has connected has to send first (iWARP, RFC 5044)",
                     ep->obj.provider->device_name);
    ep->strict->is_reported = true;
    return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
}

/* Keep it; the lock is held. */
static DAT_RETURN strict_keep(struct dm_strict *strict, struct dm_ep *ep, struct dm_srq *srq,
                              const struct dm_dto *dto, const DAT_RMR_TRIPLET *remote)
{
    bool has_own = dto->kind == DM_OP_BIND || dto->kind == DM_OP_READ_TO_RMR;
    struct strict_op *op = malloc(sizeof(*op) + dto->n_seg * sizeof(op->mine[0]));

    if (op == NULL)
        return DM_DAT_NOMEM;
    op->ep = ep;
    op->srq = srq;
    op->dto = *dto;
    op->is_kept = (strict->rules & DM_STRICT_IOV) != 0 && !has_own; /* these are const, or ours */
    op->remote = op->is_kept ? remote : NULL;
    op->is_begun = (strict->rules & DM_STRICT_LAST) == 0 || dto->kind != DM_OP_WRITE;
    if (dto->n_seg > 0)
        memcpy(op->mine, dto->seg, dto->n_seg * sizeof(op->mine[0]));
    if (!op->is_kept)
        op->dto.seg = op->mine;
    if (ep != NULL && dto->kind == DM_OP_RECV)
        ep->strict->n_recvs++;
    else if (ep != NULL)
        ep->strict->n_requests++;
    if (dm_list_is_empty(&strict->queue)) {
        strict->due = dm_futex_now() + DM_STRICT_HOLD_NS;
        pthread_cond_signal(&strict->is_asked);
    }
    dm_list_add_tail(&strict->queue, &op->link);
    atomic_fetch_add(&strict->n, 1);
    return DAT_SUCCESS;
}

static DAT_RETURN strict_post_remote(struct dm_ep *ep, const struct dm_dto *dto,
                                     const DAT_RMR_TRIPLET *remote)
{
    struct dm_strict *strict = ep->obj.ia->strict;
    DAT_RETURN ret = DAT_SUCCESS;

    pthread_mutex_lock(&strict->lock);
    if (strict_state(strict, ep) != DAT_EP_STATE_CONNECTED) {
        strict_pass(strict, true);
        ret = strict->real->post(ep, dto); /* which knows what to say */
    } else {
        if (dto->kind != DM_OP_BIND)
            ret = strict_check_first(strict, ep);
        if (ret == DAT_SUCCESS && ep->strict->n_requests >= (uint32_t)ep->attr.max_request_dtos)
            ret = DM_DAT_NOMEM;
        if (ret == DAT_SUCCESS)
            ret = strict_keep(strict, ep, NULL, dto, remote);
    }
    pthread_mutex_unlock(&strict->lock);
    return ret;
}

static DAT_RETURN strict_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    return strict_post_remote(ep, dto, NULL);
}

static DAT_RETURN strict_post_checked(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                                      const DAT_RMR_TRIPLET *remote)
{
    DAT_RETURN ret = dm_dto_check(handle, dto, n, remote);

    return ret == DAT_SUCCESS ? strict_post_remote((struct dm_ep *)handle, dto, remote) : ret;
}

static DAT_RETURN strict_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};

    return strict_post_checked(ep, &dto, n, NULL);
}

static DAT_RETURN strict_post_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                    DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE, .flags = flags, .cookie = cookie, .seg = seg};

    return strict_post_checked(ep, &dto, n, remote);
}

static DAT_RETURN strict_post_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                   DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ, .flags = flags, .cookie = cookie, .seg = seg};

    return strict_post_checked(ep, &dto, n, remote);
}

static DAT_RETURN strict_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_RECV, .flags = flags, .cookie = cookie, .seg = seg};
    DAT_RETURN ret = dm_recv_check(handle, n, seg, flags);
    struct dm_ep *ep = (struct dm_ep *)handle;
    struct dm_strict *strict;

    if (ret != DAT_SUCCESS)
        return ret;
    dto.n_seg = (uint32_t)n;
    strict = ep->obj.ia->strict;
    pthread_mutex_lock(&strict->lock);
    ret = ep->strict->n_recvs >= (uint32_t)ep->attr.max_recv_dtos
              ? DM_DAT_NOMEM
              : strict_keep(strict, ep, NULL, &dto, NULL);
    pthread_mutex_unlock(&strict->lock);
    return ret;
}

static DAT_RETURN strict_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                       DAT_DTO_COOKIE cookie)
{
    struct dm_dto dto = {.kind = DM_OP_RECV, .cookie = cookie, .seg = seg};
    DAT_RETURN ret = dm_srq_post_check(handle, n, seg);
    struct dm_srq *srq = (struct dm_srq *)handle;
    struct dm_strict *strict;

    if (ret != DAT_SUCCESS)
        return ret;
    dto.n_seg = (uint32_t)n;
    strict = srq->obj.ia->strict;
    pthread_mutex_lock(&strict->lock);
    ret = strict_keep(strict, NULL, srq, &dto, NULL);
    pthread_mutex_unlock(&strict->lock);
    return ret;
}

/* ---- endpoints ---- */

static DAT_RETURN strict_ep_create(struct dm_ep *ep)
{
    DAT_RETURN ret;

    ep->strict = calloc(1, sizeof(*ep->strict));
    if (ep->strict == NULL)
        return DM_DAT_NOMEM;
    ret = ep->obj.ia->strict->real->ep.create(ep);
    if (ret != DAT_SUCCESS)
        free(ep->strict);
    return ret;
}

static void strict_ep_destroy(struct dm_ep *ep)
{
    ep->obj.ia->strict->real->ep.destroy(ep);
    free(ep->strict);
    ep->strict = NULL;
}

static void strict_accept(struct dm_ep *ep, void *conn, DAT_COUNT len, const void *data)
{
    ep->strict->is_acceptor = true;
    ep->strict->has_received = false;
    ep->obj.ia->strict->real->cm.accept(ep, conn, len, data);
}

static DAT_RETURN strict_connect(struct dm_ep *ep, const struct dm_connect *how)
{
    ep->strict->is_acceptor = false;
    return ep->obj.ia->strict->real->ep.connect(ep, how);
}

struct dm_strict_ops *dm_strict_ops_new(const struct dm_prov_ops *real, unsigned rules)
{
    struct dm_strict_ops *strict = malloc(sizeof(*strict));

    if (strict == NULL)
        return NULL;
    strict->real = real;
    strict->rules = rules;
    strict->ops = *real;
    strict->ops.ia.start = strict_start;
    strict->ops.ia.stop = strict_stop;
    strict->ops.ep.create = strict_ep_create;
    strict->ops.ep.destroy = strict_ep_destroy;
    strict->ops.ep.connect = strict_connect;
    strict->ops.cm.accept = strict_accept;
    strict->ops.post = strict_post;
    strict->ops.post_send = strict_post_send;
    strict->ops.post_recv = strict_post_recv;
    strict->ops.post_rdma_read = strict_post_read;
    strict->ops.post_rdma_write = strict_post_write;
    strict->ops.srq_post_recv = strict_srq_post_recv;
    return strict;
}

bool dm_strict_is_shown(const struct dm_strict *strict, DAT_EVENT *event)
{
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    struct dm_strict_ep *ep;

    if (event->event_number != DAT_DTO_COMPLETION_EVENT || (strict->rules & DM_STRICT_LAST) == 0)
        return true;
    ep = ((struct dm_ep *)dto->ep_handle)->strict;
    if (ep == NULL)
        return true;
    if (dto->user_cookie.as_64 == (uint64_t)(uintptr_t)&last_byte) {
        ep->status = dto->status;
        return false;
    }
    if (ep->status != DAT_DTO_SUCCESS && dto->status == DAT_DTO_ERR_FLUSHED &&
        dto->operation == DAT_DTO_RDMA_WRITE) {
        dto->status = ep->status;
        ep->status = DAT_DTO_SUCCESS;
    }
    return true;
}
