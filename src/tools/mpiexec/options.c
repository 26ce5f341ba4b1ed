/*
 * A table of options, and what each does to the program at hand or to the job.
 */
#include "tools/mpiexec/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/mpiexec/configfile.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

/* The option at hand. */
struct option_at {
    struct dm_launch_options *options;
    struct dm_launch_app *app; /* the program that its options are of */
    const char *name;
    char *value; /* NULL: has none */
};

enum option_kind {
    OPT_FLAG,
    OPT_VALUE,
    OPT_VARIABLE,    /* NAME VALUE, or NAME=VALUE */
    OPT_ENGINE_FLAG, /* for the engine that starts the agents */
    OPT_ENGINE_VALUE
};

struct option_row {
    const char *name;
    enum option_kind kind;
    bool (*set)(const struct option_at *at);
};

bool dm_launch_list_add(struct dm_launch_list *list, char *text)
{
    char **new = realloc(list->list, (list->n + 2) * sizeof(char *));

    if (new == NULL)
        return false;
    list->list = new;
    list->list[list->n++] = text;
    list->list[list->n] = NULL;
    return true;
}

char *dm_launch_errhandler(const char *name)
{
    static char *const texts[] = {DM_LAUNCH_ERRHANDLER "mpi_errors_are_fatal",
                                  DM_LAUNCH_ERRHANDLER "mpi_errors_abort",
                                  DM_LAUNCH_ERRHANDLER "mpi_errors_return"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcasecmp(name, texts[i] + sizeof(DM_LAUNCH_ERRHANDLER) - 1) == 0)
            return texts[i];
    return NULL;
}

