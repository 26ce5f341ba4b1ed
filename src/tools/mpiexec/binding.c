/*
 * Cores are known as the kernel tells them in /sys. A unit is what a rank is bound to: a set of
 * processors that share a core, a package or a memory node; ranks take them in turn.
 */
#include "tools/mpiexec/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/host.h"
#include "util/log.h"

enum { UNITS_MAX = 1024 };

enum bind_unit { BIND_NONE, BIND_HWTHREAD, BIND_CORE, BIND_SOCKET, BIND_NUMA, BIND_USER, BIND_BAD };

static const struct {
    const char *name;
    enum bind_unit unit;
} unit_names[] = {
    {"none", BIND_NONE},     {"hwthread", BIND_HWTHREAD}, {"core", BIND_CORE},
    {"socket", BIND_SOCKET}, {"package", BIND_SOCKET},    {"numa", BIND_NUMA},
    {"numanode", BIND_NUMA}, {"user", BIND_USER},         {"rr", BIND_CORE},
    {"machine", BIND_NONE},
};

/* What was asked for. */
static struct {
    int n;
    cpu_set_t units[UNITS_MAX];
} bound;

/* The unit that a text NAME[:REST] begins with; *rest_p is behind the colon, or at the end. */
static enum bind_unit unit_of(const char *text, const char **rest_p)
{
    size_t len = strcspn(text, ":");

    *rest_p = text[len] == ':' ? text + len + 1 : text + len;
    for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++)
        if (strlen(unit_names[i].name) == len && strncmp(unit_names[i].name, text, len) == 0)
            return unit_names[i].unit;
    return BIND_BAD;
}

/* Adds the processors of a list such as 0-3,8; returns what is behind it, or NULL when it is none.
 */
static const char *add_cpus(const char *text, cpu_set_t *set, const char *separators)
{
    for (;;) {
        char *end;
        long first = strtol(text, &end, 10);
        long last = first;

        if (end == text || first < 0)
            return NULL;
        if (*end == '-') {
            text = end + 1;
            last = strtol(text, &end, 10);
            if (end == text)
                return NULL;
        }
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, set);
        if (*end == '\0' || strchr(separators, *end) == NULL)
            return end;
        text = end + 1;
    }
}

static bool read_cpus(const char *path, cpu_set_t *set)
{
    char text[4096];
    FILE *f = fopen(path, "re");
    bool is_good = f != NULL && fgets(text, sizeof(text), f) != NULL;

    if (f != NULL)
        fclose(f);
    CPU_ZERO(set);
    return is_good && add_cpus(text, set, ",") != NULL;
}

/* The processors that share this unit with one of them. */
static void find_unit(enum bind_unit unit, int cpu, cpu_set_t *set)
{
    char path[128];

    CPU_ZERO(set);
    CPU_SET((size_t)cpu, set);
    if (unit == BIND_HWTHREAD)
        return;
    for (int node = 0; unit == BIND_NUMA && node < UNITS_MAX; node++) {
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
        if (!read_cpus(path, set) || CPU_ISSET((size_t)cpu, set))
            break;
    }
    if (unit != BIND_NUMA) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
                 unit == BIND_CORE ? "thread_siblings_list" : "core_siblings_list");
        (void)read_cpus(path, set);
    }
    if (!CPU_ISSET((size_t)cpu, set)) {
        CPU_ZERO(set);
        CPU_SET((size_t)cpu, set);
    }
}

/* All units of the processors that are free, in the order of their first one. */
static int list_units(enum bind_unit unit, const cpu_set_t *free, cpu_set_t *units)
{
    cpu_set_t left = *free;
    int n = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE && n < UNITS_MAX; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &left))
            continue;
        find_unit(unit, cpu, &units[n]);
        CPU_AND(&units[n], &units[n], free);
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET((size_t)i, &units[n]))
                CPU_CLR((size_t)i, &left);
        n++;
    }
    return n;
}

/* Puts units into the order in which ranks go round larger ones: a core of each socket, and again.
 */
