/*
 * Hints.
 */
#include "io/hints.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cfg.h"
#include "util/log.h"

enum hint_kind { HINT_SIZE, HINT_USE, HINT_BOOL, HINT_EACH_HOST };

static const struct hint_row {
    const char *key;
    enum hint_kind kind;
    size_t at; /* in struct dm_hints */
    uint64_t least, most;
} hint_rows[] = {
    {"cb_buffer_size", HINT_SIZE, offsetof(struct dm_hints, cb_buffer_size), 4096, 1ull << 31},
    {"cb_config_list", HINT_EACH_HOST, offsetof(struct dm_hints, cb_per_host), 1, 1ull << 31},
    {"cb_nodes", HINT_SIZE, offsetof(struct dm_hints, cb_nodes), 1, 1ull << 31},
    {"ind_rd_buffer_size", HINT_SIZE, offsetof(struct dm_hints, ind_rd_buffer_size), 4096,
     1ull << 31},
    {"ind_wr_buffer_size", HINT_SIZE, offsetof(struct dm_hints, ind_wr_buffer_size), 4096,
     1ull << 31},
    {"striping_unit", HINT_SIZE, offsetof(struct dm_hints, striping_unit), 1, 1ull << 40},
    {"striping_factor", HINT_SIZE, offsetof(struct dm_hints, striping_factor), 1, 1ull << 31},
    {"cb_gather", HINT_USE, offsetof(struct dm_hints, cb_gather), 0, 0},
    {"romio_cb_read", HINT_USE, offsetof(struct dm_hints, cb_read), 0, 0},
    {"romio_cb_write", HINT_USE, offsetof(struct dm_hints, cb_write), 0, 0},
    {"romio_ds_read", HINT_USE, offsetof(struct dm_hints, ds_read), 0, 0},
    {"romio_ds_write", HINT_USE, offsetof(struct dm_hints, ds_write), 0, 0},
    {"romio_no_indep_rw", HINT_BOOL, offsetof(struct dm_hints, no_indep_rw), 0, 0},
};
#define N_HINTS (sizeof(hint_rows) / sizeof(hint_rows[0]))

static const char *const hint_uses[] = {
    [DM_HINT_AUTOMATIC] = "automatic",
    [DM_HINT_ENABLE] = "enable",
    [DM_HINT_DISABLE] = "disable",
};

void dm_hints_default(struct dm_hints *hints)
{
    *hints = (struct dm_hints){
        .ind_rd_buffer_size = 4 << 20,
        .ind_wr_buffer_size = 4 << 20,
    };
}

static void hint_set(struct dm_hints *hints, const struct hint_row *row, const char *value)
{
    void *at = (char *)hints + row->at;
    unsigned long long n;
    char *end;

    /* "*:N", "*:*": on each host. Lists of names cannot be followed. */
    if (row->kind == HINT_EACH_HOST) {
        if (strncmp(value, "*:", 2) != 0)
            return;
        value = strcmp(value, "*:*") == 0 ? "2147483648" : value + 2;
    }
    if (row->kind == HINT_USE) {
        for (int i = 0; i < 3; i++)
            if (strcmp(value, hint_uses[i]) == 0)
                *(enum dm_hint_use *)at = (enum dm_hint_use)i;
        return;
    }
    if (row->kind == HINT_BOOL) {
        if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
            *(bool *)at = value[0] == 't';
        return;
    }
    errno = 0;
    n = strtoull(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || value[0] == '-')
        return;
    if (n >= row->least && n <= row->most)
        *(uint64_t *)at = n;
}

void dm_hints_read(struct dm_hints *hints, const struct dm_info *info)
{
    for (size_t i = 0; i < N_HINTS; i++) {
        const char *value = dm_info_value(info, hint_rows[i].key);

        if (value != NULL)
            hint_set(hints, &hint_rows[i], value);
    }
}

/* ---- the file of a user, or of a host ---- */

#define HINTS_FILE "/etc/romio-hints"

static const struct hint_row *hint_find(const char *key)
{
    for (size_t i = 0; i < N_HINTS; i++)
        if (strcmp(hint_rows[i].key, key) == 0)
            return &hint_rows[i];
    return NULL;
}

/* One line, which is cut into words. is_said: what cannot be read is said. */
static void hints_line(struct dm_hints *hints, char *line, const char *path, int n, bool is_said)
{
    const struct hint_row *row;
    char *rest, *key, *value;

    line[strcspn(line, "#\r\n")] = '\0';
    key = strtok_r(line, " \t", &rest);
    value = strtok_r(NULL, " \t", &rest);
    if (key == NULL)
        return;
    if (value == NULL || strtok_r(NULL, " \t", &rest) != NULL) {
        if (is_said)
            dm_log_warn("%s, line %d: a hint is a key and a value, this is left out: %s", path, n,
                        key);
        return;
    }
    row = hint_find(key);
    if (row != NULL)
        hint_set(hints, row, value);
}

void dm_hints_read_file(struct dm_hints *hints)
{
    const char *asked = dm_cfg_env("ROMIO_HINTS"), *path = asked != NULL ? asked : HINTS_FILE;
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t space = 0;
    bool is_said;

    if (f == NULL) {
        if (asked != NULL && dm_log_is_new("ROMIO_HINTS", "not there"))
            dm_log_warn("ROMIO_HINTS names %s, which cannot be read: %s", path, strerror(errno));
        return;
    }
    is_said = dm_log_is_new("ROMIO_HINTS", path);
    for (int n = 1; getline(&line, &space, f) >= 0; n++)
        hints_line(hints, line, path, n, is_said);
    free(line);
    (void)fclose(f);
}

void dm_hints_print(const struct dm_info *info, const char *path)
{
    dm_log_out("hints of %s:\n", path);
    for (size_t i = 0; i < N_HINTS; i++) {
        const char *value = dm_info_value(info, hint_rows[i].key);

        if (value != NULL)
            dm_log_out("key = %-25s value = %-10s\n", hint_rows[i].key, value);
    }
}

/* ---- what is in force ---- */

int dm_hints_write(const struct dm_hints *hints, const struct dm_disk *disk,
                   struct dm_info **info_p)
{
    struct dm_info *info;
    char text[32];
    int err = dm_info_create(&info);

    for (size_t i = 0; i < N_HINTS && err == DM_OK; i++) {
        const void *at = (const char *)hints + hint_rows[i].at;

        if (hint_rows[i].kind == HINT_USE) {
            err = dm_info_set(info, hint_rows[i].key, hint_uses[*(const enum dm_hint_use *)at]);
            continue;
        }
        if (hint_rows[i].kind == HINT_BOOL) {
            err = dm_info_set(info, hint_rows[i].key, *(const bool *)at ? "true" : "false");
            continue;
        }
        if (*(const uint64_t *)at == 0)
            continue;
        snprintf(text, sizeof(text), hint_rows[i].kind == HINT_EACH_HOST ? "*:%llu" : "%llu",
                 (unsigned long long)*(const uint64_t *)at);
        err = dm_info_set(info, hint_rows[i].key, text);
    }
    if (err == DM_OK)
        err = dm_info_set(info, "romio_filesystem_type", disk->fs);
    if (err == DM_OK)
        err = dm_info_set(info, "filename", disk->path);
    *info_p = info;
    return err;
}
