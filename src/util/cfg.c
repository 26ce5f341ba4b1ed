/*
 * Settings: parsing of the DATUM_* variables by the table in cfg_table.h.
 *
 * Filled once by dm_cfg_load, constant afterwards. Texts are copies: a program
 * may change its environment later.
 */
#include "util/cfg.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "util/cfg_mpich.h"
#include "util/cfg_range.h"
#include "util/err.h"
#include "util/log.h"
#include "util/self.h"

#define PREFIX       "DATUM_"
#define PREFIX_LEN   (sizeof(PREFIX) - 1)
#define NAME_MAX_LEN 64

struct cfg_row {
    const char *name;
    const char *dflt;
    const char *help;
    size_t offset;
    enum dm_cfg_type type;
};

#define CFG_ROW(NAME, TYPE, def, field, help)                                                      \
    {PREFIX #NAME, def, help, offsetof(struct dm_cfg, field), DM_CFG_##TYPE},
static const struct cfg_row cfg_rows[] = {DM_CFG_TABLE(CFG_ROW)};

#define N_ROWS (sizeof(cfg_rows) / sizeof(cfg_rows[0]))

struct cfg_range {
    const char *name;
    uint64_t least;
    uint64_t most;
};

#define CFG_RANGE(NAME, least, most) {PREFIX #NAME, least, most},
static const struct cfg_range cfg_ranges[] = {DM_CFG_RANGES(CFG_RANGE)};

#define CFG_OTHER(NAME, help) PREFIX #NAME,
static const char *const other_names[] = {DM_CFG_OTHER_TABLE(CFG_OTHER)};

#define N_OTHERS (sizeof(other_names) / sizeof(other_names[0]))

static struct {
    bool is_loaded;
    struct dm_cfg cfg;
    char *env[N_ROWS];         /* copy of the variable, NULL when the default is in force */
    const char *mpich[N_ROWS]; /* the variable of MPICH that it comes from, NULL for others */
} state;

/* A unit and what it multiplies by. */
struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", UINT64_C(1) << 10},
    {"m", UINT64_C(1) << 20},
    {"g", UINT64_C(1) << 30},
    {NULL, 0},
};

static const struct unit usec_units[] = {
    {"", 1}, {"us", 1}, {"ms", 1000}, {"s", 1000000}, {NULL, 0},
};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

/* A decimal number with one of the units, at most max; false when it is none. */
static bool cfg_parse_number(const char *text, const struct unit *units, uint64_t max,
                             uint64_t *num_p)
{
    unsigned long long num;
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    num = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    while (units->name != NULL && strcasecmp(end, units->name) != 0)
        units++;
    if (units->name == NULL || num > max / units->factor)
        return false;
    *num_p = num * units->factor;
    return true;
}

bool dm_cfg_parse_size(const char *text, uint64_t *num_p)
{
    return cfg_parse_number(text, size_units, UINT64_MAX, num_p);
}

static bool cfg_parse_bool(const char *text, bool *val_p)
{
    static const char *const words[] = {"no", "yes", "0", "1", "off", "on", "false", "true"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *val_p = i % 2 == 1;
            return true;
        }
    }
    return false;
}

/* The choices are the start of the help text: "a|b|c: ". */
static bool cfg_find_choice(const char *text, const char *help, int *val_p)
{
    size_t text_len = strlen(text);

    for (int i = 0;; i++) {
        size_t len = strcspn(help, "|:");

        if (len == text_len && strncasecmp(help, text, len) == 0) {
            *val_p = i;
            return true;
        }
        if (help[len] != '|')
            return false;
        help += len + 1;
    }
}

/* Where yes and no are among the choices their other names are, too. */
static bool cfg_parse_enum(const char *text, const char *help, int *val_p)
{
    bool is_yes;

    return cfg_find_choice(text, help, val_p) ||
           (cfg_parse_bool(text, &is_yes) && cfg_find_choice(is_yes ? "yes" : "no", help, val_p));
}

