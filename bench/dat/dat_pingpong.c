/*
 * Raw DAT: latency and bandwidth of RDMA write between two processes pinned to
 * cores 0 and 1, beside the floors of the machine: a bare cache-line ping-pong
 * and a bare memcpy into shared memory.
 *
 *   dat_pingpong [provider [rounds]]
 *
 * prints lines "name size value unit"; every round repeats all of them, so
 * that floor and provider are measured side by side.
 */
#include <sched.h>

#include "../../tests/dat/dat_pair.h"

enum { LINE = 64, RING = 4096, CHUNK = 500, N_CHUNKS = 60, MAX_SIZE = 4 << 20 };
enum { ITERS = CHUNK * N_CHUNKS };

enum { BW_STRETCH = 1 << 20, N_STRETCHES = 20 };

static void pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* Times of chunks; a chunk that was interrupted falls out of the minimum. */
struct times {
    double at[N_CHUNKS + 1];
    double len[N_CHUNKS];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Minimum and median per iteration, ns. */
static void report(const char *name, int size, struct times *times, double per)
{
    for (int i = 0; i < N_CHUNKS; i++)
        times->len[i] = (times->at[i + 1] - times->at[i]) * 1e9 / CHUNK / per;
    qsort(times->len, N_CHUNKS, sizeof(times->len[0]), compare);
    printf("%s_min %d %.1f ns\n", name, size, times->len[0]);
    printf("%s_median %d %.1f ns\n", name, size, times->len[N_CHUNKS / 2]);
}

/* Half round trip, on two lines of shared memory. */
static void bare_pingpong(char *mem, bool is_first, uint64_t base)
{
    _Atomic uint64_t *mine = (void *)(mem + (is_first ? 0 : LINE * 4));
    _Atomic uint64_t *theirs = (void *)(mem + (is_first ? LINE * 4 : 0));
    struct times times;

    for (uint64_t i = 1; i <= ITERS; i++) {
        if (i % CHUNK == 1)
            times.at[i / CHUNK] = dt_now();
        if (is_first)
            atomic_store_explicit(theirs, base + i, memory_order_release);
        while (atomic_load_explicit(mine, memory_order_acquire) != base + i)
            continue;
        if (!is_first)
            atomic_store_explicit(theirs, base + i, memory_order_release);
    }
    times.at[N_CHUNKS] = dt_now();
    if (is_first)
        report("bare_pingpong", 8, &times, 2);
}

/* The same with RDMA writes of 8 bytes into the peer's ring. */
static void dat_pingpong(struct dt *t, const struct dt_mem *src, const struct dt_mem *mine,
                         const struct dt_mem *theirs, bool is_first, uint64_t base)
{
    DAT_LMR_TRIPLET seg = dt_seg(src, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(theirs, 0, 8);
    DAT_DTO_COOKIE cookie = dt_cookie(0);
    struct times times;

    for (uint64_t i = 1; i <= ITERS; i++) {
        if (i % CHUNK == 1)
            times.at[i / CHUNK] = dt_now();
        /* What we wrote last has arrived: the answer is here. */
        if (is_first)
            *(volatile uint64_t *)src->buf = base + i;
        if (is_first)
            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, cookie, &to, DAT_COMPLETION_SUPPRESS_FLAG));
        while (*(volatile uint64_t *)mine->buf != base + i)
            continue;
        if (!is_first)
            *(volatile uint64_t *)src->buf = base + i;
        if (!is_first)
            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, cookie, &to, DAT_COMPLETION_SUPPRESS_FLAG));
    }
    times.at[N_CHUNKS] = dt_now();
    if (is_first)
        report("dat_pingpong", 8, &times, 2);
}

/* Cost of a post that nobody waits for. */
static void post_cost(struct dt *t, const struct dt_mem *src, const struct dt_mem *to, int len)
{
    DAT_LMR_TRIPLET seg = dt_seg(src, 0, (size_t)len);
    DAT_RMR_TRIPLET remote = dt_remote(to, 1024, (size_t)len);
    struct times times;

    for (int i = 0; i < ITERS; i++) {
        if (i % CHUNK == 0)
            times.at[i / CHUNK] = dt_now();
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(0), &remote,
                                  DAT_COMPLETION_SUPPRESS_FLAG));
    }
    times.at[N_CHUNKS] = dt_now();
    report("dat_post", len, &times, 1);
}

