/* test: layers=util,dapl_adapt timeout=180 stderr=allowed */
/*
 * Which providers become rails: by what they reach and say about themselves, never by their
 * name; a reason for each that does not, on either side.
 */
#include <sched.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/ops.h"

#include "adapt_job.h"
#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/provider/probe_loop.h"
#include "fake_dat.h"

#define N       2
#define LONG_NS UINT64_C(20000000000)

static struct job_space space;
static struct job_proc procs[N];
static struct dm_adapt *adapts[N];
static char dir[] = "/tmp/dm-rails-XXXXXX";
static char conf_path[64];
static int n_failed, n_joined;

static void on_input(void *arg, int p, struct dm_conn *conn)
{
    const void *data;
    size_t len;

    (void)arg;
    (void)p;
    while ((len = dm_adapt_eager_peek(conn, &data)) > 0)
        dm_adapt_eager_consume(conn, len);
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
    (void)p;
    (void)conn;
    CHECK_EQ(err, DM_ECONN);
    n_failed++;
}

static void on_joined(void *arg)
{
    (void)arg;
    n_joined++;
}

static int no_fence(void *arg)
{
    (void)arg;
    return DM_OK;
}

/* One process of a job on two hosts, or on one. */
static int open_side(int r, bool is_remote)
{
    static const int far[N] = {0, 1};
    static const int near[N] = {0, 0};
    struct dm_adapt_events ev = {NULL, on_input, on_writable, on_failed, NULL, NULL, on_joined};
    struct dm_adapt_job job;

    procs[r] = (struct job_proc){.space = &space, .rank = r, .size = N};
    job_describe(&procs[r], is_remote ? far : near, &job);
    job.kv.fence = no_fence;
    job.n_local = is_remote ? 1 : 2;
    return dm_adapt_open(&job, &ev, &adapts[r]);
}

static void open_far(void)
{
    memset(&space, 0, sizeof(space));
    for (int r = 0; r < N; r++) {
        CHECK_EQ(open_side(r, true), DM_OK);
        if (adapts[r] == NULL)
            exit(1);
    }
}

/* The endpoint address of a rank as if it came from another machine. */
static void move_away(int r)
{
    char *host = strchr(strchr(space.kvs[r][0][1], ';') + 1, ';') + 1;

    *host = *host == 'f' ? 'e' : 'f';
}

static void close_both(void)
{
    for (int r = 0; r < N; r++) {
        if (adapts[r] != NULL)
            dm_adapt_quiesce(adapts[r]);
    }
    job_close_both(adapts[0], adapts[1]);
    adapts[0] = adapts[1] = NULL;
    CHECK_EQ(fake.n_lmrs, 0);
}

static void says(const char *word)
{
    CHECK(strstr(dm_err_detail(), word) != NULL);
    if (strstr(dm_err_detail(), word) == NULL)
        printf("    \"%s\" is not in: %s\n", word, dm_err_detail());
}

/* Fake-a reaches its host only; fake-b both. */
static void reach(void)
{
    struct dm_conn *conn;

    fake.reach = "host";
    open_far();
    CHECK_EQ(adapts[0]->rails.n_ias, 2);
    CHECK(adapts[0]->rails.ias[0]->caps.is_local);
    CHECK(!adapts[0]->rails.ias[1]->caps.is_local);
    conn = dm_adapt_conn(adapts[0], 1);
    move_away(1);
    CHECK_EQ(dm_addr_fetch(conn), DM_OK);
    CHECK_EQ(conn->rails.n, 1);
    CHECK_STR(adapts[0]->rails.ias[conn->rails.pair[0][0]]->name, "fake-b");
    close_both();
    /* two "nodes" of the launcher on one kernel and network are one host */
    open_far();
    conn = dm_adapt_conn(adapts[0], 1);
    CHECK_EQ(dm_addr_fetch(conn), DM_OK);
    CHECK_EQ(conn->rails.n, 2);
    CHECK_STR(adapts[0]->rails.ias[conn->rails.pair[0][0]]->name, "fake-a");
    close_both();
    fake.reach = NULL;
}