static struct cfg_range cfg_range_of(const struct cfg_row *row)
{
    for (size_t i = 0; i < sizeof(cfg_ranges) / sizeof(cfg_ranges[0]); i++)
        if (strcmp(cfg_ranges[i].name, row->name) == 0)
            return cfg_ranges[i];
    return (struct cfg_range){row->name, 0, UINT64_MAX};
}

/* A number of the row's range, in one of the units; false when it is none. */
static bool cfg_parse_within(const struct cfg_row *row, const char *text, const struct unit *units,
                             uint64_t max, uint64_t *num_p)
{
    struct cfg_range range = cfg_range_of(row);

    return cfg_parse_number(text, units, max, num_p) && *num_p >= range.least &&
           *num_p <= range.most;
}

/* A number of microseconds says so: nobody can tell whether 10 are seconds. 0 is 0. */
static bool cfg_lacks_unit(const char *text)
{
    return strspn(text, "0123456789") == strlen(text) && strspn(text, "0") != strlen(text);
}

/* Stores a text into the field of a row; false when it is not allowed there. */
static bool cfg_parse_value(const struct cfg_row *row, const char *text, struct dm_cfg *cfg)
{
    void *field = (char *)cfg + row->offset;
    uint64_t num = 0;

    switch (row->type) {
    case DM_CFG_STR:
        *(dm_cfg_STR *)field = text;
        return true;
    case DM_CFG_BOOL:
        return cfg_parse_bool(text, field);
    case DM_CFG_ENUM:
        return cfg_parse_enum(text, row->help, field);
    case DM_CFG_UINT:
        if (!cfg_parse_within(row, text, no_units, UINT_MAX, &num))
            return false;
        *(dm_cfg_UINT *)field = (dm_cfg_UINT)num;
        return true;
    case DM_CFG_SIZE:
        if (strcasecmp(text, "auto") == 0 && strcmp(row->dflt, "auto") == 0)
            num = DM_CFG_AUTO_SIZE;
        else if (!cfg_parse_within(row, text, size_units, DM_CFG_AUTO_SIZE - 1, &num))
            return false;
        *(dm_cfg_SIZE *)field = (dm_cfg_SIZE)num;
        return true;
    case DM_CFG_USEC:
        if (strcasecmp(text, "auto") == 0)
            num = DM_CFG_AUTO;
        else if (cfg_lacks_unit(text) ||
                 !cfg_parse_within(row, text, usec_units, DM_CFG_AUTO - 1, &num))
            return false;
        *(dm_cfg_USEC *)field = num;
        return true;
    }
    return false;
}

/* A number of bytes as short as it gets: 64, 16k, 1m. */
static void cfg_put_size(uint64_t num, char text[24])
{
    const char *units = "\0kmg";
    int i = 0;

    for (; i < 3 && num > 0 && num % 1024 == 0; i++)
        num /= 1024;
    snprintf(text, 24, "%" PRIu64 "%.1s", num, &units[i]);
}

/* " from 4 to 4096", " from 0 on": in the unit of the row. */
static void cfg_put_range(const struct cfg_row *row, char text[64])
{
    struct cfg_range range = cfg_range_of(row);
    char least[24];
    char most[24];

    if (row->type == DM_CFG_SIZE) {
        cfg_put_size(range.least, least);
        cfg_put_size(range.most, most);
    } else {
        snprintf(least, sizeof(least), "%" PRIu64, range.least);
        snprintf(most, sizeof(most), "%" PRIu64, range.most);
    }
    if (row->type == DM_CFG_USEC && range.least > 0)
        strcat(least, "us");
    if (range.most == UINT64_MAX)
        snprintf(text, 64, "from %s on", least);
    else
        snprintf(text, 64, "from %s to %s", least, most);
}

