/*
 * Objects behind DAT handles.
 *
 * Every object begins with struct dm_obj, whose first word is the provider
 * table that libdat2 dispatches by. Objects live in type-stable slabs that are
 * never given back, so that a stale handle is found out by its magic word
 * instead of crashing. Objects are reused first-in first-out.
 */
#ifndef DM_PROVIDERS_COMMON_OBJ_H
#define DM_PROVIDERS_COMMON_OBJ_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>

#include "util/list.h"
#include "util/port.h"

/* A complete DAT error code. */
#define DM_DAT(type, sub) ((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(sub)))
/* Without the class bits: so do OFED's providers for some codes, and dtest
 * compares with the bare value. */
#define DM_DAT_BARE(type) ((DAT_RETURN)(type))
#define DM_DAT_ARG(n)     DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + (n)-1)
#define DM_DAT_NOMEM      DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

#define DM_OBJ_N_TYPES  (DAT_HANDLE_TYPE_CSP + 1)
#define DM_OBJ_MAGIC(t) (0x444d4f40u + (uint32_t)(t))
#define DM_OBJ_FREE     0x46524545u

struct dm_pia;
struct dm_evd_ring;

struct dm_obj {
    const DAT_PROVIDER *provider; /* first: libdat2 reads it */
    uint32_t magic;
    uint32_t gen; /* counts the lives of this slot */
    struct dm_pia *ia;
    struct dm_list link; /* in ia->objs[type], or in the free list */
    DAT_CONTEXT context;
    DAT_HANDLE_TYPE type;
};

/* An address of any family. */
union dm_addr {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage any;
};

/* What an adapter instance has in every provider; first member of its own. */
struct dm_pia {
    struct dm_obj obj;
    const struct dm_pia_ops *ops;
    _Atomic pid_t *alive; /* this process's pid; reads 0 in a forked child */
    pid_t pid;            /* who opened it */
    bool is_threadsafe;
    bool is_driven;       /* ops->poll and ops->sleep are there */
    bool is_async_shared; /* the async EVD belongs to another instance */
    struct dm_evd *async_evd;
    uint32_t last_pz_id;
    pthread_mutex_t lock; /* everything that is not a fast path */
    struct dm_list objs[DM_OBJ_N_TYPES];
    union dm_addr addr;
    /* Provider-specific attributes; NULL: those of shared memory. */
    DAT_NAMED_ATTR *attrs;
    int n_attrs;
    /* The event ring whose waiter is in ops->sleep. */
    _Atomic(struct dm_evd_ring *) led;
};

/* What common code needs from a provider; called with ia->lock held, if it
 * does not say otherwise. */
struct dm_pia_ops {
    /* Memory that peers can reach, 64-byte aligned and zeroed; NULL if none. */
    void *(*mem_alloc)(struct dm_pia *ia, size_t len);
    void (*mem_free)(struct dm_pia *ia, void *mem);
    /* Have the provider's thread look at CNO agents soon; any context. */
    void (*kick)(struct dm_pia *ia);
    /* Before and after an EVD's ring is replaced: keep everybody off the old
     * one, and show the new one (or again the old). False, before: somebody is
     * stuck in the old one, it has to stay. */
    bool (*evd_moved)(struct dm_pia *ia, struct dm_evd *evd, bool is_before);
    /* Wait until nobody else is in the middle of adding to a ring. False: somebody is stuck in it. NULL: peers
     * do not reach rings. */
    bool (*quiesce)(struct dm_pia *ia);
    /* Drive the network: a consumer has found its queue empty. No lock held. */
    void (*poll)(struct dm_pia *ia);
    /* Sleep, and drive the network meanwhile, until the ring's word is not this
     * value any more or the deadline has come; as dm_futex_wait(). No lock held. */
    int (*sleep)(struct dm_pia *ia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline);
};

/* New zeroed object on ia's list (ia may be NULL); NULL when out of memory.
 * ia->lock is held, if there is an ia. */
void *dm_obj_new(const DAT_PROVIDER *provider, struct dm_pia *ia, DAT_HANDLE_TYPE type,
                 size_t size);
/* Give it back; its handle is stale from now on. ia->lock is held. */
void dm_obj_free(void *obj);
/* The object if the handle is live, of this type and of this process, else
 * NULL. Never follows a pointer that does not lie in a slab. */
void *dm_obj_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
/* Same for any type. */
struct dm_obj *dm_obj_get_any(DAT_HANDLE handle);

/* The cheap check for hot calls: the handle points into a slab for sure. */
static inline bool dm_obj_is(const void *handle, DAT_HANDLE_TYPE type)
{
    const struct dm_obj *obj = handle;

    return obj->magic == DM_OBJ_MAGIC(type) &&
           atomic_load_explicit(obj->ia->alive, memory_order_relaxed) == obj->ia->pid;
}

/* The small integer by which the consumer knows this instance. */
DAT_IA_HANDLE dm_obj_ia_handle(struct dm_pia *ia);
/* Number of live objects of a type; ia->lock is held. */
int dm_obj_count(struct dm_pia *ia, DAT_HANDLE_TYPE type);

DAT_RETURN dm_obj_set_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dm_obj_get_context(DAT_HANDLE handle, DAT_CONTEXT *context_p);
DAT_RETURN dm_obj_get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type_p);

#endif
