/*
 * What the raw DAT measurements share: two processes pinned to two cores, with
 * connected endpoints and memory of both kinds; rows that measure a provider
 * and the machine's floor turn by turn; and the floors that several use.
 *
 * Every program: "dat_x [-n TURNS] [-k PATTERN] [PROVIDER]". A row prints one
 * line per turn, "what size unit ours floor_name floor", which bench/dat/run
 * turns into a table. Unit MB/s: more is better; us and ns: less is.
 */
#ifndef DM_BENCH_DAT_DAT_BENCH_H
#define DM_BENCH_DAT_DAT_BENCH_H

#include <fnmatch.h>
#include <sched.h>

#include "../../tests/dat/dat_pair.h"

enum { BN_LINE = 64, BN_LEN = 4 << 20, BN_MARK = 64, BN_WAKES = 100 };

/* Mapped by both before the fork: for the floors, and to find each other. */
struct bn_page {
    _Alignas(BN_LINE) _Atomic uint64_t ping;
    _Alignas(BN_LINE) _Atomic uint64_t pong;
    _Alignas(BN_LINE) _Atomic uint64_t n_ready;
    _Alignas(BN_LINE) _Atomic uint64_t stamp;
    _Alignas(BN_LINE) _Atomic uint32_t futex;
    _Alignas(BN_LINE) double took[BN_WAKES];
};

struct bn_mem {
    struct dt_mem mine;
    struct dt_mem theirs;
    char *mapped; /* theirs, in this process; NULL: private */
};

struct bn {
    struct dt t;
    const char *name;
    const char *pattern;
    int n_turns;
    bool is_first;
    struct bn_page *page;
    struct bn_mem src;     /* private, what is sent */
    struct bn_mem shared;  /* of a memfd */
    struct bn_mem private; /* the peer must ask the kernel for it */
    uint64_t seq;          /* both sides count alike */
    uint64_t n_posted;
};

/* One turn of a measurement, called on both sides; the first's figure counts. */
typedef double (*bn_turn)(struct bn *b, size_t size);

static inline void bn_pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* A row: a warm-up, then turns of the floor and the provider, alternating. */
static inline void bn_row(struct bn *b, const char *what, size_t size, const char *unit,
                          bn_turn ours, const char *floor_name, bn_turn bare)
{
    if (b->pattern != NULL && fnmatch(b->pattern, what, 0) != 0)
        return;
    for (int turn = 0; turn <= b->n_turns; turn++) {
        double value[2] = {0, 0};

        for (int i = 0; i < 2; i++) {
            bool is_ours = (turn + i) % 2 == 1;
            bn_turn fn = is_ours ? ours : bare;

            dt_meet(&b->t);
            if (fn != NULL)
                value[is_ours] = fn(b, size);
        }
        if (turn == 0 || !b->is_first)
            continue;
        printf("%s %zu %s %.4f %s %.4f\n", what, size, unit, value[1], floor_name, value[0]);
    }
}

