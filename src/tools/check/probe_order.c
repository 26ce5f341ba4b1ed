/*
 * Probes of how data arrives: whether the last byte is the last, whether it arrives at all
 * while the target makes no calls, and when the source may be used again.
 *
 * Everything here looks at memory that a peer writes meanwhile; that is the question.
 */
#include <string.h>
#include <unistd.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define N_ROUNDS  24
#define AREA_LEN  (1 << 17)
#define N_SHIFTS  4
#define REUSE_MAX (64 << 10)
#define N_REUSE   8
#define ROUND_NS  UINT64_C(2000000000)
#define BUDGET_NS UINT64_C(2500000000)

static const struct dm_probe_ep modest;
static const size_t shifts[N_SHIFTS] = {0, 1, 24, 63};
static const size_t lens[] = {2,    3,    7,    8,    9,    16,   31,    32,    33,
                              63,   64,   65,   127,  128,  255,  256,   257,   512,
                              1023, 1024, 2000, 4096, 4097, 8192, 16384, 65536, 100000};
#define N_LENS ((int)(sizeof(lens) / sizeof(lens[0])))

/* ---- last byte last ---- */

/*
 * Wait for the last byte of the area to become `mark`, then look at the others at once: first
 * those that a copy from the end, or in two halves, would bring last. The offset of a byte
 * that is still old, -1 when all are new, -2 when the last byte never came.
 */
DM_UNTRACKED static long area_watch(const volatile unsigned char *area, size_t len,
                                    unsigned char mark)
{
    uint64_t until = dm_clock_ns() + ROUND_NS;

    for (unsigned spins = 1; area[len - 1] != mark; spins++) {
        if (spins % 4096 == 0 && dm_clock_ns() > until)
            return -2;
    }
    if (area[0] != mark)
        return 0;
    if (area[(len - 1) / 2] != mark)
        return (long)((len - 1) / 2);
    for (size_t i = len - 1; i > 0; i--) {
        if (area[i - 1] != mark)
            return (long)(i - 1);
    }
    return -1;
}

/* The target: reports each round over the side channel: 0 good, else 1 + the offset */
static int watch_all(struct dm_probe_side *side, const struct dm_probe_mem *mem)
{
    uint64_t len;
    uint64_t place;
    uint64_t mark;
    long bad;
    int err;

    for (;;) {
        err = dm_probe_get(side, &len);
        if (err != DM_OK || len == 0)
            return err;
        err = dm_probe_get(side, &place);
        if (err == DM_OK)
            err = dm_probe_get(side, &mark);
        if (err != DM_OK)
            return err;
        bad = area_watch((unsigned char *)mem->buf + place, len, (unsigned char)mark);
        if (bad == -2)
            return DM_FAIL(DM_ETIMEOUT, "the last of %zu bytes never came", (size_t)len);
        err = dm_probe_put(side, bad < 0 ? 0 : (uint64_t)bad + 1);
        if (err != DM_OK)
            return err;
    }
}

/* One write; *bad_p is where an old byte was seen, -1 when none was. */
static int write_round(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                       const struct dm_probe_remote *remote, size_t len, size_t shift,
                       unsigned char mark, long *bad_p)
{
    uint64_t answer;
    int err;

    memset(mem->buf + shift, mark, len);
    err = dm_probe_put(side, len);
    if (err == DM_OK)
        err = dm_probe_put(side, shift);
    if (err == DM_OK)
        err = dm_probe_put(side, mark);
    if (err == DM_OK)
        err = dm_probe_write(side, mem, shift, remote, shift, len, DAT_COMPLETION_DEFAULT_FLAG);
    if (err == DM_OK)
        err = dm_probe_done(side, side->req_evd, 1, "write");
    if (err == DM_OK)
        err = dm_probe_get(side, &answer);
    if (err == DM_OK)
        *bad_p = (long)answer - 1;
    return err;
}

