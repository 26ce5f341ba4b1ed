/*
 * Settings from the environment; the only place that calls getenv.
 */
#ifndef DM_UTIL_CFG_H
#define DM_UTIL_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cfg_table.h"
#include "util/rndv.h"

typedef const char *dm_cfg_STR;
typedef bool dm_cfg_BOOL;
typedef unsigned int dm_cfg_UINT;
typedef size_t dm_cfg_SIZE;
typedef uint64_t dm_cfg_USEC; /* microseconds; DM_CFG_AUTO for "auto" */
typedef int dm_cfg_ENUM;

#define DM_CFG_AUTO      UINT64_MAX
#define DM_CFG_AUTO_SIZE SIZE_MAX

#define DM_CFG_FIELD(NAME, TYPE, def, field, help) dm_cfg_##TYPE field;
struct dm_cfg {
    DM_CFG_TABLE(DM_CFG_FIELD)
};
#undef DM_CFG_FIELD

/* Values of the ENUM settings, in the order of their help text; of RNDV: enum dm_rndv. */
enum { DM_CONNECT_AUTO, DM_CONNECT_START, DM_CONNECT_DEMAND };
enum { DM_EAGER_AUTO, DM_EAGER_RDMA, DM_EAGER_SENDRECV, DM_EAGER_BASIC };
enum { DM_CQ_AUTO, DM_CQ_SHARED, DM_CQ_SPLIT };
enum { DM_FIN_COMPLETION, DM_FIN_CHAINED };
enum { DM_STATS_NO, DM_STATS_YES, DM_STATS_CALLS };
enum { DM_RMA_AUTO, DM_RMA_EMULATED, DM_RMA_DIRECT };
enum { DM_RMA_ATOMIC_AUTO, DM_RMA_ATOMIC_YES, DM_RMA_ATOMIC_NO };
enum { DM_RMA_UPDATE_AUTO, DM_RMA_UPDATE_YES, DM_RMA_UPDATE_NO };
enum {
    DM_REG_CACHE_NO,
    DM_REG_CACHE_YES,
    DM_REG_CACHE_EXACT,
    DM_REG_CACHE_DME,
    DM_REG_CACHE_INTERVAL
};
enum {
    DM_PROGRESS_POLL,
    DM_PROGRESS_ADAPTIVE,
    DM_PROGRESS_WAIT,
    DM_PROGRESS_THREAD, /* from here on there are progress threads */
    DM_PROGRESS_THREADS2
};
enum { DM_COLL_SHM_AUTO, DM_COLL_SHM_YES, DM_COLL_SHM_NO };
enum { DM_PMI_AUTO, DM_PMI_V1, DM_PMI_V2, DM_PMI_PMIX };
enum { DM_ERRORS_ARE_FATAL, DM_ERRORS_ABORT, DM_ERRORS_RETURN };

/*
 * Read all settings once. A value that cannot be parsed is DM_ECONFIG with the
 * name, the value and what is allowed; an unknown DATUM_* name gives one
 * warning with the nearest known one (rank 0 of a job only: quiet suppresses).
 * An empty variable means the default. Switches the traces of DATUM_TRACE on.
 * Calling again does nothing.
 */
int dm_cfg_load(bool quiet);

/* Forget the settings, so that the next dm_cfg_load reads them again (for tests). */
void dm_cfg_unload(void);

/* The settings; dm_cfg_load must have succeeded. */
const struct dm_cfg *dm_cfg(void);

/*
 * Row i of the table for listing: name with DATUM_ in front, value in force as
 * text, default, origin ("default", "environment" or a variable of MPICH), help. False past the end.
 */
enum dm_cfg_type { DM_CFG_STR, DM_CFG_BOOL, DM_CFG_UINT, DM_CFG_SIZE, DM_CFG_USEC, DM_CFG_ENUM };
struct dm_cfg_row_info {
    enum dm_cfg_type type;
    const void *field; /* of a dm_cfg_TYPE */
    const char *name;
    const char *value;
    const char *dflt;
    const char *origin;
    const char *help;
};
bool dm_cfg_row(size_t i, struct dm_cfg_row_info *info_p);
/* Where the value of the setting with that name comes from, for messages: "the environment", a variable of MPICH. */
const char *dm_cfg_source(const char *name);
/* Give row i another value, as if the environment had it. DM_ECONFIG, DM_ENOMEM. */
int dm_cfg_set(size_t i, const char *text);
/* Word k of the choices of an ENUM row, and its length; NULL past the last. */
const char *dm_cfg_choice(const struct dm_cfg_row_info *info, int k, int *len_p);

/* A number as in SIZE settings, with or without k, m, g; false when it is none. */
bool dm_cfg_parse_size(const char *text, uint64_t *num_p);

/* An environment variable that is not a setting of ours (PMI_*, DAT_OVERRIDE). */
const char *dm_cfg_env(const char *name);
/* Edits (insert, delete, replace a letter) between two names; SIZE_MAX: one is too long for a name. */
size_t dm_cfg_distance(const char *a, size_t a_len, const char *b);

#endif
