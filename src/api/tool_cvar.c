/*
 * Tools: control variables. One is a setting; it may be written until the library starts, by every
 * process alike.
 */
#include "api/tool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LEN MPI_MAX_INFO_VAL /* of a text, with its null */

struct MPIR_T_cvar_handle_s {
    struct MPIR_T_cvar_handle_s *self; /* tells a handle from a pointer to anything */
    int index;
};

int dm_tool_n_cvars(void)
{
    struct dm_cfg_row_info row;
    size_t n = 0;

    while (dm_cfg_row(n, &row))
        n++;
    return (int)n;
}

static bool cvar_find(int index, struct dm_cfg_row_info *row)
{
    return index >= 0 && dm_cfg_row((size_t)index, row);
}

/* Every variable's type is one that tools know (MPI-4.0 section 15.3.5). */
static MPI_Datatype cvar_datatype_of(enum dm_cfg_type type)
{
    switch (type) {
    case DM_CFG_STR:
        return MPI_CHAR;
    case DM_CFG_UINT:
        return MPI_UNSIGNED;
    case DM_CFG_SIZE:
    case DM_CFG_USEC:
        return MPI_UNSIGNED_LONG;
    default:
        return MPI_INT;
    }
}

int dm_t_cvar_get_num(int *num_cvar)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(num_cvar, dm_tool_n_cvars());
}

int dm_t_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                       int *bind, int *scope)
{
    struct dm_cfg_row_info row;

    DM_TOOL_CHECK_UP();
    if (!cvar_find(cvar_index, &row))
        return MPI_T_ERR_INVALID_INDEX;
    dm_tool_text(row.name, name, name_len);
    dm_tool_text(row.help, desc, desc_len);
    dm_tool_int(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    dm_tool_int(datatype, cvar_datatype_of(row.type));
    if (enumtype != NULL)
        *enumtype = dm_tool_enum(cvar_index);
    dm_tool_int(bind, MPI_T_BIND_NO_OBJECT);
    dm_tool_int(scope, MPI_T_SCOPE_ALL_EQ);
    return MPI_SUCCESS;
}

int dm_t_cvar_get_index(const char *name, int *cvar_index)
{
    struct dm_cfg_row_info row;

    DM_TOOL_CHECK_UP();
    if (name == NULL || cvar_index == NULL)
        return MPI_T_ERR_INVALID;
    for (int i = 0; cvar_find(i, &row); i++)
        if (strcmp(name, row.name) == 0) {
            *cvar_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

int dm_t_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    struct dm_cfg_row_info row;

    (void)obj_handle; /* no variable is bound to an object */
    DM_TOOL_CHECK_UP();
    if (!cvar_find(cvar_index, &row))
        return MPI_T_ERR_INVALID_INDEX;
    if (handle == NULL || count == NULL)
        return MPI_T_ERR_INVALID;
    *handle = malloc(sizeof(**handle));
    if (*handle == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    (*handle)->self = *handle;
    (*handle)->index = cvar_index;
    *count = row.type == DM_CFG_STR ? TEXT_LEN : 1;
    return MPI_SUCCESS;
}

static bool cvar_is_handle(MPI_T_cvar_handle handle)
{
    return handle != MPI_T_CVAR_HANDLE_NULL && handle->self == handle;
}

int dm_t_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    DM_TOOL_CHECK_UP();
    if (handle == NULL || !cvar_is_handle(*handle))
        return MPI_T_ERR_INVALID_HANDLE;
    (*handle)->self = NULL;
    free(*handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int dm_t_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    struct dm_cfg_row_info row;

    DM_TOOL_CHECK_UP();
    if (!cvar_is_handle(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (buf == NULL)
        return MPI_T_ERR_INVALID;
    cvar_find(handle->index, &row);
    switch (row.type) {
    case DM_CFG_STR:
        snprintf(buf, TEXT_LEN, "%s", *(const dm_cfg_STR *)row.field);
        break;
    case DM_CFG_BOOL:
        *(int *)buf = *(const dm_cfg_BOOL *)row.field;
        break;
    case DM_CFG_UINT:
        *(unsigned *)buf = *(const dm_cfg_UINT *)row.field;
        break;
    case DM_CFG_SIZE:
        *(unsigned long *)buf = *(const dm_cfg_SIZE *)row.field;
        break;
    case DM_CFG_USEC:
        *(unsigned long *)buf = *(const dm_cfg_USEC *)row.field;
        break;
    case DM_CFG_ENUM:
        *(int *)buf = *(const dm_cfg_ENUM *)row.field;
        break;
    }
    return MPI_SUCCESS;
}

/* A value as the environment would have it; false when it cannot be one. */
static bool cvar_text(const struct dm_cfg_row_info *row, const void *buf, char text[TEXT_LEN])
{
    const char *word;
    int len;

    switch (row->type) {
    case DM_CFG_STR:
        if (strnlen(buf, TEXT_LEN) == TEXT_LEN)
            return false;
        snprintf(text, TEXT_LEN, "%s", (const char *)buf);
        return true;
    case DM_CFG_BOOL:
        snprintf(text, TEXT_LEN, "%d", *(const int *)buf);
        return true;
    case DM_CFG_UINT:
        snprintf(text, TEXT_LEN, "%u", *(const unsigned *)buf);
        return true;
    case DM_CFG_SIZE:
    case DM_CFG_USEC:
        if (*(const unsigned long *)buf == ULONG_MAX)
            snprintf(text, TEXT_LEN, "auto");
        else
            snprintf(text, TEXT_LEN, "%lu%s", *(const unsigned long *)buf,
                     row->type == DM_CFG_USEC ? "us" : "");
        return true;
    case DM_CFG_ENUM:
        word = *(const int *)buf < 0 ? NULL : dm_cfg_choice(row, *(const int *)buf, &len);
        if (word != NULL)
            snprintf(text, TEXT_LEN, "%.*s", len, word);
        return word != NULL;
    }
    return false;
}

int dm_t_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    struct dm_cfg_row_info row;
    char text[TEXT_LEN];

    DM_TOOL_CHECK_UP();
    if (!cvar_is_handle(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (buf == NULL)
        return MPI_T_ERR_INVALID;
    if (dm_world.state != DM_WORLD_BEFORE)
        return MPI_T_ERR_CVAR_SET_NEVER;
    cvar_find(handle->index, &row);
    if (!cvar_text(&row, buf, text) || dm_cfg_set((size_t)handle->index, text) != DM_OK)
        return MPI_T_ERR_INVALID;
    return MPI_SUCCESS;
}
