/* test: layers=util,dapl_adapt timeout=120 warn=it.goes.on.over */
/*
 * Processes of different jobs: two layers of one program, each a job of its own, over a provider
 * that delays, fails and refuses. They meet by ports or by what others tell, talk, and part.
 */
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "../self.h"
#include "adapt_job.h"
#include "fake_dat.h"

#define N     2
#define WAIT  UINT64_C(20000000000)
#define FIRST 1 /* the first number of another job's process */

struct side {
    int rank;
    struct dm_adapt *adapt;
    struct dm_proc_info info;
    int peer; /* number of the other one, -1: not known */
    int from; /* that packets have come from, -1: none */
    uint64_t sent;
    uint64_t got;
    int n_failed;
    int n_left;  /* told that the other one has closed the connection */
    int n_freed; /* numbers */
    int err;
    char why[512];
    bool is_busy; /* something is queued above */
};

static struct side sides[N];
static struct job_space spaces[N];
static struct job_proc procs[N];
static char dir[] = "/tmp/dm-meet-XXXXXX";
static char conf_path[64];
static const char *const job_names[N] = {"job-one", "job-two"};

static unsigned char pattern(int from, uint64_t k)
{
    return (unsigned char)(k * 11 + (k >> 9) * 3 + (uint64_t)from * 101);
}

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    struct side *side = arg;
    const void *data;
    size_t len;

    side->from = p;
    while ((len = dm_adapt_eager_peek(conn, &data)) > 0) {
        for (size_t i = 0; i < len; i++) {
            if (((const unsigned char *)data)[i] != pattern(1 - side->rank, side->got + i)) {
                CHECK(!"byte of the stream");
                break;
            }
        }
        side->got += len;
        dm_adapt_eager_consume(conn, len);
    }
}

static void on_writable(void *arg, int p, struct dm_conn *conn)
{
    (void)arg;
    (void)p;
    (void)conn;
}

static void on_failed(void *arg, int p, struct dm_conn *conn, int err)
{
    struct side *side = arg;

    (void)p;
    side->n_failed++;
    side->err = err;
    snprintf(side->why, sizeof(side->why), "%s", dm_adapt_lost_why(conn));
}

static bool on_is_idle(void *arg, int p)
{
    const struct side *side = arg;

    (void)p;
    return !side->is_busy;
}

static void on_gone(void *arg, int p, bool is_free)
{
    struct side *side = arg;

    CHECK(p >= FIRST);
    if (is_free)
        side->n_freed++;
    else
        side->n_left++;
    if (is_free && p == side->peer)
        side->peer = -1;
    side->sent = side->got = 0; /* the next stream is a new one */
}

static int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

static void open_side(int r)
{
    struct dm_adapt_events ev = {.arg = &sides[r],
                                 .input = on_input,
                                 .writable = on_writable,
                                 .failed = on_failed,
                                 .is_idle = on_is_idle,
                                 .gone = on_gone};
    static const int nodes[1] = {0};
    struct dm_adapt_job job;

    memset(&sides[r], 0, sizeof(sides[r]));
    memset(&spaces[r], 0, sizeof(spaces[r]));
    sides[r].rank = r;
    sides[r].peer = sides[r].from = -1;
    procs[r] = (struct job_proc){.space = &spaces[r], .rank = 0, .size = 1};
    job_describe(&procs[r], nodes, &job);
    job.kv.fence = no_fence;
    job.name = job_names[r];
    CHECK_EQ(dm_adapt_open(&job, &ev, &sides[r].adapt), DM_OK);
    CHECK(!dm_adapt_has_rails(sides[r].adapt));
    CHECK_EQ(dm_adapt_serve(sides[r].adapt), DM_OK);
    CHECK_EQ(dm_adapt_serve(sides[r].adapt), DM_OK);
    CHECK(dm_adapt_has_rails(sides[r].adapt));
    CHECK_EQ(dm_adapt_proc_info(sides[r].adapt, 0, &sides[r].info), DM_OK);
    CHECK_EQ(sides[r].info.id.rank, 0);
}

