/*
 * One process's half of a probe. Event dispatchers are kept apart by kind, the way every
 * provider allows; an endpoint has one pair of request and receive dispatchers.
 */
#include "tools/check/probe_side.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"

#define EVD_QLEN     1024
#define KEPT_LEN     (16u << 20) /* bytes of triplets: more than requests that are outstanding have */
#define CONN_TRIES   5
#define CONN_TIMEOUT 7000000

/* ---- objects ---- */

static int find_entry(const char *name, struct dm_conf *conf_p, struct dm_conf_entry **entry_p)
{
    char names[300] = "";
    size_t len = 0;
    int err = dm_conf_load(conf_p);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < conf_p->n_entries; i++) {
        *entry_p = &conf_p->entries[i];
        if (strcmp((*entry_p)->name, name) == 0)
            return DM_OK;
        if (len < sizeof(names))
            len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i > 0 ? ", " : "",
                                    (*entry_p)->name);
    }
    err = DM_FAIL(DM_ECONFIG, "there is no provider \"%s\" in %s; it has: %s", name, conf_p->path,
                  names[0] != '\0' ? names : "nothing");
    dm_conf_free(conf_p);
    return err;
}

int dm_probe_provider(const char *name, struct dm_probe_provider *provider_p)
{
    struct dm_conf_entry *entry;
    struct dm_conf conf;
    int err = find_entry(name, &conf, &entry);

    if (err != DM_OK)
        return err;
    snprintf(provider_p->name, sizeof(provider_p->name), "%s", entry->name);
    snprintf(provider_p->library, sizeof(provider_p->library), "%s", entry->lib);
    snprintf(provider_p->params, sizeof(provider_p->params), "%s", entry->params);
    dm_conf_free(&conf);
    return DM_OK;
}

static int make_evd(struct dm_probe_side *side, int flags, DAT_EVD_HANDLE *evd_p)
{
    int qlen = EVD_QLEN;
    DAT_RETURN rc;

    if (side->limits.max_evd_qlen > 0 && side->limits.max_evd_qlen < qlen)
        qlen = side->limits.max_evd_qlen;
    rc = dat_evd_create(side->ia, qlen, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, evd_p);
    return rc == DAT_SUCCESS ? DM_OK : DM_FAIL(DM_EPROVIDER, "dat_evd_create: %s", dm_dat_text(rc));
}

/* One thread at a time: the registry counts references without a lock. */
static int open_ia(struct dm_probe_side *side)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct dm_conf_entry *entry;
    struct dm_conf conf;
    int err;

    pthread_mutex_lock(&lock);
    err = find_entry(side->env->provider, &conf, &entry);
    if (err == DM_OK) {
        err = dm_ia_open_handle(entry, false, &side->ia, &side->async_evd);
        dm_conf_free(&conf);
    }
    pthread_mutex_unlock(&lock);
    if (err != DM_OK)
        side->ia = DAT_HANDLE_NULL;
    return err;
}

int dm_probe_open(struct dm_probe_env *env, struct dm_probe_side *side)
{
    DAT_RETURN rc;
    int err;

    memset(side, 0, sizeof(*side));
    side->env = env;
    side->kept = calloc(1, KEPT_LEN);
    if (side->kept == NULL)
        return DM_FAIL(DM_ENOMEM, "triplets of requests");
    err = open_ia(side);
    if (err != DM_OK)
        return err;
    err = dm_probe_limits(side->ia, env->provider, &side->limits);
    if (err != DM_OK)
        return err;
    rc = dat_pz_create(side->ia, &side->pz);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "dat_pz_create: %s", dm_dat_text(rc));
    err = make_evd(side, DAT_EVD_CR_FLAG, &side->cr_evd);
    if (err == DM_OK)
        err = make_evd(side, DAT_EVD_CONNECTION_FLAG, &side->conn_evd);
    if (err == DM_OK)
        err = make_evd(side, DAT_EVD_DTO_FLAG, &side->recv_evd);
    /* windows complete there too, for providers that have them */
    if (err == DM_OK &&
        make_evd(side, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &side->req_evd) != DM_OK)
        err = make_evd(side, DAT_EVD_DTO_FLAG, &side->req_evd);
    return err;
}

