/*
 * datum-check: what an MPI needs to know about a DAT provider, found by trying it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tools/check/probe.h"
#include "tools/check/check_print.h"
#include "tools/check/check_run.h"
#include "tools/out.h"
#include "tools/install_paths.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/self.h"

#define DEFAULT_PORT    "15829"
#define DEFAULT_MAX_LEN (UINT64_C(16) << 20)
#define LEAST_MAX_LEN   (UINT64_C(4) << 10)
#define MOST_MAX_LEN    (UINT64_C(1) << 30)

enum status { STATUS_OK = 0, STATUS_BROKEN = 1, STATUS_USAGE = 2 };

static const char usage[] =
    "Usage: datum-check [OPTION]... PROVIDER...\n"
    "       datum-check --server [--port N] [PROVIDER]\n"
    "\n"
    "Tries out what a DAT provider of the dat.conf in force can do, between two processes\n"
    "on this host, or with --connect between this host and one that runs --server.\n"
    "\n"
    "  --json           one JSON object for each provider (" DM_DOC(
        "TOOLS.md") "\n                   has the schema)\n"
                    "  --only NAMES     these probes only, separated by commas\n"
                    "  --list           list the probes and what they answer\n"
                    "  --max-size SIZE  largest transfer to try, with k, m or g behind; 16m\n"
                    "  --server         wait for --connect and run the other half of each probe;\n"
                    "                   anybody who reaches the port can use it\n"
                    "  --connect HOST   run the other half on HOST\n"
                    "  --port N         TCP port of the server; " DEFAULT_PORT
                    "; 0 with --server: a free one\n"
                    "  --peer NAME      what the provider is called on HOST; the same\n"
                    "  --verbose        show what the provider itself prints\n"
                    "  --version        the version\n"
                    "  --help           this text\n"
                    "\n"
                    "Exit status: 0 when every probe ended in order, whatever the answer; 1 when a provider\n"
                    "cannot be opened, crashed or did not answer in time; 2 for a wrong option, an unknown\n"
                    "provider, a server that cannot be reached or an unusable dat.conf.\n";

/* What errors begin with: datum-bench --raw becomes this program, too. */
static const char *called = "datum-check";

struct options {
    struct dm_check check;
    const char *only;
    bool is_json;
    bool is_server;
    bool is_list;
};

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s \"%s\"; \"%s --help\" says more\n", called, what, value, called);
    return STATUS_USAGE;
}

/* ---- options ---- */

static bool parse_size(const char *text, uint64_t *len_p)
{
    char *end;
    unsigned long long len;

    errno = 0;
    len = strtoull(text, &end, 10);
    if (end == text || errno != 0 || text[0] == '-' || len > MOST_MAX_LEN)
        return false;
    if (*end == 'k')
        len <<= 10;
    else if (*end == 'm')
        len <<= 20;
    else if (*end == 'g')
        len <<= 30;
    if (*end != '\0')
        end++;
    *len_p = len;
    return *end == '\0' && len >= LEAST_MAX_LEN && len <= MOST_MAX_LEN;
}

