/* test: layers=util,dapl_adapt,tools_datum-check timeout=60 */
/*
 * The probes over a provider that does what it is told: the same answers as the provider's
 * nature, and for the shared ones, the same as the library finds at open.
 */
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"

#include "tools/check/probe.h"
#include "fake_dat.h"
#include "test.h"
#include "util/cfg.h"
#include "util/err.h"

#include <sys/socket.h>

static char dir[] = "/tmp/dm-probe-XXXXXX";
static char conf_path[64];

/* ---- a run: two threads of one process, which the fake provider allows ---- */

struct run {
    struct dm_probe_result results[32];
    int n_results;
    int err[2];
    char why[2][200];
};

struct half {
    const struct dm_probe *probe;
    struct dm_probe_env env;
    struct run *run;
};

static void keep(void *arg, const struct dm_probe_result *result)
{
    struct run *run = arg;

    CHECK(run->n_results < 32);
    run->results[run->n_results++] = *result;
}

static void *run_half(void *arg)
{
    struct half *half = arg;
    int me = half->env.is_passive;

    half->run->err[me] = dm_probe_run(half->probe, &half->env);
    if (half->run->err[me] != DM_OK)
        snprintf(half->run->why[me], sizeof(half->run->why[me]), "%s", dm_err_detail());
    return NULL;
}

static struct run run_probe(const char *name)
{
    const struct dm_probe *probe = dm_probe_named(name);
    struct half halves[2];
    pthread_t threads[2];
    struct run run;
    int side[2] = {-1, -1};

    memset(&run, 0, sizeof(run));
    CHECK(probe != NULL);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, side), 0);
    for (int i = 0; i < 2; i++) {
        halves[i].probe = probe;
        halves[i].run = &run;
        halves[i].env = (struct dm_probe_env){.provider = "fake-a",
                                              .side = probe->is_pair ? side[i] : -1,
                                              .is_passive = i == 1,
                                              .max_len = 32768,
                                              .report = keep,
                                              .arg = &run};
        if (i == 0 || probe->is_pair)
            pthread_create(&threads[i], NULL, run_half, &halves[i]);
    }
    for (int i = 0; i < (probe->is_pair ? 2 : 1); i++) {
        pthread_join(threads[i], NULL);
        if (run.err[i] != DM_OK)
            printf("%s: %s\n", name, run.why[i]);
    }
    close(side[0]);
    close(side[1]);
    return run;
}

static const struct dm_probe_result *find(const struct run *run, const char *key)
{
    static const struct dm_probe_result none = {.key = "none", .verdict = DM_PROBE_UNTESTED};

    for (int i = 0; i < run->n_results; i++)
        if (strcmp(run->results[i].key, key) == 0)
            return &run->results[i];
    printf("no answer to %s\n", key);
    return &none;
}

/* ---- checks ---- */

static void order(void)
{
    struct run run;

    run = run_probe("order");
    CHECK_EQ(run.err[0], DM_OK);
    CHECK_EQ(run.err[1], DM_OK);
    CHECK_EQ(find(&run, "last_byte_last")->verdict, DM_PROBE_YES);
    CHECK_EQ(find(&run, "last_byte_last_shared")->verdict, DM_PROBE_YES);
}

/* A provider that breaks the order now and then must not pass. */
static void broken_order(void)
{
    struct run run;

    FAKE_CALL(fake.breaks_order = 1);
    run = run_probe("order");
    CHECK_EQ(find(&run, "last_byte_last")->verdict, DM_PROBE_NO);
    FAKE_CALL(fake.breaks_order = 50);
    run = run_probe("order");
    CHECK_EQ(find(&run, "last_byte_last")->verdict, DM_PROBE_NO);
    CHECK(strstr(find(&run, "last_byte_last")->text, "unfinished") != NULL);
    FAKE_CALL(fake.breaks_order = 0);
    CHECK_EQ(fake.n_crossed, 0);
}

