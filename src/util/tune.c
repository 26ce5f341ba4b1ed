/*
 * The tuning file. See tune.h.
 */
#include "util/tune.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define RAILS_MAX 16
#define PATH_LEN  1024

/* A line for the collectives. */
struct row {
    char *text;
    int line;
    int rail;
};

static struct {
    char path[PATH_LEN];
    bool is_used;
    bool is_other; /* of another version */
    char version[64];
    struct dm_tune_rail rails[RAILS_MAX];
    int n_rails;
    struct row *rows;
    size_t n_rows, rows_cap;
} state;

void dm_tune_unload(void)
{
    for (int i = 0; i < state.n_rails; i++) {
        free((char *)(uintptr_t)state.rails[i].provider);
        free((char *)(uintptr_t)state.rails[i].params);
        free((char *)(uintptr_t)state.rails[i].measured);
    }
    for (size_t i = 0; i < state.n_rows; i++)
        free(state.rows[i].text);
    free(state.rows);
    memset(&state, 0, sizeof(state));
}

/* ---- lines ---- */

static int tune_set_text(const char **to, const char *text)
{
    free((char *)(uintptr_t)*to);
    *to = strdup(text);
    return *to != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "tuning file");
}

static int tune_begin_rail(const char *name, const char *place)
{
    if (name[0] == '\0' || state.n_rails == RAILS_MAX)
        return DM_FAIL(DM_ECONFIG, "%s: %s", place,
                       name[0] == '\0' ? "which provider?" : "too many providers");
    for (int i = 0; i < state.n_rails; i++) {
        if (strcmp(state.rails[i].provider, name) == 0)
            return DM_FAIL(DM_ECONFIG, "%s: %s is there already", place, name);
    }
    return tune_set_text(&state.rails[state.n_rails++].provider, name);
}

static int tune_add_row(const char *text, int line)
{
    if (state.n_rows == state.rows_cap) {
        size_t cap = 2 * state.rows_cap + 32;
        struct row *more = realloc(state.rows, cap * sizeof(*more));

        if (more == NULL)
            return DM_FAIL(DM_ENOMEM, "%zu rows of a tuning file", cap);
        state.rows = more;
        state.rows_cap = cap;
    }
    state.rows[state.n_rows] = (struct row){strdup(text), line, state.n_rails - 1};
    if (state.rows[state.n_rows].text == NULL)
        return DM_FAIL(DM_ENOMEM, "row of a tuning file");
    state.n_rows++;
    return DM_OK;
}

/* A number of a transfer's line; the library's limits on it hold as for settings. */
static int tune_read_size(const char *place, const char *key, const char *value, uint64_t least,
                          uint64_t most, uint64_t *num_p)
{
    if (!dm_cfg_parse_size(value, num_p) || *num_p < least || *num_p > most)
        return DM_FAIL(DM_ECONFIG, "%s: %s wants a number from %llu to %llu, not \"%s\"", place,
                       key, (unsigned long long)least, (unsigned long long)most, value);
    return DM_OK;
}

static int tune_read_rail(struct dm_tune_rail *rail, const char *place, const char *key,
                          const char *value, bool *is_known)
{
    uint64_t num = 0;
    int err;

    *is_known = true;
    if (strcmp(key, "params") == 0)
        return tune_set_text(&rail->params, value);
    if (strcmp(key, "measured") == 0)
        return tune_set_text(&rail->measured, value);
    if (strcmp(key, "rendezvous") == 0) {
        rail->rndv = dm_rndv_find(value);
        return rail->rndv == DM_RNDV_READ || rail->rndv == DM_RNDV_PIPE
                   ? DM_OK
                   : DM_FAIL(DM_ECONFIG, "%s: rendezvous is read or pipe, not \"%s\"", place,
                             value);
    }
    if (strcmp(key, "eager-limit") == 0) {
        err = tune_read_size(place, key, value, 64, 1 << 30, &num);
        rail->eager_limit = (size_t)num;
        return err;
    }
    if (strcmp(key, "ring-slots") == 0) {
        err = tune_read_size(place, key, value, 4, 4096, &num);
        rail->ring_slots = (unsigned int)num;
        return err;
    }
    if (strcmp(key, "ring-slot-size") == 0) {
        err = tune_read_size(place, key, value, 64, 1 << 20, &num);
        rail->ring_slot_size = (size_t)num;
        return err;
    }
    *is_known = false;
    return DM_OK;
}

/* Cut a line into its first word and the rest, without comments and blanks at the ends. */
static char *tune_cut_word(char *text, char **rest_p)
{
    static const char blanks[] = " \t\r\n\v\f";
    size_t len;

    text[strcspn(text, "#")] = '\0';
    text += strspn(text, blanks);
    for (len = strlen(text); len > 0 && strchr(blanks, text[len - 1]) != NULL; len--)
        text[len - 1] = '\0';
    *rest_p = text + strcspn(text, blanks);
    if (**rest_p != '\0') {
        *(*rest_p)++ = '\0';
        *rest_p += strspn(*rest_p, blanks);
    }
    return text;
}

