/*
 * Type objects: references, commit, names, and the questions with one-line answers.
 *
 * Invariant: a type has its typed loops from the start and the plain ones from commit on.
 * Predefined types live in dm_datatype_state and are never freed.
 */
#include "mpi/datatype/life.h"

#include <string.h>

#include "mpi/datatype/env.h"
#include "mpi/datatype/prog.h"

/* All that is not predefined. */
struct made_type {
    struct dm_type type;
    struct dm_type_prog prog;
};

int dm_type_alloc(struct dm_type **type_p)
{
    struct made_type *made = dm_obj_take(DM_KIND_TYPE, sizeof(*made));

    if (made == NULL)
        return DM_FAIL(DM_ENOMEM, "datatype");
    memset(&made->type, 0, offsetof(struct dm_type, name));
    made->type.name[0] = '\0';
    made->prog = (struct dm_type_prog){NULL, NULL};
    made->type.obj.refs = 1;
    made->type.prog = &made->prog;
    *type_p = &made->type;
    return DM_OK;
}

void dm_type_destroy(struct dm_type *type)
{
    dm_loop_unref(type->prog->typed);
    dm_loop_unref(type->prog->plain);
    dm_env_unref(type->env);
    dm_obj_free(DM_KIND_TYPE, type);
}

int dm_type_clone(const struct dm_type *old, struct dm_type_env *env, struct dm_type **new_p)
{
    struct dm_type *type = NULL;
    struct dm_type_prog *prog;
    int err = dm_type_alloc(&type);

    if (err != DM_OK)
        return err;
    prog = type->prog;
    prog->typed = dm_loop_ref(old->prog->typed);
    prog->plain = dm_loop_ref(old->prog->plain);
    *type = *old;
    type->prog = prog;
    type->obj = (struct dm_obj){.handle = 0, .refs = 1};
    type->is_builtin = false;
    type->is_freed = false;
    type->n_handle_holders = 0;
    type->attrs = NULL;
    type->env = env;
    dm_env_ref(env);
    err = dm_handle_new(DM_KIND_TYPE, &type->obj);
    if (err != DM_OK) {
        dm_type_unref(type);
        return err;
    }
    *new_p = type;
    return DM_OK;
}

int dm_type_dup(struct dm_type *old, struct dm_type **new_p)
{
    struct dm_type_env *env = dm_env_new(MPI_COMBINER_DUP, 0, 0, 1);
    int err;

    if (env == NULL)
        return DM_FAIL(DM_ENOMEM, "arguments of a datatype");
    dm_env_type(env, 0, old);
    err = dm_type_clone(old, env, new_p);
    dm_env_unref(env);
    if (err != DM_OK)
        return err;
    (*new_p)->name[0] = '\0';
    err = dm_attr_copy_all(old->obj.handle, &old->attrs, &(*new_p)->attrs);
    if (err != DM_OK) {
        dm_type_free(*new_p);
        *new_p = NULL;
    }
    return err;
}

int dm_type_commit(struct dm_type *type)
{
    struct dm_type *basic = dm_type_get(type->basic);

    if (type->is_committed)
        return DM_OK;
    if ((basic != NULL && basic->is_contig) || dm_loop_is_plain(type->prog->typed)) {
        type->prog->plain = dm_loop_ref(type->prog->typed);
    } else {
        int err = dm_loop_plain(type->prog->typed, &type->prog->plain);

        if (err != DM_OK)
            return err;
    }
    dm_loop_prepare(type->prog->plain);
    type->is_committed = true;
    return DM_OK;
}

int dm_type_free(struct dm_type *type)
{
    int err;

    if (type->is_freed)
        return DM_FAIL(DM_ERR_TYPE, "the datatype was freed before");
    err = dm_attr_delete_all(type->obj.handle, &type->attrs);
    if (err != DM_OK)
        return err;
    type->is_freed = true;
    if (type->n_handle_holders == 0)
        dm_handle_drop(DM_KIND_TYPE, &type->obj);
    dm_type_unref(type);
    return DM_OK;
}

void dm_type_hold_handle(struct dm_type *type)
{
    dm_type_ref(type);
    type->n_handle_holders++;
}

void dm_type_let_handle(struct dm_type *type)
{
    if (--type->n_handle_holders == 0 && type->is_freed)
        dm_handle_drop(DM_KIND_TYPE, &type->obj);
    dm_type_unref(type);
}

int dm_type_get_true_extent(const struct dm_type *type, MPI_Count *true_lb, MPI_Count *true_extent)
{
    *true_lb = type->true_lb;
    *true_extent = type->true_extent;
    return DM_OK;
}

int dm_type_set_name(struct dm_type *type, const char *name)
{
    size_t len = strnlen(name, MPI_MAX_OBJECT_NAME - 1);

    memcpy(type->name, name, len);
    type->name[len] = '\0';
    return DM_OK;
}

int dm_type_get_name(const struct dm_type *type, char *name, int *resultlen)
{
    size_t len = strlen(type->name);

    memcpy(name, type->name, len + 1);
    *resultlen = (int)len;
    return DM_OK;
}
