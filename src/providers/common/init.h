/*
 * Registration with libdat2: the names under which dat.conf loads us.
 */
#ifndef DM_PROVIDERS_COMMON_INIT_H
#define DM_PROVIDERS_COMMON_INIT_H

#include "providers/common/obj.h"

struct dm_prov_ops;

/* One dat.conf line. Lives until the process ends: libdat2 reads device_name
 * after the last close, and stale handles still dispatch through the table. */
struct dm_prov_name {
    struct dm_list link;
    DAT_PROVIDER provider;
    DAT_PROVIDER_INFO info;
    const struct dm_prov_ops *ops;
    char *params; /* ia_params, copied */
    bool is_registered;
    bool is_strict;
};

/* Fill in all slots of the table for these operations; see table.c. */
void dm_prov_table(DAT_PROVIDER *provider, const struct dm_prov_ops *ops, bool is_threadsafe);

/* dat_provider_init: register info's name for a provider with these operations.
 * Registers nothing (the open then says so) when out of memory. */
void dm_prov_init(const DAT_PROVIDER_INFO *info, const char *params, const struct dm_prov_ops *ops);
/* dat_provider_fini. */
void dm_prov_fini(const DAT_PROVIDER_INFO *info);
/* The entry that libdat2 opens; NULL if the name is unknown. ia_open gets no
 * thread-safety word, hence one open function per word. */
struct dm_prov_name *dm_prov_find(const char *name, bool is_threadsafe);

/* The pid word that reads 0 in a forked child; NULL when out of memory. */
_Atomic pid_t *dm_prov_alive(void);

/* Value of key in "key=value key=value", copied into buf; false if absent or
 * longer than the buffer. */
bool dm_prov_param(const char *params, const char *key, char *buf, size_t len);
/* Same for a size with an optional k, m or g; def if absent or wrong. */
uint64_t dm_prov_param_size(const char *params, const char *key, uint64_t def);
/* Has every word one of these keys (the last one is NULL)? The first that has not is reported for
 * the provider of this name, with all keys. */
bool dm_prov_params_known(const char *name, const char *params, const char *const *keys);
/* Report that the value of a key is none; is_good says what would be. */
void dm_prov_param_bad(const char *name, const char *params, const char *key, const char *is_good);

#endif
