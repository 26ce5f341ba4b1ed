/*
 * The beginning and the end: opens the layers in order, closes them in the reverse order, and
 * ends the job in between when something is fatal.
 *
 * The library has users: the world model (MPI_Init to MPI_Finalize) and sessions. The first one opens
 * the layers. The world model closes them when it is the last, unless there ever were sessions: those may
 * come again, so that the layers then stay, idle, until the process exits.
 *
 * Invariant: dm_api.is_slow is false exactly while calls may go ahead without a look at dm_world.state
 * and without the lock.
 */
#include "api/api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/lost.h"
#include "api/session.h"
#include "api/stats.h"
#include "api/tool_bound.h"
#include "api/where.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/process/process.h"
#include "mpi/pt2pt/pt2pt.h"
#include "pmi/pmi.h"
#include "util/cfg.h"
#include "util/crash.h"
#include "util/glock.h"
#include "util/host.h"
#include "util/log.h"
#include "util/stack.h"
#include "util/tune.h"
#include "util/where.h"

struct dm_api dm_api = {.is_slow = true};

static struct {
    struct dm_pmi *pmi;
    pthread_t main_thread;
    enum { MODEL_BEFORE, MODEL_UP, MODEL_DONE } world_model;
    int n_users;
    bool had_sessions;
} self;

/* ---- start ---- */

static int start_chan(void)
{
    const struct dm_pmi_job *job = dm_pmi_job(self.pmi);
    struct dm_adapt_job adapt_job = {
        .rank = job->rank,
        .size = job->size,
        .n_local = job->n_local,
        .n_cores = job->n_cores,
        .node_of = job->node_of,
        .name = job->name,
        .node_name = dm_pmi_node_name(),
        .kv = dm_pmi_kv(self.pmi),
        .host_of = dm_world.host_of,
        .choose_coll = dm_coll_choose,
    };
    int err = dm_chan_start(&adapt_job, &dm_world.chan);

    if (err == DM_OK)
        dm_lost_listen();
    return err;
}

static void stop_chan(void)
{
    dm_chan_stop(dm_world.chan);
    dm_world.chan = NULL;
}

static int start_usage(void)
{
    return dm_usage_start(dm_api_raise);
}

/* The layers above the launcher, lowest first. */
static const struct layer {
    const char *what;
    int (*start)(void);
    void (*stop)(void);
} layers[] = {
    {"algorithms of collectives", dm_coll_settings, dm_coll_forget},
    {"the channel", start_chan, stop_chan},
    {"communicators", dm_core_start, dm_core_stop},
    {"datatypes", dm_datatype_start, dm_datatype_stop},
    {"operations", dm_op_start, dm_op_stop},
    {"point-to-point", dm_pt2pt_start, dm_pt2pt_stop},
    {"collectives", dm_coll_start, dm_coll_stop},
    {"communicator agreement", dm_commlayer_start, dm_commlayer_stop},
    {"processes of other jobs", dm_process_start, dm_process_stop},
    {"one-sided", dm_onesided_start, dm_onesided_stop},
    {"files", dm_io_start, dm_io_stop},
    {"checks of the program", start_usage, dm_usage_stop},
};
enum { N_LAYERS = sizeof(layers) / sizeof(layers[0]) };

/* Warnings about settings come from rank 0 alone. */
int dm_api_load_settings(void)
{
    const char *pmi_rank = dm_cfg_env("PMI_RANK");

    if (pmi_rank == NULL)
        pmi_rank = dm_cfg_env("PMIX_RANK");
    return dm_cfg_load(pmi_rank != NULL && strcmp(pmi_rank, "0") != 0);
}

