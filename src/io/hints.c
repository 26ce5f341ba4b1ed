/*
 * Hints.
 */
#include "io/hints.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hint_kind { HINT_SIZE, HINT_USE, HINT_BOOL };

static const struct hint_row {
    const char *key;
    enum hint_kind kind;
    size_t at; /* in struct dm_hints */
    uint64_t least, most;
} hint_rows[] = {
    {"cb_buffer_size", HINT_SIZE, offsetof(struct dm_hints, cb_buffer_size), 4096, 1ull << 31},
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
        snprintf(text, sizeof(text), "%llu", (unsigned long long)*(const uint64_t *)at);
        err = dm_info_set(info, hint_rows[i].key, text);
    }
    if (err == DM_OK)
        err = dm_info_set(info, "romio_filesystem_type", disk->fs);
    if (err == DM_OK)
        err = dm_info_set(info, "filename", disk->path);
    *info_p = info;
    return err;
}