static int write_all(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                     const struct dm_probe_remote *remote, const char *key)
{
    uint64_t until = dm_clock_ns() + BUDGET_NS;
    unsigned char mark = 0;
    int n_writes = 0;
    int n_bad = 0;
    size_t bad_len = 0;
    long bad_at = 0;
    long bad;
    int err = DM_OK;

    for (int i = 0; i < N_ROUNDS && err == DM_OK && dm_clock_ns() < until; i++) {
        for (int k = 0; k < N_LENS * N_SHIFTS && err == DM_OK; k++) {
            mark = (unsigned char)(mark == 255 ? 1 : mark + 1);
            bad = -1;
            err = write_round(side, mem, remote, lens[k / N_SHIFTS], shifts[k % N_SHIFTS], mark,
                              &bad);
            n_writes++;
            if (bad >= 0 && n_bad++ == 0) {
                bad_len = lens[k / N_SHIFTS];
                bad_at = bad;
            }
        }
    }
    if (err == DM_OK && n_bad > 0)
        dm_probe_say(side->env, key, false,
                     "%d of %d writes were seen unfinished; first: byte %ld of %zu was old", n_bad,
                     n_writes, bad_at, bad_len);
    else if (err == DM_OK)
        dm_probe_say(side->env, key, true, "as seen in %d writes of 2 to %zu bytes", n_writes,
                     lens[N_LENS - 1]);
    return err;
}

