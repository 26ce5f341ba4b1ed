/*
 * Info objects: ordered pairs of strings.
 */
#include "mpi/core/core_priv.h"

#include <stdlib.h>
#include <string.h>

static struct dm_info env; /* MPI_INFO_ENV */

static struct dm_info_pair *info_pair(struct dm_list *link)
{
    return dm_container_of(link, struct dm_info_pair, link);
}

static struct dm_info_pair *info_find(const struct dm_info *info, const char *key)
{
    dm_list_for_each (link, &info->pairs)
        if (info_pair(link)->key[0] == key[0] && strcmp(info_pair(link)->key, key) == 0)
            return info_pair(link);
    return NULL;
}

static void info_drop_pairs(struct dm_info *info)
{
    dm_list_for_each_safe (link, tmp, &info->pairs)
        free(info_pair(link));
    dm_list_init(&info->pairs);
}

static int info_check_key(const char *key)
{
    size_t len = strlen(key);

    if (len == 0)
        return DM_FAIL(DM_ERR_INFO_KEY, "the key is empty");
    if (len > MPI_MAX_INFO_KEY)
        return DM_FAIL(DM_ERR_INFO_KEY, "the key has %zu characters, MPI_MAX_INFO_KEY is %d", len,
                       MPI_MAX_INFO_KEY);
    return DM_OK;
}

int dm_info_start(void)
{
    dm_list_init(&env.pairs);
    return dm_handle_bind(DM_KIND_INFO, MPI_INFO_ENV, &env.obj);
}

void dm_info_stop(void)
{
    info_drop_pairs(&env);
}

const char *dm_info_value(const struct dm_info *info, const char *key)
{
    struct dm_info_pair *pair = info == NULL ? NULL : info_find(info, key);

    return pair == NULL ? NULL : pair->value;
}

void dm_info_ref(struct dm_info *info)
{
    info->obj.refs++;
}

void dm_info_unref(struct dm_info *info)
{
    if (info == NULL || --info->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_INFO, &info->obj);
    info_drop_pairs(info);
    dm_obj_free(DM_KIND_INFO, info);
}

int dm_info_create(struct dm_info **info_p)
{
    struct dm_info *info = dm_obj_alloc(DM_KIND_INFO, sizeof(*info));
    int err;

    *info_p = NULL;
    if (info == NULL)
        return DM_FAIL(DM_ENOMEM, "info object");
    dm_list_init(&info->pairs);
    err = dm_handle_new(DM_KIND_INFO, &info->obj);
    if (err != DM_OK) {
        dm_obj_free(DM_KIND_INFO, info);
        return err;
    }
    *info_p = info;
    return DM_OK;
}

int dm_info_merge(struct dm_info *info, const struct dm_info *from)
{
    int err = DM_OK;

    dm_list_for_each (link, &from->pairs) {
        err = dm_info_set(info, info_pair(link)->key, info_pair(link)->value);
        if (err != DM_OK)
            break;
    }
    return err;
}

int dm_info_dup(struct dm_info *info, struct dm_info **info_p)
{
    int err = dm_info_create(info_p);

    if (err != DM_OK)
        return err;
    err = dm_info_merge(*info_p, info);
    if (err != DM_OK) {
        dm_info_unref(*info_p);
        *info_p = NULL;
    }
    return err;
}

int dm_info_free(struct dm_info *info)
{
    dm_handle_drop(DM_KIND_INFO, &info->obj);
    dm_info_unref(info);
    return DM_OK;
}

int dm_info_set(struct dm_info *info, const char *key, const char *value)
{
    struct dm_info_pair *old = info_find(info, key);
    struct dm_info_pair *pair;
    size_t key_len = strlen(key), value_len = strlen(value);
    int err = info_check_key(key);

    if (err != DM_OK)
        return err;
    if (value_len > MPI_MAX_INFO_VAL)
        return DM_FAIL(DM_ERR_INFO_VALUE,
                       "the value of key \"%s\" has %zu characters, MPI_MAX_INFO_VAL is %d", key,
                       value_len, MPI_MAX_INFO_VAL);
    pair = malloc(sizeof(*pair) + key_len + 1 + value_len + 1);
    if (pair == NULL)
        return DM_FAIL(DM_ENOMEM, "info value");
    memcpy(pair->key, key, key_len + 1);
    pair->value = pair->key + key_len + 1;
    memcpy(pair->value, value, value_len + 1);
    if (old == NULL) {
        dm_list_add_tail(&info->pairs, &pair->link);
    } else {
        dm_list_add_head(&old->link, &pair->link);
        dm_list_del(&old->link);
        free(old);
    }
    return DM_OK;
}

int dm_info_delete(struct dm_info *info, const char *key)
{
    struct dm_info_pair *pair = info_find(info, key);
    int err = info_check_key(key);

    if (err != DM_OK)
        return err;
    if (pair == NULL)
        return DM_FAIL(DM_ERR_INFO_NOKEY, "key \"%s\" is not in the info object", key);
    dm_list_del(&pair->link);
    free(pair);
    return DM_OK;
}

/* Copy at most space - 1 characters and a NUL. */
static void info_copy_cut(char *dst, const char *src, size_t space)
{
    size_t len = strlen(src);

    if (len >= space)
        len = space - 1;
    memcpy(dst, src, len);
    dst[len] = '\0';
}

int dm_info_get(struct dm_info *info, const char *key, int valuelen, char *value, int *flag)
{
    const char *found = dm_info_value(info, key);
    int err = found != NULL ? DM_OK : info_check_key(key);

    *flag = 0;
    if (err != DM_OK)
        return err;
    if (valuelen < 0)
        return DM_FAIL(DM_ERR_ARG, "valuelen %d is negative", valuelen);
    if (found == NULL)
        return DM_OK;
    *flag = 1;
    info_copy_cut(value, found, (size_t)valuelen + 1);
    return DM_OK;
}

int dm_info_get_string(struct dm_info *info, const char *key, int *buflen, char *value, int *flag)
{
    const char *found = dm_info_value(info, key);
    int space = *buflen;
    int err = info_check_key(key);

    *flag = 0;
    if (err != DM_OK)
        return err;
    if (space < 0)
        return DM_FAIL(DM_ERR_ARG, "buflen %d is negative", space);
    if (found == NULL)
        return DM_OK;
    *flag = 1;
    *buflen = (int)strlen(found) + 1;
    if (space > 0)
        info_copy_cut(value, found, (size_t)space);
    return DM_OK;
}

int dm_info_get_nkeys(struct dm_info *info, int *nkeys)
{
    *nkeys = 0;
    dm_list_for_each (link, &info->pairs)
        ++*nkeys;
    return DM_OK;
}

int dm_info_get_nthkey(struct dm_info *info, int n, char *key)
{
    int i = 0;

    dm_list_for_each (link, &info->pairs) {
        if (i++ == n) {
            info_copy_cut(key, info_pair(link)->key, MPI_MAX_INFO_KEY);
            return DM_OK;
        }
    }
    return DM_FAIL(DM_ERR_ARG, "n is %d, but the info object has %d keys", n, i);
}

int dm_info_get_valuelen(struct dm_info *info, const char *key, int *valuelen, int *flag)
{
    const char *found = dm_info_value(info, key);
    int err = found != NULL ? DM_OK : info_check_key(key);

    *flag = 0;
    if (err != DM_OK)
        return err;
    if (found == NULL)
        return DM_OK;
    *flag = 1;
    *valuelen = (int)strlen(found);
    return DM_OK;
}