static void open_both(void)
{
    for (int r = 0; r < N; r++)
        open_side(r);
    CHECK(sides[0].info.id.job != sides[1].info.id.job);
}

static void poll_both(void)
{
    for (int r = 0; r < N; r++)
        if (sides[r].adapt != NULL)
            dm_adapt_poll(sides[r].adapt);
}

static void close_both(void)
{
    FAKE_CALL(fake.delay = 0);
    for (int r = 0; r < N; r++)
        if (sides[r].adapt != NULL)
            dm_adapt_quiesce(sides[r].adapt);
    job_close_both(sides[0].adapt, sides[1].adapt);
    CHECK_EQ(fake.n_lmrs, 0);
    CHECK(fake.eps == NULL);
    CHECK(fake.psps == NULL);
}

/* Poll until the condition holds. */
#define UNTIL(cond)                                                                                \
    do {                                                                                           \
        uint64_t until_ = dm_clock_ns() + WAIT;                                                    \
        while (!(cond) && dm_clock_ns() < until_)                                                  \
            poll_both();                                                                           \
        CHECK(cond);                                                                               \
    } while (0)

static void get_peer(int r)
{
    CHECK_EQ(dm_adapt_proc_get(sides[r].adapt, &sides[1 - r].info, &sides[r].peer), DM_OK);
    CHECK(sides[r].peer >= FIRST);
    CHECK_EQ(
        dm_proc_id_compare(dm_adapt_proc_id(sides[r].adapt, sides[r].peer), sides[1 - r].info.id),
        0);
}

static void put_peer(int r)
{
    dm_adapt_proc_put(sides[r].adapt, sides[r].peer);
}

/* Send up to n bytes of the stream, as the pipe takes them; true: all are gone. */
static bool send_some(int r, uint64_t total)
{
    struct dm_conn *conn = dm_adapt_conn(sides[r].adapt, sides[r].peer);
    unsigned char buf[700];
    struct iovec iov = {buf, 0};
    size_t taken = 0;

    if (conn == NULL) {
        CHECK(conn != NULL);
        return true;
    }
    while (iov.iov_len < sizeof(buf) && sides[r].sent + iov.iov_len < total) {
        buf[iov.iov_len] = pattern(r, sides[r].sent + iov.iov_len);
        iov.iov_len++;
    }
    if (iov.iov_len > 0)
        (void)dm_adapt_eager_put(conn, &iov, 1, &taken);
    sides[r].sent += taken;
    return sides[r].sent == total;
}

/* Both send so many bytes to each other. */
static void talk(uint64_t total)
{
    uint64_t until = dm_clock_ns() + WAIT;
    uint64_t goal[N] = {sides[1].sent + total, sides[0].sent + total};

    while ((sides[0].got < goal[0] || sides[1].got < goal[1]) && dm_clock_ns() < until &&
           sides[0].n_failed + sides[1].n_failed == 0) {
        for (int r = 0; r < N; r++)
            (void)send_some(r, goal[1 - r]);
        poll_both();
    }
    CHECK_EQ(sides[0].got, goal[0]);
    CHECK_EQ(sides[1].got, goal[1]);
}

static int n_used(int r)
{
    return sides[r].adapt->procs.n_used;
}

/* Side 1 comes to a port of side 0, which takes it. */
static void meet_by_port(uint64_t token)
{
    get_peer(1);
    dm_adapt_proc_set_token(sides[1].adapt, sides[1].peer, token);
    UNTIL(send_some(1, 100));
    UNTIL(sides[0].got == 100);
    get_peer(0);
    CHECK_EQ(sides[0].from, sides[0].peer);
}

static void part_both(void)
{
    put_peer(0);
    put_peer(1);
    UNTIL(n_used(0) == 0 && n_used(1) == 0);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
}

/* ---- the tests ---- */