/* Open the launcher and fill dm_world. */
static int start_job(void)
{
    const struct dm_pmi_job *job;
    int err = dm_api_load_settings();

    if (err != DM_OK)
        return err;
    err = dm_pmi_open(&self.pmi);
    if (err != DM_OK)
        return err;
    err = dm_tune_load(dm_pmi_job(self.pmi)->rank != 0);
    if (err != DM_OK)
        return err;
    job = dm_pmi_job(self.pmi);
    dm_log_identity(job->rank, dm_host_name());
    dm_crash_start(job->rank, dm_host_name());
    dm_world.rank = job->rank;
    dm_world.size = job->size;
    dm_world.appnum = job->appnum;
    dm_world.universe_size = job->universe_size;
    dm_lost_start(self.pmi);
    dm_process_set_launcher(self.pmi);
    return DM_OK;
}

/* No error handler exists yet: say why and end the job. */
static void library_start_failed(const char *fn, const char *what, int err)
{
    char text[2400]; /* a list of providers and reasons has room */

    snprintf(text, sizeof(text), "%s: %s%s%s%s%s", fn, what, what[0] != '\0' ? ": " : "",
             dm_err_text(err), dm_err_detail()[0] != '\0' ? ": " : "", dm_err_detail());
    dm_pmi_abort(self.pmi, MPI_ERR_OTHER, text);
}

/* Progress threads need the global lock as it is: they end before its kind changes. What this thread holds stays held. */
static int stop_progress_thread(void)
{
    dm_chan_progress_thread_stop(dm_world.chan);
    return dm_glock_use_handover(false);
}

static void library_set_level(int level)
{
    bool has_progress_thread = dm_cfg()->progress >= DM_PROGRESS_THREAD &&
                               dm_adapt_has_rails(dm_chan_adapt(dm_world.chan));
    int levels = stop_progress_thread();
    int err;

    dm_calls_start();
    dm_world.thread_level = level;
    dm_api.is_slow =
        level == MPI_THREAD_MULTIPLE || dm_api.is_profiled || dm_api.has_events || dm_usage_is_on();
    if (has_progress_thread && level < MPI_THREAD_MULTIPLE) {
        dm_glock_use_handover(true);
        dm_glock_reacquire(levels);
        dm_api.is_slow = true;
    } else {
        dm_glock_enable(level == MPI_THREAD_MULTIPLE);
        if (level == MPI_THREAD_MULTIPLE)
            dm_glock_reacquire(levels);
    }
    if (!has_progress_thread)
        return;
    err = dm_chan_progress_thread_start(dm_world.chan);
    if (err != DM_OK)
        dm_log_warn("no thread for progress: %s", dm_err_detail());
}

static void library_start(const char *fn, int level)
{
    int err;

    dm_stats_begin();
    dm_data_start();
    err = start_job();
    if (err != DM_OK)
        library_start_failed(fn, "", err);
    for (int i = 0; i < N_LAYERS; i++) {
        err = layers[i].start();
        if (err != DM_OK)
            library_start_failed(fn, layers[i].what, err);
    }
    dm_where_start(dm_pmi_job(self.pmi)->name);
    self.main_thread = pthread_self();
    dm_world.state = DM_WORLD_UP;
    dm_world.thread_level = level;
    err = dm_info_env_fill();
    if (err != DM_OK)
        library_start_failed(fn, "MPI_INFO_ENV", err);
    if (dm_cfg()->explain && dm_world.rank == 0)
        dm_adapt_explain(dm_chan_adapt(dm_world.chan));
    if (dm_cfg()->stats != DM_STATS_NO)
        dm_stats_started(self.pmi);
    err = dm_process_connect_parent();
    if (err != DM_OK)
        library_start_failed(fn, "the processes that have spawned this one", err);
}

/* ---- users ---- */

int dm_users_add(const char *fn, int thread_level)
{
    bool is_first = dm_world.state != DM_WORLD_UP;

    if (dm_world.state == DM_WORLD_DONE)
        return DM_FAIL(DM_EINIT, "MPI_Finalize has closed the library; open the first session "
                                 "before it");
    if (dm_world.state == DM_WORLD_BEFORE)
        library_start(fn, thread_level);
    /* Never less than another user has asked for; nothing to write while others may be reading. */
    if (thread_level < dm_world.thread_level)
        thread_level = dm_world.thread_level;
    if (is_first || thread_level > dm_world.thread_level) {
        if (is_first)
            dm_pt2pt_return();
        dm_world.state = DM_WORLD_UP;
        library_set_level(thread_level);
    }
    self.n_users++;
    return DM_OK;
}

