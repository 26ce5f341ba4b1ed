/* test: layers=util,pmi timeout=60 */
/*
 * The client against a fake Hydra: a thread at the other end of a socket pair that
 * answers as Hydra does, except for one request that a test may spoil.
 */
#include "pmi/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"

#define N_PAIRS 64

struct fake {
    int fd;        /* Hydra's end */
    int client_fd; /* the rank's end */
    pthread_t thread;
    const char *map;    /* PMI_process_mapping, NULL: there is none */
    const char *spoil;  /* the request to answer wrongly */
    const char *answer; /* how; NULL: close the connection instead */
    int val_max;
    int chunk; /* bytes per write, 0: the whole line */
    int n_puts;
    uint64_t n_requests;
    uint64_t n_bytes; /* in both directions */
    char last_abort[64];
    char keys[N_PAIRS][64];
    char vals[N_PAIRS][2048];
    int n_pairs;
};

static struct fake fake;

static void reply(const char *text)
{
    size_t len = strlen(text);
    size_t step = fake.chunk > 0 ? (size_t)fake.chunk : len;

    fake.n_bytes += len;
    for (size_t pos = 0; pos < len; pos += step) {
        size_t n = len - pos < step ? len - pos : step;

        if (send(fake.fd, text + pos, n, MSG_NOSIGNAL) != (ssize_t)n)
            return;
    }
}

static const char *word(const char *line, const char *name)
{
    static char val[2048];
    const char *at = strstr(line, name);
    size_t len;

    if (at == NULL)
        return "";
    at += strlen(name);
    len = strcspn(at, " \n");
    memcpy(val, at, len);
    val[len] = '\0';
    return val;
}

static void add_pair(const char *key, const char *val)
{
    for (int i = 0; i < fake.n_pairs; i++) {
        if (strcmp(fake.keys[i], key) == 0) {
            snprintf(fake.vals[i], sizeof(fake.vals[i]), "%s", val);
            return;
        }
    }
    snprintf(fake.keys[fake.n_pairs], sizeof(fake.keys[0]), "%s", key);
    snprintf(fake.vals[fake.n_pairs++], sizeof(fake.vals[0]), "%s", val);
}

static void serve_get(const char *line)
{
    char text[4096] = "cmd=get_result rc=-1 msg=key_not_found value=unknown\n";
    const char *key = word(line, " key=");

    for (int i = 0; i < fake.n_pairs; i++)
        if (strcmp(fake.keys[i], key) == 0)
            snprintf(text, sizeof(text), "cmd=get_result rc=0 msg=success value=%s\n",
                     fake.vals[i]);
    reply(text);
}

static void serve_put(const char *line)
{
    char key[64];

    snprintf(key, sizeof(key), "%s", word(line, " key="));
    add_pair(key, word(line, " value="));
    fake.n_puts++;
    reply("cmd=put_result rc=0 msg=success\n");
}

static void serve_maxes(void)
{
    char text[128];

    snprintf(text, sizeof(text), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=%d\n",
             fake.val_max);
    reply(text);
}

/* Answers one request; false when the connection shall end. */
static int serve(const char *line)
{
    const char *cmd = word(line, "cmd=");

    if (fake.spoil != NULL && strcmp(cmd, fake.spoil) == 0) {
        if (fake.answer != NULL)
            reply(fake.answer);
        return fake.answer != NULL;
    }
    if (strcmp(cmd, "init") == 0)
        reply("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (strcmp(cmd, "get_maxes") == 0)
        serve_maxes();
    else if (strcmp(cmd, "get_appnum") == 0)
        reply("cmd=appnum appnum=2\n");
    else if (strcmp(cmd, "get_universe_size") == 0)
        reply("cmd=universe_size size=-1\n");
    else if (strcmp(cmd, "get_my_kvsname") == 0)
        reply("cmd=my_kvsname kvsname=kvs_1_0\n");
    else if (strcmp(cmd, "put") == 0)
        serve_put(line);
    else if (strcmp(cmd, "get") == 0)
        serve_get(line);
    else if (strcmp(cmd, "barrier_in") == 0)
        reply("cmd=barrier_out\n");
    else if (strcmp(cmd, "finalize") == 0)
        reply("cmd=finalize_ack\n");
    else if (strcmp(cmd, "abort") == 0)
        snprintf(fake.last_abort, sizeof(fake.last_abort), "%.60s", line);
    else
        return 0;
    return strcmp(cmd, "abort") != 0;
}

static void *run(void *arg)
{
    char line[8192];
    size_t len = 0;

    (void)arg;
    for (;;) {
        ssize_t n = read(fake.fd, line + len, 1);

        if (n <= 0)
            break;
        if (line[len] != '\n') {
            len++;
            continue;
        }
        line[len] = '\0';
        fake.n_requests++;
        fake.n_bytes += len + 1;
        len = 0;
        if (!serve(line))
            break;
    }
    shutdown(fake.fd, SHUT_RDWR);
    return NULL;
}

static void set_env(const char *name, int val)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", val);
    setenv(name, text, 1);
}

