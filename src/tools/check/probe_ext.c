/*
 * Probes of what not every provider has: shared receive queues, memory windows, and the
 * InfiniBand extensions (immediate data, atomics).
 */
#include <stdatomic.h>
#include <string.h>

#include "tools/check/probe_side.h"

#include <dat2/dat_ib_extensions.h>

#include "util/clock.h"
#include "util/err.h"

#define N_SRQ_RECVS 8
#define N_ATOMICS   2000
#define IMMEDIATE   0x1badcafe
#define ATOMIC_NS   UINT64_C(2000000000)

/* ---- shared receive queue ---- */

/* *has_p: this process made it, an endpoint with it and receives on it. */
static DAT_RETURN make_srq(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                           DAT_SRQ_HANDLE *srq_p)
{
    static const struct dm_probe_ep modest;
    DAT_DTO_COOKIE cookie = {.as_64 = 7};
    DAT_LMR_TRIPLET seg;
    DAT_SRQ_ATTR srq_attr;
    DAT_EP_ATTR attr;
    DAT_RETURN rc;

    memset(&srq_attr, 0, sizeof(srq_attr));
    srq_attr.max_recv_dtos = N_SRQ_RECVS;
    srq_attr.max_recv_iov = 1;
    srq_attr.low_watermark = DAT_SRQ_LW_DEFAULT;
    *srq_p = DAT_HANDLE_NULL;
    rc = dat_srq_create(side->ia, side->pz, &srq_attr, srq_p);
    if (rc != DAT_SUCCESS)
        return rc;
    dm_probe_ep_attr(&side->limits, &modest, &attr);
    rc = dat_ep_create_with_srq(side->ia, side->pz, side->recv_evd, side->req_evd, side->conn_evd,
                                *srq_p, &attr, &side->ep);
    if (rc != DAT_SUCCESS)
        side->ep = DAT_HANDLE_NULL;
    memset(&seg, 0, sizeof(seg));
    seg.segment_length = 64;
    seg.lmr_context = mem->lmr.lctx;
    for (int i = 0; i < N_SRQ_RECVS && rc == DAT_SUCCESS; i++) {
        seg.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + 64 * (unsigned)i;
        rc = dat_srq_post_recv(*srq_p, 1, dm_probe_keep(side, &seg, sizeof(seg)), cookie);
    }
    return rc;
}

static int srq_passive(struct dm_probe_side *side)
{
    struct dm_probe_mem mem;
    DAT_SRQ_HANDLE srq;
    DAT_EVENT event;
    DAT_RETURN rc;
    bool is_ep = true;
    int err = dm_probe_alloc(side, 4096, false, &mem);

    if (err != DM_OK)
        return err;
    rc = make_srq(side, &mem, &srq);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_ENOTSUP, "a shared receive queue: %s", dm_dat_text(rc));
    err = dm_probe_agree_address(side);
    if (err == DM_OK)
        err = dm_probe_connect(side, side->ep);
    for (int i = 0; i < N_SRQ_RECVS && err == DM_OK; i++) {
        err = dm_probe_next(side, side->recv_evd, DM_PROBE_WAIT_US, "receive of the queue", &event);
        if (err == DM_OK && event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
            err = DM_FAIL(DM_EPROVIDER, "a receive of the queue completed with %s",
                          dm_probe_status_text(event.event_data.dto_completion_event_data.status));
        is_ep = is_ep && event.event_data.dto_completion_event_data.ep_handle == side->ep;
        if (err == DM_OK && mem.buf[64 * i] != (char)(i + 1))
            err = DM_FAIL(DM_EPROVIDER, "receive %d of the queue has wrong data", i);
    }
    return err == DM_OK ? dm_probe_put(side, is_ep) : err;
}

