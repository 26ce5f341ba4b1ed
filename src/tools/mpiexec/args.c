/*
 * Hydra's command line is [OPTION [VALUE]...]... PROGRAM [ARGUMENT]... [: the same again]. An option has one dash or two,
 * and its value may follow an equals sign. Which options have values is in the tables here, and in Hydra.
 */
#include "tools/mpiexec/args.h"

#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/log.h"

/* A word on the command line: what it is, and where the next one is. */
struct word {
    enum { WORD_END, WORD_NEXT, WORD_PROGRAM, WORD_OPTION, WORD_UNKNOWN } kind;
    const char *name; /* of an option, without dashes; not more than name_len of it */
    size_t name_len;
    const char *value; /* of an option, the first one, or NULL */
};

static const char *const host_options[] = {
    "f",   "hosts",    "host",        "hostfile",  "hostlist",    "machine",    "machines",
    "rmk", "launcher", "machinefile", "bootstrap", "machinelist", "configfile", NULL};
static const char *const without_value[] = {"genvnone",
                                            "genvall",
                                            "envnone",
                                            "envall",
                                            "enable-x",
                                            "disable-x",
                                            "verbose",
                                            "v",
                                            "debug",
                                            "print-all-exitcodes",
                                            "prepend-rank",
                                            "l",
                                            "profile",
                                            "disable-auto-cleanup",
                                            "dac",
                                            "enable-auto-cleanup",
                                            "disable-hostname-propagation",
                                            "enable-hostname-propagation",
                                            "pmi-port",
                                            "skip-launch-node",
                                            NULL};
static const char *const with_value[] = {"n",
                                         "np",
                                         "genvlist",
                                         "envlist",
                                         "wdir",
                                         "ppn",
                                         "perhost",
                                         "iface",
                                         "launcher-exec",
                                         "bootstrap-exec",
                                         "topolib",
                                         "bind-to",
                                         "binding",
                                         "map-by",
                                         "membind",
                                         "demux",
                                         "usize",
                                         "localhost",
                                         "outfile",
                                         "errfile",
                                         "outfile-pattern",
                                         "errfile-pattern",
                                         "nameserver",
                                         "order-nodes",
                                         "prepend-pattern",
                                         "gpus-per-proc",
                                         NULL};
static const char *const variables[] = {"env", "genv", NULL};

static bool is_among(const struct word *word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == word->name_len && strncmp(*names, word->name, word->name_len) == 0)
            return true;
    return false;
}

/* Take the next word, with the values of an option or the arguments of a program. */
static struct word next_word(char *const **argv)
{
    struct word word = {.kind = WORD_END};
    const char *text = **argv;
    int n_values = 0;

    if (text == NULL)
        return word;
    (*argv)++;
    if (*text != '-') {
        word.kind = strcmp(text, ":") == 0 ? WORD_NEXT : WORD_PROGRAM;
        while (word.kind == WORD_PROGRAM && **argv != NULL && strcmp(**argv, ":") != 0)
            (*argv)++;
        return word;
    }
    text += text[1] == '-' ? 2 : 1;
    word.kind = WORD_OPTION;
    word.name = text;
    word.name_len = strcspn(text, "=");
    if (is_among(&word, variables))
        n_values = **argv != NULL && strchr(**argv, '=') != NULL ? 1 : 2;
    else if (is_among(&word, with_value) || is_among(&word, host_options))
        n_values = 1;
    else if (!is_among(&word, without_value))
        word.kind = WORD_UNKNOWN;
    if (text[word.name_len] == '=') {
        word.value = text + word.name_len + 1;
        n_values = 0;
    } else if (n_values > 0) {
        word.value = **argv;
    }
    while (n_values-- > 0 && **argv != NULL)
        (*argv)++;
    return word;
}

bool dm_mpiexec_args_name_hosts(char *const *argv)
{
    struct word word;

    if (*argv != NULL)
        argv++;
    while ((word = next_word(&argv)).kind != WORD_END)
        if (word.kind == WORD_OPTION && is_among(&word, host_options))
            return true;
    return false;
}

static bool is_count(const char *text)
{
    char *end;

    return text != NULL && strtol(text, &end, 10) > 0 && *end == '\0';
}

int dm_mpiexec_args_check(char *const *argv)
{
    static const char *const counts[] = {"n", "np", "ppn", "perhost", NULL};
    static const char *const elsewhere[] = {"configfile", NULL};
    bool has_program = false;
    struct word word;

    if (*argv != NULL)
        argv++;
    do {
        word = next_word(&argv);
        if (word.kind == WORD_UNKNOWN || (word.kind == WORD_OPTION && is_among(&word, elsewhere)))
            return DM_OK;
        if (word.kind == WORD_OPTION && is_among(&word, counts) && !is_count(word.value)) {
            dm_log_error("mpiexec: -%.*s is '%s', but must be a number from 1", (int)word.name_len,
                         word.name, word.value != NULL ? word.value : "");
            return DM_ELAUNCH;
        }
        if ((word.kind == WORD_END || word.kind == WORD_NEXT) && !has_program) {
            dm_log_error("mpiexec: no program is named %s",
                         word.kind == WORD_NEXT ? "before a ':'" : "at the end");
            return DM_ELAUNCH;
        }
        has_program = word.kind == WORD_PROGRAM || (has_program && word.kind != WORD_NEXT);
    } while (word.kind != WORD_END);
    return DM_OK;
}
