/*
 * Probes of speed: enough to tell one provider from another, no benchmark.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define ROUND_NS    UINT64_C(2000000000)
#define MEASURE_NS  UINT64_C(200000000)
#define LEAST_PINGS 200 /* though they may take longer */
#define MOST_NS     UINT64_C(1500000000)
#define N_PINGS     5000
#define N_WAKES     100
#define PING_MAX    65536 /* bytes; sources below, targets above */
#define IDLE_MAX_US 10000
#define BAND_LEN    (4u << 20)
#define BAND_ROUNDS 8
#define BAND_DEPTH  64 /* transfers at a time */

static const struct dm_probe_ep modest;

/* ---- a ping-pong of RDMA writes, both sides looking at memory ---- */

#define MARK_END 255 /* the active side has no time left */

/* Until the byte is `mark` or the end; which of the two, 0 when nothing came. */
static unsigned char spin_for(const struct dm_probe_mem *mem, size_t at, unsigned char mark)
{
    const volatile unsigned char *byte = (unsigned char *)mem->buf + at;
    uint64_t until = 0;
    unsigned char seen;

    for (unsigned spins = 1; (seen = *byte) != mark && seen != MARK_END; spins++) {
        if (spins % 65536 != 0)
            continue;
        if (until == 0)
            until = dm_clock_ns() + ROUND_NS;
        else if (dm_clock_ns() > until)
            return 0;
    }
    atomic_thread_fence(memory_order_acquire);
    return seen;
}

/* Sources below PING_MAX, targets above; the completion of every write is taken before the next. */
static int ping(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                const struct dm_probe_remote *remote, size_t len, unsigned char mark)
{
    int err;

    memset(mem->buf, mark, len);
    err = dm_probe_write(side, mem, 0, remote, PING_MAX, len, DAT_COMPLETION_DEFAULT_FLAG);
    return err == DM_OK ? dm_probe_done(side, side->req_evd, 1, "write") : err;
}

static int pong_all(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                    const struct dm_probe_remote *remote, size_t len)
{
    unsigned char mark;
    unsigned char seen;
    int err = DM_OK;

    for (int n = 0; n < N_PINGS && err == DM_OK; n++) {
        mark = (unsigned char)(1 + n % 200);
        seen = spin_for(mem, PING_MAX + len - 1, mark);
        if (seen == MARK_END)
            break;
        err = seen == mark ? ping(side, mem, remote, len, mark)
                           : DM_FAIL(DM_ETIMEOUT, "the ping-pong stopped");
    }
    return err;
}

static int ping_all(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                    const struct dm_probe_remote *remote, size_t len, const char *key)
{
    uint64_t first = dm_clock_ns();
    uint64_t start = first;
    uint64_t took;
    uint64_t best = UINT64_MAX;
    unsigned char mark;
    int n;
    int err = DM_OK;

    for (n = 0;
         n < N_PINGS && err == DM_OK && start < first + (n < LEAST_PINGS ? MOST_NS : MEASURE_NS);
         n++) {
        mark = (unsigned char)(1 + n % 200);
        err = ping(side, mem, remote, len, mark);
        if (err == DM_OK && spin_for(mem, PING_MAX + len - 1, mark) != mark)
            err = DM_FAIL(DM_ETIMEOUT, "the ping-pong stopped");
        took = dm_clock_ns() - start;
        best = took < best ? took : best;
        start += took;
    }
    if (err == DM_OK)
        dm_probe_say_value(side->env, key, (double)best / 2000, "us",
                           "half a round trip, best of %d; mean %.2f us", n,
                           (double)(start - first) / 2000 / n);
    return err == DM_OK && n < N_PINGS ? ping(side, mem, remote, len, MARK_END) : err;
}

