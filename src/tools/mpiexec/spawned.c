/*
 * A spawned job has options, a place and names of its own, made from the request, whose texts it
 * keeps. Nothing is started unless all programs are there.
 */
#include "tools/mpiexec/spawned.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmi/pmi_mpiexec.h"
#include "pmi/pmi_wire.h"
#include "tools/mpiexec/spawn.h"
#include "util/err.h"
#include "util/log.h"

enum { WHY_LEN = 512, FAULTS_LEN = 4096 };

struct spawned {
    struct dm_launch_node node;
    struct dm_launch_request request;
    struct dm_launch_options options;
    struct dm_launch_place place;
    struct dm_launch_host host;
    char kvs_name[192];
    int n_could; /* ranks that were started when one could not be */
};

static struct spawned *spawned_of(struct dm_launch_node *node)
{
    return (struct spawned *)(void *)((char *)node - offsetof(struct spawned, node));
}

/* ---- answers ---- */

static void answer_started(const struct dm_launch_rank *rank, const char *name, int n)
{
    (void)dm_pmi_wire_send(rank->wire, "cmd=spawn_result rc=0 jobid=%s n=%d", name, n);
}

/* faults: a word of PMI-1, for each program 1 when it is to blame; NULL: none in particular. */
static void answer_refused(const struct dm_launch_rank *rank, const char *faults, const char *why)
{
    char text[3 * WHY_LEN + 1] = "";

    (void)dm_pmi_wire_escape(why, text, sizeof(text));
    (void)dm_pmi_wire_send(rank->wire, "cmd=spawn_result rc=-1 faults=%s msg=%s",
                           faults != NULL ? faults : "", text);
}

/* Some were started, and are gone now: there is room for as many. */
static void answer_short(const struct spawned *job)
{
    const struct dm_launch_node *node = &job->node;
    char text[3 * WHY_LEN + 1] = "";

    (void)dm_pmi_wire_escape(node->why[0] != '\0' ? node->why : "see mpiexec's message", text,
                             sizeof(text));
    (void)dm_pmi_wire_send(node->kin.asker->wire, "cmd=spawn_result rc=-1 n=%d faults= msg=%s",
                           job->n_could, text);
}

/* ---- what the request asks for ---- */

enum where { IS_HERE, IS_ELSEWHERE, IS_NOWHERE };

/* Where the hosts are that the info names. */
static enum where find_hosts_of(const struct dm_launch_request_app *app, char *why, size_t len)
{
    const char *text = dm_launch_request_info(app, "host");
    enum where where = IS_HERE;
    char name[256];

    if (text == NULL)
        text = dm_launch_request_info(app, "hosts");
    if (text == NULL)
        return dm_launch_request_info(app, "hostfile") == NULL ? IS_HERE : IS_ELSEWHERE;
    for (text += strspn(text, ", "); *text != '\0'; text += strspn(text, ", ")) {
        size_t n = strcspn(text, ":, ");

        snprintf(name, sizeof(name), "%.*s", (int)(n < 255 ? n : 255), text);
        if (!dm_launch_place_exists(name)) {
            snprintf(why, len, "there is no host '%.80s'", name);
            return IS_NOWHERE;
        }
        if (!dm_launch_place_is_here(name))
            where = IS_ELSEWHERE;
        text += strcspn(text, ", ");
    }
    return where;
}

/* The info's variables, each on a line of its own; the text is changed. */
static bool set_variables(struct dm_launch_app *app, char *text)
{
    char *word;

    while ((word = strsep(&text, "\n")) != NULL)
        if (strchr(word, '=') != NULL && !dm_launch_list_add(&app->env.sets, word))
            return false;
    return true;
}

static bool make_app(struct dm_launch_app *app, const struct dm_launch_request_app *from)
{
    char *variables = (char *)dm_launch_request_info(from, "env"); /* ours */
    const char *errhandler = dm_launch_request_info(from, "mpi_initial_errhandler");
    char *setting = errhandler != NULL ? dm_launch_errhandler(errhandler) : NULL;

    app->n = from->n;
    app->wdir = dm_launch_request_info(from, "wdir");
    app->path = dm_launch_request_info(from, "path");
    app->argv = calloc(from->args.n + 2, sizeof(char *));
    if (app->argv == NULL)
        return false;
    app->argv[0] = from->command;
    for (size_t i = 0; i < from->args.n; i++)
        app->argv[i + 1] = from->args.list[i];
    if (setting != NULL && !dm_launch_list_add(&app->env.sets, setting))
        return false;
    return variables == NULL || set_variables(app, variables);
}

static bool make_place(struct spawned *job)
{
    struct dm_launch_place *place = &job->place;
    int rank = 0;

    job->host.name = (char *)job->node.host_name;
    place->hosts = &job->host;
    place->n_hosts = 1;
    place->host_of = calloc((size_t)place->n_ranks + 1, sizeof(int));
    place->app_of = calloc((size_t)place->n_ranks + 1, sizeof(int));
    if (place->host_of == NULL || place->app_of == NULL)
        return false;
    for (size_t i = 0; i < job->options.n_apps; i++)
        for (int k = 0; k < job->options.apps[i].n; k++)
            place->app_of[rank++] = (int)i;
    return true;
}

