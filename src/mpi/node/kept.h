/*
 * Segments that windows, communicators and files have left, mapped still, for the next one of the same group: making
 * a segment is a file, its mapping and its pages for each process.
 *
 * 1. Each process keeps the segment when it has left its user, and says so in a word of the segment.
 * 2. When all have, its maker may claim it, and describes it to the others.
 * 3. Each finds it among its own. Then all must agree that all have it; until then nobody forgets it.
 *
 * Nothing is cleared: what it holds is as its last user left it.
 */
#ifndef DM_MPI_NODE_KEPT_H
#define DM_MPI_NODE_KEPT_H

#include "mpi/node/node.h"
#include "mpi/node/segment.h"

/* In the place of the maker's descriptor, in a description that is sent: the others have it. */
#define DM_NODE_KEPT (-2)

struct dm_node_kept {
    struct dm_list link;
    struct dm_group *group; /* the user's */
    struct dm_node_segment segment;
    struct dm_node_file file; /* of its maker, the first process of the host */
    size_t word_at;           /* uint32_t in the segment, zero at first, for the steps above only */
    void *own; /* what this process keeps with it; malloc's, freed with it; or NULL */
};

#define DM_NODE_KEPT_MOST 8 /* of segments that are a file each */
/*
 * Keep `what` (link does not matter; a reference of the group is taken) in `store`, which forgets the oldest ones
 * above so many, or above 64 MiB (pages that were never touched count, those of tails do not); or unmap it: of groups
 * with processes of other jobs, of a process that is alone, without memory.
 */
void dm_node_keep(struct dm_list *store, int most, const struct dm_node_kept *what);
/* Claim a segment of len bytes that this process has made, of a group of the same processes. False: there is none. */
bool dm_node_kept_claim(struct dm_list *store, struct dm_group *group, size_t len,
                        struct dm_node_kept *what_p);
/* The segment that another process has claimed; its descriptor does not count. False: it is not here. */
bool dm_node_kept_find(struct dm_list *store, const struct dm_node_file *file,
                       struct dm_node_kept *what_p);
/* Unmap all. */
void dm_node_kept_stop(struct dm_list *store);

#endif