static int ping_pong(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                     const struct dm_probe_remote *remote, size_t len, const char *key)
{
    int err;

    memset(mem->buf, 0, mem->len);
    err = dm_probe_barrier(side);
    if (err != DM_OK)
        return err;
    err = side->env->is_passive ? pong_all(side, mem, remote, len)
                                : ping_all(side, mem, remote, len, key);
    /* the last write is there before the memory is cleared for the next */
    return err == DM_OK ? dm_probe_barrier(side) : err;
}

int dm_probe_run_latency(struct dm_probe_env *env)
{
    static const struct {
        size_t len;
        const char *key;
    } pings[] = {{8, "latency_8"},      {64, "latency_64"},   {256, "latency_256"},
                 {1024, "latency_1k"},  {4096, "latency_4k"}, {16384, "latency_16k"},
                 {65536, "latency_64k"}};
    struct dm_probe_remote remote;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, (size_t)2 * PING_MAX, true, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    for (size_t i = 0; i < sizeof(pings) / sizeof(pings[0]) && err == DM_OK; i++)
        err = ping_pong(&side, &mem, &remote, pings[i].len, pings[i].key);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- bandwidth ---- */

struct flow {
    struct dm_probe_side *side;
    const struct dm_probe_mem *mem;
    const struct dm_probe_remote *remote;
    bool is_read;
    int n_posted;
};

static bool flow_drain(void *arg)
{
    struct flow *flow = arg;
    int n = flow->n_posted;

    flow->n_posted = 0;
    return dm_probe_done(flow->side, flow->side->req_evd, n, "transfer") == DM_OK;
}

static bool flow_post(void *arg, uint32_t offset, uint32_t len)
{
    struct flow *flow = arg;
    int err;

    if (flow->n_posted == BAND_DEPTH && !flow_drain(flow))
        return false;
    err = flow->is_read ? dm_probe_read(flow->side, flow->mem, offset, flow->remote, offset, len)
                        : dm_probe_write(flow->side, flow->mem, offset, flow->remote, offset, len,
                                         DAT_COMPLETION_DEFAULT_FLAG);
    flow->n_posted += err == DM_OK;
    return err == DM_OK;
}

static int flow_of(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                   const struct dm_probe_remote *remote, bool is_read, uint32_t piece,
                   const char *key)
{
    struct flow flow = {side, mem, remote, is_read, 0};
    struct dm_probe_mover mover = {&flow, flow_post, flow_drain};
    uint64_t ns = dm_probe_time(&mover, BAND_LEN, piece, BAND_ROUNDS);

    if (ns == 0)
        return dm_err_code();
    dm_probe_say_value(side->env, key, (double)BAND_LEN / (double)ns, "GB/s",
                       "%u MiB in pieces, best of %d", BAND_LEN >> 20, BAND_ROUNDS);
    return DM_OK;
}

int dm_probe_run_bandwidth(struct dm_probe_env *env)
{
    static const struct {
        uint32_t len;
        bool is_read;
        const char *key;
    } flows[] = {{4 << 10, false, "write_4k"},   {16 << 10, false, "write_16k"},
                 {64 << 10, false, "write_64k"}, {1 << 20, false, "write_1m"},
                 {4 << 10, true, "read_4k"},     {16 << 10, true, "read_16k"},
                 {64 << 10, true, "read_64k"},   {1 << 20, true, "read_1m"}};
    static const struct dm_probe_ep deep = {.n_req = 128};
    struct dm_probe_remote remote;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int err = dm_probe_join(env, &deep, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, BAND_LEN, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]) && err == DM_OK && !env->is_passive;
         i++)
        err = flow_of(&side, &mem, &remote, flows[i].is_read, flows[i].len, flows[i].key);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- waking up ---- */

/* One completion, by looking for it without a pause. */
static int spin_done(DAT_EVD_HANDLE evd)
{
    uint64_t until = dm_clock_ns() + ROUND_NS;
    DAT_EVENT event;

    while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
        if (dm_clock_ns() > until)
            return DM_FAIL(DM_ETIMEOUT, "no completion within 2 s");
    if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "a message completed with %s",
                       dm_probe_status_text(event.event_data.dto_completion_event_data.status));
    return DM_OK;
}

