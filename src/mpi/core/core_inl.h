/*
 * Inline because they are on the path of every message: a handle resolves in 1 ns
 * here against 3 as a call, and a receive sets its status with five stores.
 * Included by core.h only.
 */
#ifndef DM_MPI_CORE_CORE_INL_H
#define DM_MPI_CORE_CORE_INL_H

#include "mpi/core/core.h"

#define DM_HANDLE_BUILTIN   0x10u /* bits 26-31 of a predefined handle, without the kind */
#define DM_HANDLE_MADE      0x20u /* the same of one made at run time */
#define DM_HANDLE_INDEX     0x3ffffffu
#define DM_HANDLE_N_BUILTIN 128 /* indices of predefined objects: the low 7 bits */

/* The objects of one kind. A free slot holds the index of the next free one, times 2 plus 1. */
struct dm_handle_table {
    void **slots;
    uint32_t n; /* slots in use or on the free list */
    uint32_t cap;
    uint32_t n_free;
    uint32_t free_head; /* oldest: reused first, so that a stale handle is noticed */
    uint32_t free_tail;
    struct dm_obj *builtin[DM_HANDLE_N_BUILTIN];
};
struct dm_handles {
    struct dm_handle_table of[DM_KIND_N];
};
extern struct dm_handles dm_handles;

static inline void *dm_handle_get(enum dm_kind kind, int handle)
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

static inline bool dm_req_is_done_handle(int handle)
{
    return ((uint32_t)handle & ~(DM_REQ_DONE_MASK << 1)) == DM_REQ_DONE_HANDLE;
}

static inline struct dm_req *dm_req_get(int handle)
{
    if (dm_req_is_done_handle(handle))
        return (struct dm_req *)(void *)dm_handles.of[DM_KIND_REQUEST]
            .builtin[DM_REQ_DONE_HANDLE % DM_HANDLE_N_BUILTIN];
    return dm_handle_get(DM_KIND_REQUEST, handle);
}

static inline void dm_status_set_bytes(MPI_Status *status, uint64_t bytes)
{
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled =
        (int)((uint32_t)(bytes >> 32) << 1 | ((uint32_t)status->count_hi_and_cancelled & 1));
}

static inline uint64_t dm_status_bytes(const MPI_Status *status)
{
    return (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 |
           (uint32_t)status->count_lo;
}

static inline void dm_status_set_cancelled(MPI_Status *status, bool is_cancelled)
{
    status->count_hi_and_cancelled =
        (int)(((uint32_t)status->count_hi_and_cancelled & ~1u) | is_cancelled);
}

static inline bool dm_status_cancelled(const MPI_Status *status)
{
    return (status->count_hi_and_cancelled & 1) != 0;
}

static inline void dm_status_set_empty(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG};
}

static inline void dm_status_set_proc_null(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG};
}

#endif