void dm_cfg_allowed(size_t i, char text[DM_CFG_ALLOWED_LEN])
{
    const struct cfg_row *row = &cfg_rows[i];
    const char *or_auto = strcmp(row->dflt, "auto") == 0 ? ", or auto" : "";
    char range[64];

    cfg_put_range(row, range);
    switch (row->type) {
    case DM_CFG_STR:
        snprintf(text, DM_CFG_ALLOWED_LEN, "a text");
        break;
    case DM_CFG_BOOL:
        snprintf(text, DM_CFG_ALLOWED_LEN, "yes or no");
        break;
    case DM_CFG_ENUM:
        snprintf(text, DM_CFG_ALLOWED_LEN, "one of %.*s", (int)strcspn(row->help, ":"), row->help);
        break;
    case DM_CFG_UINT:
        snprintf(text, DM_CFG_ALLOWED_LEN, "a whole number %s", range);
        break;
    case DM_CFG_SIZE:
        snprintf(text, DM_CFG_ALLOWED_LEN,
                 "a number of bytes %s, also with k, m or g behind it, like 16k%s", range, or_auto);
        break;
    case DM_CFG_USEC:
        snprintf(text, DM_CFG_ALLOWED_LEN,
                 "a time %s, a number with us, ms or s behind it, like 500us, or auto", range);
        break;
    }
}

/* source: where the text stood; from: the variable of MPICH that it comes from, NULL for ours. */
static int cfg_fail_value(const struct cfg_row *row, const char *from, const char *source,
                          const char *text)
{
    char allowed[DM_CFG_ALLOWED_LEN];

    dm_cfg_allowed((size_t)(row - cfg_rows), allowed);
    if (row->type == DM_CFG_USEC && cfg_lacks_unit(text))
        return DM_FAIL(DM_ECONFIG,
                       "%s is '%s' (from %s), a time without its unit; say %.20sus, %.20sms or "
                       "%.20ss: it must be %s",
                       row->name, text, source, text, text, text, allowed);
    if (from != NULL)
        return DM_FAIL(DM_ECONFIG, "%s is '%s' (from %s, read as %s), but must be %s", from, text,
                       source, row->name, allowed);
    return DM_FAIL(DM_ECONFIG, "%s is '%s' (from %s), but must be %s", row->name, text, source,
                   allowed);
}

static int cfg_load_row(size_t i)
{
    const struct cfg_row *row = &cfg_rows[i];
    const char *text = getenv(row->name);
    char mpich[DM_CFG_MPICH_MAX];

    /* "VAR= command" is how a shell user takes a setting back. */
    if (text == NULL && (state.mpich[i] = dm_cfg_mpich(row->name, mpich)) != NULL)
        text = mpich;
    if (text == NULL || *text == '\0') {
        if (!cfg_parse_value(row, row->dflt, &state.cfg))
            return DM_FAIL(DM_EINTERN, "default '%s' of %s", row->dflt, row->name);
        return DM_OK;
    }
    state.env[i] = strdup(text);
    if (state.env[i] == NULL)
        return DM_FAIL(DM_ENOMEM, "setting %s", row->name);
    if (!cfg_parse_value(row, state.env[i], &state.cfg))
        return cfg_fail_value(row, state.mpich[i], "the environment", text);
    return DM_OK;
}

static size_t cfg_min3(size_t a, size_t b, size_t c)
{
    size_t min = a < b ? a : b;

    return min < c ? min : c;
}

size_t dm_cfg_distance(const char *a, size_t a_len, const char *b)
{
    size_t b_len = strlen(b);
    size_t row[NAME_MAX_LEN + 1];

    if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diag = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t up = row[j];

            row[j] = cfg_min3(up + 1, row[j - 1] + 1, diag + (a[i - 1] != b[j - 1]));
            diag = up;
        }
    }
    return row[b_len];
}

static bool cfg_is_name(const char *var, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(var, name, len) == 0;
}

static bool cfg_is_known(const char *var, size_t len)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (cfg_is_name(var, len, cfg_rows[i].name))
            return true;
    for (size_t i = 0; i < N_OTHERS; i++)
        if (cfg_is_name(var, len, other_names[i]))
            return true;
    return false;
}

