/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * Random operation sequences against a small model. A seed makes a program of
 * steps; a driver, which does not use DAT itself, has two or three processes
 * carry it out in lock-step, and foresees every return code, every event and
 * every byte of memory. What is under way at the same time (several
 * endpoints, several requests of each) is foreseen too, as it must not matter.
 *
 *   random NAME                        seeds 1 to 24, with TEST_FULL=yes to 60, within a host to 200
 *   random NAME --seeds A-B            these
 *   random NAME --time SECONDS         new ones for so long
 *   random NAME --seed S [--skip LIST] one, with all of its steps shown
 *
 * A failing program is made shorter, as long as it fails and for at most 30
 * seconds (--shrink), and printed; --skip replays it.
 */
#include "random_model.h"

#include <stdarg.h>

enum { N_STEPS = 150, MAX_STEPS = 4000, LOG_LEN = 1 << 20 };
#define RECV_COOKIE (1ull << 63)

static struct driver {
    struct model m;
    int sock[MAX_AGENTS];
    pid_t pid[MAX_AGENTS];
    int limit_us;
    uint64_t rng;
    uint64_t n_cookies;
    int mode; /* of reaping */
    struct event list[MAX_EVENTS + N_EVDS];
    char log[LOG_LEN];
    size_t log_len;
    int step;
} d;

/* ---- random numbers, the log ---- */