/* Wait by polling, as a program in a hurry does. */
static void reap(struct dt *t)
{
    DAT_EVENT event;

    while (dat_evd_dequeue(t->req_evd, &event) != DAT_SUCCESS)
        continue;
    CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

/* The best of many stretches, MB/s: what a busy machine cannot spoil. */
struct best {
    double start;
    double mbs;
};

static void stretch_ends(struct best *best, size_t bytes)
{
    double now = dt_now();
    double mbs = (double)bytes / (now - best->start) * 1e-6;

    if (best->start != 0 && mbs > best->mbs)
        best->mbs = mbs;
    best->start = now;
}

static size_t per_stretch(size_t size)
{
    return size < BW_STRETCH / 16 ? BW_STRETCH / size : 16;
}

/* RDMA writes of one size; one in 16 is signalled and waited for. */
static double dat_bandwidth(struct dt *t, const struct dt_mem *src, const struct dt_mem *to,
                            size_t size)
{
    size_t per = per_stretch(size);
    struct best best = {.start = 0};

    for (size_t i = 0; i < per * N_STRETCHES; i++) {
        size_t at = i * size % (MAX_SIZE - size + 1) / LINE * LINE;
        DAT_LMR_TRIPLET seg = dt_seg(src, at, size);
        DAT_RMR_TRIPLET remote = dt_remote(to, at, size);

        if (i % per == 0)
            stretch_ends(&best, per * size);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(i), &remote,
                                  i % 16 != 15 ? DAT_COMPLETION_SUPPRESS_FLAG
                                               : DAT_COMPLETION_DEFAULT_FLAG));
        if (i % 16 == 15)
            reap(t);
    }
    stretch_ends(&best, per * size);
    return best.mbs;
}

static double memcpy_bandwidth(const char *src, char *to, size_t size)
{
    size_t per = per_stretch(size);
    struct best best = {.start = 0};

    for (size_t i = 0; i < per * N_STRETCHES; i++) {
        size_t at = i * size % (MAX_SIZE - size + 1) / LINE * LINE;

        if (i % per == 0)
            stretch_ends(&best, per * size);
        memcpy(to + at, src + at, size);
        atomic_signal_fence(memory_order_seq_cst);
    }
    stretch_ends(&best, per * size);
    return best.mbs;
}

static void bandwidths(struct dt *t, const struct dt_mem *src, const struct dt_mem *shared,
                       const struct dt_mem *private, char *bare)
{
    for (size_t size = LINE; size <= MAX_SIZE; size *= 4) {
        printf("memcpy_shared %zu %.0f MB/s\n", size, memcpy_bandwidth(src->buf, bare, size));
        printf("write_mapped %zu %.0f MB/s\n", size, dat_bandwidth(t, src, shared, size));
        printf("write_private %zu %.0f MB/s\n", size, dat_bandwidth(t, src, private, size));
    }
}

struct side {
    struct dt_mem src, ring, shared, private;
    struct dt_mem peer_ring, peer_shared, peer_private;
};

static void set_up(struct dt *t, const char *name, struct side *s, bool is_first)
{
    pin(is_first ? 0 : 1);
    dt_open(t, name);
    dt_alloc(t, &s->src, MAX_SIZE, false);
    dt_alloc(t, &s->ring, RING, true);
    dt_alloc(t, &s->shared, MAX_SIZE, true);
    dt_alloc(t, &s->private, MAX_SIZE, false);
    memset(s->src.buf, 1, MAX_SIZE);
    memset(s->private.buf, 1, MAX_SIZE);
    dt_join(t, is_first);
    dt_swap_mem(t, &s->ring, &s->peer_ring);
    dt_swap_mem(t, &s->shared, &s->peer_shared);
    dt_swap_mem(t, &s->private, &s->peer_private);
}

static char *bare;
static int rounds = 3;

static int run(struct dt *t, const char *name, bool is_first)
{
    struct side s;

    memset(&s, 0, sizeof(s));
    set_up(t, name, &s, is_first);
    for (int i = 0; i < rounds; i++) {
        uint64_t base = (uint64_t)i * ITERS;

        dt_meet(t);
        bare_pingpong(bare, is_first, base);
        dt_meet(t);
        dat_pingpong(t, &s.src, &s.ring, &s.peer_ring, is_first, base);
        dt_meet(t);
        if (is_first) {
            post_cost(t, &s.src, &s.peer_ring, 8);
            post_cost(t, &s.src, &s.peer_ring, 64);
            post_cost(t, &s.src, &s.peer_ring, 256);
            bandwidths(t, &s.src, &s.peer_shared, &s.peer_private, bare);
        }
    }
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int first(struct dt *t, const char *name)
{
    return run(t, name, true);
}

static int second(struct dt *t, const char *name)
{
    return run(t, name, false);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        rounds = atoi(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    bare = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(bare != MAP_FAILED);
    return dt_pair(dt_name(argc, argv), first, second, false);
}
