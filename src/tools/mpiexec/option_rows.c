/*
 * The options of mpiexec.
 */
#include "tools/mpiexec/option_rows.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "tools/mpiexec/binding.h"
#include "tools/mpiexec/open_mpi.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/soft.h"

char *dm_launch_option_text(struct dm_launch_options *options, const char *a, const char *b,
                            const char *c)
{
    char *text;

    if (asprintf(&text, "%s%s%s", a, b, c) < 0)
        return NULL;
    if (dm_launch_list_add(&options->made, text))
        return text;
    free(text);
    return NULL;
}

/* ---- what options do ---- */

bool dm_launch_option_count(const struct dm_launch_option_at *at, int min, int *num_p)
{
    char *end;
    long num;

    errno = 0;
    num = strtol(at->value, &end, 10);
    if (end != at->value && *end == '\0' && errno == 0 && num >= min && num <= INT_MAX) {
        *num_p = (int)num;
        return true;
    }
    dm_log_error("mpiexec: -%s is '%s', but must be a number from %d", at->name, at->value, min);
    return false;
}

static bool set_n(const struct dm_launch_option_at *at)
{
    return dm_launch_option_count(at, 1, &at->app->n);
}

static bool set_ppn(const struct dm_launch_option_at *at)
{
    return dm_launch_option_count(at, 1, &at->options->ppn);
}

static bool set_usize(const struct dm_launch_option_at *at)
{
    if (strcmp(at->value, "SYSTEM") == 0 || strcmp(at->value, "INFINITE") == 0)
        return true;
    return dm_launch_option_count(at, 1, &at->options->universe_size);
}

/* A number of seconds, with s, m or h behind it or not. False: it is none, or too large. */
static bool read_seconds(const char *text, int *seconds_p)
{
    char *end;
    long num = strtol(text, &end, 10);
    long unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;

    if (end == text || num < 0 || num > INT_MAX / unit)
        return false;
    if (*end == 's' || unit > 1)
        end++;
    *seconds_p = (int)(num * unit);
    return *end == '\0';
}

static bool set_timeout(const struct dm_launch_option_at *at)
{
    if (read_seconds(at->value, &at->options->timeout) && at->options->timeout > 0)
        return true;
    dm_log_error(
        "mpiexec: -%s is '%s', but must be a number of seconds from 1, or a time like 90s, "
        "5m or 2h",
        at->name, at->value);
    return false;
}

bool dm_launch_option_timeout(struct dm_launch_options *options, const char *text)
{
    if (strcmp(text, "-1") == 0 || read_seconds(text, &options->timeout))
        return true;
    dm_log_error(
        "mpiexec: MPIEXEC_TIMEOUT is '%s', but must be a number of seconds, or a time like "
        "90s, 5m or 2h; 0 and -1 are none",
        text);
    return false;
}

static bool set_nameserver(const struct dm_launch_option_at *at)
{
    if (strchr(at->value, ':') == NULL) {
        dm_log_error("mpiexec: -nameserver is '%s', but must be HOST:PORT of a hydra_nameserver",
                     at->value);
        return false;
    }
    at->options->nameserver = at->value;
    return true;
}

static bool set_hosts(const struct dm_launch_option_at *at)
{
    at->options->hosts = at->value;
    return true;
}

/* MPI-4.0 section 11.5: of a program. */
static bool set_own_hosts(const struct dm_launch_option_at *at)
{
    at->app->hosts = at->value;
    return true;
}

static bool set_hostfile(const struct dm_launch_option_at *at)
{
    at->options->hostfile = at->value;
    return true;
}

static bool set_wdir(const struct dm_launch_option_at *at)
{
    at->app->wdir = at->value;
    return true;
}

static bool set_path(const struct dm_launch_option_at *at)
{
    at->app->path = at->value;
    return true;
}

static bool set_soft(const struct dm_launch_option_at *at)
{
    at->app->soft = at->value;
    return true;
}

