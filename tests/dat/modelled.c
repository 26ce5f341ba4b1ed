/* test: kind=dat timeout=60 prov=datum-shm params=preset=mt23108|preset=t3b|preset=elan4|preset=gm|preset=ammasso|latency=3us,request=400ns,bandwidth=512m,read=256m,bus=700m,memcpy=1g,register=7us,register_page=50ns,deregister=2us,deregister_page=10ns */
/*
 * The modelled network: writes, streams, reads, messages, copies and registrations take the virtual time that
 * follows from the figures of the dat.conf line, exactly; and the same again when the processes are held up.
 */
#include "dat_pair.h"

#include "util/clock.h"

#define ROUNDS   40
#define N_STREAM 32
#define PIECE    65536
#define LEN      (N_STREAM * PIECE)
#define PAGE     4096
#define CUT      16384 /* longer copies are cut */
#define N_PAGES  64

/* The figures: ns, and bytes a ns. */
struct figures {
    double latency, request, bandwidth, read, bus, copy, lock, lock_page, unlock, unlock_page;
};

/* What the papers say of their networks, below MPI; see transport/preset.c. */
static const struct {
    const char *name;
    struct figures figures;
} presets[] = {
    {"mt23108", {5900, 1000, 0.870, 0.870, 1.064, 0.800, 0, 0, 0, 0}},
    {"t3b", {6490, 0, 1.287, 1.287, 0, 0, 0, 0, 0, 0}},
    {"elan4", {3370, 1000, 1.064, 1.064, 1.064, 0, 0, 0, 0, 0}},
    {"gm", {8300, 0, 0.480, 0.480, 1.064, 0, 0, 0, 0, 0}},
    {"ammasso", {21000, 0, 0.110, 0.110, 1.064, 0, 0, 0, 0, 0}},
};
static const struct figures own = {3000,          400,  536870912e-9, 268435456e-9, 734003200e-9,
                                   1073741824e-9, 7000, 50,           2000,         10};

static struct figures f;
static struct dt t;
static struct dm_clock_source virtual_time;
static struct dt_mem mine, theirs;
static bool is_first;
static bool is_held_up;
static int n_done; /* completions of requests */

static void read_figures(void)
{
    FILE *conf = fopen(getenv("DAT_OVERRIDE"), "re");
    char line[1024];

    CHECK(conf != NULL);
    f = own;
    while (fgets(line, sizeof(line), conf) != NULL)
        for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
            if (strstr(line, "preset=") != NULL && strstr(line, presets[i].name) != NULL)
                f = presets[i].figures;
    fclose(conf);
}

static uint64_t now(void)
{
    return virtual_time.now(virtual_time.arg);
}

/* As the model rounds: to the nearest ns. */
static uint64_t ns(double len, double rate)
{
    return rate > 0 ? (uint64_t)(len / rate + 0.5) : 0;
}

static void same(const char *what, uint64_t took, uint64_t should)
{
    if (took != should)
        DT_FAIL("%s took %llu ns, not %llu", what, (unsigned long long)took,
                (unsigned long long)should);
}

/* Look for completions once, and stand still now and then if asked to. */
static void look(void)
{
    static unsigned int n;
    DAT_EVENT event;

    if (is_held_up && ++n % 200 == (is_first ? 0 : 77))
        dt_sleep_ms(1);
    while (dat_evd_dequeue(t.req_evd, &event) == DAT_SUCCESS) {
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        n_done++;
    }
}

static void await_byte(size_t at, int value)
{
    while (((volatile char *)mine.buf)[at] != value)
        look();
}

static void await_done(int n)
{
    while (n_done < n)
        look();
}

static void write_to_peer(size_t from, size_t to, size_t len, DAT_COMPLETION_FLAGS flags)
{
    DAT_LMR_TRIPLET seg = dt_seg(&mine, from, len);
    DAT_RMR_TRIPLET remote = dt_remote(&theirs, to, len);

    OK(dat_ep_post_rdma_write(t.ep, 1, &seg, dt_cookie(1), &remote, flags));
}

