/*
 * Where the process may run: the affinity mask against the lists of cores in /sys.
 */
#include "util/affinity.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SYS        "/sys/devices/system"
#define N_NODES    1024 /* numbers to try */
#define N_CACHES   8
#define LINE_LEN   4096
#define PREFIX     "hwloc://"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

static const struct {
    const char *name;
    enum dm_affinity_level level;
} names[] = {
    {"package", DM_AFFINITY_PACKAGE}, {"numanode", DM_AFFINITY_NUMA},  {"l3cache", DM_AFFINITY_L3},
    {"l2cache", DM_AFFINITY_L2},      {"l1cache", DM_AFFINITY_L1},     {"core", DM_AFFINITY_CORE},
    {"pu", DM_AFFINITY_PU},           {"socket", DM_AFFINITY_PACKAGE}, {"numa", DM_AFFINITY_NUMA},
    {"hwthread", DM_AFFINITY_PU},
};

static bool affinity_read_line(const char *path, char line[LINE_LEN])
{
    FILE *f = fopen(path, "re");
    bool is_there = f != NULL && fgets(line, LINE_LEN, f) != NULL;

    if (f != NULL)
        fclose(f);
    return is_there;
}

/* "0-3,8,10-11" as a set; false when the file is not there. */
static bool affinity_read_set(const char *path, cpu_set_t *set)
{
    char line[LINE_LEN];
    char *at = line;

    CPU_ZERO(set);
    if (!affinity_read_line(path, line))
        return false;
    while (*at >= '0' && *at <= '9') {
        long first = strtol(at, &at, 10);
        long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

        for (long i = first; i <= last && i < CPU_SETSIZE; i++)
            CPU_SET((size_t)i, set);
        at += *at == ',';
    }
    return true;
}

static int affinity_lowest(const cpu_set_t *set)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set))
            return i;
    return -1;
}

/* The cores that share a cache of this level with one. */
static bool affinity_cache_set(int core, int level, cpu_set_t *set)
{
    char path[128];
    char line[LINE_LEN];

    for (int i = 0; i < N_CACHES; i++) {
        snprintf(path, sizeof(path), SYS "/cpu/cpu%d/cache/index%d/level", core, i);
        if (!affinity_read_line(path, line))
            return false;
        snprintf(path, sizeof(path), SYS "/cpu/cpu%d/cache/index%d/shared_cpu_list", core, i);
        if (atoi(line) == level)
            return affinity_read_set(path, set);
    }
    return false;
}

static bool affinity_numa_set(int core, cpu_set_t *set)
{
    char path[128];

    for (int i = 0; i < N_NODES; i++) {
        snprintf(path, sizeof(path), SYS "/node/node%d/cpulist", i);
        if (affinity_read_set(path, set) && CPU_ISSET((size_t)core, set))
            return true;
    }
    return false;
}

static bool affinity_topology_set(int core, const char *file, cpu_set_t *set)
{
    char path[128];

    snprintf(path, sizeof(path), SYS "/cpu/cpu%d/topology/%s", core, file);
    return affinity_read_set(path, set);
}

/* The cores of the instance that a core belongs to. */
static bool affinity_instance_set(enum dm_affinity_level level, int core, cpu_set_t *set)
{
    switch (level) {
    case DM_AFFINITY_PACKAGE:
        return affinity_topology_set(core, "core_siblings_list", set);
    case DM_AFFINITY_NUMA:
        return affinity_numa_set(core, set);
    case DM_AFFINITY_L3:
        return affinity_cache_set(core, 3, set);
    case DM_AFFINITY_L2:
        return affinity_cache_set(core, 2, set);
    case DM_AFFINITY_L1:
        return affinity_cache_set(core, 1, set);
    case DM_AFFINITY_CORE:
        return affinity_topology_set(core, "thread_siblings_list", set);
    default:
        CPU_ZERO(set);
        CPU_SET((size_t)core, set);
        return true;
    }
}

int dm_affinity_instance(enum dm_affinity_level level)
{
    cpu_set_t mine, set, both;
    int core;

    if (sched_getaffinity(0, sizeof(mine), &mine) != 0)
        return -1;
    core = affinity_lowest(&mine);
    if (core < 0 || !affinity_instance_set(level, core, &set))
        return -1;
    CPU_AND(&both, &mine, &set);
    return CPU_EQUAL(&both, &mine) ? affinity_lowest(&set) : -1;
}

int dm_affinity_by_name(const char *name)
{
    if (strncasecmp(name, PREFIX, PREFIX_LEN) == 0)
        name += PREFIX_LEN;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i].name) == 0)
            return (int)names[i].level;
    return -1;
}

const char *dm_affinity_name(enum dm_affinity_level level)
{
    return names[level].name;
}