/* Fake-b opens after a while: each process uses it when both have it, and the other has said so. */
static void joins_later(void)
{
    struct dm_conn *conn;
    char text[DM_RAIL_TEXT_MAX];

    fake.absent = "fake-b";
    open_far();
    conn = dm_adapt_conn(adapts[0], 1);
    CHECK_EQ(dm_addr_fetch(conn), DM_OK);
    CHECK_EQ(conn->rails.n, 1);
    for (int r = 0; r < N; r++) {
        CHECK(adapts[r]->rails.late_at != 0);
        adapts[r]->rails.late_at = 1; /* as if the time had passed */
        CHECK_EQ(adapts[r]->ops->open_late(adapts[r]), 0);
        CHECK_EQ(adapts[r]->rails.n_ias, 1);
    }
    CHECK(!dm_adapt_joined(adapts[1], 0, text, sizeof(text)));
    fake.absent = NULL;
    for (int r = 0; r < N; r++) {
        CHECK_EQ(adapts[r]->ops->open_late(adapts[r]), 0); /* not before it is time */
        adapts[r]->rails.late_at = 1;
        CHECK_EQ(adapts[r]->ops->open_late(adapts[r]),
                 0); /* nor while the interfaces are the same */
        adapts[r]->rails.late_at = 1;
        adapts[r]->rails.nets = 0;
        CHECK_EQ(adapts[r]->ops->open_late(adapts[r]), 1);
        CHECK_EQ(adapts[r]->rails.n_ias, 2);
        CHECK(adapts[r]->rails.late_at == 0); /* there are no others */
    }
    CHECK_EQ(n_joined, N);
    CHECK_EQ(conn->rails.n_all, 1);
    CHECK(dm_adapt_joined(adapts[1], 0, text, sizeof(text)));
    CHECK_EQ(dm_adapt_rail_reported(adapts[0], 1, text), DM_OK);
    CHECK_EQ(dm_adapt_rail_reported(adapts[0], 1, text), DM_OK);
    CHECK_EQ(conn->rails.n_all, 2);
    CHECK_EQ(conn->rails.n, 1); /* the pipe stays */
    CHECK_STR(adapts[0]->rails.ias[conn->rails.pair[1][0]]->name, "fake-b");
    CHECK_EQ(dm_adapt_rail_reported(adapts[0], 1, "fake-c,0g,1"), DM_ECONN);
    CHECK(!dm_adapt_joined(adapts[1], 1, text, sizeof(text)));
    close_both();
}

/* Inside a host what stays inside is first, whatever the order of the file. */
static void near_first(void)
{
    struct dm_conn *conn;
    FILE *file = fopen(conf_path, "w");

    fprintf(file, "fake-b u2.0 nonthreadsafe default in-process x.1.0 \"\" \"\"\n"
                  "fake-a u2.0 nonthreadsafe default in-process x.1.0 \"\" \"\"\n");
    fclose(file);
    fake.reach = "host";
    open_far();
    CHECK_STR(adapts[0]->rails.ias[0]->name, "fake-b");
    conn = dm_adapt_conn(adapts[0], 1);
    CHECK_EQ(dm_addr_fetch(conn), DM_OK);
    CHECK_EQ(conn->rails.n, 2);
    CHECK_STR(adapts[0]->rails.ias[conn->rails.pair[0][0]]->name, "fake-a");
    close_both();
}

/* Nothing in common: told at the first use, with a reason for each, and not by standing still. */
static void nothing_common(void)
{
    char byte = 0;
    struct iovec iov = {&byte, 1};
    size_t taken;

    fake.reach = "host";
    open_far();
    fake.is_v6 = true; /* from here on: rank 1 is opened anew with another address */
    dm_adapt_close(adapts[1]);
    memset(space.kvs[1], 0, sizeof(space.kvs[1]));
    CHECK_EQ(open_side(1, true), DM_OK);
    move_away(1);
    CHECK_EQ(dm_adapt_eager_put(dm_adapt_conn(adapts[0], 1), &iov, 1, &taken), DM_EPEER);
    says("rank 1 on host here");
    says("fake-a: reaches only its own host");
    says("fake-b: has an IPv4 address here, an IPv6 address there");
    says("datum-info");
    for (int i = 0; i < 10; i++)
        dm_adapt_poll(adapts[0]);
    CHECK_EQ(n_failed, 1);
    fake.is_v6 = false;
    close_both();
}