int dm_probe_run_srq(struct dm_probe_env *env)
{
    static const struct dm_probe_ep modest;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    uint64_t is_ep;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK && env->is_passive) {
        err = srq_passive(&side);
    } else if (err == DM_OK) {
        err = dm_probe_alloc(&side, 4096, false, &mem);
        if (err == DM_OK)
            err = dm_probe_ep_create(&side, &modest, &side.ep);
        if (err == DM_OK && dm_probe_agree_address(&side) != DM_OK) {
            dm_probe_say(env, "srq", false, "%s", dm_err_detail());
            dm_probe_say_untested(env, "srq_endpoint", "no shared receive queue");
            dm_probe_free(&mem);
            dm_probe_close(&side);
            return DM_OK;
        }
        if (err == DM_OK)
            err = dm_probe_connect(&side, side.ep);
        for (int i = 0; i < N_SRQ_RECVS && err == DM_OK; i++) {
            mem.buf[64 * i] = (char)(i + 1);
            err = dm_probe_send(&side, &mem, 64 * (size_t)i, 64);
        }
        if (err == DM_OK)
            err = dm_probe_done(&side, side.req_evd, N_SRQ_RECVS, "send");
        if (err == DM_OK)
            err = dm_probe_get(&side, &is_ep);
        if (err == DM_OK) {
            dm_probe_say(env, "srq", true, "%d messages were received from one", N_SRQ_RECVS);
            dm_probe_say(env, "srq_endpoint", is_ep != 0, "%s",
                         is_ep ? "completions name it" : "completions name something else");
        }
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- memory windows ---- */

/* Bind a window to the second half of the memory; its key, or why there is none. */
static int bind_window(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                       DAT_RMR_CONTEXT *ctx_p)
{
    DAT_RMR_COOKIE cookie = {.as_64 = 9};
    DAT_LMR_TRIPLET seg;
    DAT_RMR_HANDLE rmr;
    DAT_EVENT event;
    DAT_RETURN rc;
    int err;

    rc = dat_rmr_create(side->pz, &rmr);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_ENOTSUP, "dat_rmr_create: %s", dm_dat_text(rc));
    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + 2048;
    seg.segment_length = 2048;
    seg.lmr_context = mem->lmr.lctx;
    rc = dat_rmr_bind(rmr, mem->lmr.handle, dm_probe_keep(side, &seg, sizeof(seg)),
                      DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, side->ep, cookie,
                      DAT_COMPLETION_DEFAULT_FLAG, ctx_p);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_ENOTSUP, "dat_rmr_bind: %s", dm_dat_text(rc));
    err = dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "bind completion", &event);
    if (err == DM_OK && event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
        err = DM_FAIL(DM_EPROVIDER, "dat_rmr_bind completed with an error");
    return err;
}

int dm_probe_run_rmr(struct dm_probe_env *env)
{
    static const struct dm_probe_ep modest;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    DAT_RMR_CONTEXT ctx = 0;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK && env->is_passive) {
        err = bind_window(&side, &mem, &ctx);
        mem.lmr.rctx = ctx;
    }
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err != DM_OK && !env->is_passive) {
        dm_probe_say(env, "rmr", false, "%s", dm_err_detail());
        err = DM_OK;
    } else if (err == DM_OK) {
        if (!env->is_passive) {
            memset(mem.buf, 'w', 64);
            err = dm_probe_write(&side, &mem, 0, &remote, 2048, 64, DAT_COMPLETION_DEFAULT_FLAG);
            if (err == DM_OK)
                err = dm_probe_done(&side, side.req_evd, 1, "write through a window");
            if (err == DM_OK)
                dm_probe_say(env, "rmr", true, "a bound window took a write");
            else
                dm_probe_say(env, "rmr", false, "%s", dm_err_detail());
        }
        err = dm_probe_barrier(&side);
    }
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- extensions ---- */

static DAT_LMR_TRIPLET local_8(const struct dm_probe_mem *mem, size_t offset)
{
    DAT_LMR_TRIPLET seg;

    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + offset;
    seg.segment_length = 8;
    seg.lmr_context = mem->lmr.lctx;
    return seg;
}

static DAT_RMR_TRIPLET remote_8(const struct dm_probe_remote *remote, size_t offset)
{
    DAT_RMR_TRIPLET seg;

    memset(&seg, 0, sizeof(seg));
    seg.virtual_address = remote->addr + offset;
    seg.segment_length = 8;
    seg.rmr_context = (DAT_RMR_CONTEXT)remote->rctx;
    return seg;
}