/* Takes the request's texts. NULL: no memory. */
static struct spawned *spawned_new(const struct dm_launch_rank *rank,
                                   struct dm_launch_request *request)
{
    const struct dm_launch_node *parent = rank->node;
    struct spawned *job = calloc(1, sizeof(*job));
    bool is_good = true;

    if (job == NULL)
        return NULL;
    job->request = *request;
    memset(request, 0, sizeof(*request));
    job->node.loop = parent->loop;
    job->node.options = &job->options;
    job->node.place = &job->place;
    job->node.host_name = parent->host_name;
    job->node.kvs_name = job->kvs_name;
    job->node.mask = parent->mask;
    job->node.files = parent->files;
    job->node.pmi_fd = job->node.kin.report_fd = -1;
    job->node.kin.is_spawned = true;
    dm_launch_kvs_init(&job->node.kvs);
    job->options = *parent->kin.jobs->first->options;
    job->options.apps = calloc(job->request.n_apps + 1, sizeof(*job->options.apps));
    job->options.n_apps = job->options.apps != NULL ? job->request.n_apps : 0;
    job->options.stdin_rank = DM_LAUNCH_STDIN_NONE;
    job->options.is_by_port = false;
    for (size_t i = 0; i < job->options.n_apps && is_good; i++) {
        is_good = make_app(&job->options.apps[i], &job->request.apps[i]);
        job->place.n_ranks += job->options.apps[i].n;
    }
    for (size_t i = 0; i < job->request.keys.n && is_good; i++)
        is_good = dm_launch_kvs_put(&job->node.kvs, job->request.keys.list[i],
                                    job->request.values.list[i]);
    if (is_good && job->options.apps != NULL && make_place(job))
        return job;
    dm_launch_spawned_free(&job->node);
    return NULL;
}

void dm_launch_spawned_free(struct dm_launch_node *node)
{
    struct spawned *job = spawned_of(node);

    if (node->kin.asker != NULL && !node->kin.asker->is_closed && node->kin.report_fd < 0)
        answer_short(job);
    dm_launch_loop_remove(node->loop, &node->kin.report_watch);
    if (node->kin.report_fd >= 0)
        close(node->kin.report_fd);
    dm_launch_node_free(node);
    for (size_t i = 0; i < job->options.n_apps; i++) {
        free(job->options.apps[i].argv);
        free(job->options.apps[i].env.sets.list);
    }
    free(job->options.apps);
    free(job->place.host_of);
    free(job->place.app_of);
    dm_launch_request_free(&job->request);
    free(job);
}

/* ---- on this host ---- */

/* Are all programs there? faults gets a 1 for each that is not. */
static bool find_programs(struct spawned *job, char *faults)
{
    struct dm_launch_node *node = &job->node;
    bool are_there = true;
    size_t at = 0;

    node->port_fd = -1;
    for (size_t i = 0; i < job->options.n_apps; i++) {
        struct dm_launch_program program;
        bool is_there = job->options.apps[i].n == 0 ||
                        dm_launch_program_find(&program, node, &job->options.apps[i], node->why,
                                               sizeof(node->why)) == 0;

        if (job->options.apps[i].n > 0)
            dm_launch_program_free(&program);
        are_there = are_there && is_there;
        if (at + 3 < FAULTS_LEN)
            at += (size_t)sprintf(faults + at, i > 0 ? ",%d" : "%d", !is_there);
    }
    return are_there;
}

static void start_here(struct dm_launch_rank *rank, struct spawned *job)
{
    struct dm_launch_node *node = &job->node;
    char faults[FAULTS_LEN] = "";

    if (job->place.n_ranks == 0 || !find_programs(job, faults)) {
        if (job->place.n_ranks == 0)
            answer_started(rank, job->kvs_name, 0);
        else
            answer_refused(rank, faults, node->why);
        dm_launch_spawned_free(node);
        return;
    }
    dm_launch_jobs_add(rank->node->kin.jobs, node);
    if (!dm_launch_node_start(node)) {
        /* Those that had been started are killed; it is no failure of a job. When they are gone,
         * the answer is sent. */
        node->status = 0;
        job->n_could = node->n_running;
        node->kin.asker = rank;
        return;
    }
    for (int i = 0; i < node->n_ranks; i++)
        (void)dm_launch_jobs_tie(&node->ranks[i], rank->node->kin.id, rank->node->kin.serial);
    answer_started(rank, job->kvs_name, node->n_ranks);
}

/* ---- on other hosts ---- */