static void ports(void)
{
    char text[DM_PROC_TEXT_MAX];
    uint64_t token;
    uint64_t other;

    for (unsigned delay = 0; delay < 7; delay += 3) {
        open_both();
        FAKE_CALL(fake.delay = delay);
        CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &token), DM_OK);
        CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &other), DM_OK);
        CHECK(token != other);
        meet_by_port(token);
        dm_adapt_proc_text(sides[0].adapt, sides[0].peer, text, sizeof(text));
        CHECK(strstr(text, "rank 0 of job ") != NULL && strstr(text, "on host here") != NULL);
        CHECK_EQ(dm_adapt_proc_node(sides[0].adapt, sides[0].peer), 0);
        talk(30000);
        part_both();
        CHECK_EQ(sides[0].n_freed + sides[0].n_left, 1 + (sides[0].n_freed > 1));
        dm_adapt_port_close(sides[0].adapt, token);
        /* the other port is open still */
        meet_by_port(other);
        talk(1000);
        part_both();
        close_both();
    }
}

/* Who does not know a port's token is refused at once, and the others are not disturbed. */
static void refused(void)
{
    uint64_t token;

    open_both();
    CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &token), DM_OK);
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            dm_adapt_port_close(sides[0].adapt, token);
        get_peer(1);
        dm_adapt_proc_set_token(sides[1].adapt, sides[1].peer, i == 2 ? token : token + 1);
        (void)send_some(1, 10);
        UNTIL(sides[1].n_failed == i + 1);
        CHECK_EQ(sides[1].err, DM_ECONN);
        CHECK(strstr(sides[1].why, "no such port") != NULL);
        CHECK(strstr(sides[1].why, "rank 0 of job ") != NULL);
        put_peer(1);
        UNTIL(n_used(1) == 0);
        CHECK_EQ(n_used(0), 0);
    }
    sides[1].n_failed = 0;
    CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &token), DM_OK);
    meet_by_port(token);
    talk(500);
    part_both();
    close_both();
}

/* A guest that nobody takes goes when its port is closed, or when it leaves or dies itself. */
static void untaken(void)
{
    uint64_t token;

    open_both();
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &token), DM_OK);
        get_peer(1);
        dm_adapt_proc_set_token(sides[1].adapt, sides[1].peer, token);
        UNTIL(send_some(1, 50));
        UNTIL(sides[0].got == 50);
        CHECK_EQ(n_used(0), 1);
        if (i == 0)
            dm_adapt_port_close(sides[0].adapt, token);
        else
            put_peer(1);
        UNTIL(n_used(0) == 0);
        if (i == 0) {
            UNTIL(sides[1].n_left == 1);
            put_peer(1);
        }
        UNTIL(n_used(1) == 0);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    }
    close_both();
}

/* Told of each other by third parties: at different times, with attempts that cross. */
static void told(void)
{
    open_both();
    for (int i = 0; i < 60; i++) {
        unsigned delay = (unsigned)i % 5;

        FAKE_CALL(fake.delay = delay);
        get_peer(i % 2);
        if (i % 3 == 0) {
            (void)send_some(i % 2, 20); /* it is refused until the other has heard of it */
            for (int k = 0; k < 3000; k++)
                poll_both();
        }
        get_peer(1 - i % 2);
        talk(300);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
        part_both();
    }
    close_both();
}

/* One closes the connection, the other holds on to its number; they meet again. */
static void one_sided(void)
{
    open_both();
    get_peer(0);
    get_peer(1);
    for (int i = 0; i < 40; i++) {
        int leaver = i % 2;

        talk(200);
        sides[0].n_left = sides[1].n_left = 0;
        put_peer(leaver);
        UNTIL(n_used(leaver) == 0 && sides[1 - leaver].n_left == 1);
        CHECK_EQ(n_used(1 - leaver), 1);
        CHECK(dm_conn_find(sides[1 - leaver].adapt, sides[1 - leaver].peer) == NULL);
        get_peer(leaver);
    }
    talk(200);
    part_both();
    close_both();
}

