/*
 * Processes of the probes: an active one that reports through a pipe, a passive one here
 * or at the server, and the parent that looks at the clock and opens no provider itself.
 */
#include "tools/check/check_run.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/err.h"

#define PROTOCOL     "datum-check 1"
#define LINE_LEN     700
#define BACKLOG      16
#define GRACE_MS     2000 /* for the passive process to end after the active one */
#define GREETING_S   5
#define STATUS_ERROR 1

struct child {
    pid_t pid;
    int status;
    bool is_over;
};

/* ---- the side channel to another host ---- */

static void set_options(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int check_dial(const struct dm_check *check)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int fd = -1;
    int rc = getaddrinfo(check->host, check->port, &hints, &list);

    if (rc != 0) {
        DM_FAIL(DM_ECONN, "%s: %s", check->host, gai_strerror(rc));
        return -1;
    }
    errno = 0;
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            rc = errno;
            close(fd);
            errno = rc;
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        DM_FAIL(DM_ECONN, "%s port %s: %s; is \"datum-check --server\" running there?", check->host,
                check->port, strerror(errno));
    else
        set_options(fd);
    return fd;
}

int dm_check_reach(const struct dm_check *check)
{
    int fd = check_dial(check);

    if (fd < 0)
        return DM_ECONN;
    close(fd);
    return DM_OK;
}

/* Up to the end of a line, which is cut off; false when there is none. */
static bool read_line(int fd, char *line, size_t cap)
{
    size_t len = 0;

    while (len + 1 < cap && recv(fd, line + len, 1, 0) == 1) {
        if (line[len] == '\n') {
            line[len] = '\0';
            return true;
        }
        len++;
    }
    return false;
}

/* A connection whose other end runs the passive half; -1 with the detail. */
static int call_server(const struct dm_check *check, const struct dm_probe *probe)
{
    struct timeval limit = {GREETING_S, 0};
    struct timeval none = {0, 0};
    char line[LINE_LEN];
    int fd = check_dial(check);
    int len;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    len = snprintf(line, sizeof(line), PROTOCOL " %s %s %llu\n", check->peer_provider, probe->name,
                   (unsigned long long)check->max_len);
    if (send(fd, line, (size_t)len, MSG_NOSIGNAL) != len || !read_line(fd, line, sizeof(line)))
        DM_FAIL(DM_ECONN, "%s port %s does not answer like a datum-check server", check->host,
                check->port);
    else if (strcmp(line, "ok") != 0)
        DM_FAIL(DM_ECONN, "%s says: %s", check->host, line);
    else {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
        return fd;
    }
    close(fd);
    return -1;
}

/* ---- in the children ---- */

static void write_result(void *arg, const struct dm_probe_result *result)
{
    const int *fd = arg;

    if (write(*fd, result, sizeof(*result)) != (ssize_t)sizeof(*result))
        _exit(STATUS_ERROR);
}