/* A fake without its thread yet; fields that matter may be set before, in base. */
static void make_fake(const struct fake *base, int rank, int size)
{
    int fds[2];

    fake = *base;
    if (fake.val_max == 0)
        fake.val_max = 1024;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        abort();
    fake.fd = fds[0];
    fake.client_fd = fds[1];
    fcntl(fake.fd, F_SETFD, FD_CLOEXEC);
    set_env("PMI_FD", fds[1]);
    set_env("PMI_RANK", rank);
    set_env("PMI_SIZE", size);
    if (fake.map != NULL)
        add_pair("PMI_process_mapping", fake.map);
}

static void start_fake(const struct fake *base, int rank, int size)
{
    make_fake(base, rank, size);
    if (pthread_create(&fake.thread, NULL, run, NULL) != 0)
        abort();
}

static void stop_fake(void)
{
    shutdown(fake.fd, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    close(fake.fd);
    /* The client owns and closes its end. */
    CHECK_EQ(fcntl(fake.client_fd, F_GETFD), -1);
}

static void a_whole_job(void)
{
    struct fake base = {.map = "(vector,(0,2,2))", .chunk = 3};
    const struct dm_pmi_job *job;
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    struct dm_pmi_stats stats;
    char val[DM_KV_VAL_MAX];

    start_fake(&base, 3, 5);
    setenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "node7", 1);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    job = dm_pmi_job(pmi);
    CHECK_EQ(job->rank, 3);
    CHECK_EQ(job->size, 5);
    CHECK_EQ(job->appnum, 2);
    CHECK_EQ(job->universe_size, -1);
    CHECK_STR(job->name, "kvs_1_0");
    CHECK_EQ(job->n_local, 2);
    CHECK_EQ(job->local_rank, 1);
    CHECK_EQ(job->node_of[0], 0);
    CHECK_EQ(job->node_of[3], 1);
    CHECK_EQ(job->is_singleton, 0);
    CHECK(fcntl(fake.client_fd, F_GETFD) & FD_CLOEXEC);
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.put(kv.arg, "addr-3", "a b=c"), DM_OK);
    CHECK_EQ(kv.fence(kv.arg), DM_OK);
    CHECK_EQ(kv.get(kv.arg, "addr-3", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "a b=c");
    CHECK_EQ(kv.get(kv.arg, "addr-3", val, 5), DM_EINTERN);
    CHECK_EQ(kv.get(kv.arg, "addr-9", val, sizeof(val)), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "addr-9") != NULL);
    CHECK_EQ(kv.put(kv.arg, "a key", "x"), DM_EINTERN);
    CHECK_EQ(dm_pmi_barrier(pmi), DM_OK);
    CHECK_STR(dm_pmi_host_of(pmi, 3), "node7");
    CHECK_STR(dm_pmi_host_of(pmi, 2), "node7");
    CHECK_STR(dm_pmi_host_of(pmi, 0), "?");
    CHECK_STR(dm_pmi_host_of(pmi, 5), "?");
    CHECK_STR(dm_pmi_host_of(pmi, -1), "?");
    add_pair("host-1", "0host1");
    CHECK_STR(dm_pmi_host_of(pmi, 1), "host1");
    dm_pmi_stats(pmi, &stats);
    CHECK_EQ(stats.n_msgs, fake.n_requests);
    CHECK_EQ(stats.n_bytes, fake.n_bytes);
    CHECK_EQ(stats.n_fences, 2);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
    unsetenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
}