/* Data are not converted between processes, so all hosts are of one kind. */
static bool set_arch(const struct dm_launch_option_at *at)
{
    struct utsname machine;

    if (uname(&machine) != 0 || strcmp(at->value, machine.machine) == 0)
        return true;
    dm_log_error("mpiexec: -%s is '%s', but there is only %s", at->name, at->value,
                 machine.machine);
    return false;
}

/* Those that count have been replaced by what the file says. */
static bool set_file(const struct dm_launch_option_at *at)
{
    dm_log_error("mpiexec: -%s %s stands in a file of options, which names no other", at->name,
                 at->value);
    return false;
}

/* MPI-4.0 section 11.5; the program gets it as a setting. */
static bool set_errhandler(const struct dm_launch_option_at *at)
{
    char *text = dm_launch_errhandler(at->value);

    if (text == NULL) {
        dm_log_error("mpiexec: -%s is '%s', but must be mpi_errors_are_fatal, mpi_errors_abort or "
                     "mpi_errors_return",
                     at->name, at->value);
        return false;
    }
    return dm_launch_list_add(&at->app->env.sets, text);
}

static bool set_pass_all(const struct dm_launch_option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    env->pass = DM_LAUNCH_PASS_ALL;
    return true;
}

static bool set_pass_none(const struct dm_launch_option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    env->pass = DM_LAUNCH_PASS_NONE;
    env->names = at->value;
    return true;
}

static bool set_env(const struct dm_launch_option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    return dm_launch_list_add(&env->sets, at->value);
}

/* Open MPI's: a variable that all get, with the value that it has here, or another one. */
static bool set_x(const struct dm_launch_option_at *at)
{
    const char *here = dm_cfg_env(at->value);
    char *text;

    if (strchr(at->value, '=') != NULL)
        return dm_launch_list_add(&at->options->env.sets, at->value);
    if (here == NULL)
        return true;
    text = dm_launch_option_text(at->options, at->value, "=", here);
    return text != NULL && dm_launch_list_add(&at->options->env.sets, text);
}

static bool set_prepend_rank(const struct dm_launch_option_at *at)
{
    at->options->prepend = "[%r] ";
    return true;
}

static bool set_prepend(const struct dm_launch_option_at *at)
{
    at->options->prepend = at->value;
    return true;
}

static bool set_tag(const struct dm_launch_option_at *at)
{
    at->options->prepend = "[1,%r]";
    at->options->is_tagged_by_stream = true;
    return true;
}

static bool set_stamp(const struct dm_launch_option_at *at)
{
    if (at->options->prepend == NULL)
        at->options->prepend = "";
    at->options->is_stamped = at->options->is_tagged_by_stream = true;
    return true;
}

static bool set_merge(const struct dm_launch_option_at *at)
{
    at->options->is_merged = true;
    return true;
}

/* Open MPI's: both streams of a rank in one file. */
static bool set_output_name(const struct dm_launch_option_at *at)
{
    at->options->outfile = dm_launch_option_text(at->options, at->value, ".%r", "");
    at->options->is_merged = true;
    return at->options->outfile != NULL;
}

static bool set_outfile(const struct dm_launch_option_at *at)
{
    at->options->outfile = at->value;
    return true;
}

static bool set_errfile(const struct dm_launch_option_at *at)
{
    at->options->errfile = at->value;
    return true;
}

static bool set_stdin(const struct dm_launch_option_at *at)
{
    if (strcmp(at->value, "all") == 0)
        at->options->stdin_rank = DM_LAUNCH_STDIN_ALL;
    else if (strcmp(at->value, "none") == 0)
        at->options->stdin_rank = DM_LAUNCH_STDIN_NONE;
    else
        return dm_launch_option_count(at, 0, &at->options->stdin_rank);
    return true;
}

static bool set_bind(const struct dm_launch_option_at *at)
{
    at->options->bind_to = at->value;
    return dm_launch_binding_is_good(at->name, at->value);
}

