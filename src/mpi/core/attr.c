/*
 * Keys and attributes.
 *
 * Invariant: a key is referenced by the program (until MPI_Comm_free_keyval) and by every
 * attribute that has it. Its handle lives as long: MPI_Comm_delete_attr is a way to give up the
 * last references (MPI-4.0 section 7.7.2).
 */
#include "mpi/core/core.h"

struct keyval {
    struct dm_obj obj;
    enum dm_kind kind;
    int id; /* the handle, also after it is gone */
    bool is_freed;
    dm_attr_copy_fn *copy;
    dm_attr_delete_fn *del;
    void *extra;
    dm_attr_copy_proxy *copy_proxy; /* NULL: the callbacks are C's */
    dm_attr_delete_proxy *delete_proxy;
};

struct dm_attr {
    struct dm_attr *next;
    struct keyval *keyval;
    void *value; /* or an integer, extended to the size of a pointer */
    enum dm_attr_type type;
    uint32_t copied; /* by which dm_attr_copy_all it was lately */
};

static uint32_t attr_n_copies, attr_n_removed;

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

static void keyval_unref(struct keyval *keyval)
{
    if (--keyval->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_KEYVAL, &keyval->obj);
    dm_obj_free(DM_KIND_KEYVAL, keyval);
}

static DM_COLD int keyval_none(int handle)
{
    if (handle == MPI_KEYVAL_INVALID)
        return DM_FAIL(DM_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID");
    return DM_FAIL(DM_ERR_KEYVAL, "keyval is 0x%x, which is no key for this kind of object",
                   (unsigned)handle);
}

static inline int keyval_find(enum dm_kind kind, int handle, struct keyval **keyval_p)
{
    *keyval_p = dm_handle_get(DM_KIND_KEYVAL, handle);
    return dm_likely(*keyval_p != NULL && (*keyval_p)->kind == kind) ? DM_OK : keyval_none(handle);
}

int dm_keyval_new(enum dm_kind kind, dm_attr_copy_fn *copy, dm_attr_delete_fn *del, void *extra,
                  int *keyval_p)
{
    struct keyval *keyval = dm_obj_take(DM_KIND_KEYVAL, sizeof(*keyval));
    int err;

    if (keyval == NULL)
        return DM_FAIL(DM_ENOMEM, "attribute key");
    *keyval = (struct keyval){.kind = kind, .copy = copy, .del = del, .extra = extra};
    err = dm_handle_new(DM_KIND_KEYVAL, &keyval->obj);
    if (err != DM_OK) {
        dm_obj_free(DM_KIND_KEYVAL, keyval);
        return err;
    }
    keyval->id = keyval->obj.handle;
    *keyval_p = keyval->id;
    return DM_OK;
}

int dm_keyval_free(enum dm_kind kind, int *keyval_p)
{
    struct keyval *keyval;
    int err = keyval_find(kind, *keyval_p, &keyval);

    if (err != DM_OK)
        return err;
    /* A second call with a copy of the handle, while attributes keep the key, changes nothing. */
    if (!keyval->is_freed) {
        keyval->is_freed = true;
        keyval_unref(keyval);
    }
    *keyval_p = MPI_KEYVAL_INVALID;
    return DM_OK;
}

void dm_keyval_set_proxy(int keyval, dm_attr_copy_proxy *copy, dm_attr_delete_proxy *del)
{
    struct keyval *key = dm_handle_get(DM_KIND_KEYVAL, keyval);

    if (key == NULL)
        return;
    key->copy_proxy = copy;
    key->delete_proxy = del;
}

/* C sees integers by their address. */
static void *attr_as_pointer(struct dm_attr *attr)
{
    return attr->type == DM_ATTR_PTR ? attr->value : (void *)&attr->value;
}

/* What the program's function returns. */
static int attr_run_delete(int handle, struct dm_attr *attr)
{
    const struct keyval *keyval = attr->keyval;

    if (keyval->del == NULL)
        return MPI_SUCCESS;
    if (keyval->delete_proxy != NULL)
        return keyval->delete_proxy(keyval->del, handle, keyval->id, (int)attr->type, attr->value,
                                    keyval->extra);
    return keyval->del(handle, keyval->id, attr_as_pointer(attr), keyval->extra);
}

static int attr_call_delete(int handle, struct dm_attr *attr)
{
    const struct keyval *keyval = attr->keyval;
    int rc = attr_run_delete(handle, attr);

    if (rc != MPI_SUCCESS)
        return DM_FAIL(dm_err_of_code(rc), "the delete function of attribute key 0x%x returned %d",
                       (unsigned)keyval->id, rc);
    return DM_OK;
}

static int attr_add(struct dm_attr **attrs_p, struct keyval *keyval, void *value,
                    enum dm_attr_type type)
{
    struct dm_attr *attr = dm_obj_take(DM_KIND_ATTR, sizeof(*attr));

    if (attr == NULL)
        return DM_FAIL(DM_ENOMEM, "attribute");
    keyval->obj.refs++;
    *attr = (struct dm_attr){.next = *attrs_p, .keyval = keyval, .value = value, .type = type};
    *attrs_p = attr;
    return DM_OK;
}

/* Where the pointer to the attribute with this key is; to NULL when there is none. */
static struct dm_attr **attr_place(struct dm_attr **attrs_p, const struct keyval *keyval)
{
    while (*attrs_p != NULL && (*attrs_p)->keyval != keyval)
        attrs_p = &(*attrs_p)->next;
    return attrs_p;
}

/* As if it had been deleted and set anew: it is in front, which says who is deleted first. */
static void attr_set_again(struct dm_attr **attrs_p, struct dm_attr **place, void *value,
                           enum dm_attr_type type)
{
    struct dm_attr *attr = *place;

    *place = attr->next;
    attr->next = *attrs_p;
    attr->value = value;
    attr->type = type;
    *attrs_p = attr;
}

int dm_attr_set(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval, void *value,
                enum dm_attr_type type)
{
    struct keyval *key;
    struct dm_attr **place;
    int err = keyval_find(kind, keyval, &key);

    if (err != DM_OK)
        return err;
    key->obj.refs++; /* a callback may free it */
    place = attr_place(attrs_p, key);
    if (*place != NULL)
        err = attr_call_delete(handle, *place);
    /* The callback may have changed the list. */
    place = attr_place(attrs_p, key);
    if (err == DM_OK && *place == NULL) {
        err = attr_add(attrs_p, key, value, type);
    } else if (err == DM_OK) {
        attr_set_again(attrs_p, place, value, type);
    }
    keyval_unref(key);
    return err;
}

int dm_attr_get(enum dm_kind kind, struct dm_attr *attrs, int keyval, void **value_p, int *flag,
                enum dm_attr_type as)
{
    struct keyval *key;
    int err = keyval_find(kind, keyval, &key);

    *flag = 0;
    if (err != DM_OK)
        return err;
    for (; attrs != NULL; attrs = attrs->next) {
        if (attrs->keyval == key) {
            *value_p = as == DM_ATTR_PTR ? attr_as_pointer(attrs) : attrs->value;
            *flag = 1;
            break;
        }
    }
    return DM_OK;
}

/* The callback may change the list, even delete this very attribute. */
static int attr_remove_one(int handle, struct dm_attr **attrs_p, struct dm_attr *attr)
{
    struct keyval *keyval = attr->keyval;
    struct dm_attr **place;
    int err;

    keyval->obj.refs++;
    err = attr_call_delete(handle, attr);
    place = attr_place(attrs_p, keyval);
    if (err == DM_OK && *place == attr) {
        attr_n_removed++;
        *place = attr->next;
        keyval_unref(keyval);
        dm_obj_free(DM_KIND_ATTR, attr);
    }
    keyval_unref(keyval);
    return err;
}

int dm_attr_delete(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval)
{
    struct keyval *key;
    struct dm_attr **place;
    int err = keyval_find(kind, keyval, &key);

    if (err != DM_OK)
        return err;
    place = attr_place(attrs_p, key);
    if (*place == NULL)
        return DM_OK; /* as in MPICH */
    return attr_remove_one(handle, attrs_p, *place);
}

/* What the copy callback makes of an attribute: *to, unless *flag is 0. */
static int attr_call_copy(int handle, const struct dm_attr *from, struct dm_attr *to, int *flag)
{
    const struct keyval *keyval = from->keyval;
    int rc = MPI_SUCCESS;

    *to = *from;
    to->value = NULL;
    if (keyval->copy == NULL)
        return DM_OK;
    if (keyval->copy == MPIR_Dup_fn) { /* would copy an integer's address */
        to->value = from->value;
        *flag = 1;
    } else if (keyval->copy_proxy != NULL) {
        rc = keyval->copy_proxy(keyval->copy, handle, keyval->id, keyval->extra, (int)from->type,
                                from->value, &to->value, flag);
    } else {
        struct dm_attr seen = *from;

        rc = keyval->copy(handle, keyval->id, keyval->extra, attr_as_pointer(&seen), &to->value,
                          flag);
        if (to->value == &seen.value)
            to->value = seen.value;
        else
            to->type = DM_ATTR_PTR;
    }
    if (rc != MPI_SUCCESS)
        return DM_FAIL(dm_err_of_code(rc), "the copy function of attribute key 0x%x returned %d",
                       (unsigned)keyval->id, rc);
    return DM_OK;
}

/* The attribute behind one that has been copied; where a callback has deleted any, the first that is not copied. */
static struct dm_attr *attr_next_to_copy(struct dm_attr *attr, struct dm_attr *first,
                                         uint32_t n_removed, uint32_t copy)
{
    if (n_removed == attr_n_removed)
        return attr->next;
    while (first != NULL && first->copied == copy)
        first = first->next;
    return first;
}

int dm_attr_copy_all(int handle, struct dm_attr **from_p, struct dm_attr **to_p)
{
    struct dm_attr **end = to_p, *next;
    uint32_t number = ++attr_n_copies;
    int err = DM_OK;

    for (struct dm_attr *from = *from_p; from != NULL && err == DM_OK; from = next) {
        uint32_t n_removed = attr_n_removed;
        struct keyval *keyval = from->keyval;
        struct dm_attr copy;
        int flag = 0;

        from->copied = number;
        keyval->obj.refs++; /* the callback may delete the attribute */
        err = attr_call_copy(handle, from, &copy, &flag);
        next = attr_next_to_copy(from, *from_p, n_removed, number);
        if (err == DM_OK && flag) {
            err = attr_add(end, keyval, copy.value, copy.type);
            if (err == DM_OK)
                end = &(*end)->next;
        }
        keyval_unref(keyval);
    }
    return err;
}

void dm_attr_discard(int handle, struct dm_attr **attrs_p)
{
    while (*attrs_p != NULL) {
        struct dm_attr *attr = *attrs_p;

        *attrs_p = attr->next;
        attr_n_removed++;
        (void)attr_run_delete(handle, attr);
        keyval_unref(attr->keyval);
        dm_obj_free(DM_KIND_ATTR, attr);
    }
}

int dm_attr_end_all(int handle, struct dm_attr **attrs_p)
{
    int err = DM_OK, first = DM_OK;

    while (*attrs_p != NULL) {
        struct dm_attr *attr = *attrs_p;

        err = attr_remove_one(handle, attrs_p, attr);
        if (err != DM_OK && *attrs_p == attr) {
            *attrs_p = attr->next;
            attr_n_removed++;
            keyval_unref(attr->keyval);
            dm_obj_free(DM_KIND_ATTR, attr);
        }
        first = first == DM_OK ? err : first;
    }
    return first;
}

int dm_attr_delete_all(int handle, struct dm_attr **attrs_p)
{
    int err = DM_OK;

    while (*attrs_p != NULL && err == DM_OK)
        err = attr_remove_one(handle, attrs_p, *attrs_p);
    return err;
}