static void one_host_publishes_nothing(void)
{
    struct fake base = {.map = "(vector,(0,1,4))"};
    struct dm_pmi *pmi = NULL;

    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    CHECK_EQ(fake.n_puts, 0);
    CHECK_EQ(dm_pmi_job(pmi)->n_local, 4);
    CHECK_STR(dm_pmi_host_of(pmi, 3), dm_host_name());
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

static void long_values_are_split(void)
{
    struct fake base = {.map = "(vector,(0,1,4))", .val_max = 64};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    char val[DM_KV_VAL_MAX + 1];
    char got[DM_KV_VAL_MAX];

    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    for (size_t len = 0; len < DM_KV_VAL_MAX; len += len < 140 ? 1 : 221) {
        memset(val, len % 2 == 0 ? 'x' : ' ', len);
        val[len] = '\0';
        fake.n_pairs = 1;
        CHECK_EQ(kv.put(kv.arg, "k", val), DM_OK);
        CHECK_EQ(kv.get(kv.arg, "k", got, sizeof(got)), DM_OK);
        CHECK_STR(got, val);
    }
    for (int i = 0; i < fake.n_pairs; i++)
        CHECK(strlen(fake.vals[i]) < 64);
    memset(val, 'x', DM_KV_VAL_MAX);
    val[DM_KV_VAL_MAX] = '\0';
    CHECK_EQ(kv.put(kv.arg, "k", val), DM_EINTERN);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

/* Hydra and our mpiexec are asked for several values at one go. */
static void values_come_ahead(void)
{
    struct fake base = {.map = "(vector,(0,1,4))", .chunk = 7};
    const char *const keys[] = {"a-1", "a-2", "a-3"};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    char val[DM_KV_VAL_MAX];
    uint64_t n;

    setenv("MPI_LOCALNRANKS", "4", 1);
    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.put(kv.arg, "a-1", "one"), DM_OK);
    CHECK_EQ(kv.put(kv.arg, "a-3", "th ree"), DM_OK);
    n = fake.n_requests;
    CHECK_EQ(kv.ahead(kv.arg, keys, 3), DM_OK);
    CHECK_EQ(fake.n_requests, n + 3);
    CHECK_EQ(kv.get(kv.arg, "a-3", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "th ree");
    CHECK_EQ(kv.get(kv.arg, "a-1", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "one");
    CHECK_EQ(fake.n_requests, n + 3);
    CHECK_EQ(kv.get(kv.arg, "a-2", val, sizeof(val)),
             DM_ELAUNCH);                                     /* asked for, as it was not there */
    CHECK_EQ(kv.get(kv.arg, "a-1", val, sizeof(val)), DM_OK); /* once more */
    CHECK_STR(val, "one");
    CHECK_EQ(fake.n_requests, n + 5);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
    unsetenv("MPI_LOCALNRANKS");
}

static void names_replace_a_missing_map(const char *map)
{
    struct fake base = {.map = map};
    struct dm_pmi *pmi = NULL;
    const struct dm_pmi_job *job;

    fake = base;
    add_pair("host-0", "0a");
    add_pair("host-1", "0b");
    add_pair("host-3", "0a");
    base = fake;
    setenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "b", 1);
    start_fake(&base, 2, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    job = dm_pmi_job(pmi);
    CHECK_EQ(job->node_of[0], 0);
    CHECK_EQ(job->node_of[1], 1);
    CHECK_EQ(job->node_of[2], 1);
    CHECK_EQ(job->node_of[3], 0);
    CHECK_EQ(job->n_local, 2);
    CHECK_EQ(job->local_rank, 1);
    CHECK_STR(dm_pmi_host_of(pmi, 3), "a");
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
    unsetenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
}

/* Opening must fail with a text, whatever is wrong. */
static void open_fails(const char *spoil, const char *answer, const char *text)
{
    struct fake base = {.map = "(vector,(0,1,4))", .spoil = spoil, .answer = answer};
    struct dm_pmi *pmi = NULL;

    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_ELAUNCH);
    CHECK(pmi == NULL);
    if (strstr(dm_err_detail(), text) == NULL) {
        printf("    spoilt %s, detail '%s'\n", spoil, dm_err_detail());
        CHECK(strstr(dm_err_detail(), text) != NULL);
    }
    stop_fake();
}

static void spoilt_answers(void)
{
    static const char *const cmds[] = {
        "init", "get_maxes", "get_appnum", "get_universe_size", "get_my_kvsname", "get"};

    for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
        open_fails(cmds[i], NULL, "closed the connection");
        open_fails(cmds[i], "\n", "instead of cmd=");
        open_fails(cmds[i], "cmd=barrier_out\n", "instead of cmd=");
        open_fails(cmds[i], "garbage=1\n", "instead of cmd=");
    }
    open_fails("init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n", "version 1");
    open_fails("init", "cmd=response_to_init rc=x\n", "version 1");
    open_fails("get_maxes", "cmd=maxes keylen_max=64\n", "limits");
    open_fails("get_maxes", "cmd=maxes keylen_max=64 vallen_max=1\n", "limits");
    open_fails("get_maxes", "cmd=maxes keylen_max=-5 vallen_max=1024\n", "limits");
    open_fails("get_my_kvsname", "cmd=my_kvsname\n", "no name");
    open_fails("get_my_kvsname", "cmd=my_kvsname kvsname=\n", "no name");
    open_fails("get", "cmd=get_result rc=0 msg=success\n", "no usable value");
    setenv("DATUM_TIMEOUT", "50ms", 1);
    dm_cfg_unload();
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    open_fails("init", "", "does not answer");
    open_fails("get", "", "does not answer");
    unsetenv("DATUM_TIMEOUT");
    dm_cfg_unload();
    CHECK_EQ(dm_cfg_load(true), DM_OK);
}

static void death_in_the_middle(void)
{
    struct fake base = {.map = "(vector,(0,1,4))", .spoil = "barrier_in"};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;

    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.fence(kv.arg), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "mpiexec") != NULL);
    CHECK_EQ(kv.put(kv.arg, "k", "v"), DM_ELAUNCH);
    CHECK_EQ(dm_pmi_close(pmi), DM_ELAUNCH);
    stop_fake();
}

