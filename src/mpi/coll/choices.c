/*
 * The rows that algorithms are chosen by. docs/TUNING.md tells the form of the file.
 */
#include "mpi/coll/choices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/alg/alg.h"
#include "util/cfg.h"
#include "util/strbuf.h"

#define ALGO(KIND, NAME, FN, NEEDS)                                                                \
    [ALG_##KIND##_##NAME] = {DM_COLL_##KIND, #NAME, dm_coll_##FN, NEEDS},
#define ALGO_INDEX(KIND, NAME, FN, NEEDS) ALG_##KIND##_##NAME,
#define ROW(KIND, NAME, NEEDS, RANKS, BYTES)                                                       \
    {.algo = &algos[ALG_##KIND##_##NAME],                                                          \
     .needs = (NEEDS),                                                                             \
     .max_ranks = (RANKS),                                                                         \
     .max_bytes = (BYTES)},
#define KIND_NAME(KIND, NAME)     [DM_COLL_##KIND] = (NAME),
#define NEED_ROW(NAME, BIT, WORD) {WORD, BIT},

enum { DM_COLL_ALGS(ALGO_INDEX) N_ALGOS };

static const struct dm_coll_algo algos[N_ALGOS] = {DM_COLL_ALGS(ALGO)};
static const struct dm_coll_choice builtin[] = {DM_COLL_CHOICES(ROW)};
static const char *const kind_names[DM_COLL_N] = {DM_COLL_KINDS(KIND_NAME)};
static const struct {
    const char *word;
    unsigned int bit;
} needs[] = {DM_COLL_NEEDS(NEED_ROW)};

#define N_BUILTIN (sizeof(builtin) / sizeof(builtin[0]))
#define N_NEEDS   (sizeof(needs) / sizeof(needs[0]))

/* The user's rows, as they are read. */
struct user_rows {
    struct dm_coll_choice *rows;
    size_t n, cap;
    const char *place; /* for messages: the setting, or file and line */
};

const char *dm_coll_kind_name(enum dm_coll_kind kind)
{
    return kind_names[kind];
}

/* ---- names ---- */

static bool is_word(const char *name, const char *word, size_t len)
{
    return strlen(name) == len && memcmp(name, word, len) == 0;
}

static int find_kind(const char *place, const char *word, size_t len, enum dm_coll_kind *kind_p)
{
    char text[400];
    struct dm_strbuf sb;

    for (int i = 0; i < DM_COLL_N; i++) {
        if (is_word(kind_names[i], word, len)) {
            *kind_p = (enum dm_coll_kind)i;
            return DM_OK;
        }
    }
    dm_strbuf_init(&sb, text, sizeof(text));
    for (int i = 0; i < DM_COLL_N; i++)
        dm_strbuf_addf(&sb, "%s%s", i > 0 ? " " : "", kind_names[i]);
    return DM_FAIL(DM_ECONFIG, "%s: there is no collective \"%.*s\"; there are: %s", place,
                   (int)len, word, text);
}

static int find_algo(const char *place, enum dm_coll_kind kind, const char *word, size_t len,
                     const struct dm_coll_algo **algo_p)
{
    char text[400];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, text, sizeof(text));
    for (int i = 0; i < N_ALGOS; i++) {
        if (algos[i].kind != kind)
            continue;
        if (is_word(algos[i].name, word, len)) {
            *algo_p = &algos[i];
            return DM_OK;
        }
        dm_strbuf_addf(&sb, "%s%s", sb.len > 0 ? " " : "", algos[i].name);
    }
    return DM_FAIL(DM_ECONFIG, "%s: there is no %s \"%.*s\"; there are: %s", place,
                   kind_names[kind], (int)len, word, text);
}

static int add_row(struct user_rows *user, const struct dm_coll_choice *row)
{
    if (user->n == user->cap) {
        size_t cap = 2 * user->cap + 16;
        struct dm_coll_choice *more = realloc(user->rows, cap * sizeof(*more));

        if (more == NULL)
            return DM_FAIL(DM_ENOMEM, "%zu choices of algorithms", cap);
        user->rows = more;
        user->cap = cap;
    }
    user->rows[user->n++] = *row;
    return DM_OK;
}

/* ---- DATUM_COLL: "bcast=scatter,barrier=tree" ---- */

static int force_one(struct user_rows *user, const char *word, size_t len)
{
    const char *eq = memchr(word, '=', len);
    size_t kind_len = eq != NULL ? (size_t)(eq - word) : len;
    const char *name = eq != NULL ? eq + 1 : word + len;
    struct dm_coll_choice row = {.max_ranks = DM_COLL_ANY, .max_bytes = DM_COLL_ALL, .line = -1};
    enum dm_coll_kind kind;
    int err = find_kind(user->place, word, kind_len, &kind);

    if (err == DM_OK)
        err = find_algo(user->place, kind, name, len - (size_t)(name - word), &row.algo);
    if (err != DM_OK)
        return err;
    /* The last one of a collective counts. */
    for (size_t i = 0; i < user->n; i++) {
        if (user->rows[i].algo->kind == kind) {
            user->rows[i] = row;
            return DM_OK;
        }
    }
    return add_row(user, &row);
}

static int read_forced(struct user_rows *user, const char *text)
{
    static const char separators[] = ",; ";
    char place[80];

    snprintf(place, sizeof(place), "DATUM_COLL (from %s)", dm_cfg_source("DATUM_COLL"));
    user->place = place;
    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        size_t len = strcspn(text, separators);
        int err = force_one(user, text, len);

        if (err != DM_OK)
            return err;
        text += len;
    }
    return DM_OK;
}

