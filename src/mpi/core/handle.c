/*
 * Handle tables: MPICH's integers to objects and back.
 *
 * A table is one array of slots that doubles. Free slots form a queue that is
 * reused oldest first and only while it is longer than DM_HANDLE_DELAY, so that a handle the
 * program kept after freeing it stays invalid for a while instead of naming another object.
 * Those of datatypes are a stack instead: as in MPICH the next type has the handle of the last one freed.
 * Invariant: a slot is an object (even), or a free-list link (odd).
 */
#include "mpi/core/core.h"

#include <stdlib.h>
#include <string.h>

struct dm_handles dm_handles;

#define FIRST_CAP 256

static int handle_grow(struct dm_handle_table *table)
{
    uint32_t cap = table->cap == 0 ? FIRST_CAP : table->cap * 2;
    void **slots;

    if (cap > DM_HANDLE_INDEX)
        return DM_FAIL(DM_ENOMEM, "%u handles of one kind are in use, the most there can be",
                       table->n);
    slots = realloc(table->slots, cap * sizeof(*slots));
    if (slots == NULL)
        return DM_FAIL(DM_ENOMEM, "handle table, %zu bytes", cap * sizeof(*slots));
    table->slots = slots;
    table->cap = cap;
    if (table->n == 0) {
        for (uint32_t i = 0; i < DM_HANDLE_RESERVED; i++)
            slots[i] = dm_handle_link(0);
        table->n = DM_HANDLE_RESERVED;
    }
    return DM_OK;
}

int dm_handle_new_slot(enum dm_kind kind, struct dm_obj *obj)
{
    struct dm_handle_table *table = &dm_handles.of[kind];

    if (table->n == table->cap) {
        int err = handle_grow(table);

        if (err != DM_OK)
            return err;
    }
    dm_handle_set(kind, obj, table->n++);
    return DM_OK;
}

int dm_handle_bind(enum dm_kind kind, int handle, struct dm_obj *obj)
{
    struct dm_handle_table *table = &dm_handles.of[kind];
    uint32_t index = (uint32_t)handle & DM_HANDLE_INDEX;
    int err;

    obj->handle = handle;
    if (obj->refs == 0)
        obj->refs = 1;
    if ((uint32_t)handle >> 26 == (DM_HANDLE_BUILTIN | kind)) {
        table->builtin[index % DM_HANDLE_N_BUILTIN] = obj;
        return DM_OK;
    }
    if ((uint32_t)handle >> 26 != (DM_HANDLE_MADE | kind) || index >= DM_HANDLE_RESERVED)
        return DM_FAIL(DM_EINTERN, "0x%x cannot be a predefined handle of kind %d",
                       (unsigned)handle, kind);
    if (table->slots == NULL) {
        err = handle_grow(table);
        if (err != DM_OK)
            return err;
    }
    table->slots[index] = obj;
    return DM_OK;
}

/* Objects that may be used after MPI_Finalize, and are? */
static bool handle_is_kept(int kind)
{
    const struct dm_handle_table *table = &dm_handles.of[kind];

    return (kind == DM_KIND_INFO || kind == DM_KIND_ERRHANDLER) &&
           table->n > DM_HANDLE_RESERVED + table->n_free;
}

static void handle_free_spare(struct dm_handle_table *table)
{
    while (table->spare != NULL) {
        void *next = *(void **)table->spare;

        free(table->spare);
        table->spare = next;
    }
    table->n_spare = 0;
}

void dm_handle_fini(void)
{
    for (int kind = 0; kind < DM_KIND_N; kind++) {
        struct dm_handle_table *table = &dm_handles.of[kind];

        handle_free_spare(table);
        memset(table->builtin, 0, sizeof(table->builtin));
        if (handle_is_kept(kind))
            continue;
        free(table->slots);
        memset(table, 0, sizeof(*table));
    }
}