static void damaged_values(void)
{
    struct fake base = {.map = "(vector,(0,1,4))"};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    char val[DM_KV_VAL_MAX];

    start_fake(&base, 0, 4);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    add_pair("a", "");
    add_pair("b", "xyz");
    add_pair("c", "0%2");
    add_pair("d", "1half");
    CHECK_EQ(kv.get(kv.arg, "a", val, sizeof(val)), DM_ELAUNCH);
    CHECK_EQ(kv.get(kv.arg, "b", val, sizeof(val)), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "damaged") != NULL);
    CHECK_EQ(kv.get(kv.arg, "c", val, sizeof(val)), DM_ELAUNCH);
    CHECK_EQ(kv.get(kv.arg, "d", val, sizeof(val)), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "d/1") != NULL);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

/*
 * Ends of a process in a child: what it tells Hydra and its exit status. The fake
 * hangs up after an abort, as a killed connection would.
 */
static void leaves(const char *how, int status, const char *request)
{
    struct fake base = {.map = "(vector,(0,1,4))"};
    int got = 0;
    pid_t pid;

    /* The child comes before the thread, which may hold a lock of malloc at any time. */
    make_fake(&base, 0, 4);
    pid = fork();
    if (pid == 0) {
        struct dm_pmi *pmi = NULL;

        close(2);
        close(fake.fd);
        if (dm_pmi_open(&pmi) != DM_OK)
            _exit(99);
        if (strcmp(how, "abort") == 0)
            dm_pmi_abort(pmi, 42, "told so");
        if (strcmp(how, "close") == 0)
            dm_pmi_close(pmi);
        if (strcmp(how, "fork") == 0) {
            if (fork() == 0)
                exit(5);
            wait(NULL);
            dm_pmi_close(pmi);
        }
        exit(strcmp(how, "exit0") == 0 ? 0 : 7);
    }
    close(fake.client_fd);
    if (pthread_create(&fake.thread, NULL, run, NULL) != 0)
        abort();
    waitpid(pid, &got, 0);
    CHECK(WIFEXITED(got));
    CHECK_EQ(WEXITSTATUS(got), status);
    stop_fake();
    CHECK_STR(fake.last_abort, request);
}

int main(void)
{
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    unsetenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
    unsetenv("PMI_PORT");
    unsetenv("PMI_JOBID");
    unsetenv("MPI_LOCALNRANKS");
    a_whole_job();
    one_host_publishes_nothing();
    long_values_are_split();
    values_come_ahead();
    names_replace_a_missing_map(NULL);
    names_replace_a_missing_map("(vector,oops");
    spoilt_answers();
    setenv("MPI_LOCALNRANKS", "4", 1); /* Hydra: all questions at once */
    spoilt_answers();
    a_whole_job();
    unsetenv("MPI_LOCALNRANKS");
    death_in_the_middle();
    damaged_values();
    leaves("close", 7, "");
    leaves("fork", 7, "");
    leaves("exit", 7, "cmd=abort exitcode=7");
    leaves("exit0", 0, "cmd=abort exitcode=1");
    leaves("abort", 42, "cmd=abort exitcode=42");
    return test_result();
}