/* What was sent before the last reference was put arrives. What is queued above is waited for. */
static void put_pending(void)
{
    open_both();
    for (int i = 0; i < 60; i++) {
        unsigned delay = (unsigned)i % 4 * 3;

        FAKE_CALL(fake.delay = delay);
        get_peer(0);
        get_peer(1);
        if (i % 3 == 1)
            talk(100);
        sides[0].is_busy = true;
        (void)send_some(0, sides[0].sent + 300);
        put_peer(0);
        if (i % 2 == 0) /* wanted again */
            get_peer(0);
        for (int k = 0; k < 500; k++)
            poll_both();
        UNTIL(send_some(0, i % 3 == 1 ? 400 : 300));
        sides[0].is_busy = false;
        UNTIL(sides[1].got == (i % 3 == 1 ? 400 : 300));
        if (i % 2 == 0)
            put_peer(0);
        put_peer(1);
        UNTIL(n_used(0) == 0 && n_used(1) == 0);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    }
    close_both();
}

/* A new number is given while the old one is being closed. */
static void again_at_once(void)
{
    int old;

    open_both();
    for (int i = 0; i < 40; i++) {
        unsigned delay = (unsigned)i % 4 * 5;

        FAKE_CALL(fake.delay = delay);
        get_peer(0);
        get_peer(1);
        talk(100);
        for (int r = 0; r < N; r++) {
            old = sides[r].peer;
            put_peer(r);
            for (int k = 0; k < i * 10; k++)
                poll_both();
            sides[r].sent = sides[r].got = 0;
            get_peer(r);
            CHECK(old > 0);
        }
        for (int r = 0; r < N; r++)
            put_peer(r);
        UNTIL(n_used(0) == 0 && n_used(1) == 0);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    }
    close_both();
}

static int n_done;
static int n_bad;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    n_done++;
    n_bad += err != DM_OK;
}

/* RDMA both ways; what is under way when the last reference is put comes to its end. */
static void rdma_to_end(void)
{
    static struct dm_rdma rdma[20];
    static unsigned char mem[N][40000];
    struct dm_rkey rkey;
    struct dm_mr *mr;

    open_both();
    for (int i = 0; i < 6; i++) {
        unsigned delay = (unsigned)i % 3 * 4;

        FAKE_CALL(fake.delay = delay);
        get_peer(0);
        get_peer(1);
        talk(100);
        n_done = n_bad = 0;
        for (size_t k = 0; k < sizeof(mem[0]); k++)
            mem[0][k] = pattern(i, k);
        memset(mem[1], 0, sizeof(mem[1]));
        CHECK_EQ(dm_adapt_reg(sides[1].adapt, mem[1], sizeof(mem[1]), &mr), DM_OK);
        dm_adapt_rkey(mr, &rkey);
        for (size_t k = 0; k < 20; k++) {
            rdma[k].done = on_done;
            CHECK_EQ(dm_adapt_rdma_write(dm_adapt_conn(sides[0].adapt, sides[0].peer), &rdma[k],
                                         mem[0] + k * 2000, NULL,
                                         (uint64_t)(uintptr_t)mem[1] + k * 2000, &rkey, 2000),
                     DM_OK);
        }
        put_peer(0);
        put_peer(1);
        UNTIL(n_used(0) == 0 && n_used(1) == 0);
        CHECK_EQ(n_done, 20);
        CHECK_EQ(n_bad, 0);
        CHECK(memcmp(mem[0], mem[1], sizeof(mem[0])) == 0);
        dm_adapt_unreg(sides[1].adapt, mr);
    }
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    close_both();
}

static int count_eps(void)
{
    int n = 0;

    FAKE_CALL(for (struct fake_ep *ep = fake.eps; ep != NULL; ep = ep->next) n++);
    return n;
}