/* The mpiexec of the job says how it went; its end says it, too. */
static void on_report(void *arg)
{
    struct dm_launch_node *node = arg;
    struct dm_pmi_report report;
    struct dm_launch_rank *rank = node->kin.asker;

    dm_launch_loop_remove(node->loop, &node->kin.report_watch);
    dm_pmi_mpiexec_report(node->kin.report_fd, &report);
    close(node->kin.report_fd);
    node->kin.report_fd = -1;
    node->kin.asker = NULL;
    if (rank == NULL || rank->is_closed)
        return;
    if (report.is_good)
        answer_started(rank, node->kvs_name, node->place->n_ranks);
    else
        answer_refused(rank, report.faults, report.why);
    if (!report.is_good)
        node->is_ending = true; /* its status is no failure of a job */
}

/* The request in the words of the client. */
static int start_mpiexec(struct spawned *job)
{
    const struct dm_launch_request *request = &job->request;
    struct dm_pmi_program *programs = calloc(request->n_apps, sizeof(*programs));
    struct dm_pmi_pair *pairs;
    struct dm_pmi_spawn spawn = {.programs = programs, .n_programs = (int)request->n_apps};
    size_t n_pairs = request->keys.n;
    size_t at = 0;
    int err = DM_ENOMEM;

    for (size_t i = 0; i < request->n_apps; i++)
        n_pairs += request->apps[i].keys.n;
    pairs = calloc(n_pairs + 1, sizeof(*pairs));
    if (programs != NULL && pairs != NULL) {
        spawn.preput = pairs;
        spawn.n_preput = (int)request->keys.n;
        for (; at < request->keys.n; at++)
            pairs[at] = (struct dm_pmi_pair){request->keys.list[at], request->values.list[at]};
        for (size_t i = 0; i < request->n_apps; i++) {
            const struct dm_launch_request_app *app = &request->apps[i];

            programs[i] = (struct dm_pmi_program){.command = app->command,
                                                  .argv = app->args.list,
                                                  .maxprocs = app->n,
                                                  .info = &pairs[at],
                                                  .n_info = (int)app->keys.n};
            for (size_t k = 0; k < app->keys.n; k++)
                pairs[at++] = (struct dm_pmi_pair){app->keys.list[k], app->values.list[k]};
        }
        err = dm_pmi_mpiexec_start("/proc/self/exe", &spawn, &job->node.kin.mpiexec,
                                   &job->node.kin.report_fd);
    }
    free(programs);
    free(pairs);
    return err;
}

static void start_elsewhere(struct dm_launch_rank *rank, struct spawned *job)
{
    struct dm_launch_node *node = &job->node;
    struct dm_launch_jobs *jobs = rank->node->kin.jobs;

    dm_launch_name_server_start(&jobs->name_server, jobs->loop, &jobs->names);
    if (start_mpiexec(job) != DM_OK) {
        answer_refused(rank, NULL, dm_err_detail());
        dm_launch_spawned_free(node);
        return;
    }
    node->n_running = 1;
    node->kin.asker = rank;
    dm_launch_jobs_add(jobs, node);
    if (!dm_launch_loop_add(node->loop, &node->kin.report_watch, node->kin.report_fd, false,
                            on_report, node))
        on_report(node);
}

void dm_launch_spawned_note_end(struct dm_launch_jobs *jobs, pid_t pid, int status)
{
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next) {
        if (node->kin.mpiexec != pid)
            continue;
        if (node->kin.report_fd >= 0)
            on_report(node);
        node->kin.mpiexec = 0;
        node->n_running = 0;
        if (!node->is_ending)
            dm_launch_verdict_status(node, dm_launch_verdict_code(status));
        return;
    }
}

/* ---- the request ---- */

void dm_launch_spawned_start(struct dm_launch_rank *rank, struct dm_launch_request *request)
{
    struct dm_launch_jobs *jobs = rank->node->kin.jobs;
    struct spawned *job;
    bool is_here = true;
    char why[128];

    if (request->why != NULL || jobs->is_ending || rank->node->is_ending) {
        snprintf(why, sizeof(why), "the request cannot be understood: %s", request->why);
        answer_refused(rank, NULL, request->why != NULL ? why : "mpiexec ends its jobs");
        dm_launch_request_free(request);
        return;
    }
    if (request->own != 0)
        rank->node->kin.id = request->own;
    for (size_t i = 0; i < request->n_apps; i++) {
        enum where where = find_hosts_of(&request->apps[i], why, sizeof(why));

        if (where == IS_NOWHERE) {
            answer_refused(rank, NULL, why);
            dm_launch_request_free(request);
            return;
        }
        is_here = is_here && where == IS_HERE;
    }
    job = spawned_new(rank, request);
    if (job == NULL) {
        answer_refused(rank, NULL, "mpiexec has no memory");
        return;
    }
    /* Agents of one job have one name for it, and each its own spawned jobs. */
    snprintf(job->kvs_name, sizeof(job->kvs_name), "%.160s_%d_%d", jobs->first->kvs_name,
             jobs->first->host, jobs->n_made);
    if (is_here)
        start_here(rank, job);
    else
        start_elsewhere(rank, job);
}
