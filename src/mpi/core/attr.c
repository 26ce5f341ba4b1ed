/*
 * Keys and attributes.
 *
 * Invariant: a key is referenced by the program (until MPI_Comm_free_keyval) and by every
 * attribute that has it.
 */
#include "mpi/core/core.h"

#include <stdlib.h>

struct keyval {
    struct dm_obj obj;
    enum dm_kind kind;
    int id; /* what callbacks see, also after the handle is gone */
    dm_attr_copy_fn *copy;
    dm_attr_delete_fn *del;
    void *extra;
};

struct dm_attr {
    struct dm_attr *next;
    struct keyval *keyval;
    void *value;
};

/* MPI_DUP_FN: copy the pointer. Its name is part of MPICH's binary interface. */
DM_EXPORT int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void unref(struct keyval *keyval)
{
    if (--keyval->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_KEYVAL, &keyval->obj);
    free(keyval);
}

static int find_keyval(enum dm_kind kind, int handle, struct keyval **keyval_p)
{
    *keyval_p = dm_handle_get(DM_KIND_KEYVAL, handle);
    if (*keyval_p != NULL && (*keyval_p)->kind == kind)
        return DM_OK;
    if (handle == MPI_KEYVAL_INVALID)
        return DM_FAIL(DM_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID");
    return DM_FAIL(DM_ERR_KEYVAL, "keyval is 0x%x, which is no key for this kind of object",
                   (unsigned)handle);
}

int dm_keyval_new(enum dm_kind kind, dm_attr_copy_fn *copy, dm_attr_delete_fn *del, void *extra,
                  int *keyval_p)
{
    struct keyval *keyval = calloc(1, sizeof(*keyval));
    int err;

    if (keyval == NULL)
        return DM_FAIL(DM_ENOMEM, "attribute key");
    err = dm_handle_new(DM_KIND_KEYVAL, &keyval->obj);
    if (err != DM_OK) {
        free(keyval);
        return err;
    }
    keyval->kind = kind;
    keyval->id = keyval->obj.handle;
    keyval->copy = copy;
    keyval->del = del;
    keyval->extra = extra;
    *keyval_p = keyval->id;
    return DM_OK;
}

int dm_keyval_free(enum dm_kind kind, int *keyval_p)
{
    struct keyval *keyval;
    int err = find_keyval(kind, *keyval_p, &keyval);

    if (err != DM_OK)
        return err;
    dm_handle_drop(DM_KIND_KEYVAL, &keyval->obj);
    unref(keyval);
    *keyval_p = MPI_KEYVAL_INVALID;
    return DM_OK;
}

static int call_delete(int handle, const struct dm_attr *attr)
{
    const struct keyval *keyval = attr->keyval;
    int rc = keyval->del == NULL ? MPI_SUCCESS
                                 : keyval->del(handle, keyval->id, attr->value, keyval->extra);

    if (rc != MPI_SUCCESS)
        return DM_FAIL(DM_ERR_OTHER, "the delete function of attribute key 0x%x returned %d",
                       (unsigned)keyval->id, rc);
    return DM_OK;
}

static int add(struct dm_attr **attrs_p, struct keyval *keyval, void *value)
{
    struct dm_attr *attr = malloc(sizeof(*attr));

    if (attr == NULL)
        return DM_FAIL(DM_ENOMEM, "attribute");
    keyval->obj.refs++;
    *attr = (struct dm_attr){.next = *attrs_p, .keyval = keyval, .value = value};
    *attrs_p = attr;
    return DM_OK;
}

/* Where the pointer to the attribute with this key is; to NULL when there is none. */
static struct dm_attr **place_of(struct dm_attr **attrs_p, const struct keyval *keyval)
{
    while (*attrs_p != NULL && (*attrs_p)->keyval != keyval)
        attrs_p = &(*attrs_p)->next;
    return attrs_p;
}

int dm_attr_set(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval, void *value)
{
    struct keyval *key;
    struct dm_attr **place;
    int err = find_keyval(kind, keyval, &key);

    if (err != DM_OK)
        return err;
    place = place_of(attrs_p, key);
    if (*place == NULL)
        return add(attrs_p, key, value);
    err = call_delete(handle, *place);
    if (err == DM_OK)
        (*place)->value = value;
    return err;
}

int dm_attr_get(enum dm_kind kind, const struct dm_attr *attrs, int keyval, void **value_p,
                int *flag)
{
    struct keyval *key;
    int err = find_keyval(kind, keyval, &key);

    *flag = 0;
    if (err != DM_OK)
        return err;
    for (; attrs != NULL; attrs = attrs->next) {
        if (attrs->keyval == key) {
            *value_p = attrs->value;
            *flag = 1;
            break;
        }
    }
    return DM_OK;
}

static int delete_at(int handle, struct dm_attr **place)
{
    struct dm_attr *attr = *place;
    int err = call_delete(handle, attr);

    if (err != DM_OK)
        return err;
    *place = attr->next;
    unref(attr->keyval);
    free(attr);
    return DM_OK;
}

int dm_attr_delete(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval)
{
    struct keyval *key;
    struct dm_attr **place;
    int err = find_keyval(kind, keyval, &key);

    if (err != DM_OK)
        return err;
    place = place_of(attrs_p, key);
    if (*place == NULL)
        return DM_FAIL(DM_ERR_KEYVAL, "the object has no attribute with key 0x%x",
                       (unsigned)keyval);
    return delete_at(handle, place);
}

int dm_attr_copy_all(int handle, const struct dm_attr *from, struct dm_attr **to_p)
{
    struct dm_attr **end = to_p;

    for (; from != NULL; from = from->next) {
        struct keyval *keyval = from->keyval;
        void *value = NULL;
        int flag = 0;
        int rc = MPI_SUCCESS;
        int err;

        if (keyval->copy != NULL)
            rc = keyval->copy(handle, keyval->id, keyval->extra, from->value, &value, &flag);
        if (rc != MPI_SUCCESS)
            return DM_FAIL(DM_ERR_OTHER, "the copy function of attribute key 0x%x returned %d",
                           (unsigned)keyval->id, rc);
        if (!flag)
            continue;
        err = add(end, keyval, value);
        if (err != DM_OK)
            return err;
        end = &(*end)->next;
    }
    return DM_OK;
}

int dm_attr_delete_all(int handle, struct dm_attr **attrs_p)
{
    int err = DM_OK;

    while (*attrs_p != NULL && err == DM_OK)
        err = delete_at(handle, attrs_p);
    return err;
}