/* So often, and nothing grows. */
static void many_times(void)
{
    int n_eps = 0;
    int n_lmrs = 0;
    int n_files = 0;
    int n_maps = 0;
    int space = 0;
    uint64_t token;

    open_both();
    CHECK_EQ(dm_adapt_port_open(sides[0].adapt, &token), DM_OK);
    for (int i = 0; i < 1000; i++) {
        if (i % 2 == 0) {
            meet_by_port(token);
        } else {
            get_peer(0);
            get_peer(1);
        }
        talk(150);
        part_both();
        if (i == 20) {
            n_eps = count_eps();
            n_lmrs = fake.n_lmrs;
            n_files = self_count_files();
            n_maps = self_count_maps("");
            space = sides[0].adapt->rails.ias[0]->depth.space;
        }
        if (test_n_failed > 0)
            break;
    }
    CHECK_EQ(count_eps(), n_eps);
    CHECK_EQ(fake.n_lmrs, n_lmrs);
    CHECK_EQ(self_count_files(), n_files);
    CHECK(self_count_maps("") <= n_maps + 4); /* the allocator's */
    CHECK_EQ(sides[0].adapt->rails.ias[0]->depth.space, space);
    CHECK_EQ(sides[0].adapt->rails.ias[0]->n_signalled, 0);
    CHECK_EQ(sides[0].adapt->rails.ias[0]->n_conns, 0);
    CHECK(sides[0].adapt->procs.n <= 4 && sides[1].adapt->procs.n <= 4);
    CHECK(sides[0].adapt->all == NULL && sides[1].adapt->all == NULL);
    close_both();
}

static void break_all(void)
{
    FAKE_CALL(for (struct fake_ep *ep = fake.eps; ep != NULL; ep = ep->next) fake_break(ep));
}

/* The connection breaks while they talk, and while they part. */
static void breaks(void)
{
    open_both();
    for (int i = 0; i < 30; i++) {
        unsigned delay = (unsigned)i % 3 * 3;

        FAKE_CALL(fake.delay = delay);
        get_peer(0);
        get_peer(1);
        talk(5000);
        break_all();
        talk(5000);
        if (i % 2 == 0)
            break_all();
        put_peer(i % 2);
        for (int k = 0; k < i * 20; k++)
            poll_both();
        break_all();
        put_peer(1 - i % 2);
        UNTIL(n_used(0) == 0 && n_used(1) == 0);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    }
    close_both();
}

/* The other process dies: a loss while there are references, nothing after that. */
static void dies(void)
{
    for (int i = 0; i < 3; i++) {
        open_both();
        get_peer(0);
        get_peer(1);
        talk(500);
        if (i > 0)
            put_peer(0);
        if (i == 2) {
            put_peer(1);
            UNTIL(n_used(0) == 0 && n_used(1) == 0);
        }
        break_all();
        if (i == 0) {
            UNTIL(sides[0].n_failed == 1);
            CHECK_EQ(sides[0].err, DM_EPEER);
            CHECK(strstr(sides[0].why, "rank 0 of job ") != NULL);
            put_peer(0);
        }
        UNTIL(n_used(0) == 0);
        for (int k = 0; k < 3000; k++)
            poll_both();
        CHECK_EQ(sides[0].n_failed, i == 0);
        CHECK_EQ(sides[1].n_failed, i <= 1 && sides[1].n_left == 0);
        close_both();
    }
}

static void *end_one(void *arg)
{
    struct side *side = arg;

    CHECK_EQ(dm_adapt_close(side->adapt), DM_OK);
    side->adapt = NULL;
    return NULL;
}

/* A job ends in order while the other goes on. */
static void ends(void)
{
    struct dm_adapt *adapt;
    pthread_t thread;

    open_both();
    get_peer(0);
    get_peer(1);
    talk(500);
    adapt = sides[0].adapt;
    CHECK_EQ(pthread_create(&thread, NULL, end_one, &sides[1]), 0);
    for (uint64_t until = dm_clock_ns() + WAIT; sides[0].n_left == 0 && dm_clock_ns() < until;)
        dm_adapt_poll(adapt);
    pthread_join(thread, NULL);
    CHECK_EQ(sides[0].n_left, 1);
    CHECK_EQ(sides[0].n_failed, 0);
    put_peer(0);
    UNTIL(n_used(0) == 0);
    close_both();
}

