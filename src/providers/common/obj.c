/*
 * Slabs of handle objects. Invariant: memory of a slab is never unmapped or
 * used for another type, so a stale handle can always be read.
 */
#include "providers/common/ia.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/prov_state.h"

enum { SLAB_OBJS = 32 };

/* Exported by libdat2; no header declares it. */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE raw, DAT_IA_HANDLE *handle_p);

static void slabs_init(void)
{
    for (int i = 0; i < DM_OBJ_N_TYPES; i++)
        dm_list_init(&dm_prov_state.slabs[i].free);
    dm_prov_state.is_ready = true;
}

static bool slab_grow(struct dm_slab *slab, size_t size)
{
    struct dm_slab_chunk *chunk = malloc(sizeof(*chunk));
    size_t stride = (size + DM_CACHE_LINE - 1) / DM_CACHE_LINE * DM_CACHE_LINE;
    char *base = aligned_alloc(DM_CACHE_LINE, stride * SLAB_OBJS);

    if (chunk == NULL || base == NULL) {
        free(chunk);
        free(base);
        return false;
    }
    memset(base, 0, stride * SLAB_OBJS);
    for (int i = 0; i < SLAB_OBJS; i++) {
        struct dm_obj *obj = (void *)(base + i * stride);

        obj->magic = DM_OBJ_FREE;
        dm_list_add_tail(&slab->free, &obj->link);
    }
    chunk->base = base;
    chunk->len = stride * SLAB_OBJS;
    chunk->size = stride;
    chunk->next = atomic_load(&slab->chunks);
    atomic_store(&slab->chunks, chunk);
    return true;
}

void *dm_obj_new(const DAT_PROVIDER *provider, struct dm_pia *ia, DAT_HANDLE_TYPE type, size_t size)
{
    struct dm_slab *slab = &dm_prov_state.slabs[type];
    struct dm_obj *obj = NULL;
    uint32_t gen;

    pthread_mutex_lock(&dm_prov_state.lock);
    if (!dm_prov_state.is_ready)
        slabs_init();
    if (!dm_list_is_empty(&slab->free) || slab_grow(slab, size)) {
        obj = dm_container_of(slab->free.next, struct dm_obj, link);
        dm_list_del(&obj->link);
    }
    pthread_mutex_unlock(&dm_prov_state.lock);
    if (obj == NULL)
        return NULL;

    gen = obj->gen + 1;
    memset(obj, 0, size);
    obj->provider = provider;
    obj->gen = gen;
    obj->ia = ia;
    obj->type = type;
    dm_list_init(&obj->link);
    if (ia != NULL)
        dm_list_add_tail(&ia->objs[type], &obj->link);
    obj->magic = DM_OBJ_MAGIC(type);
    return obj;
}

void dm_obj_free(void *p)
{
    struct dm_obj *obj = p;

    obj->magic = DM_OBJ_FREE;
    dm_list_del(&obj->link);
    pthread_mutex_lock(&dm_prov_state.lock);
    dm_list_add_tail(&dm_prov_state.slabs[obj->type].free, &obj->link);
    pthread_mutex_unlock(&dm_prov_state.lock);
}

static bool is_in_slab(const struct dm_slab *slab, const void *p)
{
    struct dm_slab_chunk *chunk = atomic_load(&slab->chunks);
    uintptr_t at = (uintptr_t)p;

    for (; chunk != NULL; chunk = chunk->next) {
        uintptr_t base = (uintptr_t)chunk->base;

        if (at >= base && at < base + chunk->len)
            return (at - base) % chunk->size == 0;
    }
    return false;
}

static bool is_ours(const struct dm_obj *obj)
{
    const struct dm_pia *ia = obj->ia;

    return ia != NULL && atomic_load_explicit(ia->alive, memory_order_relaxed) == ia->pid;
}

void *dm_obj_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
    struct dm_obj *obj = handle;

    if (!is_in_slab(&dm_prov_state.slabs[type], obj) || obj->magic != DM_OBJ_MAGIC(type))
        return NULL;
    return is_ours(obj) ? obj : NULL;
}

struct dm_obj *dm_obj_get_any(DAT_HANDLE handle)
{
    for (int i = 0; i < DM_OBJ_N_TYPES; i++) {
        struct dm_obj *obj = dm_obj_get(handle, (DAT_HANDLE_TYPE)i);

        if (obj != NULL)
            return obj;
    }
    return NULL;
}

DAT_IA_HANDLE dm_obj_ia_handle(struct dm_pia *ia)
{
    DAT_IA_HANDLE handle = DAT_HANDLE_NULL;

    if (dats_get_ia_handle((DAT_IA_HANDLE)ia, &handle) != DAT_SUCCESS)
        return (DAT_IA_HANDLE)ia;
    return handle;
}

int dm_obj_count(struct dm_pia *ia, DAT_HANDLE_TYPE type)
{
    int n = 0;

    dm_list_for_each (it, &ia->objs[type])
        n++;
    return n;
}

DAT_RETURN dm_obj_set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
    struct dm_obj *obj = dm_obj_get_any(handle);

    if (obj == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, 0);
    obj->context = context;
    return DAT_SUCCESS;
}

DAT_RETURN dm_obj_get_context(DAT_HANDLE handle, DAT_CONTEXT *context_p)
{
    struct dm_obj *obj = dm_obj_get_any(handle);

    if (obj == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, 0);
    if (context_p == NULL)
        return DM_DAT_ARG(2);
    *context_p = obj->context;
    return DAT_SUCCESS;
}

DAT_RETURN dm_obj_get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type_p)
{
    struct dm_obj *obj = dm_obj_get_any(handle);

    if (obj == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, 0);
    if (type_p == NULL)
        return DM_DAT_ARG(2);
    *type_p = obj->type;
    return DAT_SUCCESS;
}
