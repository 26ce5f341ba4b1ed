/*
 * The names under which this library is registered, keyed by name and
 * thread-safety word, and the parser of ia_params.
 */
#include "providers/common/init.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "providers/common/prov_state.h"
#include "providers/common/strict.h"
#include "util/log.h"
#include "util/strbuf.h"

static struct dm_prov_name *prov_find_locked(const char *name, bool is_threadsafe)
{
    if (dm_prov_state.names.next == NULL)
        dm_list_init(&dm_prov_state.names);
    dm_list_for_each (it, &dm_prov_state.names) {
        struct dm_prov_name *entry = dm_container_of(it, struct dm_prov_name, link);

        if (strcmp(entry->info.ia_name, name) == 0 &&
            (entry->info.is_thread_safe == DAT_TRUE) == is_threadsafe)
            return entry;
    }
    return NULL;
}

struct dm_prov_name *dm_prov_find(const char *name, bool is_threadsafe)
{
    struct dm_prov_name *entry;

    pthread_mutex_lock(&dm_prov_state.lock);
    entry = prov_find_locked(name, is_threadsafe);
    pthread_mutex_unlock(&dm_prov_state.lock);
    return entry;
}

/* The operations, strict if ia_params say so; false: out of memory. */
static bool prov_set_ops(struct dm_prov_name *entry, const char *params,
                         const struct dm_prov_ops *ops)
{
    struct dm_strict_ops *strict;
    unsigned rules;

    (void)dm_strict_read(params, &rules); /* what is wrong the open will say */
    entry->is_strict = rules != 0;
    if (rules != 0) {
        strict = dm_strict_ops_new(ops, rules);
        if (strict == NULL)
            return false;
        ops = &strict->ops;
    }
    entry->ops = ops;
    dm_prov_table(&entry->provider, ops, entry->info.is_thread_safe == DAT_TRUE);
    if (rules != 0)
        dm_strict_table(&entry->provider);
    entry->provider.device_name = entry->info.ia_name;
    return true;
}

void dm_prov_init(const DAT_PROVIDER_INFO *info, const char *params, const struct dm_prov_ops *ops)
{
    struct dm_prov_name *entry;
    char *copy = strdup(params != NULL ? params : "");

    if (copy == NULL)
        return;
    pthread_mutex_lock(&dm_prov_state.lock);
    entry = prov_find_locked(info->ia_name, info->is_thread_safe == DAT_TRUE);
    if (entry == NULL) {
        entry = calloc(1, sizeof(*entry));
        if (entry != NULL)
            entry->info = *info;
        if (entry == NULL || !prov_set_ops(entry, copy, ops)) {
            pthread_mutex_unlock(&dm_prov_state.lock);
            free(entry);
            free(copy);
            return;
        }
        dm_list_add_tail(&dm_prov_state.names, &entry->link);
    }
    free(entry->params);
    entry->params = copy;
    pthread_mutex_unlock(&dm_prov_state.lock);
    if (!entry->is_registered)
        entry->is_registered =
            dat_registry_add_provider(&entry->provider, &entry->info) == DAT_SUCCESS;
}

void dm_prov_fini(const DAT_PROVIDER_INFO *info)
{
    struct dm_prov_name *entry = dm_prov_find(info->ia_name, info->is_thread_safe == DAT_TRUE);

    if (entry == NULL || !entry->is_registered)
        return;
    if (dat_registry_remove_provider(&entry->provider, &entry->info) == DAT_SUCCESS)
        entry->is_registered = false;
}

_Atomic pid_t *dm_prov_alive(void)
{
    long page = sysconf(_SC_PAGESIZE);
    void *mem;

    pthread_mutex_lock(&dm_prov_state.lock);
    if (dm_prov_state.alive == NULL) {
        mem = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem != MAP_FAILED) {
            /* Refused by old kernels: then a child is not recognised. */
            (void)madvise(mem, (size_t)page, MADV_WIPEONFORK);
            dm_prov_state.alive = mem;
        }
    }
    if (dm_prov_state.alive != NULL)
        atomic_store(dm_prov_state.alive, getpid());
    pthread_mutex_unlock(&dm_prov_state.lock);
    return dm_prov_state.alive;
}

bool dm_prov_param(const char *params, const char *key, char *buf, size_t len)
{
    size_t key_len = strlen(key);
    const char *at = params;

    while (at != NULL && *at != '\0') {
        size_t word;

        at += strspn(at, " \t");
        word = strcspn(at, " \t");
        if (word > key_len && strncmp(at, key, key_len) == 0 && at[key_len] == '=') {
            size_t n = word - key_len - 1;

            if (n >= len)
                return false;
            memcpy(buf, at + key_len + 1, n);
            buf[n] = '\0';
            return true;
        }
        at += word;
    }
    return false;
}

uint64_t dm_prov_param_size(const char *params, const char *key, uint64_t def)
{
    char buf[32];
    char *end;
    unsigned long long value;

    if (!dm_prov_param(params, key, buf, sizeof(buf)) || !isdigit((unsigned char)buf[0]))
        return def;
    value = strtoull(buf, &end, 10);
    if (*end == 'k' || *end == 'K')
        value <<= 10;
    else if (*end == 'm' || *end == 'M')
        value <<= 20;
    else if (*end == 'g' || *end == 'G')
        value <<= 30;
    else if (*end != '\0')
        return def;
    return value;
}

static bool param_is_known(const char *word, size_t len, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        size_t key_len = strlen(*keys);

        if (len > key_len && word[key_len] == '=' && strncmp(word, *keys, key_len) == 0)
            return true;
    }
    return false;
}

bool dm_prov_params_known(const char *name, const char *params, const char *const *keys)
{
    const char *at = params != NULL ? params : "";
    struct dm_strbuf sb;
    char list[256];

    for (;;) {
        size_t len;

        at += strspn(at, " \t");
        len = strcspn(at, " \t");
        if (len == 0)
            return true;
        if (!param_is_known(at, len, keys)) {
            if (!dm_log_is_new(name, at))
                return false;
            dm_strbuf_init(&sb, list, sizeof(list));
            for (; *keys != NULL; keys++)
                dm_strbuf_addf(&sb, "%s%s=", sb.len > 0 ? ", " : "", *keys);
            dm_log_error(
                "%s: its ia_params in the dat.conf say \"%.*s\", which it does not know; it "
                "knows %s",
                name, (int)len, at, list);
            return false;
        }
        at += len;
    }
}

void dm_prov_param_bad(const char *name, const char *params, const char *key, const char *is_good)
{
    char text[64] = "...";

    (void)dm_prov_param(params, key, text, sizeof(text));
    if (dm_log_is_new(name, params))
        dm_log_error("%s: its ia_params in the dat.conf say \"%s=%s\"; it can be %s", name, key,
                     text, is_good);
}
