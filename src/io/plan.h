/*
 * The plan of a collective transfer.
 */
#ifndef DM_IO_PLAN_H
#define DM_IO_PLAN_H

#include "io/file.h"
#include "mpi/node/node.h"

/* What each process tells all before a collective transfer; sent as it is. */
struct dm_plan_part {
    uint64_t pos, len;   /* in its view */
    int64_t low, high;   /* of the file; equal: nothing */
    uint64_t view_bytes; /* of its view as it is shipped */
    uint64_t alone_ns;   /* of the processor, alone, beside what bytes cost in one range */
    uint32_t is_refused; /* it cannot take part in an exchange */
    uint32_t has_writes; /* that an aggregator on another host does not see yet */
};

/* What all processes know and decided alike. */
struct dm_plan {
    struct dm_plan_part *parts; /* of each rank */
    int *aggs;                  /* ranks; allocated */
    int n_agg;
    int64_t low, high; /* of the file: what all access, from a multiple of the unit on */
    int64_t domain;    /* bytes of the file for each aggregator */
    int64_t window;    /* that it takes at a time, */
    int n_windows;     /* and how many of them it has */
    const struct dm_node_map *nodes;
    bool has_writes; /* one of the parts has */
    bool *gathers;   /* of each host: its leader sends and gets for all of them; allocated */
};

/* May a collective call on this file want an exchange? Hints and hosts say; the same at all its processes. */
bool dm_plan_is_hinted(const struct dm_file *f, bool is_write);
/*
 * The same for a blocking call. Within a host what all access decides, once a view was set; where that was
 * in vain it is not asked for by the next calls.
 */
bool dm_plan_is_asked(struct dm_file *f, bool is_write);
/*
 * Aggregators of a file within one host, if no hint says how many; what the first process says is right. On a
 * disk one: there the system lets one process write to a file at a time.
 */
int dm_plan_n_writers(const struct dm_file *f);
/* How many aggregators there are, as hosts and hints say; 0: no memory to find out. */
int dm_plan_n_agg(const struct dm_file *f);
/* Bytes of the file that an aggregator holds, as hosts and hints say. */
uint64_t dm_plan_buffer(const struct dm_file *f);
/* What this process has to say. */
struct dm_plan_part dm_plan_part(struct dm_file *f, const struct dm_move *m);
/*
 * Are data to be exchanged, from what all have said in plan->parts? Sets low and high. must: they are,
 * if there are any.
 */
bool dm_plan_is_worth(struct dm_file *f, bool is_write, bool must, struct dm_plan *plan);
/* The aggregators and what each has to do. DM_ENOMEM. */
int dm_plan_make(struct dm_file *f, struct dm_plan *plan);
void dm_plan_free(struct dm_plan *plan);
/*
 * Does what is between a process and an aggregator go by way of the leader of the process' host? It
 * does for the leader, too.
 */
bool dm_plan_is_gathered(const struct dm_plan *plan, int rank, int agg);
/* Some process has failed to write: what of ours is there, below the lowest offset that is not. */
void dm_plan_count_good(const struct dm_file *f, struct dm_move *m, int64_t lowest);

#endif