/* The probes of --only: is this one among them? */
static bool is_chosen(const char *only, const char *name)
{
    size_t len = strlen(name);
    const char *at = only;

    if (only == NULL)
        return true;
    while ((at = strstr(at, name)) != NULL) {
        if ((at == only || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return true;
        at += len;
    }
    return false;
}

static int check_only(const char *only)
{
    char *list = strdup(only);
    char *save = NULL;
    int status = STATUS_OK;

    for (char *name = list != NULL ? strtok_r(list, ",", &save) : NULL; name != NULL;
         name = strtok_r(NULL, ",", &save))
        if (status == STATUS_OK && dm_probe_named(name) == NULL)
            status = wrong("there is no probe", name);
    free(list);
    return status;
}

enum { JSON = 1, ONLY, LIST, MAX_SIZE, SERVER, CONNECT, PORT, PEER, VERBOSE, VERSION, HELP };

static const struct option check_longs[] = {
    {"json", no_argument, NULL, JSON},       {"only", required_argument, NULL, ONLY},
    {"list", no_argument, NULL, LIST},       {"max-size", required_argument, NULL, MAX_SIZE},
    {"server", no_argument, NULL, SERVER},   {"connect", required_argument, NULL, CONNECT},
    {"port", required_argument, NULL, PORT}, {"peer", required_argument, NULL, PEER},
    {"verbose", no_argument, NULL, VERBOSE}, {"version", no_argument, NULL, VERSION},
    {"help", no_argument, NULL, HELP},       {NULL, 0, NULL, 0}};

/* Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct options *opt)
{
    static _Atomic(char *) page;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", check_longs, NULL)) != -1) {
        switch (c) {
        case JSON:
            opt->is_json = true;
            break;
        case ONLY:
            opt->only = optarg;
            break;
        case LIST:
            opt->is_list = true;
            break;
        case MAX_SIZE:
            if (!parse_size(optarg, &opt->check.max_len))
                return wrong("--max-size is from 4k to 1g, not", optarg);
            break;
        case SERVER:
            opt->is_server = true;
            break;
        case CONNECT:
            opt->check.host = optarg;
            break;
        case PORT:
            opt->check.port = optarg;
            break;
        case PEER:
            opt->check.peer_provider = optarg;
            break;
        case VERBOSE:
            opt->check.is_verbose = true;
            break;
        case VERSION:
            printf("Datum %s\n", DM_VERSION);
            return STATUS_OK;
        case HELP:
        case 'h':
            fputs(dm_self_docs(usage, &page), stdout);
            return STATUS_OK;
        default:
            return wrong(c == '?' ? "unknown option" : "no value for", argv[optind - 1]);
        }
    }
    return -1;
}

/* ---- work ---- */

static void list_probes(void)
{
    const struct dm_probe *probe;

    for (size_t i = 0; (probe = dm_probe_at(i)) != NULL; i++) {
        printf("%s\n", probe->name);
        for (int k = 0; probe->items[k].key != NULL; k++)
            printf("  %-22s %s\n", probe->items[k].key, probe->items[k].title);
    }
}

/* All chosen probes of one provider; when it does not open, the others are not tried. */
static enum status check_one(struct options *opt, const char *name)
{
    struct dm_probe_provider provider;
    const struct dm_probe *probe;
    struct dm_check_run run;
    struct dm_check check = opt->check;
    enum status status = STATUS_OK;
    const char *error = NULL;
    char why[DM_PROBE_TEXT_LEN];

    if (dm_probe_provider(name, &provider) != DM_OK)
        return STATUS_USAGE;
    check.provider = name;
    if (check.peer_provider == NULL)
        check.peer_provider = name;
    dm_check_print_begin(opt->is_json, &check, &provider);
    for (size_t i = 0; (probe = dm_probe_at(i)) != NULL && error == NULL; i++) {
        if (i > 0 && !is_chosen(opt->only, probe->name))
            continue;
        dm_check_probe(&check, probe, &run);
        if (i == 0 && run.results[0].verdict != DM_PROBE_YES) {
            snprintf(why, sizeof(why), "%s", run.why);
            error = why;
        } else if (is_chosen(opt->only, probe->name)) {
            dm_check_print_run(opt->is_json, probe, &run);
        }
        if (run.end == DM_CHECK_BROKEN || error != NULL)
            status = STATUS_BROKEN;
    }
    dm_check_print_end(opt->is_json, error);
    return status;
}

static bool are_known(char **names, int n_names)
{
    struct dm_probe_provider provider;

    for (int i = 0; i < n_names; i++) {
        if (dm_probe_provider(names[i], &provider) != DM_OK) {
            fprintf(stderr, "%s: %s\n", called, dm_err_detail());
            return false;
        }
    }
    return true;
}

/* Can the server of --connect be reached? False: told once, and to who reads JSON for each provider. */
static bool is_reached(const struct options *opt, char **names, int n_names)
{
    struct dm_probe_provider provider;
    char why[DM_PROBE_TEXT_LEN];

    if (opt->check.host == NULL || dm_check_reach(&opt->check) == DM_OK)
        return true;
    snprintf(why, sizeof(why), "%s", dm_err_detail());
    fprintf(stderr, "%s: %s\n", called, why);
    for (int i = 0; i < n_names && opt->is_json; i++) {
        if (dm_probe_provider(names[i], &provider) != DM_OK)
            continue;
        dm_check_print_begin(true, &opt->check, &provider);
        dm_check_print_end(true, why);
    }
    return false;
}

static int check_all(struct options *opt, char **names, int n_names)
{
    enum status status;
    int worst = STATUS_OK;

    if (!are_known(names, n_names) || !is_reached(opt, names, n_names))
        return STATUS_USAGE;
    for (int i = 0; i < n_names; i++) {
        if (i > 0 && !opt->is_json)
            printf("\n");
        status = check_one(opt, names[i]);
        if (status > (enum status)worst)
            worst = status;
    }
    return worst;
}

static int check_main(int argc, char **argv)
{
    struct options opt = {.check = {.port = DEFAULT_PORT, .max_len = DEFAULT_MAX_LEN}};
    char **names;
    int n_names;
    int status;

    status = parse(argc, argv, &opt);
    if (status >= 0)
        return status;
    names = argv + optind;
    n_names = argc - optind;
    if (opt.is_list) {
        list_probes();
        return STATUS_OK;
    }
    if (opt.only != NULL && (status = check_only(opt.only)) != STATUS_OK)
        return status;
    if (dm_cfg_load(false) != DM_OK) {
        dm_log_error("%s", dm_err_detail());
        return STATUS_USAGE;
    }
    if (opt.check.is_verbose)
        setenv("DAPL_DBG_TYPE", "3", 0); /* OFED's: errors and warnings */
    if (opt.is_server) {
        if (opt.check.host != NULL || n_names > 1)
            return wrong("--server takes one provider at most, and no", "--connect");
        if (n_names == 1 && !are_known(names, 1))
            return STATUS_USAGE;
        status =
            dm_check_serve(opt.check.port, n_names > 0 ? names[0] : NULL, opt.check.is_verbose);
        fprintf(stderr, "datum-check: %s\n", dm_err_detail());
        return status;
    }
    if (opt.check.peer_provider != NULL && (opt.check.host == NULL || n_names > 1))
        return wrong("--peer goes with --connect and one provider, it was",
                     opt.check.peer_provider);
    if (n_names == 0) {
        fputs("datum-check: which provider? \"datum-info --providers\" lists them\n", stderr);
        return STATUS_USAGE;
    }
    return check_all(&opt, names, n_names);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "datum-bench") == 0)
        called = "datum-bench";
    dm_install_set_dat_conf();
    return dm_out_end(called, check_main(argc, argv));
}