/* ---- the file ---- */

/* "LOW-HIGH", "LOW-", "-HIGH", or one value. */
static int read_range(const char *place, const char *what, const char *text, uint64_t *low_p,
                      uint64_t *high_p)
{
    char low[32];
    const char *dash = strchr(text, '-');
    size_t len = dash != NULL ? (size_t)(dash - text) : strlen(text);
    const char *high = dash != NULL ? dash + 1 : text;
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;

    if (len >= sizeof(low) || strcmp(text, "-") == 0 || text[0] == '\0')
        len = 0, high = "?";
    memcpy(low, text, len);
    low[len] = '\0';
    if ((low[0] != '\0' && !dm_cfg_parse_size(low, &first)) ||
        (high[0] != '\0' && !dm_cfg_parse_size(high, &last)))
        return DM_FAIL(
            DM_ECONFIG,
            "%s: %s=%s is no range; it is LOW-HIGH, LOW-, -HIGH or one number, with k, m or "
            "g behind (1024, ...)",
            place, what, text);
    if (first > last)
        return DM_FAIL(DM_ECONFIG, "%s: %s=%s: the first number is the larger one", place, what,
                       text);
    *low_p = first;
    *high_p = last;
    return DM_OK;
}

/* One condition of a row. */
static int read_condition(const char *place, const char *word, struct dm_coll_choice *row)
{
    char known[200];
    struct dm_strbuf sb;
    uint64_t low;
    uint64_t high;
    int err;

    if (strncmp(word, "ranks=", 6) == 0) {
        err = read_range(place, "ranks", word + 6, &low, &high);
        if (err == DM_OK) {
            row->min_ranks = low < DM_COLL_ANY ? (int)low : DM_COLL_ANY;
            row->max_ranks = high < DM_COLL_ANY ? (int)high : DM_COLL_ANY;
        }
        return err;
    }
    if (strncmp(word, "bytes=", 6) == 0) {
        err = read_range(place, "bytes", word + 6, &low, &high);
        if (err == DM_OK) {
            row->min_bytes = low < DM_COLL_ALL ? (size_t)low : DM_COLL_ALL;
            row->max_bytes = high < DM_COLL_ALL ? (size_t)high : DM_COLL_ALL;
        }
        return err;
    }
    dm_strbuf_init(&sb, known, sizeof(known));
    for (size_t i = 0; i < N_NEEDS; i++) {
        if (strcmp(needs[i].word, word) == 0) {
            row->needs |= needs[i].bit;
            return DM_OK;
        }
        dm_strbuf_addf(&sb, " %s", needs[i].word);
    }
    return DM_FAIL(DM_ECONFIG, "%s: what is \"%s\"? A row may have ranks= bytes=%s", place, word,
                   known);
}

/* "bcast scatter ranks=9- bytes=128k- several-nodes # why" */
static int choices_read_line(struct user_rows *user, char *text, int line)
{
    static const char blanks[] = " \t\r\n\v\f";
    struct dm_coll_choice row = {.max_ranks = DM_COLL_ANY, .max_bytes = DM_COLL_ALL, .line = line};
    enum dm_coll_kind kind;
    char *save = NULL;
    char *word;
    int err;

    text[strcspn(text, "#")] = '\0';
    word = strtok_r(text, blanks, &save);
    if (word == NULL)
        return DM_OK;
    if (strcmp(word, "format") == 0) {
        word = strtok_r(NULL, blanks, &save);
        if (word != NULL && strcmp(word, "1") == 0 && strtok_r(NULL, blanks, &save) == NULL)
            return DM_OK;
        return DM_FAIL(DM_ECONFIG, "%s: the format \"%s\" is not known here; this is \"format 1\"",
                       user->place, word != NULL ? word : "");
    }
    err = find_kind(user->place, word, strlen(word), &kind);
    if (err != DM_OK)
        return err;
    word = strtok_r(NULL, blanks, &save);
    if (word == NULL)
        word = save != NULL ? save : "";
    err = find_algo(user->place, kind, word, strlen(word), &row.algo);
    while (err == DM_OK && (word = strtok_r(NULL, blanks, &save)) != NULL)
        err = read_condition(user->place, word, &row);
    return err == DM_OK ? add_row(user, &row) : err;
}

