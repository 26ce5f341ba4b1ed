/*
 * An agent starts the ranks of its host as mpiexec itself would, serves them, and speaks for all of
 * them to the engine, as one process of a job of agents.
 */
#include "tools/mpiexec/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pmi/pmi.h"
#include "pmi/pmi_wire.h"
#include "tools/mpiexec/guard.h"
#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/name_server.h"
#include "tools/mpiexec/node.h"
#include "tools/mpiexec/parent.h"
#include "tools/mpiexec/report.h"
#include "tools/mpiexec/reports.h"
#include "tools/mpiexec/signals.h"
#include "tools/mpiexec/upstream.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

/* How long ranks that have got a signal have to end. */
#define GRACE_NS UINT64_C(2000000000)

/* How long the engine has to end us, whom we have asked for that. */
enum { END_WAIT_MS = 3000 };

struct agent {
    struct dm_launch_loop loop;
    struct dm_launch_signals signals;
    struct dm_launch_options options;
    struct dm_launch_place place;
    struct dm_launch_node node; /* of the first job */
    struct dm_launch_jobs jobs;
    struct dm_launch_up up;
    struct dm_launch_timer grace;
    int *agent_of;
    bool is_reported; /* the engine is to end the job */
    bool is_last;     /* all our ranks have ended, and the other agents are waited for */
    bool is_awaited;  /* and will end us */
    int signo;
    char kvs_name[256];
};

/* ---- speaking for the ranks ---- */

static void on_others_in(void *arg, bool is_good)
{
    struct agent *agent = arg;

    if (is_good)
        dm_launch_pmi_release(&agent->node);
    else
        dm_launch_node_kill(&agent->node);
}

static void on_all_in(void *arg)
{
    struct agent *agent = arg;

    if (!dm_launch_up_barrier(&agent->up, on_others_in, agent))
        dm_launch_node_kill(&agent->node);
}

static const char *on_lookup(void *arg, const char *key, bool *is_lost_p)
{
    struct agent *agent = arg;

    return dm_launch_up_lookup(&agent->up, key, is_lost_p);
}

/* ---- the end ---- */

static void on_failed(void *arg)
{
    struct agent *agent = arg;

    if (agent->is_reported)
        return;
    agent->is_reported = true;
    agent->is_awaited = dm_pmi_end(agent->up.pmi, agent->node.status);
    /* This engine is told by our status that it is to end the others. */
    if (!agent->is_awaited && agent->node.status == 0)
        agent->node.status = 1;
}

/* All ranks of all hosts have ended: was that right, and which status has the job? */
static void on_others_known(void *arg, bool is_good)
{
    struct agent *agent = arg;
    struct dm_launch_rank *missing = dm_launch_verdict_missing(&agent->node);
    int waiting = is_good && missing != NULL ? dm_launch_up_waiting(&agent->up) : -1;

    agent->loop.is_over = true;
    if (waiting >= 0) {
        agent->node.is_ending = false;
        dm_launch_verdict_missed(missing, waiting);
    } else if (is_good && agent->node.status != 0) {
        agent->node.status = dm_launch_up_first_status(&agent->up);
    }
}

/*
 * An engine may end the job when an agent ends with a status that is not 0 (srun does). So they end
 * together.
 */
static void on_all_ended(void *arg)
{
    struct agent *agent = arg;

    agent->is_last = true;
    agent->node.status = dm_launch_jobs_status(&agent->jobs);
    if (agent->is_reported || agent->signo != 0 ||
        !dm_launch_up_barrier(&agent->up, on_others_known, agent))
        agent->loop.is_over = true;
}

static void on_agent_child(void *arg)
{
    struct agent *agent = arg;

    dm_launch_jobs_reap(&agent->jobs);
}

static void on_agent_grace(void *arg)
{
    struct agent *agent = arg;

    dm_launch_jobs_kill(&agent->jobs);
}

static void on_agent_end(void *arg, int signo, bool is_from_terminal)
{
    struct agent *agent = arg;

    (void)is_from_terminal;
    if (agent->is_last)
        agent->loop.is_over = true;
    if (agent->signo != 0) {
        dm_launch_jobs_kill(&agent->jobs);
        return;
    }
    agent->signo = signo;
    /* mpiexec knows of the signal; srun takes the highest status, which is for who has failed. */
    if (agent->node.status == 0)
        agent->node.status = 1;
    dm_launch_jobs_end(&agent->jobs, signo);
    dm_launch_loop_after(&agent->loop, &agent->grace, GRACE_NS, on_agent_grace, agent);
}

static void on_agent_pass(void *arg, int signo)
{
    struct agent *agent = arg;

    if (signo == SIGUSR1)
        dm_launch_report_ranks(&agent->jobs, false);
    dm_launch_jobs_signal(&agent->jobs, signo);
    if (signo == SIGTSTP)
        dm_launch_signals_stop();
}

/* ---- the start ---- */

/* What the engine's helper has left open is not for ranks. */
static void hide_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd > STDERR_FILENO)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    closedir(dir);
}

