/*
 * Cores are known as the kernel tells them in /sys. A unit is what a rank is bound to: a set of
 * processors that share a core, a package or a memory node; ranks take them in turn.
 */
#include "tools/mpiexec/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/host.h"
#include "util/log.h"
#include "util/strbuf.h"

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

/* Open MPI's, which is so here always. */
static bool changes_nothing(const char *rest)
{
    return strcasecmp(rest, "overload-allowed") == 0 || strcasecmp(rest, "if-supported") == 0;
}

/* The unit that a text NAME[:REST] begins with; *rest_p is behind the colon, or at the end. */
static enum bind_unit unit_of(const char *text, const char **rest_p)
{
    size_t len = strcspn(text, ":");

    *rest_p = text[len] == ':' ? text + len + 1 : text + len;
    if (changes_nothing(*rest_p))
        *rest_p += strlen(*rest_p);
    for (size_t i = 0; i < sizeof(unit_names) / sizeof(unit_names[0]); i++)
        if (strlen(unit_names[i].name) == len && strncasecmp(unit_names[i].name, text, len) == 0)
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
            if (end == text || last < first)
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

/* A rank each of a list 0,1+2,4-5. The units that it has; -1: it is no such list. */
static int read_user_units(const char *text, cpu_set_t *units)
{
    for (int n = 0; n < UNITS_MAX;) {
        CPU_ZERO(&units[n]);
        text = add_cpus(text, &units[n++], "+");
        if (text == NULL || (*text != ',' && *text != '\0'))
            return -1;
        if (*text++ == '\0')
            return n;
    }
    return UNITS_MAX;
}

/* All processors that a rank can be bound to: the kernel leaves out those that are not for us. */
static void list_possible(cpu_set_t *possible)
{
    cpu_set_t old;

    CPU_ZERO(possible);
    if (sched_getaffinity(0, sizeof(old), &old) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CPU_SET((size_t)cpu, possible);
    if (sched_setaffinity(0, sizeof(*possible), possible) != 0 ||
        sched_getaffinity(0, sizeof(*possible), possible) != 0)
        *possible = old;
    sched_setaffinity(0, sizeof(old), &old);
}

/* Are all processors of such a list among these? Those between two numbers are in the units. */
static bool are_among(const char *list, const cpu_set_t *units, int n, const cpu_set_t *possible)
{
    for (char *end; *list != '\0'; list = *end != '\0' ? end + 1 : end) {
        unsigned long cpu = strtoul(list, &end, 10);

        if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, possible))
            return false;
    }
    for (int i = 0; i < n; i++) {
        cpu_set_t both;

        CPU_AND(&both, &units[i], possible);
        if (!CPU_EQUAL(&both, &units[i]))
            return false;
    }
    return true;
}

static void print_cpus(const cpu_set_t *set, char *text, size_t len)
{
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, text, len);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;

        if (!CPU_ISSET((size_t)cpu, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, set))
            last++;
        dm_strbuf_addf(&sb, last > cpu ? "%s%d-%d" : "%s%d", text[0] != '\0' ? "," : "", cpu, last);
        cpu = last;
    }
}

/* -bind-to user:LIST */
static bool make_user_units(const char *text, const char *host)
{
    char there[256] = "";
    cpu_set_t possible;

    bound.n = read_user_units(text, bound.units);
    list_possible(&possible);
    if (are_among(text, bound.units, bound.n, &possible))
        return true;
    print_cpus(&possible, there, sizeof(there));
    dm_log_error("mpiexec: -bind-to is 'user:%s', but the processors that mpiexec may use on host "
                 "%s are %s",
                 text, host, there);
    return false;
}

/* Several units for each rank: core:2. */
static bool join_units(int times, const char *text, const char *host)
{
    int n = bound.n / times;

    if (n == 0) {
        dm_log_error("mpiexec: -bind-to is '%s', but mpiexec may use %d of them on host %s", text,
                     bound.n, host);
        return false;
    }
    for (int i = 0; i < n; i++) {
        cpu_set_t all = bound.units[i * times];

        for (int k = 1; k < times; k++)
            CPU_OR(&all, &all, &bound.units[i * times + k]);
        bound.units[i] = all;
    }
    bound.n = n;
    return true;
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

bool dm_launch_binding_is_unit(const char *text)
{
    const char *rest;
    enum bind_unit unit = unit_of(text, &rest);

    return unit != BIND_BAD && unit != BIND_USER;
}

bool dm_launch_binding_is_good(const char *option, const char *text)
{
    static cpu_set_t units[UNITS_MAX];
    const char *rest;
    enum bind_unit unit = unit_of(text, &rest);
    char *end;

    if (unit == BIND_USER && read_user_units(rest, units) > 0)
        return true;
    if (unit == BIND_USER || unit == BIND_BAD ||
        (*rest != '\0' && (strtol(rest, &end, 10) < 1 || *end != '\0')))
        return fail_binding(option, text);
    return true;
}

bool dm_launch_binding_check(const struct dm_launch_options *options, int n_ranks, const char *host)
{
    const char *rest = "";
    const char *map_rest = "";
    enum bind_unit unit = BIND_NONE;
    enum bind_unit by = BIND_NONE;
    cpu_set_t free;

    if (options->map_by != NULL)
        by = unit_of(options->map_by, &map_rest);
    if (options->bind_to != NULL)
        unit = unit_of(options->bind_to, &rest);
    else if (options->map_by == NULL || by == BIND_CORE) /* which is the order of the dealing */
        deal_units(n_ranks);
    if (unit == BIND_USER)
        return make_user_units(rest, host);
    if (unit == BIND_NONE || sched_getaffinity(0, sizeof(free), &free) != 0)
        return true;
    bound.n = list_units(unit, &free, bound.units);
    if (by > unit)
        order_units(by, &free);
    return *rest == '\0' || join_units(atoi(rest), options->bind_to, host);
}

int dm_launch_binding_cores(int n_ranks)
{
    cpu_set_t all;
    int quota = dm_host_cores();

    if (bound.n == 0)
        return n_ranks > quota ? quota : 0;
    CPU_ZERO(&all);
    for (int i = 0; i < n_ranks && i < bound.n; i++)
        CPU_OR(&all, &all, &bound.units[i]);
    return CPU_COUNT(&all) < quota ? CPU_COUNT(&all) : quota;
}

void dm_launch_binding_print(int nth, char *text, size_t len)
{
    const cpu_set_t *set = dm_launch_binding_of(nth);

    text[0] = '\0';
    if (set != NULL)
        print_cpus(set, text, len);
}

const cpu_set_t *dm_launch_binding_of(int nth)
{
    return bound.n > 0 ? &bound.units[nth % bound.n] : NULL;
}