static inline void bn_reap(struct bn *b)
{
    DAT_EVENT event;

    while (dat_evd_dequeue(b->t.req_evd, &event) != DAT_SUCCESS)
        continue;
    CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

/* One post in 64 is signalled and waited for: some providers need that. */
static inline bool bn_is_marked(struct bn *b)
{
    return ++b->n_posted % BN_MARK == 0;
}

static inline void bn_write(struct bn *b, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *seg,
                            const DAT_RMR_TRIPLET *to)
{
    bool is_marked = bn_is_marked(b);

    OK(dat_ep_post_rdma_write(ep, 1, seg, dt_cookie(0), to,
                              is_marked ? DAT_COMPLETION_DEFAULT_FLAG
                                        : DAT_COMPLETION_SUPPRESS_FLAG));
    if (is_marked)
        bn_reap(b);
}

static inline void bn_spin_until(const _Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        continue;
}

/* The last 8 bytes of a message at `at`. */
static inline _Atomic uint64_t *bn_end(char *at, size_t size)
{
    return (_Atomic uint64_t *)(void *)(at + size - sizeof(uint64_t));
}

static inline void bn_set_end(char *at, size_t size, uint64_t seq)
{
    atomic_store_explicit(bn_end(at, size), seq, memory_order_relaxed);
}

/* A message of the floor: stores, the last 8 bytes after all others. */
static inline void bn_put(char *to, const char *from, size_t size, uint64_t seq)
{
    if (size > sizeof(seq))
        memcpy(to, from, size - sizeof(seq));
    atomic_store_explicit(bn_end(to, size), seq, memory_order_release);
}

/* Registers memory that can be mapped where the provider can make use of it. */
static inline void bn_reg(struct bn *b, struct dt_mem *mem)
{
    DAT_PROVIDER_ATTR attr;

    memset(&attr, 0, sizeof(attr));
    OK(dat_ia_query(b->t.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    if ((attr.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL) == 0)
        mem->fd = -1;
    dt_reg(&b->t, mem, DAT_MEM_PRIV_ALL_FLAG);
}

static inline void bn_private(struct bn *b, struct bn_mem *mem, size_t len)
{
    dt_alloc(&b->t, &mem->mine, len, false);
    memset(mem->mine.buf, 1, len);
    dt_swap_mem(&b->t, &mem->mine, &mem->theirs);
}

struct bn_file {
    int fd;
    char *base;
};

static inline struct bn_file bn_file_new(size_t len)
{
    struct bn_file file = {.fd = memfd_create("datum-bench", MFD_CLOEXEC)};

    if (file.fd < 0 || ftruncate(file.fd, (off_t)len) != 0)
        DT_FAIL("memfd_create");
    file.base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    CHECK(file.base != MAP_FAILED);
    memset(file.base, 1, len);
    return file;
}

/* Let both providers find and map what they will need: their threads run while
 * this one sleeps, even with a real-time priority. */
static inline void bn_warm_up(struct bn *b)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&b->shared.theirs, 0, 8);

    for (int i = 0; i < 10; i++) {
        OK(dat_ep_post_rdma_write(b->t.ep, 1, &seg, dt_cookie(0), &to,
                                  DAT_COMPLETION_DEFAULT_FLAG));
        bn_reap(b);
        dt_sleep_ms(5);
    }
}

/* What main leaves for the two sides. */
struct bn_main {
    struct bn b;
    struct bn_file files[2];
    void (*rows)(struct bn *b);
};

static struct bn_main bn_main_state;

static inline int bn_side(struct dt *t, const char *name, bool is_first)
{
    struct bn_main *m = &bn_main_state;
    struct bn *b = &m->b;
    volatile char sum = 0;

    b->t = *t;
    b->is_first = is_first;
    bn_pin(is_first ? 0 : 1);
    dt_open(&b->t, name);
    dt_join(&b->t, is_first);
    bn_private(b, &b->src, BN_LEN);
    bn_private(b, &b->private, BN_LEN);
    b->shared.mine.len = BN_LEN;
    b->shared.mine.buf = m->files[is_first].base;
    b->shared.mine.fd = m->files[is_first].fd;
    bn_reg(b, &b->shared.mine);
    dt_swap_mem(&b->t, &b->shared.mine, &b->shared.theirs);
    b->shared.mapped = m->files[!is_first].base;
    for (size_t i = 0; i < BN_LEN; i += 4096) /* page tables */
        sum = (char)(sum + b->shared.mapped[i]);
    bn_warm_up(b);
    m->rows(b);
    dt_meet(&b->t);
    dt_close(&b->t);
    return 0;
}

static inline int bn_first(struct dt *t, const char *name)
{
    return bn_side(t, name, true);
}

static inline int bn_second(struct dt *t, const char *name)
{
    return bn_side(t, name, false);
}

static inline int bn_run(int argc, char **argv, void (*rows)(struct bn *b))
{
    struct bn_main *m = &bn_main_state;
    int opt;

    m->rows = rows;
    m->b.n_turns = 15;
    while ((opt = getopt(argc, argv, "n:k:")) != -1) {
        if (opt == 'n')
            m->b.n_turns = atoi(optarg);
        else if (opt == 'k')
            m->b.pattern = optarg;
        else
            DT_FAIL("usage: %s [-n TURNS] [-k PATTERN] [PROVIDER]", argv[0]);
    }
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        DT_FAIL("two processors are needed");
    setvbuf(stdout, NULL, _IOLBF, 0);
    m->b.name = optind < argc ? argv[optind] : "datum-shm";
    m->b.page =
        mmap(NULL, sizeof(*m->b.page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(m->b.page != MAP_FAILED);
    m->files[0] = bn_file_new(BN_LEN);
    m->files[1] = bn_file_new(BN_LEN);
    return dt_pair(m->b.name, bn_first, bn_second, false);
}

#endif
