/*
 * Probes of transfers: how many segments, how many reads, how large, and what happens when
 * a receiver is late, when completions are suppressed, when a dispatcher is full.
 */
#include <string.h>
#include <unistd.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define SEGS_MAX  256
#define READS_MAX 128
#define LATE_US   50000
#define N_ROUNDS  4

/* ---- segments ---- */

enum kind { SEND, WRITE, READ, N_KINDS };

static DAT_RETURN post_segs(struct dm_probe_side *side, enum kind kind,
                            const struct dm_probe_mem *mem, const struct dm_probe_remote *remote,
                            int n)
{
    DAT_LMR_TRIPLET some[SEGS_MAX], *segs = some;
    DAT_RMR_TRIPLET rmr;
    DAT_DTO_COOKIE cookie = {.as_64 = 1};

    memset(&rmr, 0, sizeof(rmr));
    for (int i = 0; i < n; i++) {
        /* every second 8 bytes, so that they cannot be taken as one */
        segs[i].virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + 16 * (unsigned)i;
        segs[i].segment_length = 8;
        segs[i].lmr_context = mem->lmr.lctx;
    }
    rmr.virtual_address = remote->addr;
    rmr.segment_length = 8 * (DAT_SEG_LENGTH)n;
    rmr.rmr_context = (DAT_RMR_CONTEXT)remote->rctx;
    segs = dm_probe_keep(side, some, (size_t)n * sizeof(*segs));
    if (kind == SEND)
        return dat_ep_post_send(side->ep, n, segs, cookie, DAT_COMPLETION_DEFAULT_FLAG);
    if (kind == WRITE)
        return dat_ep_post_rdma_write(side->ep, n, segs, cookie,
                                      dm_probe_keep(side, &rmr, sizeof(rmr)),
                                      DAT_COMPLETION_DEFAULT_FLAG);
    return dat_ep_post_rdma_read(side->ep, n, segs, cookie, dm_probe_keep(side, &rmr, sizeof(rmr)),
                                 DAT_COMPLETION_DEFAULT_FLAG);
}

/* The endpoint with the most segments that can be made, at most SEGS_MAX. */
static int most_segs(struct dm_probe_side *side, enum kind kind, int *most_p)
{
    struct dm_probe_ep size = {.n_iov = 1};
    DAT_EP_ATTR attr;
    DAT_RETURN rc = DAT_SUCCESS;

    for (int n = SEGS_MAX; n >= 1; n /= 2) {
        size.n_iov = n;
        dm_probe_ep_attr(&side->limits, &size, &attr);
        attr.max_recv_iov = 1;
        attr.max_rdma_read_iov = kind == READ ? n : 1;
        attr.max_rdma_write_iov = kind == WRITE ? n : 1;
        rc = dat_ep_create(side->ia, side->pz, side->recv_evd, side->req_evd, side->conn_evd, &attr,
                           &side->ep);
        if (rc == DAT_SUCCESS) {
            *most_p = n;
            return DM_OK;
        }
    }
    side->ep = DAT_HANDLE_NULL;
    return DM_FAIL(DM_EPROVIDER, "dat_ep_create: %s", dm_dat_text(rc));
}

static bool is_right(const char *mem, int n, int stride)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            if (mem[stride * i + k] != (char)(i + 1))
                return false;
    return true;
}

/* Gathered data arrived in one piece at the target; read data was scattered at the source. */
static int one_segs(struct dm_probe_side *side, enum kind kind, struct dm_probe_mem *mem,
                    const struct dm_probe_remote *remote, int n, bool *is_good_p)
{
    DAT_EVENT event;
    uint64_t answer = 0;
    DAT_RETURN rc = DAT_SUCCESS;
    bool is_good = true;
    int err;

    memset(mem->buf, 0, mem->len);
    for (int i = 0; i < n; i++)
        memset(mem->buf + (side->env->is_passive ? 8 : 16) * i,
               side->env->is_passive == (kind == READ) ? i + 1 : 0, 8);
    if (side->env->is_passive) {
        err = kind == SEND ? dm_probe_recv(side, mem, 0, 8 * SEGS_MAX) : DM_OK;
        if (err == DM_OK)
            err = dm_probe_barrier(side);
        if (err == DM_OK)
            err = dm_probe_get(side, &answer);
        if (err == DM_OK && answer != 0 && kind == SEND)
            err = dm_probe_done(side, side->recv_evd, 1, "receive");
        if (err == DM_OK)
            err = dm_probe_put(side, kind == READ || is_right(mem->buf, n, 8));
        if (err == DM_OK)
            err = dm_probe_get(side, &answer);
        *is_good_p = answer != 0;
        return err;
    }
    err = dm_probe_barrier(side);
    if (err == DM_OK)
        rc = post_segs(side, kind, mem, remote, n);
    is_good = rc == DAT_SUCCESS;
    if (err == DM_OK && is_good)
        is_good =
            dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "completion", &event) == DM_OK &&
            event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    if (err == DM_OK)
        err = dm_probe_put(side, is_good);
    if (err == DM_OK)
        err = dm_probe_get(side, &answer);
    is_good = is_good && answer != 0 && (kind != READ || is_right(mem->buf, n, 16));
    *is_good_p = is_good;
    return err == DM_OK ? dm_probe_put(side, is_good) : err;
}