/* a, b and c in a text that lives as long as the options; NULL: no memory. */
static char *make_text(struct dm_launch_options *options, const char *a, const char *b,
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

static bool take_count(const struct option_at *at, int min, int *num_p)
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

static bool set_n(const struct option_at *at)
{
    return take_count(at, 1, &at->app->n);
}

static bool set_ppn(const struct option_at *at)
{
    return take_count(at, 1, &at->options->ppn);
}

static bool set_usize(const struct option_at *at)
{
    if (strcmp(at->value, "SYSTEM") == 0 || strcmp(at->value, "INFINITE") == 0)
        return true;
    return take_count(at, 1, &at->options->universe_size);
}

static bool set_timeout(const struct option_at *at)
{
    return take_count(at, 1, &at->options->timeout);
}

static bool set_nameserver(const struct option_at *at)
{
    if (strchr(at->value, ':') == NULL) {
        dm_log_error("mpiexec: -nameserver is '%s', but must be HOST:PORT of a hydra_nameserver",
                     at->value);
        return false;
    }
    at->options->nameserver = at->value;
    return true;
}

static bool set_hosts(const struct option_at *at)
{
    at->options->hosts = at->value;
    return true;
}

static bool set_hostfile(const struct option_at *at)
{
    at->options->hostfile = at->value;
    return true;
}

static bool set_wdir(const struct option_at *at)
{
    at->app->wdir = at->value;
    return true;
}

static bool set_path(const struct option_at *at)
{
    at->app->path = at->value;
    return true;
}

/* MPI-4.0 section 11.5; the program gets it as a setting. */
static bool set_errhandler(const struct option_at *at)
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

static bool set_pass_all(const struct option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    env->pass = DM_LAUNCH_PASS_ALL;
    return true;
}

static bool set_pass_none(const struct option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    env->pass = DM_LAUNCH_PASS_NONE;
    env->names = at->value;
    return true;
}

static bool set_env(const struct option_at *at)
{
    struct dm_launch_env *env = *at->name == 'g' ? &at->options->env : &at->app->env;

    return dm_launch_list_add(&env->sets, at->value);
}

/* Open MPI's: a variable that all get, with the value that it has here, or another one. */
static bool set_x(const struct option_at *at)
{
    const char *here = dm_cfg_env(at->value);
    char *text;

    if (strchr(at->value, '=') != NULL)
        return dm_launch_list_add(&at->options->env.sets, at->value);
    if (here == NULL)
        return true;
    text = make_text(at->options, at->value, "=", here);
    return text != NULL && dm_launch_list_add(&at->options->env.sets, text);
}

static bool set_prepend_rank(const struct option_at *at)
{
    at->options->prepend = "[%r] ";
    return true;
}

static bool set_prepend(const struct option_at *at)
{
    at->options->prepend = at->value;
    return true;
}

static bool set_tag(const struct option_at *at)
{
    at->options->prepend = "[1,%r]";
    at->options->is_tagged_by_stream = true;
    return true;
}

static bool set_outfile(const struct option_at *at)
{
    at->options->outfile = at->value;
    return true;
}

static bool set_errfile(const struct option_at *at)
{
    at->options->errfile = at->value;
    return true;
}

static bool set_stdin(const struct option_at *at)
{
    if (strcmp(at->value, "all") == 0)
        at->options->stdin_rank = DM_LAUNCH_STDIN_ALL;
    else if (strcmp(at->value, "none") == 0)
        at->options->stdin_rank = DM_LAUNCH_STDIN_NONE;
    else
        return take_count(at, 0, &at->options->stdin_rank);
    return true;
}

static bool set_bind(const struct option_at *at)
{
    at->options->bind_to = at->value;
    return true;
}

static bool set_map(const struct option_at *at)
{
    at->options->map_by = at->value;
    return true;
}

static bool set_port(const struct option_at *at)
{
    at->options->is_by_port = true;
    return true;
}

static bool set_verbose(const struct option_at *at)
{
    at->options->is_verbose = true;
    return true;
}

static bool set_exit_codes(const struct option_at *at)
{
    at->options->prints_exit_codes = true;
    return true;
}

static bool set_stays(const struct option_at *at)
{
    at->options->stays = *at->name == 'd';
    return true;
}

static bool set_launcher(const struct option_at *at)
{
    at->options->launcher = at->value;
    return true;
}

static bool set_help(const struct option_at *at)
{
    at->options->wants_help = true;
    return true;
}

static bool set_version(const struct option_at *at)
{
    at->options->wants_version = true;
    return true;
}

static bool set_configfile(const struct option_at *at)
{
    dm_log_error("mpiexec: -configfile %s must be the first option", at->value);
    return false;
}

/* Accepted, and without effect here. */
static bool set_nothing(const struct option_at *at)
{
    (void)at;
    return true;
}

static const struct option_row option_rows[] = {
    {"n", OPT_VALUE, set_n},
    {"np", OPT_VALUE, set_n},
    {"c", OPT_VALUE, set_n},
    {"ppn", OPT_VALUE, set_ppn},
    {"perhost", OPT_VALUE, set_ppn},
    {"npernode", OPT_VALUE, set_ppn},
    {"N", OPT_VALUE, set_ppn},
    {"usize", OPT_VALUE, set_usize},
    {"timeout", OPT_VALUE, set_timeout},
    {"hosts", OPT_VALUE, set_hosts},
    {"host", OPT_VALUE, set_hosts},
    {"H", OPT_VALUE, set_hosts},
    {"hostlist", OPT_VALUE, set_hosts},
    {"machine", OPT_VALUE, set_hosts},
    {"machines", OPT_VALUE, set_hosts},
    {"machinelist", OPT_VALUE, set_hosts},
    {"f", OPT_VALUE, set_hostfile},
    {"hostfile", OPT_VALUE, set_hostfile},
    {"machinefile", OPT_VALUE, set_hostfile},
    {"env", OPT_VARIABLE, set_env},
    {"envall", OPT_FLAG, set_pass_all},
    {"envnone", OPT_FLAG, set_pass_none},
    {"envlist", OPT_VALUE, set_pass_none},
    {"genv", OPT_VARIABLE, set_env},
    {"genvall", OPT_FLAG, set_pass_all},
    {"genvnone", OPT_FLAG, set_pass_none},
    {"genvlist", OPT_VALUE, set_pass_none},
    {"x", OPT_VALUE, set_x},
    {"wdir", OPT_VALUE, set_wdir},
    {"wd", OPT_VALUE, set_wdir},
    {"path", OPT_VALUE, set_path},
    {"initial-errhandler", OPT_VALUE, set_errhandler},
    {"l", OPT_FLAG, set_prepend_rank},
    {"prepend-rank", OPT_FLAG, set_prepend_rank},
    {"prepend-pattern", OPT_VALUE, set_prepend},
    {"tag-output", OPT_FLAG, set_tag},
    {"outfile-pattern", OPT_VALUE, set_outfile},
    {"outfile", OPT_VALUE, set_outfile},
    {"errfile-pattern", OPT_VALUE, set_errfile},
    {"errfile", OPT_VALUE, set_errfile},
    {"stdin", OPT_VALUE, set_stdin},
    {"s", OPT_VALUE, set_stdin},
    {"bind-to", OPT_VALUE, set_bind},
    {"binding", OPT_VALUE, set_bind},
    {"map-by", OPT_VALUE, set_map},
    {"pmi-port", OPT_FLAG, set_port},
    {"verbose", OPT_FLAG, set_verbose},
    {"v", OPT_FLAG, set_verbose},
    {"debug", OPT_FLAG, set_verbose},
    {"print-all-exitcodes", OPT_FLAG, set_exit_codes},
    {"disable-auto-cleanup", OPT_FLAG, set_stays},
    {"dac", OPT_FLAG, set_stays},
    {"enable-auto-cleanup", OPT_FLAG, set_stays},
    {"help", OPT_FLAG, set_help},
    {"h", OPT_FLAG, set_help},
    {"version", OPT_FLAG, set_version},
    {"V", OPT_FLAG, set_version},
    {"info", OPT_FLAG, set_version},
    {"configfile", OPT_VALUE, set_configfile},
    {"launcher", OPT_VALUE, set_launcher},
    {"bootstrap", OPT_VALUE, set_launcher},
    {"launcher-exec", OPT_ENGINE_VALUE, NULL},
    {"bootstrap-exec", OPT_ENGINE_VALUE, NULL},
    {"rmk", OPT_ENGINE_VALUE, NULL},
    {"iface", OPT_ENGINE_VALUE, NULL},
    {"localhost", OPT_ENGINE_VALUE, NULL},
    {"enable-x", OPT_ENGINE_FLAG, NULL},
    {"disable-x", OPT_ENGINE_FLAG, NULL},
    {"disable-hostname-propagation", OPT_ENGINE_FLAG, NULL},
    {"enable-hostname-propagation", OPT_ENGINE_FLAG, NULL},
    {"nameserver", OPT_VALUE, set_nameserver},
    {"topolib", OPT_VALUE, set_nothing},
    {"membind", OPT_VALUE, set_nothing},
    {"demux", OPT_VALUE, set_nothing},
    {"order-nodes", OPT_VALUE, set_nothing},
    {"gpus-per-proc", OPT_VALUE, set_nothing},
    {"profile", OPT_FLAG, set_nothing},
    {"skip-launch-node", OPT_FLAG, set_nothing},
    {"oversubscribe", OPT_FLAG, set_nothing},
    {"use-hwthread-cpus", OPT_FLAG, set_nothing},
    {"allow-run-as-root", OPT_FLAG, set_nothing},
    {"quiet", OPT_FLAG, set_nothing},
    {"q", OPT_FLAG, set_nothing},
};

enum { N_OPTION_ROWS = sizeof(option_rows) / sizeof(option_rows[0]) };

/* ---- finding an option ---- */

static const struct option_row *find_option(const char *name, size_t len)
{
    for (size_t i = 0; i < N_OPTION_ROWS; i++)
        if (strlen(option_rows[i].name) == len && strncmp(option_rows[i].name, name, len) == 0)
            return &option_rows[i];
    return NULL;
}

static bool fail_unknown(const char *text)
{
    const char *name = text + strspn(text, "-");
    size_t len = strcspn(name, "=");
    size_t best = SIZE_MAX;
    const char *nearest = "help";

    for (size_t i = 0; i < N_OPTION_ROWS; i++) {
        size_t distance = dm_cfg_distance(name, len, option_rows[i].name);

        if (distance < best) {
            best = distance;
            nearest = option_rows[i].name;
        }
    }
    dm_log_error("mpiexec: unknown option %s; did you mean -%s?", text, nearest);
    return false;
}

/* ---- the command line ---- */

/* Takes what an option needs from the words behind it. */
static bool option_value(struct option_at *at, const struct option_row *row, char *const **argv)
{
    at->value = NULL;
    if (row->kind == OPT_FLAG || row->kind == OPT_ENGINE_FLAG)
        return true;
    if (**argv == NULL) {
        dm_log_error("mpiexec: -%s needs a value", row->name);
        return false;
    }
    at->value = *(*argv)++;
    if (row->kind != OPT_VARIABLE || strchr(at->value, '=') != NULL)
        return true;
    if (**argv == NULL) {
        dm_log_error("mpiexec: -%s %s needs the variable's value", row->name, at->value);
        return false;
    }
    at->value = make_text(at->options, at->value, "=", *(*argv)++);
    return at->value != NULL;
}

static bool pass_to_engine(const struct option_at *at)
{
    char *text = make_text(at->options, "-", at->name, "");

    if (text == NULL || !dm_launch_list_add(&at->options->engine, text))
        return false;
    return at->value == NULL || dm_launch_list_add(&at->options->engine, at->value);
}

static bool take_option(struct option_at *at, char *const **argv)
{
    char *text = *(*argv)++;
    char *name = text + (text[1] == '-' ? 2 : 1);
    size_t len = strcspn(name, "=");
    const struct option_row *row = find_option(name, len);

    if (row == NULL)
        return fail_unknown(text);
    at->name = row->name;
    if (name[len] == '=' && row->kind != OPT_FLAG && row->kind != OPT_ENGINE_FLAG)
        at->value = name + len + 1;
    else if (!option_value(at, row, argv))
        return false;
    if (row->kind == OPT_ENGINE_FLAG || row->kind == OPT_ENGINE_VALUE)
        return pass_to_engine(at);
    return row->set == NULL || row->set(at);
}

static bool add_app(struct option_at *at)
{
    struct dm_launch_options *options = at->options;
    struct dm_launch_app *new =
        realloc(options->apps, (options->n_apps + 1) * sizeof(struct dm_launch_app));

    if (new == NULL)
        return false;
    options->apps = new;
    at->app = &new[options->n_apps++];
    memset(at->app, 0, sizeof(*at->app));
    return true;
}

/* Its arguments end at a colon, in whose place comes the end of argv. */
static void take_program(struct dm_launch_app *app, char *const **argv)
{
    char **words = (char **)*argv; /* of args, which is ours */

    app->argv = words;
    while (*words != NULL && strcmp(*words, ":") != 0)
        words++;
    *argv = words;
}

/* Options and a program; false: reported. */
static bool take_part(struct option_at *at, char *const **argv)
{
    const struct dm_launch_options *options = at->options;

    if (!add_app(at))
        return false;
    while (**argv != NULL && ***argv == '-' && (**argv)[1] != '\0')
        if (!take_option(at, argv))
            return false;
    if (options->wants_help || options->wants_version)
        return true;
    if (**argv == NULL || strcmp(**argv, ":") == 0) {
        dm_log_error("mpiexec: no program is named %s",
                     **argv == NULL ? "at the end" : "before a ':'");
        return false;
    }
    take_program(at->app, argv);
    return true;
}

/* Copies the words; what a file says comes in the place of -configfile, which is the first option.
 */
static bool copy_args(struct dm_launch_list *args, char *const *words)
{
    bool has_file = words[0] != NULL && words[1] != NULL &&
                    (strcmp(words[1], "-configfile") == 0 || strcmp(words[1], "--configfile") == 0);

    if (words[0] == NULL || !dm_launch_list_add(args, *words++))
        return false;
    if (has_file && words[1] == NULL) {
        dm_log_error("mpiexec: -configfile needs a value");
        return false;
    }
    if (has_file && !dm_launch_configfile_read(words[1], args))
        return false;
    for (words += has_file ? 2 : 0; *words != NULL; words++)
        if (!dm_launch_list_add(args, *words))
            return false;
    return true;
}

/* MPICH's variable, for who does not say -timeout. */
static bool take_timeout_variable(struct dm_launch_options *options)
{
    const char *text = dm_cfg_env("MPIEXEC_TIMEOUT");
    struct option_at at = {
        .options = options, .name = "timeout (MPIEXEC_TIMEOUT)", .value = (char *)text};

    if (text == NULL || *text == '\0' || options->timeout > 0)
        return true;
    return take_count(&at, -1, &options->timeout);
}

int dm_launch_options_parse(struct dm_launch_options *options, char *const *argv)
{
    struct option_at at = {.options = options};
    char *const *word;

    memset(options, 0, sizeof(*options));
    if (!copy_args(&options->args, argv))
        return DM_ELAUNCH;
    word = options->args.list + 1;
    for (;;) {
        if (!take_part(&at, &word))
            return DM_ELAUNCH;
        if (*word == NULL || options->wants_help || options->wants_version)
            break;
        *(char **)word++ = NULL; /* the colon: here ends argv */
    }
    return take_timeout_variable(options) ? DM_OK : DM_ELAUNCH;
}

void dm_launch_options_free(struct dm_launch_options *options)
{
    for (size_t i = 0; i < options->n_apps; i++)
        free(options->apps[i].env.sets.list);
    free(options->apps);
    free(options->env.sets.list);
    free(options->engine.list);
    free(options->args.list);
    for (size_t i = 0; i < options->made.n; i++)
        free(options->made.list[i]);
    free(options->made.list);
}