void dm_users_drop(void)
{
    if (--self.n_users > 0)
        return;
    dm_pt2pt_drain();
    (void)stop_progress_thread();
    dm_world.state = DM_WORLD_IDLE;
    dm_api.is_slow = true;
}

static int init_with_level(const struct dm_fn *fn, int required, int *provided)
{
    int level = required;

    if (level < MPI_THREAD_SINGLE)
        level = MPI_THREAD_SINGLE;
    if (level > MPI_THREAD_MULTIPLE)
        level = MPI_THREAD_MULTIPLE;
    if (self.world_model == MODEL_BEFORE && dm_users_add(fn->name, level) == DM_OK) {
        self.world_model = MODEL_UP;
        self.main_thread = pthread_self();
        if (provided != NULL)
            *provided = dm_world.thread_level;
        return MPI_SUCCESS;
    }
    if (dm_api.is_slow)
        dm_api_enter(fn); /* does not return when the library is closed */
    return dm_api_fail(fn, DM_FAIL(DM_ERR_OTHER, "it was called before, and may be only once"),
                       NULL);
}

int dm_init(int *argc, char ***argv)
{
    static const struct dm_fn fn = {.name = "MPI_Init", .args = ""};

    (void)argc;
    (void)argv;
    return init_with_level(&fn, MPI_THREAD_SINGLE, NULL);
}

int dm_init_thread(int *argc, char ***argv, int required, int *provided)
{
    static const struct dm_fn fn = {.name = "MPI_Init_thread", .args = ""};

    (void)argc;
    (void)argv;
    return init_with_level(&fn, required, provided);
}

/* ---- stop ---- */

/*
 * After the first barrier nobody needs anything of anybody any more, but its own last messages may
 * be under way; after the second everybody expects the others to leave.
 */
static int leave_together(void)
{
    int err = dm_barrier(dm_world.comm_world);

    if (err != DM_OK)
        return err;
    dm_adapt_quiesce(dm_chan_adapt(dm_world.chan));
    return dm_barrier(dm_world.comm_world);
}

static int close_library(void)
{
    int err;

    (void)stop_progress_thread();
    err = leave_together();

    if (err != DM_OK)
        return err;
    dm_tool_bound_close();
    for (int i = N_LAYERS - 1; i >= 0; i--)
        layers[i].stop();
    dm_where_close();
    dm_crash_stop();
    dm_world.state = DM_WORLD_DONE;
    dm_api.is_slow = true;
    return DM_OK;
}

/* After the layers: no error handler is there any more. */
static int close_launcher(const char *fn)
{
    int err = dm_pmi_close(self.pmi);

    self.pmi = NULL;
    dm_lost_start(NULL);
    dm_tune_unload();
    if (err == DM_OK)
        return MPI_SUCCESS;
    dm_log_error("%s: %s: %s", fn, dm_err_text(err), dm_err_detail());
    return dm_errcode_new(dm_errcode_class(err), dm_err_detail());
}

/* DATUM_STATS. */
static int print_stats(void)
{
    int err = DM_OK;

    if (dm_cfg()->stats != DM_STATS_NO)
        err = dm_stats_print(dm_chan_adapt(dm_world.chan));
    if (err == DM_OK && dm_cfg()->stats == DM_STATS_CALLS)
        err = dm_calls_print();
    return err;
}

/* The end of a process that had sessions, and has freed them all. */
static void library_at_exit(void)
{
    if (dm_world.state != DM_WORLD_IDLE)
        return;
    dm_world.state = DM_WORLD_UP;
    dm_glock_enable(false);
    if (self.world_model == MODEL_BEFORE)
        print_stats();
    dm_pt2pt_leave();
    if (close_library() == DM_OK)
        close_launcher("exit");
}