/* mpiexec's words as it has written them; false: reported. */
static bool read_args(struct agent *agent)
{
    const char *text = dm_cfg_env(DM_LAUNCH_AGENT_ARGS);
    const char *hosts = dm_cfg_env(DM_LAUNCH_AGENT_HOSTS);
    static struct dm_launch_list words; /* which the options point to */
    char *rest = text != NULL ? strdup(text) : NULL;
    char *word;

    if (rest == NULL || hosts == NULL || !dm_launch_list_add(&words, strdup("mpiexec"))) {
        dm_log_error("mpiexec --agent is started by mpiexec, with " DM_LAUNCH_AGENT_ARGS " set");
        return false;
    }
    while ((word = strsep(&rest, " ")) != NULL)
        if (!dm_pmi_wire_unescape(word) || !dm_launch_list_add(&words, word))
            return false;
    return dm_launch_options_parse(&agent->options, words.list) == DM_OK &&
           dm_launch_place_hosts(&agent->place, hosts) &&
           dm_launch_place_ranks(&agent->place, &agent->options);
}

/* Which host is ours: agents are on those that have ranks, in their order. */
static bool find_host(struct agent *agent, int own)
{
    int n = 0;

    agent->agent_of = calloc((size_t)agent->place.n_hosts, sizeof(int));
    if (agent->agent_of == NULL)
        return false;
    agent->node.host = -1;
    for (int host = 0; host < agent->place.n_hosts; host++) {
        agent->agent_of[host] = dm_launch_place_is_used(&agent->place, host) ? n++ : -1;
        if (agent->agent_of[host] == own)
            agent->node.host = host;
    }
    agent->up.n_agents = n;
    agent->up.own = own;
    agent->up.agent_of = agent->agent_of;
    agent->up.peers = calloc((size_t)n, sizeof(*agent->up.peers));
    for (int i = 0; agent->up.peers != NULL && i < n; i++)
        agent->up.peers[i].waiting = agent->up.peers[i].dead = -1;
    return agent->node.host >= 0 && agent->up.peers != NULL;
}

static void connect_parts(struct agent *agent, const struct rlimit *files)
{
    struct dm_launch_node *node = &agent->node;

    agent->signals = (struct dm_launch_signals){
        .arg = agent, .child = on_agent_child, .end = on_agent_end, .pass = on_agent_pass};
    agent->up.loop = node->loop = &agent->loop;
    agent->up.node = node;
    node->is_agents = true;
    node->options = &agent->options;
    node->place = &agent->place;
    node->host_name = agent->place.hosts[node->host].name;
    snprintf(agent->kvs_name, sizeof(agent->kvs_name), "datum_%.200s",
             dm_pmi_job(agent->up.pmi)->name);
    node->kvs_name = agent->kvs_name;
    node->files = *files;
    node->upstream = (struct dm_launch_upstream){agent, on_all_in, on_lookup};
    node->failed = on_failed;
    node->arg = agent;
    dm_launch_kvs_init(&node->kvs);
    dm_launch_jobs_init(&agent->jobs, node, on_all_ended, agent);
    agent->jobs.names.server = dm_launch_names_keeper(agent->options.nameserver);
    node->kin.has_parent = dm_launch_parent_is() && dm_launch_parent_pairs(&node->kvs);
}

/* Runs the ranks; returns the exit status. */
static int run_ranks(struct agent *agent)
{
    struct dm_launch_node *node = &agent->node;

    dm_launch_guard_start();
    if (!dm_launch_loop_open(&agent->loop) ||
        !dm_launch_signals_open(&agent->signals, &agent->loop, &node->mask)) {
        dm_log_error("mpiexec: %s", strerror(errno));
        return 1;
    }
    if (dm_launch_node_start(node)) {
        agent->up.n_published = node->kvs.n_pairs;
        (void)dm_launch_report(NULL);
    } else {
        if (!dm_launch_report(node->why))
            dm_launch_parent_blame(node);
        on_failed(agent);
    }
    dm_launch_loop_run(&agent->loop);
    node->status = dm_launch_jobs_status(&agent->jobs);
    dm_launch_guard_end();
    return node->status;
}

/* Settings that print something are for the ranks. */
static bool open_upstream(struct agent *agent)
{
    const char *explain = dm_cfg_env("DATUM_EXPLAIN");
    char *saved = explain != NULL ? strdup(explain) : NULL;
    bool is_good;

    unsetenv("DATUM_EXPLAIN");
    is_good = dm_cfg_load(true) == DM_OK && dm_pmi_open(&agent->up.pmi) == DM_OK;
    if (saved != NULL)
        setenv("DATUM_EXPLAIN", saved, 1);
    free(saved);
    if (!is_good)
        dm_log_error("mpiexec: %s", dm_err_detail());
    dm_log_identity(-1, NULL);
    return is_good;
}

int dm_launch_agent_run(const struct rlimit *files)
{
    static struct agent agent;
    int status;

    hide_descriptors();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!open_upstream(&agent))
        return 1;
    if (!read_args(&agent) || !find_host(&agent, dm_pmi_job(agent.up.pmi)->rank)) {
        (void)dm_pmi_end(agent.up.pmi, 1);
        _exit(1);
    }
    connect_parts(&agent, files);
    status = run_ranks(&agent);
    if (agent.is_awaited)
        poll(&(struct pollfd){.fd = dm_pmi_fd(agent.up.pmi)}, 1, END_WAIT_MS);
    if (agent.is_reported)
        _exit(status);
    if (dm_pmi_close(agent.up.pmi) != DM_OK && status == 0)
        status = 1;
    return status;
}