static uint64_t random64(void)
{
    uint64_t x = d.rng += 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* 0 to n - 1 */
static uint32_t rnd(uint32_t n)
{
    return n == 0 ? 0 : (uint32_t)(random64() >> 33) % n;
}

static void say(const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(d.log + d.log_len, LOG_LEN - d.log_len, fmt, args);
    va_end(args);
    if (n > 0 && d.log_len + (size_t)n < LOG_LEN)
        d.log_len += (size_t)n;
}

static void mismatch(const char *fmt, ...)
{
    va_list args;

    fwrite(d.log, 1, d.log_len, stdout);
    printf("MISMATCH in step %d: ", d.step);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    exit(1);
}

/* ---- commands ---- */

static struct answer call(int agent, const struct command *c)
{
    struct answer r;

    if (write(d.sock[agent], c, sizeof(*c)) != (ssize_t)sizeof(*c) ||
        recv(d.sock[agent], &r, sizeof(r), MSG_WAITALL) != (ssize_t)sizeof(r))
        mismatch("process %d is dead or does not answer", agent);
    if (r.n_events > 0 &&
        recv(d.sock[agent], d.list, (size_t)r.n_events * sizeof(d.list[0]), MSG_WAITALL) <= 0)
        mismatch("process %d does not answer", agent);
    return r;
}

/* The call must return this type of code. */
static struct answer call_want(int agent, const struct command *c, DAT_RETURN type)
{
    struct answer r = call(agent, c);

    if (DAT_GET_TYPE(r.ret) != type)
        mismatch("process %d: the call returns 0x%x, expected type 0x%x", agent, (unsigned)r.ret,
                 (unsigned)type);
    return r;
}

static int owner_of(int agent, int ep)
{
    return agent * N_EPS + ep;
}

static void describe(const struct event *e)
{
    printf(
        "    event 0x%x of EVD %d, endpoint %d, cookie %s%llu, status %d, %u bytes, operation %d, "
        "immediate %u, %u bytes of private data\n",
        e->number, e->evd, e->ep, (e->cookie & RECV_COOKIE) != 0 ? "r" : "",
        (unsigned long long)(e->cookie & ~RECV_COOKIE), e->status, e->len, e->operation, e->immed,
        e->priv_len);
}

static void unexpected(int agent, const struct event *e, const struct event *want)
{
    printf("found:\n");
    describe(e);
    if (want != NULL) {
        printf("expected:\n");
        describe(want);
    }
    mismatch("process %d has an event that was not to come%s", agent,
             want != NULL ? " before another" : "");
}

/* The event is the first that is expected of its endpoint and kind. */
static void match(int agent, const struct event *e)
{
    struct m_agent *a = &d.m.agent[agent];
    bool is_recv = (e->cookie & RECV_COOKIE) != 0;
    struct event *w = NULL;
    int i;

    for (i = 0; i < a->n_expect; i++) {
        const struct expect *x = &a->expect[i];

        if (x->evd != e->evd || x->is_recv != is_recv)
            continue;
        if (e->number == DAT_RMR_BIND_COMPLETION_EVENT ? x->event.cookie == e->cookie
                                                       : x->ep == e->ep)
            break;
    }
    if (i == a->n_expect)
        unexpected(agent, e, NULL);
    w = &a->expect[i].event;
    if (w->number != e->number || w->cookie != e->cookie || w->status != e->status)
        unexpected(agent, e, w);
    if (e->evd >= EVD_DTO && e->number != DAT_RMR_BIND_COMPLETION_EVENT &&
        (w->operation != e->operation ||
         (e->status == DAT_DTO_SUCCESS && (w->len != e->len || w->immed != e->immed))))
        unexpected(agent, e, w);
    if (w->priv_len != e->priv_len || memcmp(w->priv, e->priv, w->priv_len) != 0)
        unexpected(agent, e, w);
    memmove(&a->expect[i], &a->expect[i + 1], (size_t)(--a->n_expect - i) * sizeof(a->expect[0]));
}

static void reap(int agent)
{
    struct m_agent *a = &d.m.agent[agent];
    struct command c = {.verb = V_REAP, .a = d.mode};
    struct answer r;
    int n = 0;

    for (int i = 0; i < a->n_expect && n < MAX_EVENTS; i++, n++)
        c.n_events[a->expect[i].evd]++;
    r = call(agent, &c);
    for (int i = 0; i < r.n_events; i++)
        match(agent, &d.list[i]);
    if (r.bad_evd >= 0) {
        printf("missing:\n");
        for (int i = 0; i < a->n_expect; i++)
            if (a->expect[i].evd == r.bad_evd)
                describe(&a->expect[i].event);
        mismatch("process %d waits in vain for events of EVD %d", agent, r.bad_evd);
    }
}

/* A suppressed request of the endpoint may still be under way: one behind it
 * tells. */
static void flush_silent(int agent, int ep)
{
    struct command c = {.verb = V_POST, .kind = K_WRITE, .a = ep, .cookie = ++d.n_cookies};
    struct request q = {.kind = K_WRITE, .cookie = c.cookie};

    (void)call_want(agent, &c, DAT_SUCCESS);
    expect_request(&d.m.agent[agent], ep, &q, DAT_DTO_SUCCESS, 0);
}

static void compare_memory(int agent)
{
    struct m_agent *a = &d.m.agent[agent];
    double until = dt_now() + 1e-6 * d.limit_us;
    size_t at = 0;

    while (memcmp(a->mem, a->arena, ARENA) != 0) {
        if (dt_now() < until)
            continue; /* a suppressed request behind which nothing can be posted */
        while (a->mem[at] == a->arena[at])
            at++;
        mismatch("process %d: byte 0x%zx of the memory is %02x, expected %02x", agent, at,
                 a->arena[at], a->mem[at]);
    }
}

/* Wait for all that is under way, and compare. */
static void settle(void)
{
    bool is_silent = false;

    for (int i = 0; i < d.m.n_agents; i++)
        while (d.m.agent[i].n_expect > 0)
            reap(i);
    for (int i = 0; i < d.m.n_agents; i++)
        for (int j = 0; j < N_EPS; j++) {
            struct m_ep *e = &d.m.agent[i].ep[j];

            if (e->is_live && e->has_silent && e->n_q == 0 && e->state == DAT_EP_STATE_CONNECTED) {
                flush_silent(i, j);
                is_silent = true;
            }
            e->has_silent = false;
            e->n_since = e->n_q;
        }
    for (int i = 0; i < d.m.n_agents; i++) {
        d.m.agent[i].srq_user = -1;
        if (is_silent)
            reap(i);
    }
    for (int i = 0; i < d.m.n_agents; i++)
        compare_memory(i);
    d.m.n_spans = 0;
}

/* Nothing may be there that is not expected. */
static void settle_fully(void)
{
    settle();
    for (int i = 0; i < d.m.n_agents; i++)
        reap(i);
}

/* ---- choosing ---- */

static int any_agent(void)
{
    return (int)rnd((uint32_t)d.m.n_agents);
}

/* A live endpoint in this state (-1: any), or -1. */
static int any_ep(int agent, int state)
{
    uint32_t first = rnd(N_EPS);

    for (uint32_t i = 0; i < N_EPS; i++) {
        const struct m_ep *e = &d.m.agent[agent].ep[(first + i) % N_EPS];

        if (e->is_live && (state < 0 || e->state == state))
            return (int)((first + i) % N_EPS);
    }
    return -1;
}

/* A region that serves this zone and these privileges; seldom any that there is or was. */
static int any_region(const struct m_agent *a, int pz, int priv, bool is_remote)
{
    uint32_t first = rnd(N_LMRS + N_RMRS);

    if (rnd(60) == 0)
        return a->last_freed;
    for (int is_any = rnd(60) == 0; is_any < 2; is_any++)
        for (uint32_t i = 0; i < N_LMRS + N_RMRS; i++) {
            uint32_t at = (first + i) % (N_LMRS + N_RMRS);
            int r = at < N_LMRS ? a->lmr[at] : a->rmr[at - N_LMRS];

            if (r < 0 || (at >= N_LMRS && !is_remote))
                continue;
            if (is_any != 0 || (a->region[r].pz == pz && (a->region[r].priv & priv) == priv))
                return rnd(150) == 0 ? -1 : r;
        }
    return -1;
}

static uint32_t any_len(void)
{
    switch (rnd(8)) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
        return rnd(65);
    case 4:
    case 5:
        return rnd(4097);
    default:
        return rnd(ARENA);
    }
}

