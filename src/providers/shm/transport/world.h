/*
 * The order of processes in virtual time.
 *
 * The processes of a job share a memory file, with a host for each: its clock, and when it has
 * something to do next. One process runs at a time, the one that is first in virtual time (of equals
 * the one with the lower number); who has to wait for virtual time to pass hands over to it. So
 * nothing depends on how fast anybody really is, and results are the same in every run.
 *
 * Invariant: only the process whose turn it is changes hosts, its own or others'.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_WORLD_H
#define DM_PROVIDERS_SHM_TRANSPORT_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DM_WORLD_FLOWS = 256, DM_WORLD_MAX = 4096 };

#define DM_WORLD_NEVER UINT64_MAX

/* Transfers that follow each other without a gap: the memory bus carries so many bytes a ns. */
struct dm_world_flow {
    uint64_t start;
    uint64_t end;
    double rate;
};

/* Of one direction, oldest first, the last ones of n. */
struct dm_world_flows {
    uint32_t n;
    struct dm_world_flow flow[DM_WORLD_FLOWS];
};

/* Times are virtual ns. */
struct dm_world_host {
    _Atomic uint32_t word; /* changes when its turn comes */
    _Atomic pid_t pid;
    bool is_in;
    bool is_idle;             /* it goes on as soon as something arrives */
    bool is_woken;            /* something has arrived that it has not looked for yet */
    _Atomic uint64_t clock;   /* of its process */
    uint64_t resume;          /* when the process goes on */
    uint64_t due;             /* when the first of its requests is to be carried out */
    uint64_t out_free;        /* when its adapter can begin to send, */
    uint64_t in_free;         /* receive, */
    uint64_t bus_free;        /* and use the bus */
    struct dm_world_flows in; /* to memory */
    struct dm_world_flows out;
};

struct dm_world {
    _Atomic uint32_t n_in; /* processes that have come so far */
    _Atomic uint32_t turn; /* whose it is */
    uint32_t n;
    struct dm_world_host host[];
};

/* Join; false: no memory, or not all came in time. Returns when it is this process's turn. */
bool dm_world_join(uint64_t job, uint32_t me, uint32_t n, struct dm_world **world_p);
/* Leave, and unmap. */
void dm_world_leave(struct dm_world *world, uint32_t me);
/* Wait until it is this process's turn: nothing to do when it is already. */
void dm_world_enter(struct dm_world *world, uint32_t me);
/*
 * Hand over to whoever is first, until it is this process's turn again, with a request that is due
 * or because it is time to go on.
 */
void dm_world_next(struct dm_world *world, uint32_t me);

/* Something has arrived at the host, at that time. */
static inline void dm_world_wake(struct dm_world_host *host, uint64_t when)
{
    host->is_woken = true;
    if (!host->is_idle)
        return;
    if (when < host->clock)
        when = host->clock;
    if (when < host->resume)
        host->resume = when;
}

#endif
