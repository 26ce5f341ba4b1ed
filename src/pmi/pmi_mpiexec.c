/*
 * Command line and environment of a mpiexec for a spawned job.
 */
#include "pmi/pmi_mpiexec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "pmi/pmi_text.h"
#include "pmi/pmi_wire.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"

#define PARENT "DATUM_PARENT_"

/* Words, which are freed with it. */
struct argv {
    char **list;
    size_t n;
    bool is_short; /* there was no memory for one */
};

static void argv_take(struct argv *words, char *word)
{
    char **new = realloc(words->list, (words->n + 2) * sizeof(char *));

    if (new != NULL)
        words->list = new;
    if (new == NULL || word == NULL) {
        words->is_short = true;
        free(word);
        return;
    }
    new[words->n++] = word;
    new[words->n] = NULL;
}

static void argv_add(struct argv *words, const char *word)
{
    argv_take(words, strdup(word));
}

/* NAME and a value in one word. */
static void argv_join(struct argv *words, const char *name, const char *value)
{
    char *word = NULL;

    if (asprintf(&word, "%s%s", name, value) < 0)
        word = NULL;
    argv_take(words, word);
}

static void argv_free(struct argv *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->list[i]);
    free(words->list);
}

/* ---- the command line ---- */

static const char *info_of(const struct dm_pmi_program *program, const char *key)
{
    for (int i = 0; i < program->n_info; i++)
        if (strcmp(program->info[i].key, key) == 0)
            return program->info[i].val;
    return NULL;
}

static const char *hosts_of(const struct dm_pmi_program *program)
{
    const char *hosts = info_of(program, "host");

    return hosts != NULL ? hosts : info_of(program, "hosts");
}

/* The hosts of a program, each with its share of the processes. */
static void add_hosts(struct argv *words, const char *hosts, int n)
{
    struct dm_pmi_text text = {0};
    int n_hosts = 0;
    const char *at;

    for (at = hosts + strspn(hosts, ", "); *at != '\0'; at += strspn(at, ", ")) {
        n_hosts++;
        at += strcspn(at, ", ");
    }
    at = hosts + strspn(hosts, ", ");
    for (int i = 0; i < n_hosts; i++, at += strspn(at, ", ")) {
        int share = n / n_hosts + (i < n % n_hosts);

        if (share > 0)
            dm_pmi_text_add(&text, "%.*s:%d,", (int)strcspn(at, ":, "), at, share);
        at += strcspn(at, ", ");
    }
    argv_add(words, "-host");
    argv_take(words, text.text);
    words->is_short |= text.is_short;
}

/* A file of hosts is for all programs that name none. */
static const char *hostfile_of(const struct dm_pmi_spawn *spawn)
{
    const char *file = NULL;

    for (int i = 0; i < spawn->n_programs && file == NULL; i++)
        file = info_of(&spawn->programs[i], "hostfile");
    return file;
}

/* Where the programs run that name no hosts, NULL: not here in particular. */
static const char *other_hosts(const struct dm_pmi_spawn *spawn)
{
    if (hostfile_of(spawn) != NULL)
        return NULL;
    for (int i = 0; i < spawn->n_programs; i++)
        if (hosts_of(&spawn->programs[i]) != NULL)
            return dm_host_name();
    return NULL;
}

static void add_variables(struct argv *words, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n");
        char *word = NULL;

        if (memchr(text, '=', len) != NULL && asprintf(&word, "--env=%.*s", (int)len, text) >= 0)
            argv_take(words, word);
        text += len;
        text += *text == '\n';
    }
}

/* others: hosts for who names none, NULL: the job's. */
static void add_program(struct argv *words, const struct dm_pmi_program *program,
                        const char *others)
{
    const char *hosts = hosts_of(program) != NULL ? hosts_of(program) : others;
    const char *wdir = info_of(program, "wdir");
    const char *path = info_of(program, "path");
    const char *errhandler = info_of(program, "mpi_initial_errhandler");
    const char *old = dm_cfg_env("PATH");
    char text[32];

    snprintf(text, sizeof(text), "%d", program->maxprocs);
    argv_add(words, "-n");
    argv_add(words, text);
    if (hosts != NULL)
        add_hosts(words, hosts, program->maxprocs);
    if (wdir != NULL)
        argv_join(words, "-wdir=", wdir);
    if (errhandler != NULL)
        argv_join(words, "-initial-errhandler=", errhandler);
    if (path != NULL) {
        char *word = NULL;

        if (asprintf(&word, "--env=PATH=%s:%s", path, old != NULL ? old : "/usr/bin:/bin") < 0)
            word = NULL;
        argv_take(words, word);
    }
    add_variables(words, info_of(program, "env"));
    argv_add(words, program->command);
    for (int i = 0; program->argv != NULL && program->argv[i] != NULL; i++)
        argv_add(words, program->argv[i]);
}

