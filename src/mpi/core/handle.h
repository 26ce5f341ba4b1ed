/*
 * Handles: MPICH's integers, the objects behind them, and the tables between the two.
 *
 * Invariants: an object's first member is struct dm_obj; an MPI handle maps to it and back
 * (handle.c and this header are the only places that know how). Objects are reference counted;
 * freeing a handle drops the user's reference, pending operations hold their own.
 *
 * dm_handle_get is inline because it is on the path of every message: 1 ns here against 3 as a
 * call.
 */
#ifndef DM_MPI_CORE_HANDLE_H
#define DM_MPI_CORE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"
#include "util/port.h"

/* MPICH's object kinds: bits 26-29 of a handle. */
enum dm_kind {
    DM_KIND_COMM = 1,
    DM_KIND_GROUP = 2,
    DM_KIND_TYPE = 3,
    DM_KIND_FILE = 4,
    DM_KIND_ERRHANDLER = 5,
    DM_KIND_OP = 6,
    DM_KIND_INFO = 7,
    DM_KIND_WIN = 8,
    DM_KIND_KEYVAL = 9,
    DM_KIND_ATTR = 10,
    DM_KIND_REQUEST = 11,
    DM_KIND_SESSION = 14,
    DM_KIND_N = 16
};

struct dm_obj {
    int handle; /* as the program sees it; 0 while it has none */
    int refs;
};

#define DM_HANDLE_BUILTIN   0x10u /* bits 26-31 of a predefined handle, without the kind */
#define DM_HANDLE_MADE      0x20u /* the same of one made at run time */
#define DM_HANDLE_INDEX     0x3ffffffu
#define DM_HANDLE_N_BUILTIN 128 /* indices of predefined objects: the low 7 bits */
#define DM_HANDLE_SPARE     64  /* objects of a kind whose memory is kept */
#define DM_HANDLE_DELAY                                                                            \
    64 /* free slots of a kind (but types) that are not used again yet: a stale handle is noticed */
/* Some predefined datatypes have handles of the "made" form with small indices. */
#define DM_HANDLE_RESERVED 16

/* The objects of one kind. A free slot holds the index of the next free one, times 2 plus 1. */
struct dm_handle_table {
    void **slots;
    uint32_t n; /* slots in use or on the free list */
    uint32_t cap;
    uint32_t n_free;
    uint32_t
        free_head; /* reused first: the oldest, so that a stale handle is noticed; of types the newest */
    uint32_t free_tail;
    struct dm_obj *builtin[DM_HANDLE_N_BUILTIN];
    void *spare; /* memory of objects that are gone, linked by its first word */
    uint32_t n_spare;
};
struct dm_handles {
    struct dm_handle_table of[DM_KIND_N];
};
extern struct dm_handles dm_handles;

/* What a free slot holds. */
static inline void *dm_handle_link(uint32_t index)
{
    return (void *)((uintptr_t)index << 1 | 1);
}

/*
 * The object of a handle, NULL when it is null, of another kind, or not in use. Predefined
 * objects (MPI_COMM_WORLD, MPI_INT, MPI_SUM, ...) resolve like any other.
 */
static DM_ALWAYS_INLINE void *dm_handle_get(enum dm_kind kind, int handle)
{
    const struct dm_handle_table *table = &dm_handles.of[kind];
    uint32_t top = (uint32_t)handle >> 26;
    uint32_t index = (uint32_t)handle & DM_HANDLE_INDEX;

    if (dm_likely(top == (DM_HANDLE_BUILTIN | kind))) {
        struct dm_obj *obj = table->builtin[index % DM_HANDLE_N_BUILTIN];

        return dm_likely(obj != NULL && obj->handle == handle) ? obj : NULL;
    }
    if (dm_likely(top == (DM_HANDLE_MADE | kind) && index < table->n)) {
        void *slot = table->slots[index];

        return dm_likely(((uintptr_t)slot & 1) == 0) ? slot : NULL;
    }
    return NULL;
}
/* Give obj a handle in this slot of the table, and a reference if it has none. */
static inline void dm_handle_set(enum dm_kind kind, struct dm_obj *obj, uint32_t index)
{
    dm_handles.of[kind].slots[index] = obj;
    obj->handle = (int)((DM_HANDLE_MADE | kind) << 26 | index);
    if (obj->refs == 0)
        obj->refs = 1;
}
/* dm_handle_new where no slot has been free for long enough. */
int dm_handle_new_slot(enum dm_kind kind, struct dm_obj *obj);
/* Give obj a new handle (stored in obj->handle); refs becomes 1 if it was 0. DM_ENOMEM. */
static inline int dm_handle_new(enum dm_kind kind, struct dm_obj *obj)
{
    struct dm_handle_table *table = &dm_handles.of[kind];
    uint32_t index = table->free_head;

    if (dm_unlikely(table->n_free <= (kind == DM_KIND_TYPE ? 0 : DM_HANDLE_DELAY)))
        return dm_handle_new_slot(kind, obj);
    table->free_head = (uint32_t)((uintptr_t)table->slots[index] >> 1);
    table->n_free--;
    dm_handle_set(kind, obj, index);
    return 0; /* DM_OK */
}
/* Bind a predefined handle value to an object (start-up only). */
int dm_handle_bind(enum dm_kind kind, int handle, struct dm_obj *obj);
/*
 * The handle becomes invalid; the object is not freed. Without effect on predefined handles
 * and on an object that has none.
 */
static inline void dm_handle_drop(enum dm_kind kind, struct dm_obj *obj)
{
    struct dm_handle_table *table = &dm_handles.of[kind];
    uint32_t index = (uint32_t)obj->handle & DM_HANDLE_INDEX;

    if ((uint32_t)obj->handle >> 26 != (DM_HANDLE_MADE | kind) || index < DM_HANDLE_RESERVED ||
        index >= table->n || table->slots[index] != obj)
        return;
    obj->handle = 0;
    if (kind == DM_KIND_TYPE) {
        table->slots[index] = dm_handle_link(table->free_head);
        table->free_head = index;
        table->n_free++;
        return;
    }
    table->slots[index] = dm_handle_link(0);
    if (dm_unlikely(table->n_free == 0))
        table->free_head = index;
    else
        table->slots[table->free_tail] = dm_handle_link(index);
    table->free_tail = index;
    table->n_free++;
}

/*
 * Memory for an object of a kind, all of which have the same len; of one that is gone, if there is any: small
 * objects come and go, and malloc takes most of their time. NULL: out of memory.
 */
static inline void *dm_obj_take(enum dm_kind kind, size_t len)
{
    struct dm_handle_table *table = &dm_handles.of[kind];
    void *mem = table->spare;

    if (dm_unlikely(mem == NULL))
        return malloc(len);
    table->spare = *(void **)mem;
    table->n_spare--;
    return mem;
}
/* The same, zeroed. */
static inline void *dm_obj_alloc(enum dm_kind kind, size_t len)
{
    void *mem = dm_obj_take(kind, len);

    return mem != NULL ? memset(mem, 0, len) : NULL;
}
/* Give it back; a few are kept. */
static inline void dm_obj_free(enum dm_kind kind, void *mem)
{
    struct dm_handle_table *table = &dm_handles.of[kind];

    if (dm_unlikely(table->n_spare == DM_HANDLE_SPARE)) {
        free(mem);
        return;
    }
    *(void **)mem = table->spare;
    table->spare = mem;
    table->n_spare++;
}

#endif