static bool set_map(const struct dm_launch_option_at *at)
{
    return dm_launch_map_by(at);
}

static bool set_by_node(const struct dm_launch_option_at *at)
{
    at->options->map.is_by_node = true;
    return true;
}

static bool set_rank_by(const struct dm_launch_option_at *at)
{
    at->options->map.rank_by = at->value;
    return true;
}

static bool set_cores_each(const struct dm_launch_option_at *at)
{
    return dm_launch_option_count(at, 1, &at->options->map.cores_each);
}

static bool set_per_node(const struct dm_launch_option_at *at)
{
    at->options->ppn = 1;
    return true;
}

static bool set_print_bindings(const struct dm_launch_option_at *at)
{
    at->options->map.is_printed = true;
    return true;
}

static bool set_port(const struct dm_launch_option_at *at)
{
    at->options->is_by_port = true;
    return true;
}

static bool set_verbose(const struct dm_launch_option_at *at)
{
    at->options->is_verbose = true;
    return true;
}

static bool set_exit_codes(const struct dm_launch_option_at *at)
{
    at->options->prints_exit_codes = true;
    return true;
}

static bool set_stays(const struct dm_launch_option_at *at)
{
    at->options->stays = *at->name == 'd';
    return true;
}

static bool set_launcher(const struct dm_launch_option_at *at)
{
    at->options->launcher = at->value;
    return true;
}

static bool set_help(const struct dm_launch_option_at *at)
{
    at->options->wants_help = true;
    return true;
}

static bool set_version(const struct dm_launch_option_at *at)
{
    at->options->wants_version = true;
    return true;
}

static bool set_configfile(const struct dm_launch_option_at *at)
{
    dm_log_error("mpiexec: -configfile %s must be the first option", at->value);
    return false;
}

/* Accepted, and without effect here. */
static bool set_nothing(const struct dm_launch_option_at *at)
{
    (void)at;
    return true;
}

/* ---- as many processes as may be ---- */

bool dm_launch_option_soften(struct dm_launch_app *app)
{
    int most = app->n > 0 ? app->n : INT_MAX;

    if (app->soft == NULL)
        return true;
    if (dm_soft_largest(app->soft, most, &app->n) != DM_OK)
        dm_log_error("mpiexec: -%s", dm_err_detail());
    else if (app->n > 0)
        return true;
    else
        dm_log_error("mpiexec: -soft %s has no number from 1 to %d", app->soft, most);
    return false;
}

/* ---- the table ---- */