static int segments_of(struct dm_probe_env *env, enum kind kind)
{
    static const char *const keys[N_KINDS] = {"segments_send", "segments_write", "segments_read"};
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    uint64_t theirs = 0;
    bool is_good = true;
    int most = 0;
    int best = 0;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK)
        err = most_segs(&side, kind, &most);
    if (err == DM_OK)
        err = dm_probe_alloc(&side, 16 * SEGS_MAX, false, &mem);
    if (err == DM_OK)
        err = dm_probe_agree_address(&side);
    if (err == DM_OK)
        err = dm_probe_connect(&side, side.ep);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = dm_probe_put(&side, (uint64_t)most);
    if (err == DM_OK)
        err = dm_probe_get(&side, &theirs);
    if (err == DM_OK && !env->is_passive)
        theirs = (uint64_t)most; /* the one that gathers decides */
    for (int n = 1; n <= (int)theirs && is_good && err == DM_OK; n *= 2) {
        err = one_segs(&side, kind, &mem, &remote, n, &is_good);
        if (err == DM_OK && is_good)
            best = n;
    }
    if (err == DM_OK)
        dm_probe_say_value(env, keys[kind], best, "segments",
                           "an endpoint of %d can be made; attribute %d", most,
                           kind == SEND    ? side.limits.max_iov
                           : kind == WRITE ? side.limits.max_iov_write
                                           : side.limits.max_iov_read);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

int dm_probe_run_segments(struct dm_probe_env *env)
{
    int err = DM_OK;

    for (int kind = SEND; kind < N_KINDS && err == DM_OK; kind++)
        err = segments_of(env, (enum kind)kind);
    return err;
}

/* ---- reads outstanding ---- */

static int make_reader(struct dm_probe_side *side, int *depth_p)
{
    struct dm_probe_ep size = {.n_req = READS_MAX};
    int err = DM_OK;

    for (int n = READS_MAX; n >= 1; n /= 2) {
        size.n_reads = n;
        err = dm_probe_ep_create(side, &size, &side->ep);
        if (err == DM_OK) {
            *depth_p = n;
            return DM_OK;
        }
    }
    return err;
}

