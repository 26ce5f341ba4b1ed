/*
 * Adapter instances (uDAPL 2.0, dat_ia_*): what they have in every provider.
 */
#ifndef DM_PROVIDERS_COMMON_IA_H
#define DM_PROVIDERS_COMMON_IA_H

#include "providers/common/obj.h"

struct dm_evd_ring;
struct dm_prov_ops;
struct dm_strict;

/* First member of a provider's own instance. */
struct dm_pia {
    struct dm_obj obj;
    const struct dm_prov_ops *ops;
    _Atomic pid_t *alive;        /* this process's pid; reads 0 in a forked child */
    pid_t pid;                   /* who opened it */
    bool is_threadsafe;          /* calls may come from any thread at any time */
    bool is_safe_line;           /* the consumer has opened the line that says so */
    bool is_driven;              /* ops->poll and ops->sleep are to be called */
    const _Atomic uint32_t *due; /* ops->poll is to be called when it is not 0; NULL: never */
    bool is_async_shared;        /* the async EVD belongs to another instance */
    struct dm_evd *async_evd;
    uint32_t last_pz_id;
    pthread_mutex_t lock; /* everything that is not a fast path */
    struct dm_list objs[DM_OBJ_N_TYPES];
    union dm_addr addr;
    /* Provider-specific attributes; NULL: those of shared memory. */
    DAT_NAMED_ATTR *attrs;
    int n_attrs;
    bool has_thread; /* the progress thread runs */
    pthread_t thread;
    /* The event ring whose waiter is in ops->sleep. */
    _Atomic(struct dm_evd_ring *) led;
    struct dm_strict *strict; /* NULL: not strict */
    struct dm_list fork_link;
    bool is_fork_locked; /* this process is forking, and holds the lock for that */
};

/* The cheap check for hot calls: the handle points into a slab for sure. */
static inline bool dm_obj_is(const void *handle, DAT_HANDLE_TYPE type)
{
    const struct dm_obj *obj = handle;

    return obj->magic == DM_OBJ_MAGIC(type) &&
           atomic_load_explicit(obj->ia->alive, memory_order_relaxed) == obj->ia->pid;
}

/* The INVALID_HANDLE code that says which handle is bad. */
#define DM_DAT_BAD(what) DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)

/* Fill attributes from this; sizes of everything are zeroed first. */
void dm_ia_attr_fill(struct dm_pia *ia, DAT_IA_ATTR *attr);
void dm_provider_attr_fill(struct dm_pia *ia, DAT_PROVIDER_ATTR *attr);
/* The host's first IPv4 address that is not loopback, else 127.0.0.1. */
void dm_ia_local_addr(struct sockaddr_in *addr);
/* Does this address belong to this host? */
bool dm_ia_is_local_addr(const struct sockaddr *addr);

/* DAT calls. libdat2 gives no thread-safety word when it opens: a call per word. */
DAT_RETURN dm_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                      DAT_IA_HANDLE *ia_p);
DAT_RETURN dm_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                           DAT_IA_HANDLE *ia_p);
DAT_RETURN dm_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_p, DAT_IA_ATTR_MASK ia_mask,
                       DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr);
DAT_RETURN dm_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_RETURN dm_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer_p);

#endif
