/*
 * Finding the arena.
 */
#include "dapl_adapt/open_arena.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dapl_adapt/core/adapt.h"
#include "util/arena.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/kv.h"
#include "util/log.h"

#define KEY_LEN  64
#define TEXT_LEN 128

static void arena_key(int first, char *key)
{
    snprintf(key, KEY_LEN, "datum-arena-%d", first);
}

static int arena_node(const struct dm_adapt_job *job, int rank)
{
    return job->node_of != NULL ? job->node_of[rank] : 0;
}

/* The first process of this host. */
static int arena_first(const struct dm_adapt_job *job)
{
    int first = 0;

    while (first < job->rank && arena_node(job, first) != arena_node(job, job->rank))
        first++;
    return first;
}

/* Do several processes share a host anywhere? Hosts have numbers without gaps. */
static bool arena_is_of_use(const struct dm_adapt_job *job)
{
    int n_nodes = 0;

    for (int i = 0; i < job->size; i++)
        n_nodes = arena_node(job, i) >= n_nodes ? arena_node(job, i) + 1 : n_nodes;
    return n_nodes < job->size;
}

/* The first process of a host: make one, and say where others of this user find it. */
static int arena_offer(const struct dm_adapt *adapt, char *text, size_t len)
{
    char key[KEY_LEN], place[TEXT_LEN];
    bool is_made = adapt->job.n_local > 1 && dm_arena_make(adapt->job.n_local, text, len) >= 0;

    if (!is_made)
        snprintf(text, len, DM_ARENA_NONE);
    snprintf(place, sizeof(place), "%ld:%s", (long)getpid(), text);
    arena_key(adapt->job.rank, key);
    return adapt->job.kv.put(adapt->job.kv.arg, key, place);
}

/* A descriptor of our own of the file that the first one has made, if it can be had. */
static void arena_join(const struct dm_adapt *adapt, int first, char *text, size_t len)
{
    char key[KEY_LEN], place[DM_KV_VAL_MAX], path[KEY_LEN], file[KEY_LEN];
    long pid;
    int fd;

    snprintf(text, len, DM_ARENA_NONE);
    arena_key(first, key);
    if (adapt->job.kv.get(adapt->job.kv.arg, key, place, sizeof(place)) != DM_OK ||
        sscanf(place, "%ld:%d:%63s", &pid, &fd, file) != 3)
        return;
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", pid, fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) /* it is another one's, or not to be seen from here */
        DM_TRACE(CONN, "the arena of rank %d cannot be opened", first);
    else
        snprintf(text, len, "%d:%s", fd, file);
}

/* The launcher has made none. */
static int arena_share(const struct dm_adapt *adapt)
{
    const struct dm_adapt_job *job = &adapt->job;
    char text[TEXT_LEN] = DM_ARENA_NONE;
    int first = arena_first(job), err = DM_OK;

    if (first == job->rank)
        err = arena_offer(adapt, text, sizeof(text));
    if (err == DM_OK)
        err = job->kv.fence(job->kv.arg);
    if (err == DM_OK && first != job->rank)
        arena_join(adapt, first, text, sizeof(text));
    if (err == DM_OK && setenv(DM_ARENA_ENV, text, 1) != 0)
        err = DM_FAIL(DM_ENOMEM, "the variable %s", DM_ARENA_ENV);
    return err;
}

int dm_open_arena(struct dm_adapt *adapt)
{
    const struct dm_adapt_job *job = &adapt->job;

    if (job->size > 1 && dm_cfg_env(DM_ARENA_ENV) == NULL && arena_is_of_use(job)) {
        int err = arena_share(adapt);

        if (err != DM_OK)
            return err;
    }
    (void)dm_arena_open(&adapt->mem.arena, false);
    return DM_OK;
}