/* One side opened what the other could not; both lists are told. */
static void refused_there(void)
{
    struct dm_conn *conn;

    open_far();
    dm_adapt_close(adapts[1]);
    adapts[1] = NULL;
    snprintf(space.kvs[1][0][1], DM_KV_VAL_MAX,
             "6;%s;1;%u,%u,0,1,0,0,0;3;!eth-x:+the+cable+is+out;other,0200,5,0;", DM_VERSION,
             adapts[0]->rings.n_slots, adapts[0]->rings.slot_size);
    dm_rails_add_refused(&adapts[0]->rails, "third", "no such device");
    conn = dm_adapt_conn(adapts[0], 1);
    CHECK_EQ(dm_addr_fetch(conn), DM_ECONN);
    says("fake-a: not open there");
    says("other: open there, not here");
    says("third: no such device");
    says("eth-x: the cable is out");
    close_both();
}

static void settings_differ(const char *text, const char *word, const char *word2)
{
    struct dm_conn *conn;

    open_far();
    dm_adapt_close(adapts[1]);
    adapts[1] = NULL;
    snprintf(space.kvs[1][0][1], DM_KV_VAL_MAX, "%s", text);
    conn = dm_adapt_conn(adapts[0], 1);
    CHECK_EQ(dm_adapt_connect(conn), DM_ECONN);
    says(word);
    says(word2);
    close_both();
}

static void differ(void)
{
    settings_differ("6;9.9;1;64,16384,0,0,0,0,0;3;fake-a,0200,5,0;", "runs Datum 9.9",
                    "rank 1 on host here");
    settings_differ("6;" DM_VERSION ";1;77,16384,0,0,0,0,0;3;fake-a,0200,5,0;", "77 slots",
                    "DATUM_RING_SLOTS");
    settings_differ("6;" DM_VERSION ";1;64,65536,7b,0,0,0,0;3;fake-a,0200,5,0;",
                    "different algorithms", "DATUM_COLL_FILE");
    settings_differ("6;" DM_VERSION ";1;64,65536,0,3,0,0,0;3;fake-a,0200,5,0;",
                    "different settings", "DATUM_EAGER");
    settings_differ("6;" DM_VERSION ";1;64,65536,0,1,3,0,0;3;fake-a,0200,5,0;",
                    "different settings", "DATUM_RNDV;");
    settings_differ("6;" DM_VERSION ";1;64,65536,0,1,0,1,0;3;fake-a,0200,5,0;",
                    "different settings", "DATUM_RNDV_INLINE");
    settings_differ("6;" DM_VERSION ";1;64,65536,0,1,0,0,1;3;fake-a,0200,5,0;",
                    "different settings", "DATUM_FIN");
    settings_differ("9;what;ever", "same version of Datum", "9;what;ever");
}

/* What a provider says about last bytes decides how small messages travel. */
static void last_bytes(void)
{
    fake.last_byte_last = "no";
    open_far();
    CHECK(adapts[0]->rails.ias[0]->caps.needs_sendrecv);
    CHECK_EQ(dm_adapt_connect(dm_adapt_conn(adapts[0], 1)), DM_OK);
    while (!job_is_ready(dm_adapt_conn(adapts[1], 0))) {
        dm_adapt_poll(adapts[0]);
        dm_adapt_poll(adapts[1]);
    }
    CHECK(dm_adapt_conn(adapts[1], 0)->is_sendrecv);
    CHECK(dm_adapt_conn(adapts[0], 1)->is_sendrecv);
    CHECK(fake.n_sends > 0);
    close_both();
    fake.last_byte_last = "yes";
    open_far();
    CHECK(!adapts[0]->rails.ias[0]->caps.needs_sendrecv);
    CHECK_EQ(adapts[0]->rails.ias[0]->caps.last_byte, DM_LAST_IS_LAST);
    close_both();
}

/* A provider that calls agents, but has no notification object for them: a thread is the server. */
static void agents(void)
{
    fake.agents = "thread";
    open_far();
    CHECK(adapts[0]->rails.ias[0]->caps.has_agents);
    CHECK(adapts[0]->rails.ias[0]->cm.cno == DAT_HANDLE_NULL);
    CHECK_EQ(dm_adapt_connect(dm_adapt_conn(adapts[0], 1)), DM_OK);
    while (!job_is_ready(dm_adapt_conn(adapts[1], 0))) {
        dm_adapt_poll(adapts[0]);
        dm_adapt_poll(adapts[1]);
    }
    close_both();
    fake.agents = NULL;
    open_far();
    CHECK(!adapts[0]->rails.ias[0]->caps.has_agents);
    close_both();
}

