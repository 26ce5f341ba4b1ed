/*
 * Where on this host the process may run, by the topology that Linux shows in /sys.
 */
#ifndef DM_UTIL_PLACE_H
#define DM_UTIL_PLACE_H

/* From the largest to the smallest. */
enum dm_place {
    DM_PLACE_PACKAGE,
    DM_PLACE_NUMA,
    DM_PLACE_L3,
    DM_PLACE_L2,
    DM_PLACE_L1,
    DM_PLACE_CORE,
    DM_PLACE_PU,
    DM_N_PLACES
};

/*
 * The one instance of such a resource that holds every core this process may use now, as the number of
 * its lowest core; -1 when there is none, or nothing is known.
 */
int dm_place_instance(enum dm_place place);
/*
 * The kind of resource with this name, in any case and with "hwloc://" in front or not: package or
 * socket, numa or numanode, l3cache, l2cache, l1cache, core, pu or hwthread. -1: none.
 */
int dm_place_by_name(const char *name);
/* Its first name. */
const char *dm_place_name(enum dm_place place);

#endif
