/*
 * What the ranks of this host are doing, from the memory files that they keep of it (util/where.h).
 */
#ifndef DM_TOOLS_WHERE_H
#define DM_TOOLS_WHERE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/where.h"

/* The ranks of this user that were found, by job and rank. */
struct dm_where_list {
    struct dm_where **files;
    int n;
};

/* Look through /proc. False: it cannot be read, or there is no memory. */
bool dm_where_find(struct dm_where_list *list);
void dm_where_free(struct dm_where_list *list);
/* Have those of one job (NULL: of all) write their stacks, and wait for them a moment. */
void dm_where_get_stacks(const struct dm_where_list *list, const char *job);
/*
 * Print the ranks of one job, a line for each: "rank 1 (process 4711) is in MPI_Recv for 12.0 s: ...", and their
 * stacks, if they have written any. Returns how many there are.
 */
int dm_where_print(FILE *out, const struct dm_where_list *list, const char *job, bool has_stacks);
/* The same as one JSON object on a line. */
void dm_where_print_json(FILE *out, const struct dm_where_list *list, const char *job,
                         bool has_stacks);

#endif