static const struct dm_launch_option_row option_rows[] = {
    {"n", DM_LAUNCH_OPT_VALUE, set_n},
    {"np", DM_LAUNCH_OPT_VALUE, set_n},
    {"c", DM_LAUNCH_OPT_VALUE, set_n},
    {"soft", DM_LAUNCH_OPT_VALUE, set_soft},
    {"ppn", DM_LAUNCH_OPT_VALUE, set_ppn},
    {"perhost", DM_LAUNCH_OPT_VALUE, set_ppn},
    {"npernode", DM_LAUNCH_OPT_VALUE, set_ppn},
    {"N", DM_LAUNCH_OPT_VALUE, set_ppn},
    {"pernode", DM_LAUNCH_OPT_FLAG, set_per_node},
    {"usize", DM_LAUNCH_OPT_VALUE, set_usize},
    {"timeout", DM_LAUNCH_OPT_VALUE, set_timeout},
    {"hosts", DM_LAUNCH_OPT_VALUE, set_hosts},
    {"host", DM_LAUNCH_OPT_VALUE, set_own_hosts},
    {"H", DM_LAUNCH_OPT_VALUE, set_own_hosts},
    {"hostlist", DM_LAUNCH_OPT_VALUE, set_hosts},
    {"machine", DM_LAUNCH_OPT_VALUE, set_hosts},
    {"machines", DM_LAUNCH_OPT_VALUE, set_hosts},
    {"machinelist", DM_LAUNCH_OPT_VALUE, set_hosts},
    {"f", DM_LAUNCH_OPT_VALUE, set_hostfile},
    {"hostfile", DM_LAUNCH_OPT_VALUE, set_hostfile},
    {"machinefile", DM_LAUNCH_OPT_VALUE, set_hostfile},
    {"env", DM_LAUNCH_OPT_VARIABLE, set_env},
    {"envall", DM_LAUNCH_OPT_FLAG, set_pass_all},
    {"envnone", DM_LAUNCH_OPT_FLAG, set_pass_none},
    {"envlist", DM_LAUNCH_OPT_VALUE, set_pass_none},
    {"genv", DM_LAUNCH_OPT_VARIABLE, set_env},
    {"genvall", DM_LAUNCH_OPT_FLAG, set_pass_all},
    {"genvnone", DM_LAUNCH_OPT_FLAG, set_pass_none},
    {"genvlist", DM_LAUNCH_OPT_VALUE, set_pass_none},
    {"x", DM_LAUNCH_OPT_VALUE, set_x},
    {"wdir", DM_LAUNCH_OPT_VALUE, set_wdir},
    {"wd", DM_LAUNCH_OPT_VALUE, set_wdir},
    {"path", DM_LAUNCH_OPT_VALUE, set_path},
    {"arch", DM_LAUNCH_OPT_VALUE, set_arch},
    {"file", DM_LAUNCH_OPT_VALUE, set_file},
    {"initial-errhandler", DM_LAUNCH_OPT_VALUE, set_errhandler},
    {"mpi_initial_errhandler", DM_LAUNCH_OPT_VALUE, set_errhandler}, /* the info key's name */
    {"l", DM_LAUNCH_OPT_FLAG, set_prepend_rank},
    {"prepend-rank", DM_LAUNCH_OPT_FLAG, set_prepend_rank},
    {"prepend-pattern", DM_LAUNCH_OPT_VALUE, set_prepend},
    {"tag-output", DM_LAUNCH_OPT_FLAG, set_tag},
    {"timestamp-output", DM_LAUNCH_OPT_FLAG, set_stamp},
    {"merge-stderr-to-stdout", DM_LAUNCH_OPT_FLAG, set_merge},
    {"output-filename", DM_LAUNCH_OPT_VALUE, set_output_name},
    {"outfile-pattern", DM_LAUNCH_OPT_VALUE, set_outfile},
    {"outfile", DM_LAUNCH_OPT_VALUE, set_outfile},
    {"errfile-pattern", DM_LAUNCH_OPT_VALUE, set_errfile},
    {"errfile", DM_LAUNCH_OPT_VALUE, set_errfile},
    {"stdin", DM_LAUNCH_OPT_VALUE, set_stdin},
    {"s", DM_LAUNCH_OPT_VALUE, set_stdin},
    {"bind-to", DM_LAUNCH_OPT_VALUE, set_bind},
    {"binding", DM_LAUNCH_OPT_VALUE, set_bind},
    {"map-by", DM_LAUNCH_OPT_VALUE, set_map},
    {"bynode", DM_LAUNCH_OPT_FLAG, set_by_node},
    {"byslot", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"rank-by", DM_LAUNCH_OPT_VALUE, set_rank_by},
    {"cpus-per-proc", DM_LAUNCH_OPT_VALUE, set_cores_each},
    {"cpus-per-rank", DM_LAUNCH_OPT_VALUE, set_cores_each},
    {"report-bindings", DM_LAUNCH_OPT_FLAG, set_print_bindings},
    {"display-map", DM_LAUNCH_OPT_FLAG, set_verbose},
    {"pmi-port", DM_LAUNCH_OPT_FLAG, set_port},
    {"verbose", DM_LAUNCH_OPT_FLAG, set_verbose},
    {"v", DM_LAUNCH_OPT_FLAG, set_verbose},
    {"debug", DM_LAUNCH_OPT_FLAG, set_verbose},
    {"print-all-exitcodes", DM_LAUNCH_OPT_FLAG, set_exit_codes},
    {"disable-auto-cleanup", DM_LAUNCH_OPT_FLAG, set_stays},
    {"dac", DM_LAUNCH_OPT_FLAG, set_stays},
    {"enable-auto-cleanup", DM_LAUNCH_OPT_FLAG, set_stays},
    {"help", DM_LAUNCH_OPT_FLAG, set_help},
    {"h", DM_LAUNCH_OPT_FLAG, set_help},
    {"version", DM_LAUNCH_OPT_FLAG, set_version},
    {"V", DM_LAUNCH_OPT_FLAG, set_version},
    {"info", DM_LAUNCH_OPT_FLAG, set_version},
    {"configfile", DM_LAUNCH_OPT_VALUE, set_configfile},
    {"launcher", DM_LAUNCH_OPT_VALUE, set_launcher},
    {"bootstrap", DM_LAUNCH_OPT_VALUE, set_launcher},
    {"launcher-exec", DM_LAUNCH_OPT_ENGINE_VALUE, NULL},
    {"bootstrap-exec", DM_LAUNCH_OPT_ENGINE_VALUE, NULL},
    {"rmk", DM_LAUNCH_OPT_ENGINE_VALUE, NULL},
    {"iface", DM_LAUNCH_OPT_ENGINE_VALUE, NULL},
    {"localhost", DM_LAUNCH_OPT_ENGINE_VALUE, NULL},
    {"enable-x", DM_LAUNCH_OPT_ENGINE_FLAG, NULL},
    {"disable-x", DM_LAUNCH_OPT_ENGINE_FLAG, NULL},
    {"disable-hostname-propagation", DM_LAUNCH_OPT_ENGINE_FLAG, NULL},
    {"enable-hostname-propagation", DM_LAUNCH_OPT_ENGINE_FLAG, NULL},
    {"nameserver", DM_LAUNCH_OPT_VALUE, set_nameserver},
    {"topolib", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"membind", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"demux", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"order-nodes", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"gpus-per-proc", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"profile", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"skip-launch-node", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"oversubscribe", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"prefix", DM_LAUNCH_OPT_VALUE, set_nothing},
    {"use-hwthread-cpus", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"allow-run-as-root", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"quiet", DM_LAUNCH_OPT_FLAG, set_nothing},
    {"q", DM_LAUNCH_OPT_FLAG, set_nothing},
};

