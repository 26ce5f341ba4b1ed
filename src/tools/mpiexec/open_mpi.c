/*
 * Scripts for Open MPI: its -map-by says on which host a rank is, and to which cores it is bound.
 */
#include "tools/mpiexec/open_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/mpiexec/binding.h"
#include "util/log.h"

static bool is_this_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

/* ---- -map-by ---- */

/* The number from 1 that a text begins with; returns what is behind it, NULL: there is none. */
static const char *take_number(const char *text, int *num_p)
{
    char *end;
    long num = strtol(text, &end, 10);

    if (end == text || num < 1 || num > INT_MAX)
        return NULL;
    *num_p = (int)num;
    return end;
}

/* One modifier: PE=N, or one that changes nothing here. */
static bool take_modifier(struct dm_launch_options *options, const char *text, size_t len)
{
    if (len > 3 && strncasecmp(text, "PE=", 3) == 0)
        return take_number(text + 3, &options->map.cores_each) == text + len;
    return is_this_word(text, len, "OVERSUBSCRIBE");
}

/* What follows the unit: modifiers with colons or commas between. */
static bool take_modifiers(const struct dm_launch_option_at *at, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(++text, ":,");

        if (!take_modifier(at->options, text, len)) {
            dm_log_error("mpiexec: -%s is '%s', but '%.*s' is not possible here: only PE=N and "
                         "OVERSUBSCRIBE can follow",
                         at->name, at->value, (int)len, text);
            return false;
        }
        text += len;
    }
    return true;
}

/* Behind ppr: N:node. NULL: it is something else. */
static const char *take_ppr(const char *text, int *ppn_p)
{
    size_t len;

    text = take_number(text, ppn_p);
    if (text == NULL || *text++ != ':')
        return NULL;
    len = strcspn(text, ":,");
    return is_this_word(text, len, "node") ? text + len : NULL;
}

bool dm_launch_map_by(const struct dm_launch_option_at *at)
{
    struct dm_launch_options *options = at->options;
    const char *text = at->value;
    size_t len = strcspn(text, ":,");
    const char *rest = text + len;

    options->map_by = NULL;
    options->map.is_by_node = is_this_word(text, len, "node");
    if (is_this_word(text, len, "ppr") && *rest == ':')
        rest = take_ppr(rest + 1, &options->ppn);
    else if (dm_launch_binding_is_unit(text))
        options->map_by = text;
    else if (!options->map.is_by_node && !is_this_word(text, len, "slot"))
        rest = NULL;
    if (rest != NULL)
        return take_modifiers(at, rest);
    dm_log_error("mpiexec: -%s is '%s', but must be slot, node, ppr:N:node, none, hwthread, core, "
                 "socket or numa",
                 at->name, text);
    return false;
}

/* PE=N is -bind-to core:N, or hwthread:N. */
static bool bind_to_several(struct dm_launch_options *options)
{
    const char *unit = options->bind_to != NULL ? options->bind_to : "core";
    char number[16];

    if (strcmp(unit, "core") != 0 && strcmp(unit, "hwthread") != 0) {
        dm_log_error("mpiexec: PE=%d of -map-by goes with -bind-to core or hwthread, not %s",
                     options->map.cores_each, unit);
        return false;
    }
    snprintf(number, sizeof(number), "%d", options->map.cores_each);
    options->bind_to = dm_launch_option_text(options, unit, ":", number);
    return options->bind_to != NULL;
}

bool dm_launch_map_finish(struct dm_launch_options *options)
{
    const char *here = options->map.is_by_node ? "node" : "slot";
    const char *rank_by = options->map.rank_by != NULL ? options->map.rank_by : here;

    if (strcasecmp(rank_by, here) != 0) {
        dm_log_error("mpiexec: -rank-by is '%s', but ranks are numbered as they are placed, by %s; "
                     "-map-by slot and -map-by node place them",
                     rank_by, here);
        return false;
    }
    return options->map.cores_each == 0 || bind_to_several(options);
}

/* ---- options that are not here ---- */

#define SETTINGS "what it sets is set here by variables DATUM_*: datum-info --settings lists them"
#define WHERE    "-hosts, -host or -f name the hosts that are to have ranks"
#define CPUS     "-bind-to user:LIST names the processors of each rank"

static const struct {
    const char *name;
    const char *instead;
} only_there[] = {
    {"mca", SETTINGS},
    {"gmca", SETTINGS},
    {"omca", SETTINGS},
    {"pmixmca", SETTINGS},
    {"prtemca", SETTINGS},
    {"am", SETTINGS},
    {"tune", SETTINGS},
    {"nolocal", WHERE},
    {"rankfile", WHERE "; " CPUS},
    {"rf", WHERE "; " CPUS},
    {"cpu-set", CPUS},
    {"cpu-list", CPUS},
    {"app", "-configfile names a file of programs"},
    {"nooversubscribe", "here hosts take any number of ranks; -n and -ppn say how many"},
    {"npersocket", "-ppn is for hosts; -map-by socket takes cores of each socket in turn"},
    {"display", "-v prints the host of each rank, -report-bindings its processors"},
    {"display-allocation", "-v prints the host of each rank"},
    {"output", "-outfile-pattern, -tag-output, -timestamp-output and the like do that"},
};

const char *dm_launch_instead_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(only_there) / sizeof(only_there[0]); i++)
        if (is_this_word(name, len, only_there[i].name))
            return only_there[i].instead;
    return NULL;
}