/* Whose triplets are until a request has completed. */
static void owners(void)
{
    open_far();
    CHECK(!adapts[0]->rails.ias[0]->caps.keeps_iov);
    close_both();
    for (int i = 0; i < 2; i++) {
        fake.iov = i == 0 ? DAT_IOV_PROVIDER_NOMOD : DAT_IOV_PROVIDER_MOD;
        open_far();
        CHECK(adapts[0]->rails.ias[0]->caps.keeps_iov);
        close_both();
    }
    fake.iov = DAT_IOV_CONSUMER;
}

/* A process that is bound to one core finds the same, and is bound to it still. */
static void probe_bound(struct dm_ia *ia)
{
    cpu_set_t own, one, after;

    CHECK(sched_getaffinity(0, sizeof(own), &own) == 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_IS_LAST);
    CHECK(sched_getaffinity(0, sizeof(after), &after) == 0);
    CHECK(CPU_EQUAL(&one, &after));
    CHECK(sched_setaffinity(0, sizeof(own), &own) == 0);
}

/* One that says nothing is tried. */
static void unsaid(void)
{
    struct dm_ia *ia;

    open_far();
    ia = adapts[0]->rails.ias[0];
    CHECK(ia->caps.last_byte != DM_LAST_IS_EARLY); /* or unknown, if there was no time */
    CHECK(!ia->caps.needs_sendrecv);
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_IS_LAST);
    probe_bound(ia);
    fake.is_middle_last = true;
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_IS_EARLY);
    fake.is_middle_last = false;
    fake.breaks_order = 3; /* only sometimes */
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_IS_EARLY);
    fake.breaks_order = 0;
    fake.n_unreachable = 1; /* it cannot be tried */
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_UNKNOWN);
    fake.n_not_listening = 1;
    CHECK_EQ(dm_probe_last_byte(ia, LONG_NS), DM_LAST_UNKNOWN);
    CHECK(fake.eps == NULL);
    close_both();
    CHECK(fake.psps == NULL);
}

/* Who asks for rings where they cannot work is told. */
static void rings_forced(void)
{
    fake.last_byte_last = "no";
    memset(&space, 0, sizeof(space));
    CHECK_EQ(open_side(0, true), DM_ECONFIG);
    says("DATUM_EAGER=rdma");
    says("fake-a");
}

/* The basic design is not for writes that may overtake each other. */
static void basic_refused(void)
{
    fake.last_byte_last = "yes";
    memset(&space, 0, sizeof(space));
    CHECK_EQ(open_side(0, true), DM_ECONFIG);
    says("DATUM_EAGER=basic");
    says("iWARP");
}

/* Two queues to sleep for, and nothing that both wake; one queue for two threads. */
static void queues_refused(void)
{
    memset(&space, 0, sizeof(space));
    CHECK_EQ(open_side(0, true), DM_EPROVIDER);
    says("DATUM_CQ=split");
    says("fake-a");
}

static void queues_contradict(void)
{
    memset(&space, 0, sizeof(space));
    CHECK_EQ(open_side(0, true), DM_ECONFIG);
    says("DATUM_CQ=shared");
    says("threads2");
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

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    putenv("DATUM_CONNECT=demand");
    putenv("DATUM_EAGER=rdma");
    run("DATUM_PROVIDER=fake-a,fake-b", reach);
    run("DATUM_PROVIDER=fake-a,fake-b", nothing_common);
    run("DATUM_PROVIDER=fake-a,fake-b", refused_there);
    run("DATUM_PROVIDER=fake-a,fake-b", differ);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_EAGER=auto", last_bytes);
    run("DATUM_PROVIDER=fake-a,fake-b", agents);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_EAGER=auto", owners);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_EAGER=auto", unsaid);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_EAGER=rdma", rings_forced);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_EAGER=basic", basic_refused);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_CQ=split", queues_refused);
    run("DATUM_PROVIDER=fake-a,fake-b DATUM_CQ=shared DATUM_PROGRESS=threads2", queues_contradict);
    run("DATUM_PROVIDER=", near_first);
    run("DATUM_PROVIDER= DATUM_RAIL_RETRY=1000s", joins_later);
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
