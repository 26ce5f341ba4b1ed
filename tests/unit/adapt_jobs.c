/* test: layers=util,dapl_adapt timeout=300 */
/*
 * Two jobs of two processes each, over the providers that are there: all connect to all of the
 * other job, again and again, by what others tell and by ports; nothing is left. Then one dies.
 */

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "../self.h"
#include "adapt_job.h"

#define JOBS  2
#define SIZE  2
#define ALL   (JOBS * SIZE)
#define BYTES 20000
#define WAIT  UINT64_C(60000000000)

/* Between all processes. */
static struct share {
    struct dm_proc_info infos[ALL];
    _Atomic int n_arrived; /* at barriers, ever */
    _Atomic uint64_t token;
    _Atomic int n_lost; /* of the one that dies, by its job */
} * share;

static struct me {
    struct job_proc *proc;
    struct dm_adapt *adapt;
    int at; /* place among all */
    int number[ALL];
    uint64_t sent[ALL];
    uint64_t got[ALL];
    int n_barriers;
    int n_failed;
    int n_freed;
    int n_left;
} me;

static int place_of(int number)
{
    for (int i = 0; i < ALL; i++)
        if (me.number[i] == number)
            return i;
    return -1;
}

static unsigned char pattern(int from, int to, uint64_t k)
{
    return (unsigned char)(k * 7 + (k >> 8) * 31 + (uint64_t)(from * 13 + to * 5));
}

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    int from = place_of(p);
    const void *data;
    size_t len;

    (void)arg;
    while ((len = dm_adapt_eager_peek(conn, &data)) > 0) {
        if (from < 0) { /* a guest: its first byte says who it is */
            from = ((const unsigned char *)data)[0];
            dm_adapt_eager_consume(conn, 1);
            CHECK_EQ(dm_adapt_proc_get(me.adapt, &share->infos[from], &me.number[from]), DM_OK);
            CHECK_EQ(me.number[from], p);
            continue;
        }
        for (size_t i = 0; i < len; i++) {
            if (((const unsigned char *)data)[i] != pattern(from, me.at, me.got[from] + i)) {
                CHECK(!"byte of the stream");
                break;
            }
        }
        me.got[from] += len;
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
    (void)arg;
    (void)conn;
    (void)err;
    if (p < SIZE && place_of(p) != ALL - 1)
        return; /* at the end the own job's processes leave one by one */
    me.n_failed++;
    if (p < SIZE)
        share->n_lost++;
}

static void on_gone(void *arg, int p, bool is_free)
{
    (void)arg;
    (void)p;
    me.n_freed += is_free;
    me.n_left += !is_free;
}

/* Each job has keys of its own in the one space. */
static void job_key(const char *key, char *own)
{
    snprintf(own, DM_KV_VAL_MAX, "%d-%s", me.at / SIZE, key);
}

static int own_put(void *arg, const char *key, const char *val)
{
    char own[DM_KV_VAL_MAX];

    job_key(key, own);
    return job_put(arg, own, val);
}

static int own_get(void *arg, const char *key, char *buf, size_t len)
{
    char own[DM_KV_VAL_MAX];

    job_key(key, own);
    return job_get(arg, own, buf, len);
}

static void progress(void)
{
    if (dm_adapt_poll(me.adapt) == 0)
        dm_adapt_wait(me.adapt, 500);
}

#define UNTIL(cond)                                                                                \
    do {                                                                                           \
        uint64_t until_ = dm_clock_ns() + WAIT;                                                    \
        while (!(cond) && dm_clock_ns() < until_)                                                  \
            progress();                                                                            \
        CHECK(cond);                                                                               \
    } while (0)

/* With progress meanwhile. */
static void barrier(void)
{
    share->n_arrived++;
    me.n_barriers++;
    UNTIL(share->n_arrived >= me.n_barriers * ALL);
}

static void open_layer(struct job_proc *proc)
{
    static const int nodes[SIZE];
    struct dm_adapt_events ev = {
        .input = on_input, .writable = on_writable, .failed = on_failed, .gone = on_gone};
    struct dm_adapt_job job;
    int err;

    memset(&me, 0, sizeof(me));
    me.proc = proc;
    me.at = proc->rank;
    for (int i = 0; i < ALL; i++)
        me.number[i] = -1;
    job_describe(proc, nodes, &job);
    job.rank = me.at % SIZE;
    job.size = job.n_local = SIZE;
    job.name = me.at / SIZE == 0 ? "jobs-first" : "jobs-second";
    job.kv.put = own_put;
    job.kv.get = own_get;
    for (int i = me.at / SIZE * SIZE, r = 0; r < SIZE; r++)
        me.number[i + r] = r;
    err = dm_adapt_open(&job, &ev, &me.adapt);
    if (err != DM_OK) {
        printf("process %d: %s\n", me.at, dm_err_detail());
        exit(1);
    }
    CHECK_EQ(dm_adapt_serve(me.adapt), DM_OK);
    CHECK_EQ(dm_adapt_proc_info(me.adapt, job.rank, &share->infos[me.at]), DM_OK);
    barrier();
    for (int i = me.at / SIZE * SIZE, r = 0; r < SIZE; r++) { /* what others would say of them */
        struct dm_proc_info info;

        CHECK_EQ(dm_adapt_proc_info(me.adapt, r, &info), DM_OK);
        CHECK_STR(info.addr, share->infos[i + r].addr);
        CHECK_EQ(dm_proc_id_compare(info.id, share->infos[i + r].id), 0);
    }
}

