/*
 * Where on this host the process may run, by the topology that Linux shows in /sys.
 */
#ifndef DM_UTIL_AFFINITY_H
#define DM_UTIL_AFFINITY_H

/* From the largest to the smallest. */
enum dm_affinity_level {
    DM_AFFINITY_PACKAGE,
    DM_AFFINITY_NUMA,
    DM_AFFINITY_L3,
    DM_AFFINITY_L2,
    DM_AFFINITY_L1,
    DM_AFFINITY_CORE,
    DM_AFFINITY_PU,
    DM_N_AFFINITY_LEVELS
};

/*
 * The one instance of such a resource that holds every core this process may use now, as the number
 * of its lowest core; -1 when there is none, or nothing is known.
 */
int dm_affinity_instance(enum dm_affinity_level level);
/*
 * The kind of resource with this name, in any case and with "hwloc://" in front or not: package or
 * socket, numa or numanode, l3cache, l2cache, l1cache, core, pu or hwthread. -1: none.
 */
int dm_affinity_by_name(const char *name);
/* Its first name. */
const char *dm_affinity_name(enum dm_affinity_level level);

#endif