static void free_evd(DAT_EVD_HANDLE evd)
{
    if (evd != DAT_HANDLE_NULL)
        dat_evd_free(evd);
}

static void close_ia(struct dm_probe_side *side)
{
    if (side->psp != DAT_HANDLE_NULL)
        dat_psp_free(side->psp);
    if (side->ep != DAT_HANDLE_NULL)
        dat_ep_free(side->ep);
    free_evd(side->req_evd);
    free_evd(side->recv_evd);
    free_evd(side->conn_evd);
    free_evd(side->cr_evd);
    if (side->pz != DAT_HANDLE_NULL)
        dat_pz_free(side->pz);
    dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG); /* whatever a probe has left */
    memset(side, 0, sizeof(*side));
}

void dm_probe_close(struct dm_probe_side *side)
{
    char *kept = side->kept;

    if (side->ia != DAT_HANDLE_NULL)
        close_ia(side);
    free(kept);
    side->kept = NULL;
}

static int or_else(int value, int dflt)
{
    return value > 0 ? value : dflt;
}

/* At most the limit, when there is one. */
static DAT_SEG_LENGTH within(uint64_t limit, DAT_SEG_LENGTH len)
{
    return limit > 0 && limit < len ? (DAT_SEG_LENGTH)limit : len;
}

void dm_probe_ep_attr(const struct dm_probe_limits *limits, const struct dm_probe_ep *size,
                      DAT_EP_ATTR *attr_p)
{
    DAT_EP_ATTR *attr = attr_p;

    memset(attr, 0, sizeof(*attr));
    attr->service_type = DAT_SERVICE_TYPE_RC;
    attr->max_message_size = within(limits->max_msg, 1 << 24);
    attr->max_rdma_size = within(limits->max_rdma, 1 << 30);
    attr->qos = DAT_QOS_BEST_EFFORT;
    attr->recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr->request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr->max_recv_dtos = or_else(size->n_recv, 64);
    attr->max_request_dtos = or_else(size->n_req, 64);
    attr->max_recv_iov = or_else(size->n_iov, 1);
    attr->max_request_iov = or_else(size->n_iov, 1);
    attr->max_rdma_read_in = or_else(size->n_reads, 4);
    attr->max_rdma_read_out = or_else(size->n_reads, 4);
    attr->max_rdma_read_iov = 1;
    attr->max_rdma_write_iov = or_else(size->n_iov, 1);
}

int dm_probe_ep_create(struct dm_probe_side *side, const struct dm_probe_ep *size,
                       DAT_EP_HANDLE *ep_p)
{
    DAT_EP_ATTR attr;
    DAT_RETURN rc;

    dm_probe_ep_attr(&side->limits, size, &attr);
    rc = dat_ep_create(side->ia, side->pz, side->recv_evd, side->req_evd, side->conn_evd, &attr,
                       ep_p);
    if (rc == DAT_SUCCESS)
        return DM_OK;
    *ep_p = DAT_HANDLE_NULL;
    return DM_FAIL(DM_EPROVIDER, "dat_ep_create: %s", dm_dat_text(rc));
}

int dm_probe_agree_address(struct dm_probe_side *side)
{
    uint64_t part;
    int err;

    if (side->env->is_passive) {
        err = dm_ia_listen(side->ia, side->env->provider, side->cr_evd, false, &side->qual,
                           &side->psp);
        if (err != DM_OK)
            return err;
        err = dm_probe_put(side, side->qual);
        for (size_t i = 0; i < DM_PROBE_ADDR_MAX && err == DM_OK; i++)
            err = dm_probe_put(side, side->limits.addr[i]);
        return err;
    }
    err = dm_probe_get(side, &part);
    side->qual = part;
    for (size_t i = 0; i < DM_PROBE_ADDR_MAX && err == DM_OK; i++) {
        err = dm_probe_get(side, &part);
        side->peer_addr[i] = (unsigned char)part;
    }
    return err;
}