/* Segments of one region that do not overlap, of at most max bytes. */
static int any_segs(const struct m_agent *a, int region, uint32_t max, struct seg *seg)
{
    int n = (int)rnd(MAX_SEG + 1);
    const struct region *r = region >= 0 ? &a->region[region] : NULL;

    for (int i = 0; i < n; i++) {
        uint32_t slice = r != NULL ? r->len / (uint32_t)n : 100;
        uint32_t len = any_len() / (uint32_t)n;

        if (len > slice)
            len = rnd(slice + 1);
        if (len > max)
            len = max;
        max -= len;
        seg[i].region = region;
        seg[i].len = len;
        seg[i].off = (r != NULL ? r->off : 0) + slice * (uint32_t)i + rnd(slice - len + 1);
    }
    return n;
}

/* Seldom a byte too far. */
static void stretch(const struct m_agent *a, struct seg *s)
{
    if (s->region >= 0 && rnd(120) == 0)
        s->off = a->region[s->region].off + a->region[s->region].len - s->len + 1;
}

static uint64_t address_of(int agent, uint32_t off)
{
    return (uint64_t)(uintptr_t)d.m.agent[agent].arena + off;
}

static void to_triplets(int agent, const struct seg *seg, int n, DAT_LMR_TRIPLET *out)
{
    for (int i = 0; i < n; i++) {
        const struct region *r =
            seg[i].region >= 0 ? &d.m.agent[agent].region[seg[i].region] : NULL;

        memset(&out[i], 0, sizeof(out[i]));
        out[i].virtual_address = address_of(agent, seg[i].off);
        out[i].segment_length = seg[i].len;
        out[i].lmr_context = r != NULL ? r->key : 0xffff0000u | (uint32_t)i;
    }
}

static void say_segs(const struct seg *seg, int n)
{
    for (int i = 0; i < n; i++)
        say(" [R%d 0x%x+%u]", seg[i].region, seg[i].off, seg[i].len);
}

#include "random_steps.h"

/* ---- one program ---- */

static void start_agents(const char *name)
{
    bool is_safe = rnd(2) != 0;

    d.m.n_agents = 2 + (int)rnd(2);
    say("%d processes, %sthreadsafe\n", d.m.n_agents, is_safe ? "" : "not ");
    for (int i = 0; i < d.m.n_agents; i++) {
        struct m_agent *a = &d.m.agent[i];
        struct timeval limit = {.tv_sec = 10 + 2 * d.limit_us / 1000000};
        int fd = memfd_create("arena", MFD_CLOEXEC);
        int sv[2];

        if (fd < 0 || ftruncate(fd, ARENA) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sv) != 0)
            DT_FAIL("cannot make an arena");
        a->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        a->mem = calloc(1, ARENA);
        CHECK(a->arena != MAP_FAILED && a->mem != NULL);
        for (int j = 0; j < N_LMRS; j++)
            a->lmr[j] = -1;
        for (int j = 0; j < N_RMRS; j++)
            a->rmr[j] = -2;
        a->last_freed = -1;
        a->srq_user = -1;
        d.pid[i] = fork();
        if (d.pid[i] == 0)
            exit(agent_run(name, sv[1], fd, is_safe, d.limit_us));
        close(sv[1]);
        close(fd);
        d.sock[i] = sv[0];
        setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (recv(sv[0], &a->hello, sizeof(a->hello), MSG_WAITALL) != (ssize_t)sizeof(a->hello))
            DT_FAIL("process %d does not start", i);
    }
}

static void end_agents(void)
{
    struct command c = {.verb = V_END};
    int status;

    for (int i = 0; i < d.m.n_agents; i++) {
        CHECK_EQ(write(d.sock[i], &c, sizeof(c)), sizeof(c));
        CHECK_EQ(waitpid(d.pid[i], &status, 0), d.pid[i]);
        if (status != 0)
            mismatch("process %d ends with status 0x%x", i, (unsigned)status);
    }
}