/* Addresses in bytes, whole and too long; nonsense. */
static void packed(void)
{
    unsigned char bytes[DM_PROC_PACK_MAX];
    char text[DM_PROC_ADDR_MAX];
    struct dm_proc_info info;
    size_t n;
    int proc;

    open_both();
    n = dm_adapt_addr_pack(sides[0].info.addr, bytes, sizeof(bytes));
    CHECK(n > 0 && n < 150);
    CHECK_EQ(dm_adapt_addr_unpack(bytes, n, text), DM_OK);
    CHECK_STR(text, sides[0].info.addr);
    for (size_t k = 0; k < n; k++) {
        size_t fits = dm_adapt_addr_pack(sides[0].info.addr, bytes, k);

        CHECK(fits <= k);
        if (fits > 0)
            CHECK_EQ(dm_adapt_addr_unpack(bytes, fits, text), DM_OK);
    }
    n = dm_adapt_addr_pack(sides[0].info.addr, bytes, sizeof(bytes));
    for (size_t k = 0; k < n; k++) {
        CHECK(dm_adapt_addr_unpack(bytes, k, text) != DM_OK || k > n / 2);
        bytes[k] ^= 0x55;
        if (dm_adapt_addr_unpack(bytes, n, text) == DM_OK) { /* another address, perhaps */
            info = sides[0].info;
            memcpy(info.addr, text, sizeof(info.addr));
            if (dm_adapt_proc_get(sides[1].adapt, &info, &proc) == DM_OK)
                dm_adapt_proc_put(sides[1].adapt, proc);
            UNTIL(n_used(1) == 0);
        }
        bytes[k] ^= 0x55;
    }
    CHECK_EQ(dm_adapt_addr_pack("nonsense", bytes, sizeof(bytes)), 0);
    info = sides[0].info;
    snprintf(info.addr, sizeof(info.addr), "nonsense");
    CHECK_EQ(dm_adapt_proc_get(sides[1].adapt, &info, &proc), DM_ECONN);
    memset(info.addr, 'x', sizeof(info.addr));
    CHECK_EQ(dm_adapt_proc_get(sides[1].adapt, &info, &proc), DM_ECONN);
    CHECK_EQ(n_used(1), 0);
    close_both();
}

static void run(const char *settings, void (*fn)(void))
{
    pid_t pid;
    int status = 0;
    char *copy = strdup(settings);
    char *save = NULL;

    fflush(stdout);
    pid = fork(); /* settings are read once */
    if (pid == 0) {
        test_n_failed = 0;
        for (char *s = strtok_r(copy, " ", &save); s != NULL; s = strtok_r(NULL, " ", &save))
            putenv(s);
        if (dm_cfg_load(true) != DM_OK)
            exit(1);
        fn();
        fflush(stdout);
        exit(test_result());
    }
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("%s: status 0x%x\n", settings, status);
    CHECK_EQ(status, 0);
    free(copy);
}

static const struct {
    const char *name;
    void (*fn)(void);
} tests[] = {
    {"ports", ports},
    {"refused", refused},
    {"untaken", untaken},
    {"told", told},
    {"one_sided", one_sided},
    {"put_pending", put_pending},
    {"again_at_once", again_at_once},
    {"rdma_to_end", rdma_to_end},
    {"many_times", many_times},
    {"breaks", breaks},
    {"dies", dies},
    {"ends", ends},
    {"packed", packed},
};

int main(int argc, char **argv)
{
    char settings[200];

    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_PROVIDER=fake-a,fake-b");
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
            continue;
        for (int way = 0; way < 2; way++) {
            snprintf(settings, sizeof(settings), "DATUM_EAGER=%s DATUM_RING_SLOTS=16%s",
                     way == 0 ? "rdma" : "sendrecv",
                     tests[i].fn == dies ? " DATUM_RECONNECT=0" : "");
            printf("%s: %s\n", tests[i].name, settings);
            run(settings, tests[i].fn);
        }
    }
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