/* Words for a connection event. */
static const char *conn_text(DAT_EVENT_NUMBER number)
{
    static const char *const names[] = {
        "ESTABLISHED",  "PEER_REJECTED", "NON_PEER_REJECTED", "ACCEPT_COMPLETION_ERROR",
        "DISCONNECTED", "BROKEN",        "TIMED_OUT",         "UNREACHABLE"};
    size_t i = (size_t)number - DAT_CONNECTION_EVENT_ESTABLISHED;

    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "an event that is none of connections";
}

static int accept_one(struct dm_probe_side *side, DAT_EP_HANDLE ep)
{
    DAT_EVENT event;
    DAT_RETURN rc;
    int err;

    err = dm_probe_next(side, side->cr_evd, DM_PROBE_WAIT_US, "connection request", &event);
    if (err != DM_OK)
        return err;
    rc = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "dat_cr_accept: %s", dm_dat_text(rc));
    err = dm_probe_next(side, side->conn_evd, DM_PROBE_WAIT_US, "connection", &event);
    if (err != DM_OK)
        return err;
    if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
        return DM_FAIL(DM_ECONN, "accepting ended with %s", conn_text(event.event_number));
    return DM_OK;
}

static int connect_one(struct dm_probe_side *side, DAT_EP_HANDLE ep)
{
    DAT_EVENT event;
    DAT_RETURN rc;
    int err = DM_OK;

    for (int i = 0; i < CONN_TRIES; i++) {
        rc = dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(void *)side->peer_addr, side->qual,
                            CONN_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
        if (rc != DAT_SUCCESS)
            return DM_FAIL(DM_EPROVIDER, "dat_ep_connect: %s", dm_dat_text(rc));
        err = dm_probe_next(side, side->conn_evd, DM_PROBE_WAIT_US, "connection", &event);
        if (err != DM_OK)
            return err;
        if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
            return DM_OK;
        err = DM_FAIL(DM_ECONN, "connecting ended with %s", conn_text(event.event_number));
        if (event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE &&
            event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
            break;
        if (dat_ep_reset(ep) != DAT_SUCCESS)
            break;
    }
    return err;
}

int dm_probe_connect(struct dm_probe_side *side, DAT_EP_HANDLE ep)
{
    return side->env->is_passive ? accept_one(side, ep) : connect_one(side, ep);
}

int dm_probe_join(struct dm_probe_env *env, const struct dm_probe_ep *size,
                  struct dm_probe_side *side)
{
    int err = dm_probe_open(env, side);

    if (err == DM_OK)
        err = dm_probe_ep_create(side, size, &side->ep);
    if (err == DM_OK)
        err = dm_probe_agree_address(side);
    if (err == DM_OK)
        err = dm_probe_connect(side, side->ep);
    return err;
}

void dm_probe_part(struct dm_probe_side *side)
{
    DAT_EVENT event;

    if (!side->env->is_passive)
        dat_ep_disconnect(side->ep, DAT_CLOSE_ABRUPT_FLAG);
    dm_probe_next(side, side->conn_evd, DM_PROBE_WAIT_US, "disconnection", &event);
    dat_ep_free(side->ep);
    side->ep = DAT_HANDLE_NULL;
    while (dat_evd_dequeue(side->recv_evd, &event) == DAT_SUCCESS)
        ;
    while (dat_evd_dequeue(side->req_evd, &event) == DAT_SUCCESS)
        ;
}

/* ---- memory ---- */

int dm_probe_alloc(struct dm_probe_side *side, size_t len, bool is_shared,
                   struct dm_probe_mem *mem_p)
{
    DAT_RETURN rc;
    void *buf = NULL;
    int err = DM_OK;

    memset(mem_p, 0, sizeof(*mem_p));
    mem_p->len = len;
    mem_p->fd = -1;
    if (is_shared) {
        err = dm_host_shm_alloc("datum-probe", len, &buf, &mem_p->fd);
        if (err != DM_OK)
            return err;
    } else {
        buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buf == MAP_FAILED)
            return DM_FAIL(DM_ENOMEM, "%zu bytes", len);
    }
    mem_p->buf = buf;
    memset(buf, 0, len);
    rc = dm_lmr_try(side->ia, side->pz, buf, len, mem_p->fd, &mem_p->lmr);
    if (rc != DAT_SUCCESS && is_shared)
        rc = dm_lmr_try(side->ia, side->pz, buf, len, -1, &mem_p->lmr);
    if (rc != DAT_SUCCESS) {
        dm_probe_free(mem_p);
        return DM_FAIL(DM_EPROVIDER, "dat_lmr_create of %zu bytes: %s", len, dm_dat_text(rc));
    }
    return DM_OK;
}