/* More reads than the depth are posted at once: they have to queue. */
int dm_probe_run_reads(struct dm_probe_env *env)
{
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    int depth = 0;
    int n_wrong = 0;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK)
        err = make_reader(&side, &depth);
    if (err == DM_OK)
        err = dm_probe_alloc(&side, 2 * 64 * READS_MAX, false, &mem);
    if (err == DM_OK)
        err = dm_probe_agree_address(&side);
    if (err == DM_OK)
        err = dm_probe_connect(&side, side.ep);
    for (int i = 0; i < READS_MAX && mem.buf != NULL; i++)
        memset(mem.buf + (ptrdiff_t)64 * i, i + 1, 64);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK && !env->is_passive) {
        for (int i = 0; i < READS_MAX && err == DM_OK; i++)
            err = dm_probe_read(&side, &mem, 64 * (size_t)(READS_MAX + i), &remote, 64 * (size_t)i,
                                64);
        if (err == DM_OK)
            err = dm_probe_done(&side, side.req_evd, READS_MAX, "read");
        for (int i = 0; i < READS_MAX; i++)
            n_wrong += mem.buf[64 * (READS_MAX + i) + 63] != (char)(i + 1);
        if (err == DM_OK && n_wrong == 0)
            dm_probe_say_value(env, "read_depth", depth, "reads",
                               "%d reads posted at once; attributes %d in, %d out", READS_MAX,
                               side.limits.max_reads_in, side.limits.max_reads_out);
        else if (err == DM_OK)
            err = DM_FAIL(DM_EPROVIDER, "%d of %d reads posted at once brought wrong data", n_wrong,
                          READS_MAX);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- sizes ---- */

static void stamp(struct dm_probe_mem *mem, size_t len, uint64_t seed)
{
    for (size_t i = 0; i + 8 <= len; i += 4096)
        memcpy(mem->buf + i, &seed, sizeof(seed));
    if (len >= 8)
        memcpy(mem->buf + len - 8, &seed, sizeof(seed));
}

static bool is_stamped(const struct dm_probe_mem *mem, size_t len, uint64_t seed)
{
    for (size_t i = 0; i + 8 <= len; i += 4096)
        if (memcmp(mem->buf + i, &seed, sizeof(seed)) != 0)
            return false;
    return len < 8 || memcmp(mem->buf + len - 8, &seed, sizeof(seed)) == 0;
}

static int one_size(struct dm_probe_side *side, enum kind kind, struct dm_probe_mem *mem,
                    const struct dm_probe_remote *remote, size_t len, bool *is_good_p)
{
    uint64_t seed = len * 3 + (uint64_t)kind + 1;
    uint64_t answer = 0;
    DAT_EVENT event;
    bool is_good = true;
    int err = DM_OK;

    stamp(mem, len, side->env->is_passive == (kind == READ) ? seed : 0);
    if (side->env->is_passive) {
        if (kind == SEND)
            err = dm_probe_recv(side, mem, 0, mem->len);
        if (err == DM_OK)
            err = dm_probe_barrier(side);
        if (err == DM_OK)
            err = dm_probe_get(side, &answer);
        if (err == DM_OK && answer != 0 && kind == SEND)
            err = dm_probe_done(side, side->recv_evd, 1, "receive");
        if (err == DM_OK)
            err = dm_probe_put(side, kind == READ || is_stamped(mem, len, seed));
        if (err == DM_OK)
            err = dm_probe_get(side, &answer);
        *is_good_p = answer != 0;
        return err;
    }
    err = dm_probe_barrier(side);
    if (err != DM_OK)
        return err;
    is_good =
        (kind == SEND    ? dm_probe_send(side, mem, 0, len)
         : kind == WRITE ? dm_probe_write(side, mem, 0, remote, 0, len, DAT_COMPLETION_DEFAULT_FLAG)
                         : dm_probe_read(side, mem, 0, remote, 0, len)) == DM_OK;
    if (is_good)
        is_good =
            dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "completion", &event) == DM_OK &&
            event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    err = dm_probe_put(side, is_good);
    if (err == DM_OK)
        err = dm_probe_get(side, &answer);
    is_good = is_good && answer != 0 && (kind != READ || is_stamped(mem, len, seed));
    *is_good_p = is_good;
    return err == DM_OK ? dm_probe_put(side, is_good) : err;
}

