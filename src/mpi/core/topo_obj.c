/*
 * The topology object's life.
 */
#include <stdlib.h>

#include "mpi/core/core.h"
#include "util/zalloc.h"

int dm_topo_new(int kind, size_t n_ints, struct dm_topo **topo_p)
{
    struct dm_topo *topo = dm_zalloc(sizeof(*topo) + n_ints * sizeof(topo->mem[0]));

    *topo_p = topo;
    if (topo == NULL)
        return DM_FAIL(DM_ENOMEM, "topology, %zu numbers", n_ints);
    topo->refs = 1;
    topo->kind = kind;
    return DM_OK;
}

void dm_topo_ref(struct dm_topo *topo)
{
    if (topo != NULL)
        topo->refs++;
}

void dm_topo_unref(struct dm_topo *topo)
{
    if (topo != NULL && --topo->refs == 0)
        free(topo);
}
