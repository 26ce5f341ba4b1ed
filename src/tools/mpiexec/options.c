/*
 * Reads the command line.
 */
#include "tools/mpiexec/options.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/mpiexec/configfile.h"
#include "tools/mpiexec/open_mpi.h"
#include "tools/mpiexec/option_rows.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/key_file.h"
#include "util/log.h"

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

/* ---- the command line ---- */

static bool is_flag(const struct dm_launch_option_row *row)
{
    return row->kind == DM_LAUNCH_OPT_FLAG || row->kind == DM_LAUNCH_OPT_ENGINE_FLAG;
}

/* Takes what an option needs from the words behind it. */
static bool option_value(struct dm_launch_option_at *at, const struct dm_launch_option_row *row,
                         char *const **argv)
{
    if (is_flag(row))
        return true;
    if (**argv == NULL) {
        dm_log_error("mpiexec: -%s needs a value", row->name);
        return false;
    }
    at->value = *(*argv)++;
    if (row->kind != DM_LAUNCH_OPT_VARIABLE || strchr(at->value, '=') != NULL)
        return true;
    if (**argv == NULL) {
        dm_log_error("mpiexec: -%s %s needs the variable's value", row->name, at->value);
        return false;
    }
    at->value = dm_launch_option_text(at->options, at->value, "=", *(*argv)++);
    return at->value != NULL;
}

static bool pass_to_engine(const struct dm_launch_option_at *at)
{
    char *text = dm_launch_option_text(at->options, "-", at->name, "");

    if (text == NULL || !dm_launch_list_add(&at->options->engine, text))
        return false;
    return at->value == NULL || dm_launch_list_add(&at->options->engine, at->value);
}

static bool take_option(struct dm_launch_option_at *at, char *const **argv)
{
    char *word = *(*argv)++;
    const struct dm_launch_option_row *row = dm_launch_option_find(word);

    if (row == NULL)
        return dm_launch_option_unknown(word);
    at->name = row->name;
    at->value = is_flag(row) ? NULL : strchr(word, '=');
    if (at->value != NULL)
        at->value++;
    else if (!option_value(at, row, argv))
        return false;
    if (row->kind == DM_LAUNCH_OPT_ENGINE_FLAG || row->kind == DM_LAUNCH_OPT_ENGINE_VALUE)
        return pass_to_engine(at);
    return row->set == NULL || row->set(at);
}

static bool add_app(struct dm_launch_option_at *at)
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

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Options and a program; false: reported. */
static bool take_part(struct dm_launch_option_at *at, char *const **argv)
{
    const struct dm_launch_options *options = at->options;

    if (!add_app(at))
        return false;
    while (**argv != NULL && is_option(**argv))
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
    return dm_launch_option_soften(at->app);
}

/* ---- files of options ---- */

/* A line of the file of -file: an option, and its value if it has one. */
static int take_line(void *arg, const char *name, const char *value)
{
    struct dm_launch_options *options = arg;
    char *option = dm_launch_option_text(options, "-", name, "");
    char *text = *value != '\0' ? dm_launch_option_text(options, value, "", "") : NULL;

    if (option == NULL || !dm_launch_list_add(&options->args, option))
        return DM_FAIL(DM_ENOMEM, "option %s", name);
    if (*value != '\0' && (text == NULL || !dm_launch_list_add(&options->args, text)))
        return DM_FAIL(DM_ENOMEM, "value of option %s", name);
    return DM_OK;
}

/* Reads the file of -file FILE, or -file=FILE. The words that this takes; 0: reported. */
static size_t copy_file(struct dm_launch_options *options, char *const *words)
{
    const char *equals = strchr(words[0], '=');
    const char *path = equals != NULL ? equals + 1 : words[1];

    if (path == NULL)
        dm_log_error("mpiexec: -file needs a value");
    else if (dm_key_file_read(path, take_line, options) != DM_OK)
        dm_log_error("mpiexec: -file: %s", dm_err_detail());
    else
        return equals != NULL ? 1 : 2;
    return 0;
}

/* Words of an option and its value, of those that are there. */
static size_t option_length(const struct dm_launch_option_row *row, char *const *words)
{
    if (row == NULL || is_flag(row) || strchr(words[0], '=') != NULL || words[1] == NULL)
        return 1;
    if (row->kind == DM_LAUNCH_OPT_VARIABLE && strchr(words[1], '=') == NULL && words[2] != NULL)
        return 3;
    return 2;
}

/* Copies the command line; what a file says comes in the place of -file, an option of a program. */
static bool copy_words(struct dm_launch_options *options, char *const *words)
{
    bool is_before_program = true;
    size_t n;

    for (; *words != NULL; words += n) {
        const struct dm_launch_option_row *row = NULL;

        if (is_before_program && is_option(*words))
            row = dm_launch_option_find(*words);
        else
            is_before_program = strcmp(*words, ":") == 0;
        if (row != NULL && strcmp(row->name, "file") == 0) {
            n = copy_file(options, words);
            if (n == 0)
                return false;
            continue;
        }
        n = option_length(row, words);
        for (size_t i = 0; i < n; i++)
            if (!dm_launch_list_add(&options->args, words[i]))
                return false;
    }
    return true;
}

/* What a file says comes in the place of -configfile, which is the first option. */
static bool copy_configfile(struct dm_launch_list *all, char *const *words)
{
    bool has_file = words[0] != NULL && words[1] != NULL &&
                    (strcmp(words[1], "-configfile") == 0 || strcmp(words[1], "--configfile") == 0);

    if (words[0] == NULL || !dm_launch_list_add(all, *words++))
        return false;
    if (has_file && words[1] == NULL) {
        dm_log_error("mpiexec: -configfile needs a value");
        return false;
    }
    if (has_file && !dm_launch_configfile_read(words[1], all))
        return false;
    for (words += has_file ? 2 : 0; *words != NULL; words++)
        if (!dm_launch_list_add(all, *words))
            return false;
    return true;
}

static bool copy_args(struct dm_launch_options *options, char *const *words)
{
    struct dm_launch_list all = {0};
    bool is_good = copy_configfile(&all, words) &&
                   dm_launch_list_add(&options->args, all.list[0]) &&
                   copy_words(options, all.list + 1);

    free(all.list);
    return is_good;
}

/* MPICH's variable, for who does not say -timeout. */
static bool take_timeout_variable(struct dm_launch_options *options)
{
    const char *text = dm_cfg_env("MPIEXEC_TIMEOUT");

    if (text == NULL || *text == '\0' || options->timeout > 0)
        return true;
    return dm_launch_option_timeout(options, text);
}

int dm_launch_options_parse(struct dm_launch_options *options, char *const *argv)
{
    struct dm_launch_option_at at = {.options = options};
    char *const *word;

    memset(options, 0, sizeof(*options));
    if (!copy_args(options, argv))
        return DM_ELAUNCH;
    word = options->args.list + 1;
    for (;;) {
        if (!take_part(&at, &word))
            return DM_ELAUNCH;
        if (*word == NULL || options->wants_help || options->wants_version)
            break;
        *(char **)word++ = NULL; /* the colon: here ends argv */
    }
    return take_timeout_variable(options) && dm_launch_map_finish(options) ? DM_OK : DM_ELAUNCH;
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
