/*
 * Hosts that a resource manager has given to this job.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/placement.h"
#include "util/cfg.h"
#include "util/log.h"

/* The nth number of Slurm's list 2(x3),1: here 2 2 2 1; 0: there is none. */
static int slurm_tasks(const char *text, int n)
{
    while (text != NULL && *text != '\0') {
        char *end;
        int tasks = (int)strtol(text, &end, 10);
        int times = 1;

        if (sscanf(end, "(x%d)", &times) == 1)
            end = strchr(end, ')') + 1;
        if (n < times)
            return tasks;
        n -= times;
        text = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static bool add_slurm_host(struct dm_launch_place *place, const char *name)
{
    int tasks = slurm_tasks(dm_cfg_env("SLURM_TASKS_PER_NODE"), place->n_hosts);
    char word[320];

    snprintf(word, sizeof(word), tasks > 0 ? "%s:%d" : "%s", name, tasks);
    return dm_launch_place_hosts(place, word);
}

/* The hosts of HEAD[FIRST-LAST,NUMBER,...]TAIL; an item is "5" or "01-12". */
static bool add_slurm_range(struct dm_launch_place *place, const char *word, size_t len)
{
    const char *open = memchr(word, '[', len);
    const char *close = open != NULL ? memchr(open, ']', len - (size_t)(open - word)) : NULL;
    char name[256];

    if (open == NULL || close == NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)len, word);
        return add_slurm_host(place, name);
    }
    for (const char *item = open + 1; item < close;) {
        char *end;
        size_t width = strspn(item, "0123456789");
        long first = strtol(item, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

        for (long i = first; i <= last; i++) {
            snprintf(name, sizeof(name), "%.*s%0*ld%.*s", (int)(open - word), word, (int)width, i,
                     (int)(word + len - close - 1), close + 1);
            if (!add_slurm_host(place, name))
                return false;
        }
        item = *end == ',' ? end + 1 : close;
    }
    return true;
}

/* Slurm's list of names, in which commas also stand in brackets. */
static bool add_slurm_list(struct dm_launch_place *place, const char *list)
{
    while (*list != '\0') {
        size_t len = 0;
        bool is_inside = false;

        for (; list[len] != '\0' && (is_inside || list[len] != ','); len++)
            is_inside = list[len] == '[' || (is_inside && list[len] != ']');
        if (len > 0 && !add_slurm_range(place, list, len))
            return false;
        list += len + (list[len] == ',');
    }
    return true;
}

/* LSF's HOST SLOTS HOST SLOTS. */
static bool add_pairs(struct dm_launch_place *place, const char *text)
{
    char name[256], word[320];
    int slots, used;

    while (sscanf(text, "%255s %d%n", name, &slots, &used) == 2) {
        snprintf(word, sizeof(word), "%s:%d", name, slots);
        if (!dm_launch_place_hosts(place, word))
            return false;
        text += used;
    }
    return true;
}

/* Grid Engine's file of lines HOST SLOTS QUEUE ... */
static bool add_grid_engine(struct dm_launch_place *place, const char *path)
{
    FILE *f = fopen(path, "re");
    char line[1024];
    bool is_good = f != NULL;

    while (is_good && fgets(line, sizeof(line), f) != NULL) {
        char name[256], word[320];
        int slots;

        if (sscanf(line, "%255s %d", name, &slots) != 2)
            continue;
        snprintf(word, sizeof(word), "%s:%d", name, slots);
        is_good = dm_launch_place_hosts(place, word);
    }
    if (f != NULL)
        fclose(f);
    else
        dm_log_error("mpiexec: PE_HOSTFILE is %s, which cannot be read", path);
    return is_good;
}

bool dm_launch_place_resources(struct dm_launch_place *place)
{
    const char *text;

    if (dm_cfg_env("SLURM_JOB_ID") != NULL && (text = dm_cfg_env("SLURM_JOB_NODELIST")) != NULL)
        return add_slurm_list(place, text);
    if ((text = dm_cfg_env("PBS_NODEFILE")) != NULL)
        return dm_launch_place_hostfile(place, text);
    if ((text = dm_cfg_env("LSB_MCPU_HOSTS")) != NULL)
        return add_pairs(place, text);
    if ((text = dm_cfg_env("PE_HOSTFILE")) != NULL)
        return add_grid_engine(place, text);
    return true;
}