/* One byte there; it says that what was posted before is there, too. */
static void tell(int value)
{
    mine.buf[LEN] = (char)value;
    write_to_peer(LEN, LEN + 8, 1, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Do nothing for so long. */
static void rest(DAT_TIMEOUT us)
{
    DAT_EVENT event;
    DAT_COUNT n;

    CHECK_RC(dat_evd_wait(t.recv_evd, us, 1, &event, &n), DAT_TIMEOUT_EXPIRED);
}

/* Both come here before either goes on; nothing is under way then. */
static void meet(int value)
{
    if (is_first) {
        await_byte(LEN + 8, value);
        tell(value);
    } else {
        tell(value);
        await_byte(LEN + 8, value);
    }
    rest(1000);
}

static void ping_pong(void)
{
    uint64_t one = (uint64_t)f.latency + ns(8, f.bandwidth);
    uint64_t start = 0;

    for (int i = 1; i <= ROUNDS; i++) {
        if (i == 2) /* whoever came late has come */
            start = now();
        memset(mine.buf + 8 * i + 8, i, 8);
        if (is_first)
            write_to_peer(8 * (size_t)i + 8, 0, 8, DAT_COMPLETION_SUPPRESS_FLAG);
        await_byte(7, i);
        if (!is_first)
            write_to_peer(8 * (size_t)i + 8, 0, 8, DAT_COMPLETION_SUPPRESS_FLAG);
    }
    if (is_first)
        same("ping-pong", now() - start, 2 * (ROUNDS - 1) * one);
}

/* Writes follow each other as the link allows. */
static void stream(void)
{
    uint64_t each = (uint64_t)f.request + ns(PIECE, f.bandwidth);
    uint64_t start = now();

    if (is_first) {
        memset(mine.buf, 5, LEN);
        n_done = 0;
        for (int i = 0; i < N_STREAM; i++)
            write_to_peer((size_t)i * PIECE, (size_t)i * PIECE, PIECE, DAT_COMPLETION_DEFAULT_FLAG);
        await_done(N_STREAM);
        same("a stream", now() - start,
             (uint64_t)f.latency + N_STREAM * each - (uint64_t)f.request);
    } else {
        await_byte(LEN - 1, 5);
        for (size_t i = 0; i < LEN; i++)
            CHECK_EQ(mine.buf[i], 5);
    }
}

static void reading(void)
{
    DAT_LMR_TRIPLET seg = dt_seg(&mine, 0, PIECE);
    DAT_RMR_TRIPLET from = dt_remote(&theirs, LEN / 2, PIECE);
    uint64_t start = now();

    n_done = 0;
    OK(dat_ep_post_rdma_read(t.ep, 1, &seg, dt_cookie(2), &from, DAT_COMPLETION_DEFAULT_FLAG));
    await_done(1);
    same("a read", now() - start, 2 * (uint64_t)f.latency + ns(PIECE, f.read));
    CHECK_EQ(mine.buf[PIECE - 1], 5);
}

/* Copies alone, and beside a transfer, which takes its part of the memory. */
static void copies(void)
{
    uint64_t start = now(), alone = 0;
    double rest = f.copy - f.bandwidth / 2;

    for (size_t at = 0; at < PIECE; at += CUT)
        alone += ns(CUT, f.copy);
    virtual_time.copied(virtual_time.arg, PIECE);
    same("a copy", now() - start, alone);
    if (f.copy == 0 || rest <= f.copy / 8)
        return;
    n_done = 0;
    write_to_peer(0, 0, LEN, DAT_COMPLETION_DEFAULT_FLAG);
    start = now();
    virtual_time.copied(virtual_time.arg, PAGE);
    same("a copy beside a transfer", now() - start, ns(PAGE, rest));
    await_done(1);
}

static void registering(void)
{
    uint64_t start = now();
    struct dt_mem mem;

    dt_alloc(&t, &mem, N_PAGES * PAGE, false);
    same("a registration", now() - start, (uint64_t)(f.lock + N_PAGES * f.lock_page));
    start = now();
    OK(dat_lmr_free(mem.lmr));
    same("its end", now() - start, (uint64_t)(f.unlock + N_PAGES * f.unlock_page));
    munmap(mem.buf, mem.len);
}

/* A message waits until there is a receive, which the peer posts half a millisecond later. */
static void message(void)
{
    uint64_t start = now();

    if (is_first) {
        n_done = 0;
        OK(dat_ep_post_send(t.ep, 0, NULL, dt_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
        await_done(1);
        CHECK(now() - start >= 500000 && now() - start < 600000);
        return;
    }
    rest(500);
    same("a wait", now() - start, 500000);
    OK(dat_ep_post_recv(t.ep, 0, NULL, dt_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t.recv_evd, 4, DAT_DTO_SUCCESS);
}

/* All of it; the virtual time in the end. */
static uint64_t all(uint64_t job)
{
    uint64_t end;

    memset(mine.buf, 0, mine.len);
    CHECK(virtual_time.begin(virtual_time.arg, job, is_first ? 0 : 1, 2));
    ping_pong();
    meet(1);
    stream();
    meet(2);
    if (is_first)
        reading();
    meet(3);
    if (is_first)
        copies();
    else
        rest(50000); /* its next byte would take a bit of the memory */
    meet(4);
    if (is_first)
        registering();
    meet(5);
    message();
    meet(6);
    end = now();
    virtual_time.end(virtual_time.arg);
    return end;
}

static int side(struct dt *pair, const char *name)
{
    DAT_REGION_DESCRIPTION region;
    char cookie[DAT_LMR_COOKIE_SIZE] = "fd:0+0";
    uint64_t job = (uint64_t)getppid() << 32, once;
    DAT_LMR_HANDLE lmr;

    t.pipe = pair->pipe;
    if (is_first)
        job = (uint64_t)getpid() << 32;
    read_figures();
    dt_open(&t, name);
    dt_alloc(&t, &mine, LEN + 16, false);
    dt_join(&t, is_first);
    dt_swap_mem(&t, &mine, &theirs);
    region.for_shared_memory.virtual_address = mine.buf;
    region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    CHECK_RC(dat_lmr_create(t.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, t.pz,
                            DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL),
             DAT_MODEL_NOT_SUPPORTED);
    OK(dat_extension_op(t.ia, (DAT_EXTENDED_OP)DM_CLOCK_OP, &virtual_time));
    once = all(job);
    dt_meet(&t);
    is_held_up = true;
    same("the second run", all(job + 1), once);
    dt_meet(&t);
    dt_close(&t);
    return 0;
}

static int first(struct dt *pair, const char *name)
{
    is_first = true;
    return side(pair, name);
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), first, side, false);
}