static int order_in(struct dm_probe_side *side, bool is_shared, const char *key)
{
    struct dm_probe_remote remote;
    struct dm_probe_mem mem;
    int err = dm_probe_alloc(side, AREA_LEN, is_shared, &mem);

    if (err == DM_OK)
        err = dm_probe_swap(side, &mem, &remote);
    if (err == DM_OK && side->env->is_passive)
        err = watch_all(side, &mem);
    else if (err == DM_OK) {
        err = write_all(side, &mem, &remote, key);
        if (err == DM_OK)
            err = dm_probe_put(side, 0);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(side);
    dm_probe_free(&mem);
    return err;
}

int dm_probe_run_order(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    uint64_t is_shared = 0;
    uint64_t theirs = 0;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = order_in(&side, false, "last_byte_last");
    if (err == DM_OK) {
        is_shared = dm_probe_share(side.ia, side.pz);
        err = dm_probe_put(&side, is_shared);
    }
    if (err == DM_OK)
        err = dm_probe_get(&side, &theirs);
    if (err == DM_OK && is_shared && theirs)
        err = order_in(&side, true, "last_byte_last_shared");
    else if (err == DM_OK)
        dm_probe_say_untested(env, "last_byte_last_shared", "shared memory is not mapped");
    dm_probe_close(&side);
    return err;
}

/* ---- progress without calls ---- */

#define MARK 0x5a

/* One of the three; the target is blocked in the side channel all the time. */
static int try_alone(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                     const struct dm_probe_remote *remote, int what)
{
    static const char *const keys[] = {"progress_write", "progress_read", "progress_send"};
    uint64_t start = dm_clock_ns();
    uint64_t seen;
    DAT_EVENT event;
    bool is_done;
    int err;

    if (side->env->is_passive) {
        err = dm_probe_get(side, &seen); /* blocked: no calls */
        if (err == DM_OK)
            err = dm_probe_put(side, (unsigned char)mem->buf[what == 2 ? 511 : 1023] == MARK);
        dm_probe_is_silent(side, side->recv_evd, 50000); /* help what does not go by itself */
        return err;
    }
    memset(mem->buf, MARK, 1024);
    memset(mem->buf + 2048, 0, 1024);
    if (what == 0)
        err = dm_probe_write(side, mem, 0, remote, 0, 1024, DAT_COMPLETION_DEFAULT_FLAG);
    else if (what == 1)
        err = dm_probe_read(side, mem, 2048, remote, 4096, 1024);
    else
        err = dm_probe_send(side, mem, 0, 512);
    if (err != DM_OK)
        return err;
    is_done = dm_probe_next(side, side->req_evd, DM_PROBE_SHORT_US, "completion", &event) == DM_OK;
    err = dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_get(side, &seen);
    if (err != DM_OK)
        return err;
    if (what == 1)
        seen = (unsigned char)mem->buf[2048 + 1023] == 0x33;
    if (!is_done)
        dm_probe_next(side, side->req_evd, DM_PROBE_WAIT_US, "completion", &event);
    if (is_done && seen)
        dm_probe_say(side->env, keys[what], true, "done after %.0f us",
                     (double)(dm_clock_ns() - start) / 1000);
    else
        dm_probe_say(side->env, keys[what], false, "%s after 300 ms",
                     is_done ? "completed, but the data is not there" : "no completion");
    return DM_OK;
}

int dm_probe_run_progress(struct dm_probe_env *env)
{
    struct dm_probe_remote remote;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, 8192, false, &mem);
    if (err == DM_OK) {
        memset(mem.buf + 4096, 0x33, 1024);
        err = dm_probe_swap(&side, &mem, &remote);
    }
    for (int what = 0; what < 3 && err == DM_OK; what++) {
        if (env->is_passive) {
            memset(mem.buf, 0, 1024);
            if (what == 2)
                err = dm_probe_recv(&side, &mem, 0, 512);
        }
        if (err == DM_OK)
            err = dm_probe_barrier(&side);
        if (err == DM_OK)
            err = try_alone(&side, &mem, &remote, what);
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}

/* ---- when the source may be used again ---- */

/*
 * Post, overwrite the source at once, see which bytes arrived. With a receiver that posts
 * late the provider has to keep the bytes for a while. *is_old_p: the bytes of the time of
 * the post arrived.
 */
static int reuse_round(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                       const struct dm_probe_remote *remote, size_t len, bool is_send,
                       bool *is_old_p)
{
    uint64_t answer = 0;
    bool is_old = true;
    int err = dm_probe_barrier(side);

    if (err != DM_OK)
        return err;
    if (side->env->is_passive) {
        err = dm_probe_get(side, &answer); /* posted and overwritten */
        if (err == DM_OK && is_send)
            err = dm_probe_recv(side, mem, 0, REUSE_MAX);
        if (err == DM_OK && is_send)
            err = dm_probe_done(side, side->recv_evd, 1, "receive");
        if (err == DM_OK)
            err = dm_probe_get(side, &answer); /* completed */
        for (size_t i = 0; i < len; i++)
            is_old = is_old && (unsigned char)mem->buf[i] == 0x11;
        *is_old_p = is_old;
        return err == DM_OK ? dm_probe_put(side, is_old) : err;
    }
    memset(mem->buf, 0x11, len);
    err = is_send ? dm_probe_send(side, mem, 0, len)
                  : dm_probe_write(side, mem, 0, remote, 0, len, DAT_COMPLETION_DEFAULT_FLAG);
    memset(mem->buf, 0x22, len);
    if (err == DM_OK)
        err = dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_done(side, side->req_evd, 1, "transfer");
    if (err == DM_OK)
        err = dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_get(side, &answer);
    *is_old_p = answer != 0;
    return err;
}

static int reuse_all(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                     const struct dm_probe_remote *remote, bool is_send)
{
    bool is_old = true;
    size_t best = 0;
    int err = DM_OK;

    for (size_t len = 8; len <= REUSE_MAX && is_old && err == DM_OK; len *= 2) {
        for (int i = 0; i < N_REUSE && is_old && err == DM_OK; i++)
            err = reuse_round(side, mem, remote, len, is_send, &is_old);
        if (is_old)
            best = len;
    }
    if (err == DM_OK)
        dm_probe_say_value(side->env, is_send ? "copied_send" : "copied_write", (double)best,
                           "bytes", "the source was overwritten right after the post%s",
                           is_send ? ", before the receive was posted" : "");
    return err;
}

int dm_probe_run_reuse(struct dm_probe_env *env)
{
    struct dm_probe_remote remote;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, REUSE_MAX, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    if (err == DM_OK)
        err = reuse_all(&side, &mem, &remote, false);
    if (err == DM_OK)
        err = reuse_all(&side, &mem, &remote, true);
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
