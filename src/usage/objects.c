/*
 * Objects of the program: those that it made and did not free.
 *
 * Only what a call hands to the program is counted, so that the library's own objects never are. An object may be
 * handed out several times (MPI_Comm_group, MPI_Comm_get_errhandler): each is to be freed once. Info objects and error
 * handlers may be freed after MPI_Finalize, too (MPI-4.0 section 11.4.1): they are looked at when the process exits.
 */
#include <stdlib.h>

#include "usage/state.h"
#include "util/log.h"

#define TEXT_LEN 4096
/* Keys of keyvals; addresses have no such bit. */
#define KEYVAL_BIT (UINT64_C(1) << 63)

struct usage_object {
    enum dm_kind kind;
    int handle;
    int n;           /* references of the program */
    unsigned number; /* in the order of the calls */
    struct dm_usage_place place;
};

/* Equal ones of the report. */
struct usage_leak {
    const struct usage_object *first;
    int n;
};

static const char *object_kind(enum dm_kind kind)
{
    switch (kind) {
    case DM_KIND_COMM:
        return "communicator";
    case DM_KIND_GROUP:
        return "group";
    case DM_KIND_TYPE:
        return "datatype";
    case DM_KIND_FILE:
        return "file";
    case DM_KIND_ERRHANDLER:
        return "error handler";
    case DM_KIND_OP:
        return "operation";
    case DM_KIND_INFO:
        return "info object";
    case DM_KIND_WIN:
        return "window";
    default:
        return "keyval";
    }
}

static bool object_is_late(const struct usage_object *object)
{
    return object->kind == DM_KIND_INFO || object->kind == DM_KIND_ERRHANDLER;
}

/* What a call was to make and then could not is gone (MPI_Comm_idup). */
static bool object_is_there(const struct usage_object *object, uint64_t key)
{
    return object->kind == DM_KIND_KEYVAL ||
           dm_handle_get(object->kind, object->handle) == (void *)(uintptr_t)key;
}

static void object_made(const char *fn, enum dm_kind kind, uint64_t key, int handle)
{
    struct usage_object *object = dm_hash_get(&dm_usage_state.objects, key);

    if (object == NULL) {
        object = calloc(1, sizeof(*object));
        if (object == NULL)
            return;
        if (dm_hash_put(&dm_usage_state.objects, key, object) != DM_OK) {
            free(object);
            return;
        }
    }
    /* With the address of one that is gone. */
    if (object->kind != kind)
        object->n = 0;
    object->kind = kind;
    object->handle = handle;
    object->n++;
    object->number = ++dm_usage_state.n_made;
    dm_usage_place_take(&object->place, fn);
}

static void object_freed(uint64_t key)
{
    struct usage_object *object = dm_hash_get(&dm_usage_state.objects, key);

    if (object == NULL || --object->n > 0)
        return;
    dm_hash_del(&dm_usage_state.objects, key);
    free(object);
}

/* Not one that is always there, as MPI_Type_get_value_index gives. */
static bool object_is_of_program(enum dm_kind kind, int handle)
{
    return (uint32_t)handle >> 26 == (DM_HANDLE_MADE | kind) &&
           ((uint32_t)handle & DM_HANDLE_INDEX) >= DM_HANDLE_RESERVED;
}

void dm_usage_made(const char *fn, enum dm_kind kind, const void *obj)
{
    const struct dm_obj *head = obj;

    if (!dm_usage_has(DM_USAGE_LEAKS) || obj == NULL || !object_is_of_program(kind, head->handle))
        return;
    object_made(fn, kind, (uint64_t)(uintptr_t)obj, head->handle);
}

void dm_usage_freed(const void *obj)
{
    if (dm_usage_has(DM_USAGE_LEAKS) && obj != NULL)
        object_freed((uint64_t)(uintptr_t)obj);
}

void dm_usage_made_keyval(const char *fn, int keyval)
{
    if (dm_usage_has(DM_USAGE_LEAKS))
        object_made(fn, DM_KIND_KEYVAL, (uint32_t)keyval | KEYVAL_BIT, keyval);
}

void dm_usage_freed_keyval(int keyval)
{
    if (dm_usage_has(DM_USAGE_LEAKS))
        object_freed((uint32_t)keyval | KEYVAL_BIT);
}

/* ---- the report ---- */

static void leak_add(struct usage_leak *leaks, int *n_p, const struct usage_object *object)
{
    int i = 0;

    while (i < *n_p && (leaks[i].first->kind != object->kind ||
                        !dm_usage_place_is_equal(&leaks[i].first->place, &object->place)))
        i++;
    if (i == *n_p)
        leaks[(*n_p)++] = (struct usage_leak){.first = object};
    leaks[i].n += object->n;
}

static int leak_by_number(const void *a, const void *b)
{
    const struct usage_leak *x = a, *y = b;

    return (x->first->number > y->first->number) - (x->first->number < y->first->number);
}

static void leaks_print(const struct usage_leak *leaks, int n, int n_objects)
{
    char text[TEXT_LEN];
    struct dm_strbuf sb;

    for (int i = 0; i < n && i < DM_USAGE_LINES; i++) {
        const struct usage_object *object = leaks[i].first;

        dm_strbuf_init(&sb, text, sizeof(text));
        dm_usage_place_add(&sb, &object->place);
        dm_log_warn("DATUM_CHECK: %d %s%s by %s %s never freed, made in\n%s", leaks[i].n,
                    object_kind(object->kind), leaks[i].n > 1 ? "s" : "", object->place.fn,
                    leaks[i].n > 1 ? "were" : "was", text);
    }
    if (n > DM_USAGE_LINES)
        dm_log_warn("DATUM_CHECK: %d objects in all, from %d places, were never freed", n_objects,
                    n);
}

void dm_usage_objects_report(bool is_late)
{
    struct usage_leak *leaks;
    const struct usage_object *object;
    size_t pos = 0;
    uint64_t key;
    int n = 0, n_objects = 0;

    if (!dm_usage_has(DM_USAGE_LEAKS) || dm_usage_state.objects.n_used == 0)
        return;
    leaks = calloc(dm_usage_state.objects.n_used, sizeof(*leaks));
    if (leaks == NULL)
        return;
    while ((object = dm_hash_next(&dm_usage_state.objects, &pos, &key)) != NULL) {
        if (object_is_late(object) != is_late || !object_is_there(object, key))
            continue;
        n_objects += object->n;
        leak_add(leaks, &n, object);
    }
    qsort(leaks, (size_t)n, sizeof(*leaks), leak_by_number);
    leaks_print(leaks, n, n_objects);
    free(leaks);
}

void dm_usage_objects_drop(void)
{
    struct usage_object *object;
    size_t pos = 0;
    uint64_t key;

    while ((object = dm_hash_next(&dm_usage_state.objects, &pos, &key)) != NULL)
        free(object);
    dm_hash_fini(&dm_usage_state.objects);
}