static int tune_read_line(char *text, const char *place, int line)
{
    char *whole = strdup(text);
    char *value;
    char *key;
    bool is_known = false;
    int err = DM_OK;

    if (whole == NULL)
        return DM_FAIL(DM_ENOMEM, "tuning file");
    key = tune_cut_word(text, &value);
    if (key[0] == '\0') {
        ;
    } else if (strcmp(key, "format") == 0) {
        if (strcmp(value, "1") != 0)
            err =
                DM_FAIL(DM_ECONFIG, "%s: the format \"%s\" is not known here; this is \"format 1\"",
                        place, value);
    } else if (strcmp(key, "version") == 0) {
        snprintf(state.version, sizeof(state.version), "%s", value);
    } else if (strcmp(key, "provider") == 0) {
        err = tune_begin_rail(value, place);
    } else if (state.n_rails == 0) {
        err =
            DM_FAIL(DM_ECONFIG, "%s: \"%s\" comes before the first \"provider NAME\"", place, key);
    } else {
        err = tune_read_rail(&state.rails[state.n_rails - 1], place, key, value, &is_known);
        if (err == DM_OK && !is_known)
            err = tune_add_row(whole, line);
    }
    free(whole);
    return err;
}

static int tune_read_file(FILE *f)
{
    char place[PATH_LEN + 32];
    char *text = NULL;
    size_t cap = 0;
    int err = DM_OK;

    errno = 0;
    for (int line = 1; err == DM_OK && getline(&text, &cap, f) >= 0; line++) {
        snprintf(place, sizeof(place), "%s:%d", state.path, line);
        err = tune_read_line(text, place, line);
        /* Of another version: what is in it is not our matter. */
        state.is_other = state.version[0] != '\0' && strcmp(state.version, DM_VERSION) != 0;
        if (state.is_other)
            break;
    }
    if (err == DM_OK && ferror(f) != 0)
        err = DM_FAIL(DM_ECONFIG, "cannot read %s: %s", state.path, strerror(errno));
    free(text);
    if (err == DM_OK && state.version[0] == '\0')
        err = DM_FAIL(DM_ECONFIG, "%s: it does not say \"version\": no tuning file", state.path);
    return err;
}

/* ---- the file ---- */

/* NULL: *err_p says why. */
static FILE *tune_open_file(int *err_p)
{
    struct stat st;
    FILE *f = NULL;

    /* A pipe or a device may have no end. */
    if (stat(state.path, &st) == 0 && !S_ISREG(st.st_mode))
        *err_p =
            DM_FAIL(DM_ECONFIG, "DATUM_TUNE (from the environment): %s is no file", state.path);
    else if ((f = fopen(state.path, "re")) == NULL)
        *err_p = DM_FAIL(DM_ECONFIG, "DATUM_TUNE (from the environment): cannot open %s: %s",
                         state.path, strerror(errno));
    return f;
}

/* At one of the default places; NULL: there is none, or *err_p says what is wrong with it. */
static FILE *tune_open_default(int *err_p)
{
    const char *config = dm_cfg_env("XDG_CONFIG_HOME");
    const char *home = dm_cfg_env("HOME");

    state.path[0] = '\0';
    if (config != NULL && config[0] == '/')
        snprintf(state.path, sizeof(state.path), "%s/datum/tune", config);
    else if (home != NULL && home[0] == '/')
        snprintf(state.path, sizeof(state.path), "%s/.config/datum/tune", home);
    if (access(state.path, F_OK) != 0)
        snprintf(state.path, sizeof(state.path), "%s/datum.tune", DM_ETCDIR);
    return access(state.path, F_OK) == 0 ? tune_open_file(err_p) : NULL;
}

int dm_tune_load(bool quiet)
{
    const char *want = dm_cfg()->tune;
    bool is_named = strcmp(want, "auto") != 0;
    FILE *f;
    int err = DM_OK;

    dm_tune_unload();
    if (strcmp(want, "no") == 0)
        return DM_OK;
    if (is_named) {
        snprintf(state.path, sizeof(state.path), "%s", want);
        f = tune_open_file(&err);
    } else {
        f = tune_open_default(&err);
        if (f == NULL && err == DM_OK)
            return DM_OK;
    }
    if (f != NULL) {
        err = tune_read_file(f);
        fclose(f);
    }
    state.is_used = err == DM_OK && !state.is_other;
    if (err == DM_OK && state.is_other && !quiet)
        dm_log_warn("%s was measured with Datum %s, this is %s: it is not used; datum-tune makes a "
                    "new one",
                    state.path, state.version, DM_VERSION);
    if (err == DM_OK || is_named)
        return err;
    if (!quiet)
        dm_log_warn("%s; the file is not used", dm_err_detail());
    dm_tune_unload();
    return DM_OK;
}

const char *dm_tune_path(void)
{
    return state.is_used ? state.path : NULL;
}

const struct dm_tune_rail *dm_tune_find(const char *provider, const char *params)
{
    for (int i = 0; state.is_used && i < state.n_rails; i++) {
        const struct dm_tune_rail *rail = &state.rails[i];

        if (strcmp(rail->provider, provider) == 0)
            return rail->params == NULL || strcmp(rail->params, params) == 0 ? rail : NULL;
    }
    return NULL;
}

char *dm_tune_row(const struct dm_tune_rail *rail, size_t i, int *line_p)
{
    for (size_t k = 0; k < state.n_rows; k++) {
        if (state.rows[k].rail == (int)(rail - state.rails) && i-- == 0) {
            *line_p = state.rows[k].line;
            return state.rows[k].text;
        }
    }
    return NULL;
}