static int choices_read_file(struct user_rows *user, const char *path)
{
    FILE *f = fopen(path, "re");
    char place[400];
    char *text = NULL;
    size_t cap = 0;
    int err = DM_OK;

    if (f == NULL)
        return DM_FAIL(DM_ECONFIG, "DATUM_COLL_FILE (from the environment): cannot open %s: %s",
                       path, strerror(errno));
    user->place = place;
    errno = 0;
    for (int line = 1; err == DM_OK && getline(&text, &cap, f) >= 0; line++) {
        snprintf(place, sizeof(place), "%s:%d", path, line);
        err = choices_read_line(user, text, line);
    }
    if (err == DM_OK && ferror(f) != 0)
        err = DM_FAIL(DM_ECONFIG, "DATUM_COLL_FILE (from the environment): cannot read %s: %s",
                      path, strerror(errno));
    free(text);
    fclose(f);
    return err;
}

/* The provider's rows of the tuning file. */
static int read_tuned(struct user_rows *user, const struct dm_tune_rail *tuned)
{
    size_t n = user->n;
    char place[400];
    int err = DM_OK;
    int line = 0;
    char *text;

    user->place = place;
    for (size_t i = 0; err == DM_OK && (text = dm_tune_row(tuned, i, &line)) != NULL; i++) {
        snprintf(place, sizeof(place), "%s:%d", dm_tune_path(), line);
        err = choices_read_line(user, text, line);
    }
    for (; n < user->n; n++)
        user->rows[n].is_tuned = true;
    user->place = NULL;
    return err;
}

/* ---- all of them ---- */

/* Rows of one collective, in their order; the number of them. */
static size_t take_rows(struct dm_coll_choice *to, const struct dm_coll_choice *from, size_t n,
                        enum dm_coll_kind kind)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (from[i].algo->kind != kind)
            continue;
        to[k] = from[i];
        to[k++].needs |= from[i].algo->needs;
    }
    return k;
}

int dm_coll_choices_make(const char *forced, const char *file, const struct dm_tune_rail *tuned,
                         struct dm_coll_choice **all_p, struct dm_coll_choice *first_p[DM_COLL_N])
{
    struct user_rows user = {.n = 0};
    struct dm_coll_choice *all;
    size_t k = 0;
    int err = read_forced(&user, forced);

    if (err == DM_OK && file[0] != '\0')
        err = choices_read_file(&user, file);
    if (err == DM_OK && tuned != NULL)
        err = read_tuned(&user, tuned);
    if (err != DM_OK) {
        free(user.rows);
        return err;
    }
    all = calloc(user.n + N_BUILTIN, sizeof(*all));
    for (int kind = 0; kind < DM_COLL_N && all != NULL; kind++) {
        first_p[kind] = &all[k];
        k += take_rows(&all[k], user.rows, user.n, (enum dm_coll_kind)kind);
        k += take_rows(&all[k], builtin, N_BUILTIN, (enum dm_coll_kind)kind);
    }
    free(user.rows);
    *all_p = all;
    return all != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "table of algorithms");
}

static uint32_t choices_mix(uint32_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++, value >>= 8)
        hash = (hash ^ (uint32_t)(value & 0xff)) * 16777619u;
    return hash;
}

uint32_t dm_coll_choices_hash(const struct dm_coll_choice *const first[DM_COLL_N])
{
    uint32_t hash = 2166136261u;

    for (int kind = 0; kind < DM_COLL_N; kind++) {
        for (const struct dm_coll_choice *row = first[kind]; row->line != 0; row++) {
            hash = choices_mix(hash, (uint64_t)(row->algo - algos));
            hash = choices_mix(hash, row->needs);
            hash = choices_mix(hash, (uint64_t)row->min_ranks << 32 | (uint32_t)row->max_ranks);
            hash = choices_mix(hash, row->min_bytes);
            hash = choices_mix(hash, row->max_bytes);
        }
    }
    return hash;
}