static void cfg_warn_unknown(const char *var, size_t len)
{
    const char *best = NULL;
    size_t best_dist = SIZE_MAX;

    for (size_t i = 0; i < N_ROWS; i++) {
        size_t dist = dm_cfg_distance(var, len, cfg_rows[i].name);

        if (dist < best_dist) {
            best_dist = dist;
            best = cfg_rows[i].name;
        }
    }
    if (best != NULL && best_dist <= 1 + (len - PREFIX_LEN) / 2)
        dm_log_warn("the variable %.*s is no setting and is ignored; did you mean %s?", (int)len,
                    var, best);
    else
        dm_log_warn("the variable %.*s is no setting and is ignored; "
                    "datum-info --settings lists them",
                    (int)len, var);
}

static void cfg_warn_ignored(const char *name, const char *value)
{
    dm_log_warn(
        "%s is '%s', which means nothing here, and is ignored; datum-info --settings lists what does",
        name, value);
}

/* One warning for each unknown DATUM_* name in the environment, and for values of MPICH's variables. */
static void cfg_check_names(void)
{
    dm_cfg_mpich_ignored(cfg_warn_ignored);
    for (char **env = environ; env != NULL && *env != NULL; env++) {
        size_t len = strcspn(*env, "=");

        if (strncmp(*env, PREFIX, PREFIX_LEN) == 0 && !cfg_is_known(*env, len))
            cfg_warn_unknown(*env, len);
    }
}

int dm_cfg_load(bool quiet)
{
    int err = DM_OK;

    if (state.is_loaded)
        return DM_OK;
    for (size_t i = 0; i < N_ROWS && err == DM_OK; i++)
        err = cfg_load_row(i);
    if (err == DM_OK && dm_log_trace_set(state.cfg.trace) != DM_OK)
        err = DM_FAIL(DM_ECONFIG, "DATUM_TRACE (from the environment): %s", dm_err_detail());
    if (err != DM_OK) {
        dm_cfg_unload();
        return err;
    }
    if (!quiet) {
        cfg_check_names();
        if (!DM_TRACE_ON && dm_log_trace_mask() != 0)
            dm_log_warn("DATUM_TRACE has no effect: this build has no traces "
                        "(configure with --enable-debug)");
    }
    state.is_loaded = true;
    return DM_OK;
}

void dm_cfg_unload(void)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        free(state.env[i]);
        state.env[i] = NULL;
        state.mpich[i] = NULL;
    }
    memset(&state.cfg, 0, sizeof(state.cfg));
    state.is_loaded = false;
}

const struct dm_cfg *dm_cfg(void)
{
    return &state.cfg;
}

bool dm_cfg_row(size_t i, struct dm_cfg_row_info *info_p)
{
    static _Atomic(char *) helps[N_ROWS];

    if (i >= N_ROWS)
        return false;
    info_p->type = cfg_rows[i].type;
    info_p->field = (const char *)&state.cfg + cfg_rows[i].offset;
    info_p->name = cfg_rows[i].name;
    info_p->dflt = cfg_rows[i].dflt;
    info_p->help = dm_self_docs(cfg_rows[i].help, &helps[i]);
    info_p->value = state.env[i] != NULL ? state.env[i] : cfg_rows[i].dflt;
    info_p->origin = state.env[i] == NULL     ? "default"
                     : state.mpich[i] != NULL ? state.mpich[i]
                                              : "environment";
    return true;
}

const char *dm_cfg_source(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(cfg_rows[i].name, name) == 0 && state.mpich[i] != NULL)
            return state.mpich[i];
    return "the environment";
}

int dm_cfg_set(size_t i, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return DM_FAIL(DM_ENOMEM, "setting %s", cfg_rows[i].name);
    if (!cfg_parse_value(&cfg_rows[i], copy, &state.cfg)) {
        free(copy);
        return cfg_fail_value(&cfg_rows[i], NULL, "a control variable of MPI_T", text);
    }
    free(state.env[i]);
    state.env[i] = copy;
    state.mpich[i] = NULL;
    return DM_OK;
}

const char *dm_cfg_choice(const struct dm_cfg_row_info *info, int k, int *len_p)
{
    const char *word = info->help;

    while (k-- > 0) {
        word += strcspn(word, "|:");
        if (*word++ != '|')
            return NULL;
    }
    *len_p = (int)strcspn(word, "|:");
    return word;
}

const char *dm_cfg_env(const char *name)
{
    return getenv(name);
}