enum { N_OPTION_ROWS = sizeof(option_rows) / sizeof(option_rows[0]) };

/* ---- finding an option ---- */

static const char *option_name(const char *word)
{
    return word + (word[1] == '-' ? 2 : 1);
}

const struct dm_launch_option_row *dm_launch_option_find(const char *word)
{
    const char *name = option_name(word);
    size_t len = strcspn(name, "=");

    for (size_t i = 0; i < N_OPTION_ROWS; i++)
        if (strlen(option_rows[i].name) == len && strncmp(option_rows[i].name, name, len) == 0)
            return &option_rows[i];
    return NULL;
}

bool dm_launch_option_unknown(const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t len = strcspn(name, "=");
    size_t best = SIZE_MAX;
    const char *nearest = "";
    const char *instead = dm_launch_instead_of(name, len);

    if (instead != NULL) {
        dm_log_error("mpiexec: option %s is for Open MPI; %s", word, instead);
        return false;
    }
    for (size_t i = 0; i < N_OPTION_ROWS; i++) {
        size_t distance = dm_cfg_distance(name, len, option_rows[i].name);

        if (distance < best) {
            best = distance;
            nearest = option_rows[i].name;
        }
    }
    if (best <= (len + 2) / 4)
        dm_log_error("mpiexec: unknown option %s; did you mean -%s?", word, nearest);
    else
        dm_log_error("mpiexec: unknown option %s; mpiexec -help lists them", word);
    return false;
}