static bool is_other(int i)
{
    return i / SIZE != me.at / SIZE;
}

static void get_all(void)
{
    for (int i = 0; i < ALL; i++)
        if (is_other(i))
            CHECK_EQ(dm_adapt_proc_get(me.adapt, &share->infos[i], &me.number[i]), DM_OK);
}

static void put_all(void)
{
    for (int i = 0; i < ALL; i++) {
        if (!is_other(i))
            continue;
        dm_adapt_proc_put(me.adapt, me.number[i]);
    }
    UNTIL(me.adapt->procs.n_used == 0);
    for (int i = 0; i < ALL; i++) {
        if (is_other(i))
            me.number[i] = -1;
        me.sent[i] = me.got[i] = 0;
    }
}

/* One more piece to that process. True: all is sent. */
static bool send_some(int to, uint64_t total)
{
    unsigned char buf[3000];
    struct iovec iov = {buf, 0};
    size_t taken = 0;

    while (iov.iov_len < sizeof(buf) && me.sent[to] + iov.iov_len < total) {
        buf[iov.iov_len] = pattern(me.at, to, me.sent[to] + iov.iov_len);
        iov.iov_len++;
    }
    if (iov.iov_len > 0)
        (void)dm_adapt_eager_put(dm_adapt_conn(me.adapt, me.number[to]), &iov, 1, &taken);
    me.sent[to] += taken;
    return me.sent[to] == total;
}

/* All to all, the own job's too. */
static void talk_all(void)
{
    uint64_t goal = me.sent[(me.at + 1) % ALL] + BYTES;
    uint64_t until = dm_clock_ns() + WAIT;
    bool is_done = false;

    while (!is_done && dm_clock_ns() < until && me.n_failed == 0) {
        is_done = true;
        for (int i = 0; i < ALL; i++)
            if (i != me.at)
                is_done = send_some(i, goal) && me.got[i] >= goal && is_done;
        progress();
    }
    CHECK(is_done);
}

static int n_done;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    CHECK_EQ(err, DM_OK);
    n_done++;
}

/* RDMA reads of what the neighbour in the other job has told of in the shared memory. */
static void read_other(void)
{
    static struct {
        struct dm_rkey rkey;
        uint64_t addr;
    } * keys;
    static unsigned char mem[100000];
    static unsigned char dst[100000];
    struct dm_rdma rdma = {.done = on_done};
    struct dm_mr *mr;
    int other = (me.at + SIZE) % ALL;

    keys = (void *)(share + 1);
    for (size_t k = 0; k < sizeof(mem); k++)
        mem[k] = pattern(me.at, me.at, k);
    CHECK_EQ(dm_adapt_reg(me.adapt, mem, sizeof(mem), &mr), DM_OK);
    dm_adapt_rkey(mr, &keys[me.at].rkey);
    keys[me.at].addr = (uint64_t)(uintptr_t)mem;
    barrier();
    n_done = 0;
    CHECK_EQ(dm_adapt_rdma_read(dm_adapt_conn(me.adapt, me.number[other]), &rdma, dst, NULL,
                                keys[other].addr, &keys[other].rkey, sizeof(dst)),
             DM_OK);
    UNTIL(n_done == 1);
    for (size_t k = 0; k < sizeof(dst); k++) {
        if (dst[k] != pattern(other, other, k)) {
            CHECK(!"byte that was read");
            break;
        }
    }
    barrier();
    dm_adapt_unreg(me.adapt, mr);
}

static void close_layer(void)
{
    dm_adapt_quiesce(me.adapt);
    barrier();
    CHECK_EQ(dm_adapt_close(me.adapt), DM_OK);
}

