/*
 * What the ranks of this host are doing, from the memory files that they keep of it (util/where.h).
 */
#ifndef DM_TOOLS_WHERE_H
#define DM_TOOLS_WHERE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/where.h"

enum dm_where_state {
    DM_WHERE_WAITS,
    DM_WHERE_STOPPED,
    DM_WHERE_SLEEPS, /* in a system call of the program that a signal would end early, as sleep and poll */
    DM_WHERE_RUNS
};

/* A rank, and what it did when it was found. */
struct dm_where_rank {
    struct dm_where *file;
    struct dm_where_wait wait;
    enum dm_where_state state;
    uint64_t seen_ns;
    bool is_asked; /* for its stack */
};

/* The ranks that were found, by job and rank. */
struct dm_where_list {
    struct dm_where_rank *ranks;
    int n;
};

/* Look through /proc. False: it cannot be read, or there is no memory. */
bool dm_where_find(struct dm_where_list *list);
void dm_where_free(struct dm_where_list *list);
/*
 * Have those of one job (NULL: of all) write their stacks, and wait for them a moment; those whose sleep would end
 * only if it is the last thing that they do.
 */
void dm_where_get_stacks(const struct dm_where_list *list, const char *job, bool is_last);
/*
 * Print the ranks of one job, a line for each: "rank 1 (process 4711) is in MPI_Recv for 12.0 s: ...", and their
 * stacks, if they have written any. Returns how many there are.
 */
int dm_where_print(FILE *out, const struct dm_where_list *list, const char *job, bool has_stacks);
/* The same as one JSON object on a line. */
void dm_where_print_json(FILE *out, const struct dm_where_list *list, const char *job,
                         bool has_stacks);

#endif
