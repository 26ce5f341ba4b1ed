/*
 * Small bodies: they read or set one member of an object, or rename what a layer has.
 */
#include "api/api.h"

#include <stdio.h>
#include <string.h>

int dm_type_extent(struct dm_type *type, MPI_Aint *extent)
{
    *extent = type->extent;
    return DM_OK;
}

int dm_type_lb(struct dm_type *type, MPI_Aint *displacement)
{
    *displacement = type->lb;
    return DM_OK;
}

int dm_type_ub(struct dm_type *type, MPI_Aint *displacement)
{
    *displacement = type->lb + type->extent;
    return DM_OK;
}

int dm_win_set_errhandler(struct dm_win *win, struct dm_errhandler *eh)
{
    dm_errhandler_set(&win->eh, eh);
    return DM_OK;
}

int dm_win_get_errhandler(struct dm_win *win, struct dm_errhandler **eh_p)
{
    dm_errhandler_ref(win->eh);
    *eh_p = win->eh;
    return DM_OK;
}

int dm_win_set_name(struct dm_win *win, const char *name)
{
    snprintf(win->name, sizeof(win->name), "%s", name);
    return DM_OK;
}

int dm_win_get_name(struct dm_win *win, char *name, int *len)
{
    size_t n = strlen(win->name);

    memcpy(name, win->name, n + 1);
    *len = (int)n;
    return DM_OK;
}
