/*
 * dat.conf files: which one is in force, and what they list.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_CONF_H
#define DM_DAPL_ADAPT_PROVIDER_CONF_H

#include <stdbool.h>
#include <stddef.h>

#define DM_CONF_WHY_LEN 320

struct dm_conf_entry {
    char *name;   /* IA name */
    char *lib;    /* as dlopen takes it */
    char *params; /* ia_params */
    int line;
    bool is_builtin; /* from the library's own file, not from the one in force */
    bool is_tried;   /* opening it was tried, */
    bool is_open;    /* and it has opened */
};

struct dm_conf {
    char *path;
    struct dm_conf_entry *entries; /* those that dat_ia_open can find */
    int n_entries;
    bool is_user;      /* DAT_OVERRIDE names it */
    bool has_crlf;     /* the first bad one ends with CR LF, which the registry does not take */
    int n_bad;         /* entries that the registry cannot use */
    int first_bad;     /* line of the first, */
    char bad_why[120]; /* and its reason */
    int n_unusable;    /* lines that are no entry for us, the bad ones among them */
    int first_unusable;
    char why[DM_CONF_WHY_LEN]; /* each with its reason: "REASON; line N: REASON ..." */
};

/*
 * Read one file. Only entries that a stock consumer can open are listed: API u2.0,
 * nonthreadsafe, default. DM_ECONFIG when the file cannot be read (silent if quiet).
 */
int dm_conf_read(const char *path, bool quiet, struct dm_conf *conf_p);
void dm_conf_free(struct dm_conf *conf);

/*
 * The file in force and what it lists, followed by the library's own entries whose
 * names are not in it. A DAT_OVERRIDE that names no file, or a file without one
 * usable entry, is DM_ECONFIG with the file, and each line with its reason.
 */
int dm_conf_load(struct dm_conf *conf_p);
/* The library's own dat.conf: beside the library, else where it was installed; NULL if none. */
const char *dm_conf_own_path(void);

/*
 * Narrow conf down to the names of a list separated by commas, in its order. A name
 * that is not there is DM_ECONFIG with the candidates. An empty list keeps everything.
 */
int dm_conf_select(struct dm_conf *conf, const char *names);

/* Make a built-in entry known to the DAT registry; DM_EPROVIDER with the reason. */
int dm_conf_register(const struct dm_conf_entry *entry);

#endif
