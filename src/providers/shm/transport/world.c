/*
 * The order of processes in virtual time. See world.h.
 */
#include "providers/shm/transport/world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/futex.h"
#include "util/log.h"

#define JOIN_NS UINT64_C(60000000000)
#define LOOK_NS UINT64_C(500000000) /* between looks whether the one whose turn it is lives */
/* Looks at the same one before we say so. */
#define COMPLAIN_LOOKS 60
#define BEGIN_NS       1
#define NAME_LEN       48
#define SPINS          200

static size_t world_len(uint32_t n)
{
    return sizeof(struct dm_world) + n * sizeof(struct dm_world_host);
}

static void world_name(uint64_t job, char *name)
{
    snprintf(name, NAME_LEN, "/datum-world-%u-%016llx", (unsigned)getuid(),
             (unsigned long long)job);
}

/* The job's file, which whoever comes first makes; it is all zeros then. */
static struct dm_world *world_map(uint64_t job, uint32_t n)
{
    char name[NAME_LEN];
    void *map;
    int fd;

    world_name(job, name);
    fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    map = ftruncate(fd, (off_t)world_len(n)) == 0
              ? mmap(NULL, world_len(n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
              : MAP_FAILED;
    close(fd);
    return map != MAP_FAILED ? map : NULL;
}

/* All have come: nobody needs the name any more. */
static bool world_wait_for_all(struct dm_world *world, uint64_t job, uint32_t n)
{
    uint64_t deadline = dm_futex_now() + JOIN_NS;
    uint32_t n_in = atomic_fetch_add(&world->n_in, 1) + 1;
    char name[NAME_LEN];

    world_name(job, name);
    if (n_in == n) {
        (void)shm_unlink(name);
        dm_futex_wake(&world->n_in, INT_MAX);
        return true;
    }
    while ((n_in = atomic_load(&world->n_in)) < n) {
        if (dm_futex_wait(&world->n_in, n_in, deadline) == ETIMEDOUT) {
            (void)shm_unlink(name);
            return false;
        }
    }
    return true;
}

bool dm_world_join(uint64_t job, uint32_t me, uint32_t n, struct dm_world **world_p)
{
    struct dm_world *world;
    struct dm_world_host *host;

    if (n > DM_WORLD_MAX || me >= n)
        return false;
    world = world_map(job, n);
    if (world == NULL)
        return false;
    host = &world->host[me];
    host->is_in = true;
    host->resume = BEGIN_NS;
    host->due = DM_WORLD_NEVER;
    atomic_store(&host->clock, BEGIN_NS);
    atomic_store(&host->pid, getpid());
    world->n = n; /* all store the same */
    if (!world_wait_for_all(world, job, n)) {
        munmap(world, world_len(n));
        return false;
    }
    *world_p = world;
    dm_world_enter(world, me);
    return true;
}

/* What it does next, in time. */
static uint64_t world_when(const struct dm_world_host *host)
{
    return host->due < host->resume ? host->due : host->resume;
}

/* Who is first; n: nobody is left. */
static uint32_t world_first(const struct dm_world *world)
{
    uint32_t first = world->n;
    uint64_t when = DM_WORLD_NEVER;

    for (uint32_t i = 0; i < world->n; i++) {
        if (world->host[i].is_in && world_when(&world->host[i]) < when) {
            first = i;
            when = world_when(&world->host[i]);
        }
    }
    return first;
}

static void world_give(struct dm_world *world, uint32_t to)
{
    atomic_store(&world->turn, to);
    if (to == world->n)
        return;
    atomic_fetch_add(&world->host[to].word, 1);
    dm_futex_wake(&world->host[to].word, INT_MAX);
}

/* The process whose turn it is has died: take it out, and let one of those who notice go on. */
static void world_drop_dead(struct dm_world *world)
{
    uint32_t turn = atomic_load(&world->turn);
    struct dm_world_host *host;

    if (turn >= world->n)
        return;
    host = &world->host[turn];
    if (kill(atomic_load(&host->pid), 0) == 0 || errno != ESRCH)
        return;
    if (!atomic_compare_exchange_strong(&world->turn, &turn, world->n))
        return; /* somebody else does it */
    host->is_in = false;
    world_give(world, world_first(world));
}

/* One and the same process has had the turn for so many looks. */
static void world_complain(struct dm_world *world, uint32_t turn, uint32_t n_looks)
{
    if (n_looks == COMPLAIN_LOOKS && turn < world->n)
        dm_log_warn(
            "modelled network: process %u (pid %d) has not called its provider for %d s, and "
            "virtual time stands still for all; if it waits for another process by other "
            "means, it waits for ever",
            turn, (int)atomic_load(&world->host[turn].pid),
            (int)(COMPLAIN_LOOKS * LOOK_NS / 1000000000));
}

void dm_world_enter(struct dm_world *world, uint32_t me)
{
    struct dm_world_host *host = &world->host[me];
    uint32_t turn = world->n;
    uint32_t n_looks = 0;
    uint32_t word;

    for (int i = 0; i < SPINS; i++)
        if (atomic_load(&world->turn) == me)
            return;
    for (;;) {
        word = atomic_load(&host->word);
        if (atomic_load(&world->turn) == me)
            return;
        if (dm_futex_wait(&host->word, word, dm_futex_now() + LOOK_NS) != ETIMEDOUT)
            continue;
        world_drop_dead(world);
        n_looks = atomic_load(&world->turn) == turn ? n_looks + 1 : 0;
        turn = atomic_load(&world->turn);
        world_complain(world, turn, n_looks);
    }
}

void dm_world_next(struct dm_world *world, uint32_t me)
{
    uint32_t first = world_first(world);

    if (first == me)
        return;
    world_give(world, first);
    dm_world_enter(world, me);
}

void dm_world_leave(struct dm_world *world, uint32_t me)
{
    size_t len = world_len(world->n);

    dm_world_enter(world, me);
    world->host[me].is_in = false;
    world_give(world, world_first(world));
    munmap(world, len);
}