static int sizes_of(struct dm_probe_env *env, enum kind kind)
{
    static const char *const keys[N_KINDS] = {"max_send", "max_write", "max_read"};
    static const char *const zeros[N_KINDS] = {"zero_send", "zero_write", "zero_read"};
    static const struct dm_probe_ep modest;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    bool is_good = false;
    size_t best = 0;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, env->max_len, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = one_size(&side, kind, &mem, &remote, 0, &is_good);
    if (err == DM_OK)
        dm_probe_say(env, zeros[kind], is_good, "%s", "");
    for (size_t len = 8; len <= env->max_len && is_good && err == DM_OK; len *= 2) {
        err = one_size(&side, kind, &mem, &remote, len, &is_good);
        if (err == DM_OK && is_good)
            best = len;
    }
    if (err == DM_OK)
        dm_probe_say_value(
            env, keys[kind], (double)best, "bytes", "%sattribute %llu",
            is_good ? "no more was tried; " : "",
            (unsigned long long)(kind == SEND ? side.limits.max_msg : side.limits.max_rdma));
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

int dm_probe_run_sizes(struct dm_probe_env *env)
{
    int err = DM_OK;

    for (int kind = SEND; kind < N_KINDS && err == DM_OK; kind++)
        err = sizes_of(env, (enum kind)kind);
    return err;
}

/* ---- a receiver that is late ---- */

int dm_probe_run_late(struct dm_probe_env *env)
{
    static const struct dm_probe_ep modest;
    const DAT_DTO_COMPLETION_EVENT_DATA *dto;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    uint64_t start;
    DAT_EVENT event;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    start = dm_clock_ns();
    if (err == DM_OK && env->is_passive) {
        usleep(LATE_US);
        err = dm_probe_recv(&side, &mem, 0, 64);
        if (err == DM_OK)
            dm_probe_next(&side, side.recv_evd, DM_PROBE_WAIT_US, "receive", &event);
    } else if (err == DM_OK) {
        memset(mem.buf, 'l', 64);
        err = dm_probe_send(&side, &mem, 0, 64);
        if (err == DM_OK)
            err = dm_probe_next(&side, side.req_evd, DM_PROBE_WAIT_US, "completion", &event);
        dto = &event.event_data.dto_completion_event_data;
        if (err == DM_OK)
            dm_probe_say(env, "late_receive", dto->status == DAT_DTO_SUCCESS,
                         "the send completed with %s after %.0f ms; the receive came after %d ms",
                         dm_probe_status_text(dto->status),
                         (double)(dm_clock_ns() - start) / 1000000, LATE_US / 1000);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- suppressed completions ---- */

/* Post `n` suppressed writes, waiting for places a little; how many were taken. */
static int post_quiet(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                      const struct dm_probe_remote *remote, int n)
{
    uint64_t until;
    int err = DM_OK;
    int i;

    for (i = 0; i < n && err == DM_OK; i++) {
        until = dm_clock_ns() + 50000000;
        do
            err = dm_probe_write(side, mem, 0, remote, 0, 8, DAT_COMPLETION_SUPPRESS_FLAG);
        while (err == DM_EAGAIN && dm_clock_ns() < until);
    }
    return err == DM_OK ? n : i - 1;
}

int dm_probe_run_suppress(struct dm_probe_env *env)
{
    static const struct dm_probe_ep small = {.n_req = 16};
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    DAT_EP_PARAM param;
    int granted = small.n_req;
    int taken;
    int err = dm_probe_join(env, &small, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK && !env->is_passive) {
        memset(&param, 0, sizeof(param));
        if (dat_ep_query(side.ep, DAT_EP_FIELD_ALL, &param) == DAT_SUCCESS &&
            param.ep_attr.max_request_dtos >= small.n_req &&
            param.ep_attr.max_request_dtos <= 1 << 20)
            granted = param.ep_attr.max_request_dtos;
        taken = post_quiet(&side, &mem, &remote, N_ROUNDS * granted);
        dm_probe_say(env, "suppress_frees", taken == N_ROUNDS * granted,
                     "%d suppressed writes in a row were taken by an endpoint of %d", taken,
                     granted);
        dm_probe_say(env, "suppress", dm_probe_is_silent(&side, side.req_evd, 100000), "%s",
                     "no completion of a suppressed write within 100 ms");
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- a dispatcher that is full ---- */

/* The passive side receives more than its dispatcher holds, and does not look. */
static int overflow_passive(struct dm_probe_side *side, int n)
{
    struct dm_probe_ep size = {.n_recv = n};
    struct dm_probe_mem mem = {.buf = NULL};
    DAT_EVD_HANDLE small;
    DAT_EP_ATTR attr;
    DAT_EVENT event;
    DAT_RETURN rc;
    int err = dm_probe_alloc(side, 4096, false, &mem);

    if (err != DM_OK)
        return err;
    rc = dat_evd_create(side->ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &small);
    dm_probe_ep_attr(&side->limits, &size, &attr);
    if (rc == DAT_SUCCESS)
        rc = dat_ep_create(side->ia, side->pz, small, side->req_evd, side->conn_evd, &attr,
                           &side->ep);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "an endpoint with a small dispatcher: %s", dm_dat_text(rc));
    for (int i = 0; i < n && err == DM_OK; i++)
        err = dm_probe_recv(side, &mem, 0, 64);
    if (err == DM_OK)
        err = dm_probe_agree_address(side);
    if (err == DM_OK)
        err = dm_probe_connect(side, side->ep);
    if (err == DM_OK)
        err = dm_probe_barrier(side);
    if (err == DM_OK)
        err = dm_probe_next(side, side->async_evd, 1000000, "overflow event", &event);
    if (err == DM_ETIMEOUT)
        return dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_put(side, event.event_number);
    return err;
}

int dm_probe_run_overflow(struct dm_probe_env *env)
{
    static const struct dm_probe_ep wide = {.n_req = 512};
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    uint64_t event = 0;
    int n = 512;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK && env->is_passive)
        err = overflow_passive(&side, n);
    if (err == DM_OK && !env->is_passive) {
        err = dm_probe_alloc(&side, 4096, false, &mem);
        if (err == DM_OK)
            err = dm_probe_ep_create(&side, &wide, &side.ep);
        if (err == DM_OK)
            err = dm_probe_agree_address(&side);
        if (err == DM_OK)
            err = dm_probe_connect(&side, side.ep);
        if (err == DM_OK)
            err = dm_probe_barrier(&side);
        for (int i = 0; i < n && err == DM_OK; i++) {
            if (dm_probe_send(&side, &mem, 0, 64) != DM_OK)
                break; /* the connection may be broken by now */
        }
        if (err == DM_OK)
            err = dm_probe_get(&side, &event);
        if (err == DM_OK && event == DAT_ASYNC_ERROR_EVD_OVERFLOW)
            dm_probe_say(env, "overflow_event", true,
                         "EVD_OVERFLOW at the asynchronous dispatcher");
        else if (err == DM_OK && event != 0)
            dm_probe_say(env, "overflow_event", false, "asynchronous event 0x%x instead",
                         (unsigned)event);
        else if (err == DM_OK)
            dm_probe_say(env, "overflow_event", false, "none within 1 s");
        dm_probe_free(&mem);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_close(&side);
    return err;
}
