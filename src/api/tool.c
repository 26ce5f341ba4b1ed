/*
 * Tools: start and end, enumerations, categories.
 */
#include "api/tool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/tool_bound.h"
#include "api/tool_event.h"

/* Functions of tools that are called back inside may call in again. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int n_users;

/* ---- start and end ---- */

void dm_tool_lock(void)
{
    pthread_mutex_lock(&lock);
}

void dm_tool_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int dm_t_init_thread(int required, int *provided)
{
    if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE || provided == NULL)
        return MPI_T_ERR_INVALID;
    if (dm_api_load_settings() != DM_OK)
        return MPI_T_ERR_CANNOT_INIT;
    n_users++;
    dm_tool_events_switch(true);
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int dm_t_finalize(void)
{
    DM_TOOL_CHECK_UP();
    n_users--;
    dm_tool_events_switch(n_users > 0);
    return MPI_SUCCESS;
}

bool dm_tool_is_up(void)
{
    return n_users > 0;
}

void dm_tool_text(const char *text, char *buf, int *len)
{
    if (len == NULL)
        return;
    if (buf != NULL && *len > 0)
        snprintf(buf, (size_t)*len, "%s", text);
    *len = (int)strlen(text) + 1;
}

void dm_tool_int(int *where, int value)
{
    if (where != NULL)
        *where = value;
}

int dm_tool_answer(int *where, int value)
{
    dm_tool_int(where, value);
    return where != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

/* ---- enumerations: the choices of settings, the elements of events ---- */

#define ENUM_ROW(NAME, TYPE, def, field, help) DM_CFG_INDEX_##NAME,
enum { DM_CFG_TABLE(ENUM_ROW) N_CVARS };
#undef ENUM_ROW
static struct MPIR_T_enum_s enums[N_CVARS];

MPI_T_enum dm_tool_enum(int cvar)
{
    struct MPIR_T_enum_s *e = &enums[cvar];

    dm_cfg_row((size_t)cvar, &e->row);
    if (e->row.type != DM_CFG_ENUM && e->row.type != DM_CFG_BOOL)
        return MPI_T_ENUM_NULL;
    e->is_used = true;
    return e;
}

static bool tool_is_enum(MPI_T_enum e)
{
    return (e >= enums && e < enums + N_CVARS && e->is_used) || dm_tool_event_has_enum(e);
}

/* Name of an item; false when there is none. */
static bool item_name(MPI_T_enum e, int i, char *buf, size_t size)
{
    static const char *const bools[] = {"no", "yes"};
    const char *word;
    int len;

    if (i < 0)
        return false;
    if (e->name != NULL) {
        snprintf(buf, size, "%s", i < e->n_items ? e->items[i] : "");
        return i < e->n_items;
    }
    if (e->row.type == DM_CFG_BOOL) {
        snprintf(buf, size, "%s", i < 2 ? bools[i] : "");
        return i < 2;
    }
    word = dm_cfg_choice(&e->row, i, &len);
    if (word != NULL)
        snprintf(buf, size, "%.*s", len, word);
    return word != NULL;
}

int dm_t_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    char item[64];
    int n = 0;

    DM_TOOL_CHECK_UP();
    if (!tool_is_enum(enumtype))
        return MPI_T_ERR_INVALID_HANDLE;
    while (item_name(enumtype, n, item, sizeof(item)))
        n++;
    dm_tool_int(num, n);
    dm_tool_text(enumtype->name != NULL ? enumtype->name : enumtype->row.name, name, name_len);
    return MPI_SUCCESS;
}

int dm_t_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    char item[64];

    DM_TOOL_CHECK_UP();
    if (!tool_is_enum(enumtype))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!item_name(enumtype, indx, item, sizeof(item)))
        return MPI_T_ERR_INVALID_INDEX;
    dm_tool_int(value, indx);
    dm_tool_text(item, name, name_len);
    return MPI_SUCCESS;
}