static void again_main(struct job_proc *proc)
{
    int n_files = 0;

    open_layer(proc);
    for (int i = 0; i < 30; i++) {
        get_all();
        talk_all();
        if (i % 10 == 0)
            read_other();
        if (i % 3 == 0)
            barrier();
        talk_all();
        barrier(); /* a process may part as soon as its own part is done, but here all go on */
        put_all();
        barrier();
        if (i == 5)
            n_files = self_count_files();
        if (test_n_failed > 0)
            break;
    }
    CHECK(self_count_files() <= n_files + 1);
    CHECK_EQ(me.n_failed, 0);
    CHECK(me.adapt->procs.n <= 2 * SIZE);
    close_layer();
}

/* The second job comes to a port of the first one's first process. */
static void port_main(struct job_proc *proc)
{
    uint64_t token = 0;
    unsigned char who;
    struct iovec iov = {&who, 1};
    size_t taken = 0;

    open_layer(proc);
    for (int i = 0; i < 10; i++) {
        if (me.at == 0) {
            CHECK_EQ(dm_adapt_port_open(me.adapt, &token), DM_OK);
            share->token = token;
        }
        barrier();
        if (is_other(0)) {
            CHECK_EQ(dm_adapt_proc_get(me.adapt, &share->infos[0], &me.number[0]), DM_OK);
            dm_adapt_proc_set_token(me.adapt, me.number[0], share->token);
            who = (unsigned char)me.at;
            taken = 0;
            UNTIL(taken == 1 ||
                  dm_adapt_eager_put(dm_adapt_conn(me.adapt, me.number[0]), &iov, 1, &taken) !=
                      DM_OK ||
                  taken == 1);
            UNTIL(send_some(0, BYTES));
            UNTIL(me.got[0] == BYTES);
        } else if (me.at == 0) {
            UNTIL(me.number[2] >= 0 && me.number[3] >= 0);
            UNTIL(send_some(2, BYTES) + send_some(3, BYTES) == 2);
            UNTIL(me.got[2] == BYTES && me.got[3] == BYTES);
        }
        if (me.at == 0)
            put_all();
        else if (is_other(0))
            dm_adapt_proc_put(me.adapt, me.number[0]);
        UNTIL(me.adapt->procs.n_used == 0);
        memset(me.sent, 0, sizeof(me.sent));
        memset(me.got, 0, sizeof(me.got));
        if (me.at == 0)
            dm_adapt_port_close(me.adapt, token);
        barrier();
        CHECK_EQ(me.n_failed, 0);
    }
    close_layer();
}

/* The last one dies, while the other job has it connected. */
static void death_main(struct job_proc *proc)
{
    open_layer(proc);
    get_all();
    talk_all();
    barrier();
    if (me.at == ALL - 1)
        raise(SIGKILL);
    UNTIL(me.n_failed == 1);
    if (is_other(ALL - 1)) {
        put_all();
        CHECK_EQ(me.n_failed, 1);
    }
    dm_adapt_quiesce(me.adapt);
    CHECK_EQ(dm_adapt_close(me.adapt), DM_OK);
}

/* It dies afterwards: nothing of that is seen. */
static void late_death_main(struct job_proc *proc)
{
    open_layer(proc);
    get_all();
    talk_all();
    put_all();
    barrier();
    if (me.at == ALL - 1)
        raise(SIGKILL);
    UNTIL(share->n_lost == 1);
    for (int i = 0; i < 2000; i++)
        dm_adapt_poll(me.adapt);
    CHECK_EQ(me.n_failed, is_other(ALL - 1) ? 0 : 1);
    dm_adapt_quiesce(me.adapt);
    CHECK_EQ(dm_adapt_close(me.adapt), DM_OK);
}

static const struct {
    const char *name;
    void (*fn)(struct job_proc *proc);
} tests[] = {
    {"again", again_main},
    {"port", port_main},
    {"death", death_main},
    {"late death", late_death_main},
};

static const char *const ways[] = {
    "DATUM_PROVIDER=datum-shm DATUM_EAGER=rdma",
    "DATUM_PROVIDER=datum-shm DATUM_EAGER=sendrecv DATUM_CONNECT=demand",
    "DATUM_PROVIDER=datum-tcp DATUM_RECONNECT=1s",
    "DATUM_PROVIDER=datum-shm,datum-tcp DATUM_CONNECT=demand DATUM_RECONNECT=1s",
};

int main(int argc, char **argv)
{
    size_t len = sizeof(*share) + ALL * (sizeof(struct dm_rkey) + sizeof(uint64_t));
    int n_failed = 0;

    share = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (share == MAP_FAILED)
        return 1;
    for (size_t t = 0; t < sizeof(tests) / sizeof(*tests); t++) {
        if (argc > 1 && strcmp(argv[1], tests[t].name) != 0)
            continue;
        for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
            memset(share, 0, len);
            n_failed += job_run(tests[t].name, ALL, ways[w], tests[t].fn);
        }
    }
    munmap(share, len);
    return n_failed > 0;
}
