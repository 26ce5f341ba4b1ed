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

/* The small integer by which the consumer knows this instance. */
DAT_IA_HANDLE dm_obj_ia_handle(struct dm_pia *ia);
/* Number of live objects of a type; ia->lock is held. */
int dm_obj_count(struct dm_pia *ia, DAT_HANDLE_TYPE type);

DAT_RETURN dm_obj_set_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dm_obj_get_context(DAT_HANDLE handle, DAT_CONTEXT *context_p);
DAT_RETURN dm_obj_get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type_p);

#endif