/* ---- categories: what variables are of ---- */

static int tool_n_bound_to_win(void)
{
    return dm_tool_n_bound() - dm_tool_n_bound_to_comm();
}

/* Members are numbered one by one; the performance variables of a category follow those of the one above. */
static const struct {
    const char *name;
    const char *desc;
    int (*n_cvars)(void);
    int (*n_pvars)(void);
    int (*n_events)(void);
} categories[] = {
    {"settings", "what the DATUM_* variables of the environment set", dm_tool_n_cvars, NULL, NULL},
    {"communicators", "what is known of one communicator: queues, messages, collectives", NULL,
     dm_tool_n_bound_to_comm, NULL},
    {"windows", "what is known of one window", NULL, tool_n_bound_to_win, NULL},
    {"statistics", "what DATUM_STATS prints: start-up, memory, traffic", NULL, dm_tool_n_counters,
     NULL},
    {"events", "what can be reported when it happens", NULL, NULL, dm_tool_n_events},
};
enum { N_CATEGORIES = sizeof(categories) / sizeof(categories[0]) };

static bool is_category(int i)
{
    return i >= 0 && i < N_CATEGORIES;
}

static int category_count(int (*n)(void))
{
    return n != NULL ? n() : 0;
}

int dm_t_category_get_num(int *num_cat)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(num_cat, N_CATEGORIES);
}

int dm_t_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                           int *num_cvars, int *num_pvars, int *num_categories)
{
    DM_TOOL_CHECK_UP();
    if (!is_category(cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    dm_tool_text(categories[cat_index].name, name, name_len);
    dm_tool_text(categories[cat_index].desc, desc, desc_len);
    dm_tool_int(num_cvars, category_count(categories[cat_index].n_cvars));
    dm_tool_int(num_pvars, category_count(categories[cat_index].n_pvars));
    dm_tool_int(num_categories, 0);
    return MPI_SUCCESS;
}

int dm_t_category_get_index(const char *name, int *cat_index)
{
    DM_TOOL_CHECK_UP();
    if (name == NULL || cat_index == NULL)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < N_CATEGORIES; i++)
        if (strcmp(name, categories[i].name) == 0) {
            *cat_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

static int tool_list(int cat_index, int first, int n, int len, int *indices)
{
    if (!is_category(cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (len < 0 || (indices == NULL && len > 0))
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < n && i < len; i++)
        indices[i] = first + i;
    return MPI_SUCCESS;
}

int dm_t_category_get_cvars(int cat_index, int len, int *indices)
{
    DM_TOOL_CHECK_UP();
    return tool_list(cat_index, 0,
                     is_category(cat_index) ? category_count(categories[cat_index].n_cvars) : 0,
                     len, indices);
}

int dm_t_category_get_pvars(int cat_index, int len, int *indices)
{
    int first = 0;

    DM_TOOL_CHECK_UP();
    if (!is_category(cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    for (int i = 0; i < cat_index; i++)
        first += category_count(categories[i].n_pvars);
    return tool_list(cat_index, first, category_count(categories[cat_index].n_pvars), len, indices);
}

int dm_t_category_get_categories(int cat_index, int len, int *indices)
{
    DM_TOOL_CHECK_UP();
    return tool_list(cat_index, 0, 0, len, indices);
}

int dm_t_category_get_events(int cat_index, int len, int *indices)
{
    DM_TOOL_CHECK_UP();
    return tool_list(cat_index, 0,
                     is_category(cat_index) ? category_count(categories[cat_index].n_events) : 0,
                     len, indices);
}

int dm_t_category_get_num_events(int cat_index, int *num_events)
{
    DM_TOOL_CHECK_UP();
    if (!is_category(cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    return dm_tool_answer(num_events, category_count(categories[cat_index].n_events));
}

int dm_t_category_changed(int *update_number)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(update_number, dm_tool_n_counters() > 0); /* which come with MPI_Init */
}
