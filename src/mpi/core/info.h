/*
 * Info objects: pairs of key and value, kept as they are; hints are read by those who know them.
 */
#ifndef DM_MPI_CORE_INFO_H
#define DM_MPI_CORE_INFO_H

#include "mpi/core/handle.h"
#include "util/list.h"

struct dm_info {
    struct dm_obj obj;
    struct dm_list pairs; /* of struct dm_info_pair, in order of first setting */
};
struct dm_info_pair {
    struct dm_list link;
    char *value; /* points behind key */
    char key[];
};
/* Value of a key, NULL when absent; info may be NULL. */
const char *dm_info_value(const struct dm_info *info, const char *key);
/* Set all pairs of another object. DM_ENOMEM. */
int dm_info_merge(struct dm_info *info, const struct dm_info *from);
void dm_info_ref(struct dm_info *info);
void dm_info_unref(struct dm_info *info);

/* Bodies of the MPI functions (MPI-4.0 chapter 10). */
int dm_info_create(struct dm_info **info_p);
/*
 * Fill MPI_INFO_ENV with what the launcher says (command, arguments, number of processes, ...),
 * once the job is known.
 */
int dm_info_env_fill(void);
/* The same before, during and after MPI, so without what only the job knows. */
int dm_info_create_env(int argc, char **argv, struct dm_info **info_p);
int dm_info_dup(struct dm_info *info, struct dm_info **info_p);
int dm_info_free(struct dm_info *info);
int dm_info_set(struct dm_info *info, const char *key, const char *value);
int dm_info_delete(struct dm_info *info, const char *key);
int dm_info_get(struct dm_info *info, const char *key, int valuelen, char *value, int *flag);
int dm_info_get_string(struct dm_info *info, const char *key, int *buflen, char *value, int *flag);
int dm_info_get_nkeys(struct dm_info *info, int *nkeys);
int dm_info_get_nthkey(struct dm_info *info, int n, char *key);
int dm_info_get_valuelen(struct dm_info *info, const char *key, int *valuelen, int *flag);

#endif