/* Memory that allows atomics too, where there is such a privilege. */
static int alloc_atomic(struct dm_probe_side *side, struct dm_probe_mem *mem_p)
{
    DAT_REGION_DESCRIPTION region;
    struct dm_lmr lmr = {.handle = DAT_HANDLE_NULL};
    DAT_VLEN len;
    DAT_VADDR addr;
    int priv = DAT_MEM_PRIV_ALL_FLAG | (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
    int err = dm_probe_alloc(side, 4096, false, mem_p);

    if (err != DM_OK)
        return err;
    memset(&region, 0, sizeof(region));
    region.for_va = mem_p->buf;
    if (dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, mem_p->len, side->pz,
                       (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA, &lmr.handle, &lmr.lctx, &lmr.rctx,
                       &len, &addr) == DAT_SUCCESS) {
        dm_lmr_free(&mem_p->lmr);
        mem_p->lmr = lmr;
    }
    return DM_OK;
}

static int immediate_active(struct dm_probe_side *side, struct dm_probe_mem *mem,
                            const struct dm_probe_remote *remote)
{
    DAT_LMR_TRIPLET lmr = local_8(mem, 0);
    DAT_RMR_TRIPLET rmr = remote_8(remote, 64);
    DAT_DTO_COOKIE cookie = {.as_64 = 3};
    DAT_EVENT event;
    uint64_t got;
    DAT_RETURN rc;
    int err;

    memset(mem->buf, 'i', 8);
    rc = dat_ib_post_rdma_write_immed(side->ep, 1, dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
                                      dm_probe_keep(side, &rmr, sizeof(rmr)), (DAT_UINT32)IMMEDIATE,
                                      DAT_COMPLETION_DEFAULT_FLAG);
    err = dm_probe_put(side, rc == DAT_SUCCESS);
    if (rc != DAT_SUCCESS) {
        dm_probe_say(side->env, "immediate", false, "dat_ib_post_rdma_write_immed: %s",
                     dm_dat_text(rc));
        return err;
    }
    if (err == DM_OK)
        err = dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "write with immediate", &event);
    if (err == DM_OK)
        err = dm_probe_get(side, &got);
    if (err == DM_OK)
        dm_probe_say(side->env, "immediate", got == IMMEDIATE,
                     got == IMMEDIATE ? "data and immediate value arrived"
                                      : "the receiver saw 0x%llx",
                     (unsigned long long)got);
    return err;
}

static int immediate_passive(struct dm_probe_side *side, const struct dm_probe_mem *mem)
{
    DAT_IB_EXTENSION_EVENT_DATA ext;
    DAT_EVENT event;
    uint64_t is_posted;
    int err = dm_probe_get(side, &is_posted);

    if (err != DM_OK || !is_posted)
        return err;
    err = dm_probe_next(side, side->recv_evd, DM_PROBE_WAIT_US, "immediate value", &event);
    if (err != DM_OK)
        return err;
    memcpy(&ext, event.event_extension_data, sizeof(ext));
    if (event.event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT || mem->buf[64] != 'i')
        return dm_probe_put(side, event.event_number);
    return dm_probe_put(side, ext.val.immed.data);
}

int dm_probe_run_immediate(struct dm_probe_env *env)
{
    static const struct dm_probe_ep modest;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK)
        err = dm_probe_recv(&side, &mem, 2048, 64);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = env->is_passive ? immediate_passive(&side, &mem)
                              : immediate_active(&side, &mem, &remote);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- atomics ---- */

/* One fetch-and-add of the word at `to`; the old value. */
static int fetch_add(struct dm_probe_side *side, struct dm_probe_mem *mem,
                     const struct dm_probe_remote *remote, size_t to, uint64_t add, uint64_t *old_p)
{
    DAT_LMR_TRIPLET lmr = local_8(mem, 256);
    DAT_RMR_TRIPLET rmr = remote_8(remote, to);
    DAT_DTO_COOKIE cookie = {.as_64 = 4};
    DAT_EVENT event;
    DAT_RETURN rc;
    int err;

    rc = dat_ib_post_fetch_and_add(
        side->ep, (DAT_UINT64)add, dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
        dm_probe_keep(side, &rmr, sizeof(rmr)), DAT_COMPLETION_DEFAULT_FLAG);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_ENOTSUP, "dat_ib_post_fetch_and_add: %s", dm_dat_text(rc));
    err = dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "fetch-and-add", &event);
    if (err == DM_OK && event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
        err = DM_FAIL(DM_EPROVIDER, "fetch-and-add completed with %s",
                      dm_probe_status_text(event.event_data.dto_completion_event_data.status));
    if (err == DM_OK)
        memcpy(old_p, mem->buf + 256, sizeof(*old_p));
    return err;
}

