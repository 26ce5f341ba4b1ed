/*
 * Introspection: counters, providers.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_STATS_H
#define DM_DAPL_ADAPT_PUBLIC_STATS_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One counter of this process. */
struct dm_adapt_stat {
    const char *name; /* static; two blanks in front: a part of the one before */
    const char *unit; /* "bytes", or "" */
    uint64_t value;
};

/* Fill in at most max counters; how many there are, the same on all processes. */
int dm_adapt_stats(struct dm_adapt *adapt, struct dm_adapt_stat *stats, int max);
/* Bytes that the layer holds whatever the number of peers used. */
uint64_t dm_adapt_fixed_len(const struct dm_adapt *adapt);
/* Name of a rail of this process; "" when it has fewer. */
const char *dm_adapt_rail_name(const struct dm_adapt *adapt, int rail);

struct dm_provider_info {
    const char *name; /* IA name */
    const char *library;
    const char *params;
    const char *verdict; /* "ok", or why it cannot be used and what to do */
    const char *found;   /* what the probes at open found; "" when it cannot be used */
    bool is_usable;
    bool is_builtin; /* carried by the library, not from the user's dat.conf */
};

/*
 * Try to open every provider of the dat.conf in force, then the built-in ones. DM_EPROVIDER: jobs would find none, as
 * nothing of the file that DAT_OVERRIDE names opens.
 */
int dm_adapt_list_providers(void (*each)(void *arg, const struct dm_provider_info *info),
                            void *arg);
/* Does userfaultfd work here, so that adapters that pin may keep registrations? NULL, or why not, in the text. */
const char *dm_adapt_no_watch(char *text, size_t len);
/* The dat.conf in force: DAT_OVERRIDE, /etc/dat.conf or our own; static storage. */
const char *dm_adapt_conf_path(void);

#endif