/* The target answers each message; it waits for it in dat_evd_wait, or polls. */
static int echo(struct dm_probe_side *side, const struct dm_probe_mem *mem, int n, bool is_blocking)
{
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN rc;
    int err = DM_OK;

    for (int i = 0; i < n && err == DM_OK; i++) {
        if (is_blocking) {
            rc = dat_evd_wait(side->recv_evd, DM_PROBE_WAIT_US, 1, &event, &n_more);
            if (rc != DAT_SUCCESS)
                return DM_FAIL(DM_EPROVIDER, "dat_evd_wait: %s", dm_dat_text(rc));
        } else {
            err = spin_done(side->recv_evd);
        }
        if (err == DM_OK)
            err = dm_probe_recv(side, mem, 0, 64);
        if (err == DM_OK)
            err = dm_probe_send(side, mem, 64, 8);
        if (err == DM_OK)
            err = spin_done(side->req_evd);
    }
    return err;
}

/* Best nanoseconds of n round trips; with a pause before each, the target has gone to sleep. */
static int round_trips(struct dm_probe_side *side, const struct dm_probe_mem *mem, int n,
                       useconds_t idle_us, uint64_t *ns_p)
{
    uint64_t best = UINT64_MAX;
    uint64_t start;
    uint64_t took;
    int err = DM_OK;

    for (int i = 0; i < n && err == DM_OK; i++) {
        if (idle_us > 0)
            usleep(idle_us);
        start = dm_clock_ns();
        err = dm_probe_send(side, mem, 64, 8);
        if (err == DM_OK)
            err = spin_done(side->recv_evd);
        took = dm_clock_ns() - start;
        best = took < best ? took : best;
        if (err == DM_OK)
            err = dm_probe_recv(side, mem, 0, 64);
        if (err == DM_OK)
            err = spin_done(side->req_evd);
    }
    *ns_p = best;
    return err;
}

/* A blocked target that has been idle for so long, beside one that polls. */
static void say_wakeup(struct dm_probe_env *env, const char *key, uint64_t blocked, uint64_t polled)
{
    dm_probe_say_value(env, key, blocked > polled ? (double)(blocked - polled) / 1000 : 0, "us",
                       "best round trip with the target in dat_evd_wait %.1f us, polling %.1f us",
                       (double)blocked / 1000, (double)polled / 1000);
}

int dm_probe_run_wakeup(struct dm_probe_env *env)
{
    static const struct {
        useconds_t idle_us;
        const char *key;
    } waits[] = {{0, "send_latency"},
                 {10, "wakeup_10us"},
                 {100, "wakeup_100us"},
                 {1000, "wakeup"},
                 {IDLE_MAX_US, "wakeup_10ms"}};
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    uint64_t polled = 0;
    uint64_t blocked = 0;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    for (int i = 0; i < 4 && err == DM_OK; i++)
        err = dm_probe_recv(&side, &mem, 0, 64);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]) && err == DM_OK; i++) {
        const bool is_blocking = waits[i].idle_us > 0;
        const int n = waits[i].idle_us == IDLE_MAX_US ? N_WAKES / 4 : N_WAKES;

        err = dm_probe_barrier(&side);
        if (err == DM_OK && env->is_passive)
            err = echo(&side, &mem, n, is_blocking);
        else if (err == DM_OK)
            err = round_trips(&side, &mem, n, waits[i].idle_us, is_blocking ? &blocked : &polled);
        if (err != DM_OK)
            break;
        if (is_blocking)
            say_wakeup(env, waits[i].key, blocked, polled);
        else
            dm_probe_say_value(env, waits[i].key, (double)polled / 2000, "us",
                               "half a round trip of 8-byte messages, polling; best of %d", n);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
