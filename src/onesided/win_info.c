/*
 * The hints of a window (MPI-4.0 section 12.2.1): known keys with the values in use. They
 * change nothing but the layout of shared windows, with accumulate_ordering=none the order
 * of updates, and with mpi_accumulate_granularity (MPI-4.1) who makes them: locks cost nothing until
 * they are used, and combining different operations in one epoch costs nothing either.
 */
#include <string.h>

#include "onesided/win.h"

static const struct {
    const char *key;
    const char *value; /* the default */
    bool is_text;      /* else a logical */
} hints[] = {
    {"no_locks", "false", false},
    {"accumulate_ordering", "rar,raw,war,waw", true},
    {"accumulate_ops", "same_op_no_op", true},
    {"mpi_accumulate_granularity", "0", true},
    {"same_size", "false", false},
    {"same_disp_unit", "false", false},
    {"alloc_shared_noncontig", "false", false},
};

enum { N_HINTS = sizeof(hints) / sizeof(hints[0]) };

/* Hints of a kind that other flavors do not have are not shown there. */
static bool has_hint(const struct dm_win *win, int i)
{
    return win->flavor == MPI_WIN_FLAVOR_SHARED || strcmp(hints[i].key, "alloc_shared_noncontig");
}

/* The object is made when somebody sets or wants to see it: most windows have the defaults. */
static int info_fill(struct dm_win *win)
{
    int err;

    if (win->info != NULL)
        return DM_OK;
    err = dm_info_create(&win->info);
    for (int i = 0; i < N_HINTS && err == DM_OK; i++) {
        if (has_hint(win, i))
            err = dm_info_set(win->info, hints[i].key, hints[i].value);
    }
    return err;
}

int dm_win_set_info(struct dm_win *win, struct dm_info *info)
{
    for (int i = 0; i < N_HINTS; i++) {
        const char *value = dm_info_value(info, hints[i].key);
        int err;

        if (value == NULL || !has_hint(win, i))
            continue;
        /* a value that means nothing is ignored like an unknown key */
        if (!hints[i].is_text && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            continue;
        err = info_fill(win);
        if (err == DM_OK)
            err = dm_info_set(win->info, hints[i].key, value);
        if (err != DM_OK)
            return err;
        if (strcmp(hints[i].key, "accumulate_ordering") == 0)
            win->is_unordered = strcmp(value, "none") == 0;
        if (strcmp(hints[i].key, "mpi_accumulate_granularity") == 0)
            win->is_fine = value[0] >= '1' && value[0] <= '8' && value[1] == '\0';
    }
    return DM_OK;
}

int dm_win_get_info(struct dm_win *win, struct dm_info **info_p)
{
    int err = info_fill(win);

    return err == DM_OK ? dm_info_dup(win->info, info_p) : err;
}
