/*
 * Which rank runs on which host.
 */
#ifndef DM_PMI_PMI_MAP_H
#define DM_PMI_PMI_MAP_H

#include <stdbool.h>

/*
 * Fill node_of[0..size) from Hydra's text "(vector,(first,n_nodes,per_node),...)":
 * each block gives per_node ranks to each of n_nodes hosts, from number first on;
 * the blocks repeat until all ranks are placed. Host numbers come out as 0, 1, ...
 * in the order of the ranks. False when the text is malformed.
 */
bool dm_pmi_map_parse(const char *text, int *node_of, int size);

/* Replace arbitrary numbers >= 0 by 0, 1, ... in the order of appearance; false: no memory. */
bool dm_pmi_map_compact(int *node_of, int size);

#endif