void dm_probe_free(struct dm_probe_mem *mem)
{
    if (mem->buf == NULL)
        return;
    dm_lmr_free(&mem->lmr);
    if (mem->fd >= 0)
        dm_host_shm_free(mem->buf, mem->len, mem->fd);
    else
        munmap(mem->buf, mem->len);
    memset(mem, 0, sizeof(*mem));
}

int dm_probe_swap(struct dm_probe_side *side, const struct dm_probe_mem *mine,
                  struct dm_probe_remote *theirs_p)
{
    int err = dm_probe_put(side, (uintptr_t)mine->buf);

    if (err == DM_OK)
        err = dm_probe_put(side, mine->lmr.rctx);
    if (err == DM_OK)
        err = dm_probe_get(side, &theirs_p->addr);
    if (err == DM_OK)
        err = dm_probe_get(side, &theirs_p->rctx);
    return err;
}

/* ---- the side channel: messages of a kind ("v" or "e"), a length and that many bytes ---- */

#define SIDE_HEAD 2

static int side_write(int fd, const void *data, size_t len)
{
    const char *at = data;
    ssize_t n;

    while (len > 0) {
        n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return DM_FAIL(DM_EPEER, "the other process is gone");
        at += n;
        len -= (size_t)n;
    }
    return DM_OK;
}

static int side_read(int fd, void *data, size_t len)
{
    return recv(fd, data, len, MSG_WAITALL) == (ssize_t)len
               ? DM_OK
               : DM_FAIL(DM_EPEER, "the other process is gone");
}

int dm_probe_put(struct dm_probe_side *side, uint64_t value)
{
    unsigned char msg[SIDE_HEAD + 8] = {'v', 8};

    for (int i = 0; i < 8; i++)
        msg[SIDE_HEAD + i] = (unsigned char)(value >> (56 - 8 * i));
    return side_write(side->env->side, msg, sizeof(msg));
}

int dm_probe_get(struct dm_probe_side *side, uint64_t *value_p)
{
    unsigned char head[SIDE_HEAD];
    unsigned char body[256] = "";
    int err = side_read(side->env->side, head, sizeof(head));

    if (err == DM_OK)
        err = side_read(side->env->side, body, head[1]);
    if (err != DM_OK)
        return err;
    if (head[0] == 'e')
        return DM_FAIL(DM_EPEER, "in the other process: %s", (char *)body);
    if (head[0] != 'v' || head[1] != 8)
        return DM_FAIL(DM_EPEER, "the other process speaks another protocol");
    *value_p = 0;
    for (int i = 0; i < 8; i++)
        *value_p = *value_p << 8 | body[i];
    return DM_OK;
}

int dm_probe_barrier(struct dm_probe_side *side)
{
    uint64_t value;
    int err = dm_probe_put(side, 0);

    return err == DM_OK ? dm_probe_get(side, &value) : err;
}

void dm_probe_report_error(int fd, const char *text)
{
    unsigned char msg[SIDE_HEAD + 200];
    size_t len = strlen(text);

    len = len < 200 ? len : 200;
    msg[0] = 'e';
    msg[1] = (unsigned char)len;
    memcpy(msg + SIDE_HEAD, text, len);
    side_write(fd, msg, SIDE_HEAD + len);
}