int dm_users_expect_sessions(void)
{
    if (!self.had_sessions && atexit(library_at_exit) != 0)
        return DM_FAIL(DM_ENOMEM, "handler for the exit of the process");
    self.had_sessions = true;
    return DM_OK;
}

/* First of all, says the standard: programs hang their own clean-up here. All of it, also where some fails. */
static int end_attrs(void)
{
    int err = dm_attr_end_all(MPI_COMM_SELF, &dm_world.comm_self->attrs);
    int world = dm_attr_end_all(MPI_COMM_WORLD, &dm_world.comm_world->attrs);

    return err != DM_OK ? err : world;
}

/* What MPI_Finalize does of the world's objects; with sessions about, which may send, the rest must stay. */
static int end_world(void)
{
    dm_usage_report();
    if (self.n_users == 1)
        dm_pt2pt_leave();
    else
        dm_pt2pt_drain();
    return print_stats();
}

static int finalize(const struct dm_fn *fn)
{
    bool is_last = !self.had_sessions;
    int code = MPI_SUCCESS, err;

    if (self.world_model != MODEL_UP && dm_world.state == DM_WORLD_UP) {
        dm_log_error("MPI_Finalize was called %s MPI_Init",
                     self.world_model == MODEL_BEFORE ? "without" : "a second time after");
        fflush(stdout);
        _exit(MPI_ERR_OTHER);
    }
    if (dm_api.is_slow)
        dm_api_enter(fn);
    err = end_attrs();
    if (err != DM_OK) { /* which is said, and MPI ends all the same */
        code = dm_api_fail(fn, err, NULL);
        if (dm_api.is_slow)
            dm_api_enter(fn);
    }
    err = end_world();
    if (err == DM_OK && is_last)
        err = close_library();
    if (err != DM_OK)
        return dm_api_fail(fn, err, NULL);
    self.world_model = MODEL_DONE;
    if (!is_last)
        dm_users_drop();
    if (dm_api.is_slow)
        dm_api_leave();
    if (!is_last)
        return code;
    dm_glock_enable(false);
    err = close_launcher("MPI_Finalize");
    return code != MPI_SUCCESS ? code : err;
}

int dm_finalize(void)
{
    static const struct dm_fn fn = {.name = "MPI_Finalize", .args = ""};
    int code;

    dm_stack_enter(fn.name);
    code = finalize(&fn);
    dm_stack_leave();
    return code;
}

/* ---- questions that may be asked at any time ---- */

int dm_initialized(int *flag)
{
    if (flag == NULL)
        return MPI_ERR_ARG;
    *flag = self.world_model != MODEL_BEFORE;
    return MPI_SUCCESS;
}

int dm_finalized(int *flag)
{
    if (flag == NULL)
        return MPI_ERR_ARG;
    *flag = self.world_model == MODEL_DONE;
    return MPI_SUCCESS;
}

int dm_query_thread(int *provided)
{
    *provided = dm_world.thread_level;
    return DM_OK;
}

int dm_is_thread_main(int *flag)
{
    *flag = pthread_equal(pthread_self(), self.main_thread) != 0;
    return DM_OK;
}

/* An exit code of 0 would look like success. */
static int exit_code_of(int errorcode)
{
    return (errorcode & 0xff) != 0 ? errorcode & 0xff : 1;
}

int dm_abort(MPI_Comm comm, int errorcode)
{
    static const struct dm_fn fn = {.name = "MPI_Abort", .args = ""};
    const struct dm_comm *obj;
    char text[MPI_MAX_OBJECT_NAME + 64];

    if (dm_world.state != DM_WORLD_UP)
        dm_api_enter(&fn); /* does not return */
    obj = dm_handle_get(DM_KIND_COMM, comm);
    snprintf(text, sizeof(text), "MPI_Abort(%s, %d) was called",
             obj != NULL && obj->name[0] != '\0' ? obj->name : "comm", errorcode);
    dm_api_abort(exit_code_of(errorcode), text);
}
