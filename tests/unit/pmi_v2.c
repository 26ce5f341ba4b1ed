/* test: layers=util,pmi timeout=60 */
/*
 * PMI-2 against a fake launcher: a thread at the other end of a socket pair that
 * answers as Slurm's plugin does, except for one request that a test may spoil.
 */
#include "pmi/pmi.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"

#define N_PAIRS 32

struct fake {
    int fd;        /* the launcher's end */
    int client_fd; /* the rank's end */
    pthread_t thread;
    const char *map;    /* PMI_process_mapping, NULL: there is none */
    const char *spoil;  /* the request to answer wrongly: its name or attribute */
    const char *answer; /* how, framed unless it begins with '!'; NULL: hang up instead */
    bool is_left;       /* lengths are padded on the right */
    int n_puts;
    char last_abort[64];
    char keys[N_PAIRS][64];
    char vals[N_PAIRS][2048];
    int n_pairs;
};

static struct fake fake;

static void reply_raw(const char *text)
{
    size_t len = strlen(text);

    if (send(fake.fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        return;
}

static void reply(const char *text)
{
    char frame[4096];

    if (*text == '!') {
        reply_raw(text + 1);
        return;
    }
    snprintf(frame, sizeof(frame), fake.is_left ? "%-6zu%s" : "%6zu%s", strlen(text), text);
    reply_raw(frame);
}

/* The value of ";name=" in a request. */
static const char *word(const char *text, const char *name)
{
    static char val[2048];
    const char *at = strstr(text, name);
    size_t len;

    if (at == NULL)
        return "";
    at += strlen(name);
    len = strcspn(at, "; \n");
    memcpy(val, at, len);
    val[len] = '\0';
    return val;
}

static void add_pair(const char *key, const char *val)
{
    int i = 0;

    while (i < fake.n_pairs && strcmp(fake.keys[i], key) != 0)
        i++;
    snprintf(fake.keys[i], sizeof(fake.keys[i]), "%s", key);
    snprintf(fake.vals[i], sizeof(fake.vals[i]), "%s", val);
    fake.n_pairs += i == fake.n_pairs;
}

static void serve_get(const char *text)
{
    char out[4096] = "cmd=kvs-get-response;rc=0;found=FALSE;";
    const char *key = word(text, ";key=");

    for (int i = 0; i < fake.n_pairs; i++)
        if (strcmp(fake.keys[i], key) == 0)
            snprintf(out, sizeof(out), "cmd=kvs-get-response;rc=0;found=TRUE;value=%s;",
                     fake.vals[i]);
    reply(out);
}

static void serve_put(const char *text)
{
    char key[64];

    snprintf(key, sizeof(key), "%s", word(text, ";key="));
    add_pair(key, word(text, ";value="));
    fake.n_puts++;
    reply("cmd=kvs-put-response;rc=0;");
}

static void serve_attribute(const char *key)
{
    char out[512] = "cmd=info-getjobattr-response;rc=0;found=FALSE;";

    if (strcmp(key, "universeSize") == 0)
        snprintf(out, sizeof(out), "cmd=info-getjobattr-response;rc=0;found=TRUE;value=12;");
    else if (fake.map != NULL)
        snprintf(out, sizeof(out), "cmd=info-getjobattr-response;rc=0;found=TRUE;value=%s;",
                 fake.map);
    reply(out);
}

/* Answers one request; false when the connection shall end. */
static bool serve(const char *text)
{
    char cmd[64];
    char key[64];

    snprintf(cmd, sizeof(cmd), "%s", word(text, "cmd="));
    snprintf(key, sizeof(key), "%s", word(text, ";key="));
    if (fake.spoil != NULL && (strcmp(cmd, fake.spoil) == 0 || strcmp(key, fake.spoil) == 0)) {
        if (fake.answer != NULL)
            reply(fake.answer);
        return fake.answer != NULL;
    }
    if (strcmp(cmd, "init") == 0)
        reply("!cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
    else if (strcmp(cmd, "fullinit") == 0)
        reply("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=5;appnum=-1;"
              "debugged=FALSE;pmiverbose=FALSE;");
    else if (strcmp(cmd, "job-getid") == 0)
        reply("cmd=job-getid-response;rc=0;jobid=17.0;");
    else if (strcmp(cmd, "info-getjobattr") == 0)
        serve_attribute(key);
    else if (strcmp(cmd, "kvs-put") == 0)
        serve_put(text);
    else if (strcmp(cmd, "kvs-get") == 0)
        serve_get(text);
    else if (strcmp(cmd, "kvs-fence") == 0)
        reply("cmd=kvs-fence-response;rc=0;");
    else if (strcmp(cmd, "finalize") == 0)
        reply("cmd=finalize-response;rc=0;");
    else if (strcmp(cmd, "abort") == 0)
        snprintf(fake.last_abort, sizeof(fake.last_abort), "%.60s", text);
    else
        return false;
    return strcmp(cmd, "abort") != 0;
}

static bool read_all(char *buf, size_t len)
{
    for (size_t pos = 0; pos < len;) {
        ssize_t n = read(fake.fd, buf + pos, len - pos);

        if (n <= 0)
            return false;
        pos += (size_t)n;
    }
    buf[len] = '\0';
    return true;
}

static void *run(void *arg)
{
    char text[8192];
    size_t len = 0;

    (void)arg;
    do {
        if (!read_all(text + len, 1))
            break;
    } while (text[len++] != '\n');
    text[len] = '\0';
    while (serve(text)) {
        if (!read_all(text, 6))
            break;
        len = strtoul(text, NULL, 10);
        if (len == 0 || len >= sizeof(text) || !read_all(text, len))
            break;
    }
    shutdown(fake.fd, SHUT_RDWR);
    return NULL;
}

/* A fake without its thread yet. */
static void make_fake(const struct fake *base)
{
    char text[16];
    int fds[2];

    fake = *base;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        abort();
    fake.fd = fds[0];
    fake.client_fd = fds[1];
    fcntl(fake.fd, F_SETFD, FD_CLOEXEC);
    snprintf(text, sizeof(text), "%d", fds[1]);
    setenv("PMI_FD", text, 1);
    setenv("PMI_JOBID", "17.0", 1);
    setenv("PMI_RANK", "3", 1);
    setenv("PMI_SIZE", "5", 1);
}

static void start_fake(const struct fake *base)
{
    make_fake(base);
    if (pthread_create(&fake.thread, NULL, run, NULL) != 0)
        abort();
}

static void stop_fake(void)
{
    shutdown(fake.fd, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    close(fake.fd);
    CHECK_EQ(fcntl(fake.client_fd, F_GETFD), -1);
}

static void a_whole_job(bool is_left)
{
    struct fake base = {.map = "(vector,(0,1,2),(1,1,3))", .is_left = is_left};
    const struct dm_pmi_job *job;
    struct dm_pmi *pmi = NULL;
    struct dm_pmi_stats stats;
    struct dm_kv_ops kv;
    char val[DM_KV_VAL_MAX];
    char big[DM_KV_VAL_MAX];

    start_fake(&base);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    job = dm_pmi_job(pmi);
    CHECK_EQ(job->rank, 3);
    CHECK_EQ(job->size, 5);
    CHECK_EQ(job->appnum, -1);
    CHECK_EQ(job->universe_size, 12);
    CHECK_STR(job->name, "17.0");
    CHECK_EQ(job->n_local, 3);
    CHECK_EQ(job->local_rank, 1);
    CHECK_EQ(job->node_of[1], 0);
    CHECK_EQ(job->node_of[2], 1);
    CHECK_EQ(job->is_singleton, 0);
    CHECK(fcntl(fake.client_fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ(fake.n_puts, 1); /* the host name */
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.put(kv.arg, "addr-3", "a b=c;d;;"), DM_OK);
    memset(big, ';', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    CHECK_EQ(kv.put(kv.arg, "big-3", big), DM_OK);
    for (int i = 0; i < fake.n_pairs; i++)
        CHECK(strlen(fake.vals[i]) < 1024);
    CHECK_EQ(kv.fence(kv.arg), DM_OK);
    CHECK_EQ(kv.get(kv.arg, "addr-3", val, sizeof(val)), DM_OK);
    CHECK_STR(val, "a b=c;d;;");
    CHECK_EQ(kv.get(kv.arg, "big-3", val, sizeof(val)), DM_OK);
    CHECK_STR(val, big);
    CHECK_EQ(kv.get(kv.arg, "addr-9", val, sizeof(val)), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "addr-9") != NULL);
    add_pair("host-1", "0host1");
    CHECK_STR(dm_pmi_host_of(pmi, 1), "host1");
    CHECK_STR(dm_pmi_host_of(pmi, 4), dm_host_name());
    dm_pmi_stats(pmi, &stats);
    CHECK_EQ(stats.n_fences, 1);
    CHECK(stats.n_msgs > 10 && stats.n_bytes > 6000);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

static void names_replace_a_missing_map(void)
{
    struct fake base = {.map = NULL};
    struct dm_pmi *pmi = NULL;
    const struct dm_pmi_job *job;

    fake = base;
    add_pair("host-0", "0a");
    add_pair("host-1", "0b");
    add_pair("host-2", "0b");
    add_pair("host-4", "0a");
    base = fake;
    start_fake(&base);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    job = dm_pmi_job(pmi);
    CHECK_EQ(job->node_of[1], 1);
    CHECK_EQ(job->node_of[2], 1);
    CHECK_EQ(job->node_of[3], 2);
    CHECK_EQ(job->node_of[4], 0);
    CHECK_EQ(job->n_local, 1);
    CHECK_STR(dm_pmi_host_of(pmi, 2), "b");
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

static void open_fails(const char *spoil, const char *answer, const char *text)
{
    struct fake base = {.map = "(vector,(0,1,5))", .spoil = spoil, .answer = answer};
    struct dm_pmi *pmi = NULL;

    start_fake(&base);
    CHECK_EQ(dm_pmi_open(&pmi), DM_ELAUNCH);
    CHECK(pmi == NULL);
    if (strstr(dm_err_detail(), text) == NULL) {
        printf("    spoilt %s with %s, detail '%s'\n", spoil, answer, dm_err_detail());
        CHECK(strstr(dm_err_detail(), text) != NULL);
    }
    stop_fake();
}

static void reload_timeout(const char *timeout)
{
    setenv("DATUM_TIMEOUT", timeout, 1);
    dm_cfg_unload();
    CHECK_EQ(dm_cfg_load(true), DM_OK);
}

static void spoilt_answers(void)
{
    static const char *const cmds[] = {"fullinit", "job-getid", "universeSize",
                                       "PMI_process_mapping"};
    static const char failed[] = "refused the request fullinit";

    open_fails("init", NULL, "closed the connection");
    open_fails("init", "!cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n", "version 2");
    open_fails("init", "!cmd=response_to_init rc=-1 pmi_version=2\n", "version 2");
    open_fails("init", "!cmd=response_to_init rc=0\n", "version 2");
    open_fails("init", "!garbage\n", "instead of cmd=");
    for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
        open_fails(cmds[i], NULL, "closed the connection");
        open_fails(cmds[i], "", "instead of cmd=");
        open_fails(cmds[i], "cmd=finalize-response;rc=0;", "instead of cmd=");
        open_fails(cmds[i], "!cmd=response_to_init\n", "no length");
    }
    open_fails("fullinit", "cmd=fullinit-response;rc=14;errmsg=no such job;", failed);
    open_fails("fullinit", "cmd=fullinit-response;rc=x;", failed);
    open_fails("fullinit", "cmd=fullinit-response;rc=0;size=5;", "rank 3 of 5");
    open_fails("fullinit", "cmd=fullinit-response;rc=0;rank=2;size=5;", "rank=2 size=5");
    open_fails("fullinit", "cmd=fullinit-response;rc=0;rank=3;size=6;", "rank=3 size=6");
    open_fails("job-getid", "cmd=job-getid-response;rc=0;", "no name");
    open_fails("job-getid", "cmd=job-getid-response;rc=0;jobid=;", "no name");
    open_fails("universeSize", "cmd=info-getjobattr-response;rc=0;value=3;", "whether there is");
    open_fails("universeSize", "cmd=info-getjobattr-response;rc=0;found=TRUE;", "no usable value");
    open_fails("PMI_process_mapping", "cmd=info-getjobattr-response;rc=-1;", "refused the request");
}

static void silence(void)
{
    static const char *const cmds[] = {"init", "fullinit", "universeSize", "PMI_process_mapping"};

    reload_timeout("50ms");
    for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++)
        open_fails(cmds[i], "!", "does not answer");
    reload_timeout("");
}

static void death_in_the_middle(void)
{
    struct fake base = {.map = "(vector,(0,1,5))", .spoil = "kvs-fence"};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;

    start_fake(&base);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    CHECK_EQ(kv.fence(kv.arg), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "srun") != NULL);
    CHECK_EQ(kv.put(kv.arg, "k", "v"), DM_ELAUNCH);
    CHECK_EQ(dm_pmi_close(pmi), DM_ELAUNCH);
    stop_fake();
}

static void refused(const char *spoil, const char *answer)
{
    struct fake base = {.map = "(vector,(0,1,5))", .spoil = spoil, .answer = answer};
    struct dm_pmi *pmi = NULL;
    struct dm_kv_ops kv;
    char val[16];
    int err;

    start_fake(&base);
    CHECK_EQ(dm_pmi_open(&pmi), DM_OK);
    kv = dm_pmi_kv(pmi);
    if (strcmp(spoil, "kvs-put") == 0)
        err = kv.put(kv.arg, "k", "v");
    else if (strcmp(spoil, "kvs-get") == 0)
        err = kv.get(kv.arg, "k", val, sizeof(val));
    else
        err = kv.fence(kv.arg);
    CHECK_EQ(err, DM_ELAUNCH);
    CHECK_EQ(dm_pmi_close(pmi), DM_OK);
    stop_fake();
}

/* MPI_Abort and leaving without MPI_Finalize, in a child. */
static void leaves(bool is_abort, int status, const char *request)
{
    struct fake base = {.map = "(vector,(0,1,5))"};
    int got = 0;
    pid_t pid;

    make_fake(&base);
    pid = fork();
    if (pid == 0) {
        struct dm_pmi *pmi = NULL;

        close(2);
        close(fake.fd);
        if (dm_pmi_open(&pmi) != DM_OK)
            _exit(99);
        if (is_abort)
            dm_pmi_abort(pmi, status, "told so");
        exit(status);
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

/* Which way is taken, by what the launcher says that it was asked first. */
static void choice(const char *var, const char *set, const char *first)
{
    struct fake base = {.spoil = "init"};
    struct dm_pmi *pmi = NULL;
    char line[256] = "";
    pid_t pid;

    make_fake(&base);
    setenv(var, set, 1);
    dm_cfg_unload();
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    pid = fork();
    if (pid == 0) {
        close(fake.fd);
        _exit(dm_pmi_open(&pmi) == DM_ELAUNCH ? 0 : 1);
    }
    close(fake.client_fd);
    CHECK(read(fake.fd, line, sizeof(line) - 1) > 0);
    CHECK(strncmp(line, first, strlen(first)) == 0);
    close(fake.fd);
    waitpid(pid, NULL, 0);
    unsetenv(var);
    dm_cfg_unload();
    CHECK_EQ(dm_cfg_load(true), DM_OK);
}

int main(void)
{
    unsetenv("DATUM_PMI");
    unsetenv("MPI_LOCALNRANKS");
    unsetenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
    unsetenv("PMI_PORT");
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    a_whole_job(false);
    a_whole_job(true);
    names_replace_a_missing_map();
    spoilt_answers();
    silence();
    death_in_the_middle();
    refused("kvs-put", "cmd=kvs-put-response;rc=-1;");
    refused("kvs-get", "cmd=kvs-get-response;rc=0;value=3;");
    refused("kvs-get", "cmd=kvs-get-response;rc=-1;");
    refused("kvs-fence", "cmd=kvs-fence-response;rc=7;");
    leaves(true, 42, "cmd=abort;isworld=TRUE;msg=exit code 42;");
    leaves(false, 7, "cmd=abort;isworld=TRUE;msg=exit code 7;");
    choice("DATUM_PMI", "auto", "cmd=init pmi_version=2");
    choice("DATUM_PMI", "pmi2", "cmd=init pmi_version=2");
    choice("DATUM_PMI", "pmi1", "cmd=init pmi_version=1");
    choice("MPI_LOCALNRANKS", "2", "cmd=init pmi_version=1");
    return test_result();
}