/* ---- transfers ---- */

void *dm_probe_keep(struct dm_probe_side *side, const void *triplets, size_t len)
{
    char *kept;

    if (side->kept_at + len > KEPT_LEN)
        side->kept_at = 0;
    kept = side->kept + side->kept_at;
    side->kept_at += len;
    memcpy(kept, triplets, len);
    return kept;
}

DAT_LMR_TRIPLET dm_probe_local(const struct dm_probe_mem *mem, size_t offset, size_t len)
{
    DAT_LMR_TRIPLET seg;

    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + offset;
    seg.segment_length = (DAT_SEG_LENGTH)len;
    seg.lmr_context = mem->lmr.lctx;
    return seg;
}

DAT_RMR_TRIPLET dm_probe_remote(const struct dm_probe_remote *remote, size_t offset, size_t len)
{
    DAT_RMR_TRIPLET seg;

    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = remote->addr + offset;
    seg.segment_length = (DAT_SEG_LENGTH)len;
    seg.rmr_context = (DAT_RMR_CONTEXT)remote->rctx;
    return seg;
}

static int posted(const char *call, DAT_RETURN rc)
{
    if (rc == DAT_SUCCESS)
        return DM_OK;
    return DM_FAIL(DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ? DM_EAGAIN : DM_EPROVIDER,
                   "%s: %s", call, dm_dat_text(rc));
}

int dm_probe_write(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t from,
                   const struct dm_probe_remote *remote, size_t to, size_t len, int flags)
{
    DAT_LMR_TRIPLET lmr = dm_probe_local(mem, from, len);
    DAT_RMR_TRIPLET rmr = dm_probe_remote(remote, to, len);
    DAT_DTO_COOKIE cookie = {.as_64 = from};

    return posted("dat_ep_post_rdma_write",
                  dat_ep_post_rdma_write(side->ep, 1, dm_probe_keep(side, &lmr, sizeof(lmr)),
                                         cookie, dm_probe_keep(side, &rmr, sizeof(rmr)),
                                         (DAT_COMPLETION_FLAGS)flags));
}

int dm_probe_read(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t to,
                  const struct dm_probe_remote *remote, size_t from, size_t len)
{
    DAT_LMR_TRIPLET lmr = dm_probe_local(mem, to, len);
    DAT_RMR_TRIPLET rmr = dm_probe_remote(remote, from, len);
    DAT_DTO_COOKIE cookie = {.as_64 = to};

    return posted("dat_ep_post_rdma_read",
                  dat_ep_post_rdma_read(side->ep, 1, dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
                                        dm_probe_keep(side, &rmr, sizeof(rmr)),
                                        DAT_COMPLETION_DEFAULT_FLAG));
}

int dm_probe_send(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t from,
                  size_t len)
{
    DAT_LMR_TRIPLET lmr = dm_probe_local(mem, from, len);
    DAT_DTO_COOKIE cookie = {.as_64 = from};

    return posted("dat_ep_post_send",
                  dat_ep_post_send(side->ep, 1, dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
                                   DAT_COMPLETION_DEFAULT_FLAG));
}

int dm_probe_recv(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t to, size_t len)
{
    DAT_LMR_TRIPLET lmr = dm_probe_local(mem, to, len);
    DAT_DTO_COOKIE cookie = {.as_64 = to};

    return posted("dat_ep_post_recv",
                  dat_ep_post_recv(side->ep, 1, dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
                                   DAT_COMPLETION_DEFAULT_FLAG));
}

/* ---- events ---- */

/* The other process is gone, or the next that it has to say is why it failed. */
static bool has_given_up(const struct dm_probe_side *side)
{
    unsigned char kind;
    ssize_t n;

    if (side->env->side < 0)
        return false;
    n = recv(side->env->side, &kind, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n == 1 && kind == 'e');
}

/*
 * Transfers are polled for, so that nothing depends on waking up; a short wait now and then
 * lets the peer run when processes outnumber cores.
 */