/* The word is 0 before. The first has to swap, the second not. */
static int compare_swap(struct dm_probe_side *side, struct dm_probe_mem *mem,
                        const struct dm_probe_remote *remote, bool *is_good_p)
{
    static const uint64_t compares[] = {0, 0};
    static const uint64_t wants[] = {0, 77};
    DAT_LMR_TRIPLET lmr = local_8(mem, 256);
    DAT_RMR_TRIPLET rmr = remote_8(remote, 128);
    DAT_DTO_COOKIE cookie = {.as_64 = 5};
    DAT_EVENT event;
    uint64_t old;
    DAT_RETURN rc;
    int err;

    *is_good_p = true;
    for (int i = 0; i < 2; i++) {
        rc = dat_ib_post_cmp_and_swap(side->ep, (DAT_UINT64)compares[i], (DAT_UINT64)77,
                                      dm_probe_keep(side, &lmr, sizeof(lmr)), cookie,
                                      dm_probe_keep(side, &rmr, sizeof(rmr)),
                                      DAT_COMPLETION_DEFAULT_FLAG);
        if (rc != DAT_SUCCESS)
            return DM_FAIL(DM_ENOTSUP, "dat_ib_post_cmp_and_swap: %s", dm_dat_text(rc));
        err = dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "compare-and-swap", &event);
        if (err != DM_OK)
            return err;
        memcpy(&old, mem->buf + 256, sizeof(old));
        *is_good_p = *is_good_p && old == wants[i] &&
                     event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    }
    return DM_OK;
}

/* Both sides add to the same word: this one by the provider, the other with its processor. */
static int atomic_race(struct dm_probe_side *side, struct dm_probe_mem *mem,
                       const struct dm_probe_remote *remote)
{
    uint64_t until = dm_clock_ns() + ATOMIC_NS;
    uint64_t old = 0;
    uint64_t sum = 0;
    uint64_t n = 0;
    int err = DM_OK;

    while (n < N_ATOMICS && err == DM_OK && dm_clock_ns() < until) {
        err = fetch_add(side, mem, remote, 192, 1, &old);
        n++;
    }
    if (err == DM_OK)
        err = dm_probe_put(side, n);
    if (err == DM_OK)
        err = dm_probe_get(side, &sum); /* what is too much or missing */
    if (err == DM_OK && sum == 0)
        dm_probe_say(side->env, "atomic_cpu", true,
                     "no addition was lost in %llu against those of the target's processor",
                     (unsigned long long)n);
    else if (err == DM_OK)
        dm_probe_say(side->env, "atomic_cpu", false, "%lld additions of %llu were lost",
                     (long long)sum, (unsigned long long)n);
    return err;
}

static int atomics_active(struct dm_probe_side *side, struct dm_probe_mem *mem,
                          const struct dm_probe_remote *remote)
{
    uint64_t old = 1;
    uint64_t second = 0;
    bool has_add;
    bool is_good;
    int err = fetch_add(side, mem, remote, 64, 5, &old);

    if (err == DM_OK)
        err = fetch_add(side, mem, remote, 64, 5, &second);
    has_add = err == DM_OK;
    if (has_add)
        dm_probe_say(side->env, "fetch_add", old == 0 && second == 5, "%s", "");
    else
        dm_probe_say(side->env, "fetch_add", false, "%s", dm_err_detail());
    if (err == DM_OK || err == DM_ENOTSUP) {
        if (compare_swap(side, mem, remote, &is_good) == DM_OK)
            dm_probe_say(side->env, "compare_swap", is_good, "%s", "");
        else
            dm_probe_say(side->env, "compare_swap", false, "%s", dm_err_detail());
    }
    err = dm_probe_put(side, has_add);
    if (err == DM_OK && has_add)
        err = atomic_race(side, mem, remote);
    else
        dm_probe_say_untested(side->env, "atomic_cpu", "there is no fetch-and-add");
    return err;
}

/* Add until told how often the other side has; the difference goes back. */
static int atomics_passive(struct dm_probe_side *side, struct dm_probe_mem *mem)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(mem->buf + 192);
    uint64_t theirs;
    uint64_t has_add;
    int err = dm_probe_get(side, &has_add);

    if (err != DM_OK || !has_add)
        return err;
    for (int i = 0; i < 200 * N_ATOMICS; i++)
        atomic_fetch_add(word, UINT64_C(1) << 32);
    err = dm_probe_get(side, &theirs);
    if (err != DM_OK)
        return err;
    return dm_probe_put(side, theirs + ((uint64_t)200 * N_ATOMICS << 32) - atomic_load(word));
}

int dm_probe_run_atomics(struct dm_probe_env *env)
{
    static const struct dm_probe_ep modest;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_remote remote;
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = alloc_atomic(&side, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = env->is_passive ? atomics_passive(&side, &mem) : atomics_active(&side, &mem, &remote);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