static void order_units(enum bind_unit by, const cpu_set_t *free)
{
    static cpu_set_t outer[UNITS_MAX], sorted[UNITS_MAX];
    bool is_taken[UNITS_MAX] = {false};
    int n_outer = list_units(by, free, outer);
    int n = 0;

    for (int at = 0; n < bound.n; at++) {
        int i = 0;
        cpu_set_t both;

        for (; i < bound.n; i++) {
            CPU_AND(&both, &bound.units[i], &outer[at % n_outer]);
            if (!is_taken[i] && CPU_COUNT(&both) > 0)
                break;
        }
        if (i == bound.n)
            continue;
        is_taken[i] = true;
        sorted[n++] = bound.units[i];
    }
    memcpy(bound.units, sorted, (size_t)n * sizeof(sorted[0]));
}

/* -bind-to user:0,1+2,4-5 : a rank each. */
static bool make_user_units(const char *text)
{
    while (bound.n < UNITS_MAX) {
        CPU_ZERO(&bound.units[bound.n]);
        text = add_cpus(text, &bound.units[bound.n], "+");
        if (text == NULL || (*text != ',' && *text != '\0'))
            return false;
        bound.n++;
        if (*text++ == '\0')
            return true;
    }
    return true;
}

/* Several units for each rank: core:2. */
static void join_units(int times)
{
    int n = bound.n / times;

    for (int i = 0; i < n; i++) {
        cpu_set_t all = bound.units[i * times];

        for (int k = 1; k < times; k++)
            CPU_OR(&all, &all, &bound.units[i * times + k]);
        bound.units[i] = all;
    }
    if (n > 0)
        bound.n = n;
}

/*
 * Without -bind-to: where there is a core for each rank, cores are dealt out evenly, neighbours together. A rank
 * that the system moves to and fro loses its caches each time. Two jobs at a time share the cores as
 * evenly as without.
 */
static void deal_units(int n_ranks)
{
    cpu_set_t free;
    int n_units;

    if (n_ranks < 2 || dm_host_cores() < n_ranks || sched_getaffinity(0, sizeof(free), &free) != 0)
        return;
    n_units = list_units(BIND_CORE, &free, bound.units);
    if (n_units < n_ranks)
        return;
    for (int i = 0; i < n_ranks; i++) {
        int first = (int)((long)i * n_units / n_ranks);
        int end = (int)((long)(i + 1) * n_units / n_ranks);
        cpu_set_t all = bound.units[first];

        for (int k = first + 1; k < end; k++)
            CPU_OR(&all, &all, &bound.units[k]);
        bound.units[i] = all;
    }
    bound.n = n_ranks;
}

static bool fail_binding(const char *option, const char *text)
{
    dm_log_error("mpiexec: -%s is '%s', but must be none, hwthread, core, socket or numa, with "
                 ":N for N of them, or user:LIST",
                 option, text);
    return false;
}

bool dm_launch_binding_check(const struct dm_launch_options *options, int n_ranks)
{
    const char *rest = "";
    const char *map_rest = "";
    enum bind_unit unit = BIND_NONE;
    enum bind_unit by = BIND_NONE;
    cpu_set_t free;

    if (options->bind_to != NULL)
        unit = unit_of(options->bind_to, &rest);
    else if (options->map_by == NULL)
        deal_units(n_ranks);
    if (options->map_by != NULL)
        by = unit_of(options->map_by, &map_rest);
    if (unit == BIND_BAD || (*rest != '\0' && unit != BIND_USER && atoi(rest) < 1))
        return fail_binding("bind-to", options->bind_to);
    if (by == BIND_BAD || by == BIND_USER)
        return fail_binding("map-by", options->map_by);
    if (unit == BIND_USER)
        return make_user_units(rest) || fail_binding("bind-to", options->bind_to);
    if (unit == BIND_NONE || sched_getaffinity(0, sizeof(free), &free) != 0)
        return true;
    bound.n = list_units(unit, &free, bound.units);
    if (by > unit)
        order_units(by, &free);
    if (*rest != '\0')
        join_units(atoi(rest));
    return true;
}

int dm_launch_binding_cores(int n_ranks)
{
    cpu_set_t all;
    int quota;

    if (bound.n == 0)
        return 0;
    CPU_ZERO(&all);
    for (int i = 0; i < n_ranks && i < bound.n; i++)
        CPU_OR(&all, &all, &bound.units[i]);
    quota = dm_host_cores();
    return CPU_COUNT(&all) < quota ? CPU_COUNT(&all) : quota;
}

const cpu_set_t *dm_launch_binding_of(int nth)
{
    return bound.n > 0 ? &bound.units[nth % bound.n] : NULL;
}