int dm_probe_next(struct dm_probe_side *side, DAT_EVD_HANDLE evd, unsigned us, const char *what,
                  DAT_EVENT *event_p)
{
    uint64_t limit = dm_clock_ns() + (uint64_t)us * 1000;
    bool is_dto = evd == side->recv_evd || evd == side->req_evd;
    DAT_COUNT n_more;
    DAT_RETURN rc;
    unsigned spins = is_dto ? 2000 : 0;
    uint64_t none;

    memset(event_p, 0, sizeof(*event_p));
    do {
        for (unsigned i = 0; i <= spins; i++) {
            rc = dat_evd_dequeue(evd, event_p);
            if (rc == DAT_SUCCESS)
                return DM_OK;
        }
        rc = dat_evd_wait(evd, 10000, 1, event_p, &n_more);
        if (rc == DAT_SUCCESS)
            return DM_OK;
        if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(rc) != DAT_INTERRUPTED_CALL &&
            DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
            return DM_FAIL(DM_EPROVIDER, "dat_evd_wait for the %s: %s", what, dm_dat_text(rc));
        if (has_given_up(side))
            return dm_probe_get(side, &none);
    } while (dm_clock_ns() < limit);
    return DM_FAIL(DM_ETIMEOUT, "no %s within %u ms", what, us / 1000);
}

int dm_probe_done(struct dm_probe_side *side, DAT_EVD_HANDLE evd, int n, const char *what)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto;
    DAT_EVENT event;
    int err;

    for (int i = 0; i < n; i++) {
        err = dm_probe_next(side, evd, DM_PROBE_WAIT_US, what, &event);
        if (err != DM_OK)
            return err;
        dto = &event.event_data.dto_completion_event_data;
        if (dto->status != DAT_DTO_SUCCESS)
            return DM_FAIL(DM_EPROVIDER, "the %s completed with %s", what,
                           dm_probe_status_text(dto->status));
    }
    return DM_OK;
}

bool dm_probe_is_silent(struct dm_probe_side *side, DAT_EVD_HANDLE evd, unsigned us)
{
    DAT_EVENT event;

    return dm_probe_next(side, evd, us, "event", &event) != DM_OK;
}

const char *dm_probe_status_text(DAT_DTO_COMPLETION_STATUS status)
{
    static const char *const names[] = {"success",          "flushed",
                                        "local length",     "local endpoint",
                                        "local protection", "bad response",
                                        "remote access",    "remote responder",
                                        "transport",        "receiver not ready",
                                        "partial packet",   "RMR operation failed"};

    return (size_t)status < sizeof(names) / sizeof(names[0]) ? names[status] : "an unknown status";
}

/* ---- reports ---- */

static void say(struct dm_probe_env *env, struct dm_probe_result *result, const char *key,
                const char *fmt, va_list ap)
{
    snprintf(result->key, sizeof(result->key), "%s", key);
    vsnprintf(result->text, sizeof(result->text), fmt, ap);
    if (!env->is_passive)
        env->report(env->arg, result);
}

void dm_probe_say(struct dm_probe_env *env, const char *key, bool is_yes, const char *fmt, ...)
{
    struct dm_probe_result result = {.verdict = is_yes ? DM_PROBE_YES : DM_PROBE_NO};
    va_list ap;

    va_start(ap, fmt);
    say(env, &result, key, fmt, ap);
    va_end(ap);
}

void dm_probe_say_value(struct dm_probe_env *env, const char *key, double value, const char *unit,
                        const char *fmt, ...)
{
    struct dm_probe_result result = {.verdict = DM_PROBE_VALUE, .value = value};
    va_list ap;

    snprintf(result.unit, sizeof(result.unit), "%s", unit);
    va_start(ap, fmt);
    say(env, &result, key, fmt, ap);
    va_end(ap);
}

void dm_probe_say_untested(struct dm_probe_env *env, const char *key, const char *fmt, ...)
{
    struct dm_probe_result result = {.verdict = DM_PROBE_UNTESTED};
    va_list ap;

    va_start(ap, fmt);
    say(env, &result, key, fmt, ap);
    va_end(ap);
}
