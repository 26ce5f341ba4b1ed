/*
 * A job in virtual time. See virtual_time.h.
 */
#include "dapl_adapt/virtual_time.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/ext.h"
#include "dapl_adapt/provider/ia.h"
#include "util/clock.h"
#include "util/err.h"

static struct dm_ia *virtual_rail(const struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++)
        if (adapt->rails.ias[i]->caps.has_clock)
            return adapt->rails.ias[i];
    return NULL;
}

/* Nobody shares memory: every process is a node. */
static int virtual_part_nodes(struct dm_adapt *adapt)
{
    int *nodes = malloc((size_t)adapt->job.size * sizeof(*nodes));

    if (nodes == NULL)
        return DM_FAIL(DM_ENOMEM, "the nodes of %d processes", adapt->job.size);
    for (int i = 0; i < adapt->job.size; i++)
        nodes[i] = i;
    adapt->virtual_nodes = nodes;
    adapt->job.node_of = nodes;
    adapt->job.n_local = 1;
    adapt->own_host += (uint64_t)adapt->job.rank + 1;
    return DM_OK;
}

int dm_virtual_prepare(struct dm_adapt *adapt)
{
    const struct dm_ia *ia = virtual_rail(adapt);

    if (ia == NULL)
        return DM_OK;
    if (adapt->rails.n_ias > 1)
        return DM_FAIL(
            DM_ECONFIG,
            "%s models a network in virtual time, and cannot be used together with other "
            "providers; name it alone in DATUM_PROVIDER",
            ia->name);
    adapt->is_demand = false;
    return virtual_part_nodes(adapt);
}

int dm_virtual_begin(struct dm_adapt *adapt)
{
    struct dm_ia *ia = virtual_rail(adapt);

    if (ia == NULL)
        return DM_OK;
    if (dm_ext_clock(ia, &adapt->clock) != DAT_SUCCESS ||
        !adapt->clock.begin(adapt->clock.arg, adapt->self.job, adapt->job.rank, adapt->job.size))
        return DM_FAIL(DM_EPROVIDER,
                       "%s: virtual time does not begin: not all processes of the job have come, "
                       "or there is no shared memory (/dev/shm)",
                       ia->name);
    dm_clock_use(&adapt->clock);
    return DM_OK;
}

void dm_virtual_end(struct dm_adapt *adapt)
{
    if (dm_clock_is_virtual()) {
        dm_clock_use(NULL);
        adapt->clock.end(adapt->clock.arg);
    }
}