static void make_command(struct argv *words, const char *exe, const struct dm_pmi_spawn *spawn,
                         bool is_left_alone)
{
    const char *others = other_hosts(spawn);
    const char *file = hostfile_of(spawn);
    bool is_first = true;

    if (is_left_alone) {
        argv_add(words, "/bin/sh");
        argv_add(words, "-c");
        argv_add(words, "\"$0\" \"$@\" &");
    }
    argv_add(words, exe);
    argv_add(words, "-stdin");
    argv_add(words, "none");
    if (file != NULL)
        argv_join(words, "-hostfile=", file);
    for (int i = 0; i < spawn->n_programs; i++) {
        if (spawn->programs[i].maxprocs == 0)
            continue;
        if (!is_first)
            argv_add(words, ":");
        is_first = false;
        add_program(words, &spawn->programs[i], others);
    }
}

/* ---- the environment ---- */

static void make_environment(struct argv *words, const struct dm_pmi_spawn *spawn, int fd)
{
    struct dm_pmi_text text = {0};
    char number[16];

    for (char **at = environ; *at != NULL; at++)
        if (strncmp(*at, PARENT, strlen(PARENT)) != 0) /* of our own */
            argv_add(words, *at);
    dm_pmi_text_add(&text, DM_PMI_PARENT_PAIRS "=");
    for (int i = 0; i < spawn->n_preput; i++)
        dm_pmi_text_add(&text, "%s%s=%s", i > 0 ? " " : "", spawn->preput[i].key,
                        spawn->preput[i].val);
    argv_take(words, text.text);
    words->is_short |= text.is_short;
    snprintf(number, sizeof(number), "%d", fd);
    argv_join(words, DM_PMI_PARENT_FD "=", number);
}

/* ---- the process ---- */

static int run_words(char **argv, char **env, int fd, pid_t *pid_p)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    int err;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    /* The same number is a descriptor that is inherited. */
    posix_spawn_file_actions_adddup2(&actions, fd, fd);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    err = posix_spawn(pid_p, argv[0], &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

int dm_pmi_mpiexec_start(const char *exe, const struct dm_pmi_spawn *spawn, pid_t *pid_p, int *fd_p)
{
    struct argv argv = {0};
    struct argv env = {0};
    int fds[2] = {-1, -1};
    pid_t pid = -1;
    int err;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return DM_FAIL(DM_ERR_SPAWN, "no pipe to a mpiexec: %s", strerror(errno));
    make_command(&argv, exe, spawn, pid_p == NULL);
    make_environment(&env, spawn, fds[1]);
    err = argv.is_short || env.is_short ? ENOMEM : run_words(argv.list, env.list, fds[1], &pid);
    close(fds[1]);
    argv_free(&argv);
    argv_free(&env);
    if (err != 0) {
        close(fds[0]);
        return DM_FAIL(DM_ERR_SPAWN, "%s cannot be started: %s", exe, strerror(err));
    }
    if (pid_p == NULL)
        (void)waitpid(pid, NULL, 0); /* the shell's */
    else
        *pid_p = pid;
    *fd_p = fds[0];
    return DM_OK;
}

void dm_pmi_mpiexec_report(int fd, struct dm_pmi_report *report_p)
{
    char line[DM_PMI_LINE_MAX] = "";
    size_t len = 0;
    ssize_t n;

    memset(report_p, 0, sizeof(*report_p));
    while (len < sizeof(line) - 1 && memchr(line, '\n', len) == NULL) {
        n = read(fd, line + len, sizeof(line) - 1 - len);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    line[len] = '\0';
    report_p->is_good = strcmp(line, "ok\n") == 0;
    if (report_p->is_good)
        return;
    if (sscanf(line, "no %4095s %1023s", report_p->faults, report_p->why) != 2 ||
        !dm_pmi_wire_unescape(report_p->why))
        snprintf(report_p->why, sizeof(report_p->why), "the mpiexec of the job has ended");
    if (strcmp(report_p->faults, "-") == 0)
        report_p->faults[0] = '\0';
}

/* mpiexec in a directory that is reached from another one ("": from none), NULL when it is not there. */
static char *find_mpiexec(const char *from, const char *way)
{
    char *path;
    char *plain;

    if (asprintf(&path, "%s%s%s/mpiexec", from, from[0] != '\0' ? "/" : "", way) < 0)
        return NULL;
    plain = access(path, X_OK) == 0 ? realpath(path, NULL) : NULL;
    free(path);
    return plain;
}

char *dm_pmi_mpiexec_path(void)
{
    Dl_info info;
    char *path = NULL;
    char *slash;
    char *own =
        dladdr((void *)dm_pmi_mpiexec_path, &info) != 0 ? realpath(info.dli_fname, NULL) : NULL;

    /* In an installation bin/ and lib/ lie as configure was told; in a build beside each other. */
    if (own != NULL && (slash = strrchr(own, '/')) != NULL) {
        *slash = '\0';
        path = find_mpiexec(own, DM_LIB_TO_BIN);
        if (path == NULL)
            path = find_mpiexec(own, "../bin");
    }
    free(own);
    return path != NULL ? path : find_mpiexec("", DM_BINDIR);
}