/* What a provider prints must not get between our lines. */
static void mute(bool is_verbose)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (!is_verbose && null >= 0)
        dup2(null, STDERR_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

static int run_half(const struct dm_probe *probe, struct dm_probe_env *env, bool is_verbose)
{
    struct dm_probe_result end = {.verdict = DM_PROBE_UNTESTED};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    alarm(2 * probe->limit_s); /* should the parent not do it */
    mute(is_verbose);
    if (dm_probe_run(probe, env) == DM_OK)
        return 0;
    snprintf(end.text, sizeof(end.text), "%s", dm_err_detail());
    if (!env->is_passive)
        env->report(env->arg, &end);
    return STATUS_ERROR;
}

static pid_t start_half(const struct dm_check *check, const struct dm_probe *probe, int side,
                        bool is_passive, int *report_fd)
{
    struct dm_probe_env env = {.provider = check->provider,
                               .side = side,
                               .is_passive = is_passive,
                               .max_len = check->max_len,
                               .report = write_result,
                               .arg = report_fd};
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        _exit(run_half(probe, &env, check->is_verbose));
    return pid;
}

/* ---- in the parent ---- */

static int key_index(const struct dm_probe *probe, const char *key)
{
    for (int i = 0; probe->items[i].key != NULL; i++)
        if (strcmp(probe->items[i].key, key) == 0)
            return i;
    return -1;
}

/* Results until the active process has none left; false when time is up. */
static bool collect(const struct dm_probe *probe, int fd, bool *seen, struct dm_check_run *run)
{
    uint64_t until = dm_clock_ns() + probe->limit_s * UINT64_C(1000000000);
    struct pollfd at = {.fd = fd, .events = POLLIN};
    struct dm_probe_result result;
    uint64_t now;
    ssize_t n;
    int i;

    while ((now = dm_clock_ns()) < until) {
        if (poll(&at, 1, (int)((until - now) / 1000000 + 1)) <= 0)
            continue;
        n = read(fd, &result, sizeof(result));
        if (n != (ssize_t)sizeof(result))
            return true;
        i = key_index(probe, result.key);
        if (i >= 0) {
            run->results[i] = result;
            seen[i] = true;
        } else if (result.key[0] == '\0') {
            snprintf(run->why, sizeof(run->why), "%s", result.text);
        }
    }
    return false;
}

static void child_reap(struct child *child, unsigned ms)
{
    struct timespec pause = {0, 1000000};

    for (unsigned i = 0; i < ms && child->pid > 0 && !child->is_over; i++) {
        child->is_over = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
        if (!child->is_over)
            nanosleep(&pause, NULL);
    }
}

/* Its end; what it did not do by itself is done here. */
static void child_finish(struct child *child)
{
    if (child->pid <= 0 || child->is_over)
        return;
    kill(child->pid, SIGKILL);
    waitpid(child->pid, &child->status, 0);
    child->status = 0; /* that was us */
}

static bool has_crashed(const struct child *child, const char *role, struct dm_check_run *run)
{
    if (child->pid <= 0 || child->status == 0)
        return false;
    if (WIFSIGNALED(child->status)) {
        snprintf(run->why, sizeof(run->why), "the %s process was killed by signal %d (%s)", role,
                 WTERMSIG(child->status), strsignal(WTERMSIG(child->status)));
        return true;
    }
    if (WEXITSTATUS(child->status) == STATUS_ERROR)
        return false;
    snprintf(run->why, sizeof(run->why), "the %s process ended with status %d", role,
             WEXITSTATUS(child->status));
    return true;
}

/* Processes have ended: how, and what is left without an answer. */
static void probe_judge(const struct dm_probe *probe, struct child *active, struct child *passive,
                        bool is_late, const bool *seen, struct dm_check_run *run)
{
    bool is_broken;

    if (!is_late) {
        child_reap(active, GRACE_MS);
        child_reap(passive, GRACE_MS);
    }
    child_finish(active);
    child_finish(passive);
    is_broken = has_crashed(passive, "passive", run);
    is_broken = has_crashed(active, probe->is_pair ? "active" : "probing", run) || is_broken;
    if (is_late)
        snprintf(run->why, sizeof(run->why), "no end within %u s", probe->limit_s);
    for (int i = 0; i < run->n_results; i++) {
        if (seen[i])
            continue;
        run->results[i].verdict = DM_PROBE_UNTESTED;
        snprintf(run->results[i].key, sizeof(run->results[i].key), "%s", probe->items[i].key);
        snprintf(run->results[i].text, sizeof(run->results[i].text), "%s",
                 run->why[0] != '\0' ? run->why : "no answer");
        if (run->end == DM_CHECK_OK)
            run->end = DM_CHECK_REFUSED;
    }
    if (is_broken || is_late)
        run->end = DM_CHECK_BROKEN;
}

void dm_check_probe(const struct dm_check *check, const struct dm_probe *probe,
                    struct dm_check_run *run_p)
{
    struct child active = {.pid = -1};
    struct child passive = {.pid = -1};
    bool seen[DM_PROBE_ITEMS_MAX] = {false};
    int side[2] = {-1, -1};
    int out[2];
    bool is_late = false;

    memset(run_p, 0, sizeof(*run_p));
    while (probe->items[run_p->n_results].key != NULL)
        run_p->n_results++;
    if (pipe2(out, O_CLOEXEC) != 0) {
        snprintf(run_p->why, sizeof(run_p->why), "pipe: %s", strerror(errno));
        probe_judge(probe, &active, &passive, false, seen, run_p);
        return;
    }
    if (probe->is_pair && check->host != NULL) {
        side[0] = call_server(check, probe);
        if (side[0] < 0)
            snprintf(run_p->why, sizeof(run_p->why), "%s", dm_err_detail());
    } else if (probe->is_pair && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, side) == 0) {
        passive.pid = start_half(check, probe, side[1], true, NULL);
    }
    if (side[1] >= 0)
        close(side[1]);
    if (!probe->is_pair || side[0] >= 0)
        active.pid = start_half(check, probe, side[0], false, &out[1]);
    close(out[1]);
    if (side[0] >= 0)
        close(side[0]);
    if (active.pid > 0)
        is_late = !collect(probe, out[0], seen, run_p);
    close(out[0]);
    probe_judge(probe, &active, &passive, is_late, seen, run_p);
}