/* In a process of its own; ends it. */
static void run_program(const char *name, uint64_t seed, int n_steps, const bool *is_skipped,
                        bool is_verbose)
{
    d.rng = seed;
    (void)random64();
    start_agents(name);
    first_steps();
    for (d.step = 0; d.step < n_steps; d.step++) {
        /* A step's numbers are its own, whatever was left out before it. */
        d.rng = seed * 1000003 + (uint64_t)d.step;
        (void)random64();
        if (!is_skipped[d.step])
            one_step();
    }
    settle_fully();
    end_agents();
    if (is_verbose)
        fwrite(d.log, 1, d.log_len, stdout);
    fflush(stdout);
    exit(0);
}

/* Its exit status; quiet: what it says goes nowhere. */
static int run_child(const char *name, uint64_t seed, int n_steps, const bool *is_skipped,
                     bool is_quiet, bool is_verbose)
{
    int status = 1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is_quiet && (freopen("/dev/null", "w", stdout) == NULL ||
                         freopen("/dev/null", "w", stderr) == NULL))
            exit(1);
        d.limit_us = is_quiet ? 1500000 : 15000000;
        run_program(name, seed, n_steps, is_skipped, is_verbose);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

/* Leave out as much as possible in this many seconds. */
static void shrink(const char *name, uint64_t seed, int n_steps, bool *is_skipped, double seconds)
{
    double until = dt_now() + seconds;

    for (int n = n_steps / 2; n > 0; n /= 2)
        for (int at = 0; at < n_steps && dt_now() < until; at += n) {
            bool saved[MAX_STEPS];
            bool is_new = false;

            memcpy(saved, is_skipped, sizeof(saved));
            for (int i = at; i < at + n && i < n_steps; i++) {
                is_new |= !is_skipped[i];
                is_skipped[i] = true;
            }
            if (is_new && run_child(name, seed, n_steps, is_skipped, true, false) == 0)
                memcpy(is_skipped, saved, sizeof(saved));
        }
}

static void report(const char *name, uint64_t seed, int n_steps, bool *is_skipped, double seconds)
{
    const char *comma = "";

    shrink(name, seed, n_steps, is_skipped, seconds);
    printf("---- the same, shorter\n");
    if (run_child(name, seed, n_steps, is_skipped, false, false) == 0)
        printf("which does not fail every time\n");
    printf("---- again: random %s --seed %llu --steps %d --skip ", name, (unsigned long long)seed,
           n_steps);
    for (int i = 0; i < n_steps; i++)
        if (is_skipped[i] && (i == 0 || !is_skipped[i - 1])) {
            int end = i;

            while (end + 1 < n_steps && is_skipped[end + 1])
                end++;
            printf("%s%d-%d", comma, i, end);
            comma = ",";
        }
    putchar('\n');
}

static void skip_parse(const char *list, bool *is_skipped)
{
    int from;
    int to;
    int n;

    while (sscanf(list, "%d-%d%n", &from, &to, &n) == 2) {
        for (int i = from; i <= to && i < MAX_STEPS; i++)
            is_skipped[i] = true;
        list += n + (list[n] == ',');
    }
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);
    static bool is_skipped[MAX_STEPS];
    unsigned long long from = 1;
    bool is_full = getenv("TEST_FULL") != NULL;
    bool is_long = is_full && strcmp(name, "datum-shm") == 0;
    unsigned long long to = is_long ? 200 : is_full ? 60 : 24;
    double until = 0;
    bool is_one = false;
    double shrinking = 30;
    int n_steps = N_STEPS;

    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            is_one = sscanf(argv[i + 1], "%llu", &from) == 1;
        else if (strcmp(argv[i], "--seeds") == 0)
            CHECK_EQ(sscanf(argv[i + 1], "%llu-%llu", &from, &to), 2);
        else if (strcmp(argv[i], "--steps") == 0)
            n_steps = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--shrink") == 0)
            shrinking = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--skip") == 0)
            skip_parse(argv[i + 1], is_skipped);
        else if (strcmp(argv[i], "--time") == 0) {
            until = dt_now() + atof(argv[i + 1]);
            from = (unsigned long long)time(NULL) * 1000;
            to = UINT64_MAX;
        } else
            DT_FAIL("unknown option %s", argv[i]);
    }
    CHECK(n_steps > 0 && n_steps <= MAX_STEPS);
    if (is_one)
        return run_child(name, from, n_steps, is_skipped, false, true) != 0;
    for (unsigned long long seed = from; seed <= to; seed++) {
        if (until > 0 && dt_now() > until) {
            printf("seeds %llu to %llu\n", from, seed - 1);
            break;
        }
        if (run_child(name, seed, n_steps, is_skipped, false, false) != 0) {
            printf("---- seed %llu has failed\n", seed);
            report(name, seed, n_steps, is_skipped, shrinking);
            return 1;
        }
    }
    return 0;
}
