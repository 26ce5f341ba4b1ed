/*
 * The process-wide state of a provider library: slabs, registered names, and
 * the page by which a forked child is recognised.
 */
#ifndef DM_PROVIDERS_COMMON_PROV_STATE_H
#define DM_PROVIDERS_COMMON_PROV_STATE_H

#include "providers/common/obj.h"

struct dm_slab_chunk {
    struct dm_slab_chunk *next;
    char *base;
    size_t len;
    size_t size; /* of one object */
};

struct dm_slab {
    struct dm_list free;
    struct dm_slab_chunk *_Atomic chunks;
};

struct dm_prov_state {
    pthread_mutex_t lock;
    struct dm_slab slabs[DM_OBJ_N_TYPES];
    bool is_ready;
    _Atomic pid_t *alive; /* in a page that fork() wipes */
    struct dm_list names; /* struct dm_prov_name */
    /* Open instances, for fork(). */
    pthread_mutex_t fork_lock; /* before those of the instances */
    bool is_fork_ready;
    struct dm_list ias; /* struct dm_pia, fork_link */
};

extern struct dm_prov_state dm_prov_state;

#endif