/* ---- the server ---- */

/* One connection, in a child: 0 when the half ran well. */
static int serve_one(int fd, const char *own, bool is_verbose)
{
    struct timeval limit = {GREETING_S, 0};
    struct timeval none = {0, 0};
    struct dm_check check = {.host = "", .is_verbose = is_verbose};
    struct dm_probe_provider found;
    struct dm_probe_env env;
    const struct dm_probe *probe;
    char line[LINE_LEN];
    char name[256];
    char what[64];
    unsigned long long max_len;

    set_options(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (!read_line(fd, line, sizeof(line)))
        return STATUS_ERROR;
    if (sscanf(line, PROTOCOL " %255s %63s %llu", name, what, &max_len) != 3) {
        dprintf(fd, "error this is datum-check %s\n", PROTOCOL);
        return STATUS_ERROR;
    }
    probe = dm_probe_named(what);
    check.provider = own != NULL ? own : name;
    if (probe == NULL || !probe->is_pair || max_len > UINT64_C(1) << 30) {
        dprintf(fd, "error no probe \"%s\" here; are the versions the same?\n", what);
        return STATUS_ERROR;
    }
    if (dm_probe_provider(check.provider, &found) != DM_OK) {
        dprintf(fd, "error %s\n", dm_err_detail());
        return STATUS_ERROR;
    }
    dprintf(fd, "ok\n");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
    env = (struct dm_probe_env){
        .provider = check.provider, .side = fd, .is_passive = true, .max_len = max_len};
    return run_half(probe, &env, is_verbose);
}

static int listen_on(const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list;
    int on = 1;
    int fd = -1;
    int rc = getaddrinfo(NULL, port, &hints, &list);

    if (rc != 0) {
        DM_FAIL(DM_ECONFIG, "port %s: %s", port, gai_strerror(rc));
        return -1;
    }
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
            rc = errno;
            close(fd);
            errno = rc;
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        DM_FAIL(DM_ESYS, "port %s cannot be listened on: %s", port, strerror(errno));
    return fd;
}

/* Of a socket; 0: not known. */
static unsigned port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof(at);
    uint16_t port = 0;

    if (getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return 0;
    memcpy(&port, (char *)&at + offsetof(struct sockaddr_in, sin_port), sizeof(port));
    return ntohs(port); /* in the same place of IPv6's */
}

int dm_check_serve(const char *port, const char *provider, bool is_verbose)
{
    int fd = listen_on(port);
    pid_t pid;
    int conn;

    if (fd < 0)
        return 2;
    signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
    printf("datum-check: serving port %u\n", port_of(fd));
    fflush(stdout);
    for (;;) {
        conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (conn < 0)
            continue;
        pid = fork();
        if (pid == 0) {
            signal(SIGCHLD, SIG_DFL); /* probes wait for children of their own */
            close(fd);
            _exit(serve_one(conn, provider, is_verbose));
        }
        close(conn);
    }
}
