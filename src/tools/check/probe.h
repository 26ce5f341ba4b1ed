/*
 * Probes: what an MPI needs to know about a DAT provider, found by trying it.
 *
 * A probe answers one or a few questions (items). It runs in one process, or in two that
 * are connected by a stream socket, the side channel, outside DAT; these may be on two
 * hosts. Each run opens the provider anew and leaves nothing open, so that the caller can
 * give every run processes of its own: a provider may crash or hang. The probes that the
 * library runs itself at every open are in probe_ia.h; those here call them too.
 *
 * For tools and tests, not part of the library. DAT does not show through.
 */
#ifndef DM_TOOLS_CHECK_PROBE_H
#define DM_TOOLS_CHECK_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dm_probe_verdict {
    DM_PROBE_YES,
    DM_PROBE_NO,
    DM_PROBE_VALUE,    /* a figure with its unit */
    DM_PROBE_UNTESTED, /* the text says why */
};

#define DM_PROBE_KEY_LEN  32
#define DM_PROBE_UNIT_LEN 12
#define DM_PROBE_TEXT_LEN 200

struct dm_probe_result {
    char key[DM_PROBE_KEY_LEN]; /* of the item; lower case and "_" */
    enum dm_probe_verdict verdict;
    double value;                 /* DM_PROBE_VALUE */
    char unit[DM_PROBE_UNIT_LEN]; /* "us", "bytes", ... */
    char text[DM_PROBE_TEXT_LEN]; /* details, "" when there are none */
};

struct dm_probe_item {
    const char *key;
    const char *title;
    const char *if_yes; /* what the answer means for an MPI; NULL: nothing to say */
    const char *if_no;
};

/* What one run is given. */
struct dm_probe_env {
    const char *provider; /* IA name */
    int side;             /* the side channel; -1 for a probe of one process */
    bool is_passive;      /* the process that listens; reports nothing */
    uint64_t max_len;     /* largest transfer to try, bytes */
    void (*report)(void *arg, const struct dm_probe_result *result);
    void *arg;
};

#define DM_PROBE_ITEMS_MAX 12

struct dm_probe {
    const char *name;
    bool is_pair;
    unsigned limit_s; /* when it has not ended by then, it never will */
    int (*run)(struct dm_probe_env *env);
    struct dm_probe_item items[DM_PROBE_ITEMS_MAX + 1]; /* ends with a NULL key */
};

/* The i-th probe, NULL behind the last. */
const struct dm_probe *dm_probe_at(size_t i);
/* The probe of that name, or NULL. */
const struct dm_probe *dm_probe_named(const char *name);
/*
 * Run it, or its half; every item that can be answered is reported by the process that is
 * not passive. An error (with its detail) means that the rest has no answer.
 */
int dm_probe_run(const struct dm_probe *probe, struct dm_probe_env *env);

struct dm_probe_provider {
    char name[256];
    char library[256];
    char params[256];
};
/* Look a name up as the library would; DM_ECONFIG with the names there are. */
int dm_probe_provider(const char *name, struct dm_probe_provider *provider_p);

#endif