static void transfers(void)
{
    struct run run = run_probe("segments");

    CHECK_EQ((long long)find(&run, "segments_send")->value, 4);
    CHECK_EQ((long long)find(&run, "segments_write")->value, 4);
    CHECK_EQ((long long)find(&run, "segments_read")->value, 1);
    run = run_probe("sizes");
    CHECK_EQ((long long)find(&run, "max_write")->value, 32768);
    CHECK_EQ((long long)find(&run, "max_read")->value, 32768);
    CHECK_EQ(find(&run, "zero_write")->verdict, DM_PROBE_YES);
    run = run_probe("reads");
    CHECK_EQ((long long)find(&run, "read_depth")->value, 128);
    run = run_probe("suppress");
    CHECK_EQ(find(&run, "suppress")->verdict, DM_PROBE_YES);
    CHECK_EQ(find(&run, "suppress_frees")->verdict, DM_PROBE_YES);
}

/* What the library finds at open is what the probe says. */
static void shared_ones(void)
{
    struct run run;
    struct dm_conf_entry entry = {.name = "fake-a", .lib = "in-process", .params = ""};
    struct dm_ia *ia;

    for (int refuses = 0; refuses < 2; refuses++) {
        FAKE_CALL(fake.refuses_shared = refuses);
        run = run_probe("memory");
        CHECK_EQ(find(&run, "shared_virtual")->verdict, refuses ? DM_PROBE_NO : DM_PROBE_YES);
        run = run_probe("order");
        CHECK_EQ(find(&run, "last_byte_last_shared")->verdict,
                 refuses ? DM_PROBE_UNTESTED : DM_PROBE_YES);
        CHECK_EQ(dm_ia_open(&entry, 1, 64, &ia), DM_OK);
        CHECK_EQ(ia->caps.can_share, !refuses);
        CHECK_EQ(ia->limits.max_iov, 4);
        dm_ia_close(ia);
    }
    FAKE_CALL(fake.refuses_shared = false);
    /* attributes promise four segments, endpoints have two */
    FAKE_CALL(fake.max_iov = 2);
    CHECK_EQ(dm_ia_open(&entry, 1, 64, &ia), DM_OK);
    CHECK_EQ(ia->limits.max_iov, 2);
    dm_ia_close(ia);
    /* no endpoint at all is an error at open */
    FAKE_CALL(fake.max_iov = -1);
    CHECK_EQ(dm_ia_open(&entry, 1, 64, &ia), DM_EPROVIDER);
    CHECK(strstr(dm_err_detail(), "dat_ep_create") != NULL);
    FAKE_CALL(fake.max_iov = 0);
}

/* When one half fails the other hears of it, at once. */
static void failing(void)
{
    struct run run;

    FAKE_CALL(fake.n_lost = 1);
    run = run_probe("order");
    CHECK(run.err[0] != DM_OK);
    CHECK(run.err[1] != DM_OK);
    CHECK_STR(run.why[0], "connecting ended with TIMED_OUT");
    CHECK_STR(run.why[1], "in the other process: connecting ended with TIMED_OUT");
    FAKE_CALL(fake.n_lost = 0);
    FAKE_CALL(fake.fails_open = true);
    run = run_probe("regcost");
    CHECK_EQ(run.err[0], DM_EPROVIDER);
    CHECK_EQ(run.n_results, 0);
    FAKE_CALL(fake.fails_open = false);
}

static void names(void)
{
    struct dm_probe_provider provider;
    const struct dm_probe *probe;

    CHECK_EQ(dm_probe_provider("fake-b", &provider), DM_OK);
    CHECK_STR(provider.library, "in-process");
    CHECK_EQ(dm_probe_provider("fake-c", &provider), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "fake-a, fake-b") != NULL);
    CHECK(dm_probe_named("nothing") == NULL);
    for (size_t i = 0; (probe = dm_probe_at(i)) != NULL; i++) {
        CHECK(dm_probe_named(probe->name) == probe);
        CHECK(probe->items[0].key != NULL);
        CHECK(probe->limit_s > 0);
        for (int k = 0; probe->items[k].key != NULL; k++) {
            CHECK(k < DM_PROBE_ITEMS_MAX);
            CHECK(strlen(probe->items[k].key) < DM_PROBE_KEY_LEN);
            CHECK(probe->items[k].title != NULL);
        }
    }
}

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
    fake_register(conf_path);
    if (dm_cfg_load(true) != DM_OK)
        return 1;
    names();
    order();
    broken_order();
    transfers();
    shared_ones();
    failing();
    CHECK_EQ(fake.n_lmrs, 0);
    unlink(conf_path);
    rmdir(dir);
    return test_result();
}
