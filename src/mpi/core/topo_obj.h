/*
 * The topology of a communicator: an object that all duplicates of the communicator share.
 * Immutable once it is attached. src/mpi/topo makes it, src/mpi/coll communicates along it.
 */
#ifndef DM_MPI_CORE_TOPO_OBJ_H
#define DM_MPI_CORE_TOPO_OBJ_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The lists of neighbours are in the order of the buffers of neighbourhood collectives (MPI-4.0
 * section 8.6); on a grid they may hold MPI_PROC_NULL. in and out may be the same array. All
 * arrays lie in mem.
 */
struct dm_topo {
    int refs;
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int n_in; /* this process receives from them */
    int n_out;
    int *in;
    int *out;
    union {
        struct {
            int n_dims;
            int *dims;
            int *periods; /* 0 or 1 */
            int *coords;  /* of this process */
        } cart;
        struct {
            int n_nodes;
            int *index; /* ends of the lists of neighbours in edges */
            int *edges;
            bool is_symmetric; /* each edge is there in both directions */
        } graph;
        struct {
            bool is_weighted;
            int *in_weights;
            int *out_weights;
        } dist;
    } of;
    int mem[];
};

/* With room for n_ints ints in mem; one reference. DM_ENOMEM. */
int dm_topo_new(int kind, size_t n_ints, struct dm_topo **topo_p);
/* Both do nothing with NULL. */
void dm_topo_ref(struct dm_topo *topo);
void dm_topo_unref(struct dm_topo *topo);

#endif
