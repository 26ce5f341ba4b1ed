/*
 * Tools: the types of events, and their source.
 */
#include <stddef.h>
#include <string.h>

#include "api/tool.h"
#include "api/tool_event.h"
#include "util/clock.h"
#include "util/glock.h"

#define MAX_ELEMENTS 3
#define N_TICKS      1000000000 /* a second */

struct event_element {
    MPI_Datatype type;
    size_t at; /* in struct dm_tool_event_data */
};
#define FIRST                                                                                      \
    {                                                                                              \
        MPI_INT, offsetof(struct dm_tool_event_data, first)                                        \
    }
#define SECOND                                                                                     \
    {                                                                                              \
        MPI_INT, offsetof(struct dm_tool_event_data, second)                                       \
    }
#define NUMBER                                                                                     \
    {                                                                                              \
        MPI_UNSIGNED_LONG_LONG, offsetof(struct dm_tool_event_data, number)                        \
    }

struct event_type {
    const char *name;
    const char *desc;
    int bind;
    int n_elements;
    struct event_element elements[MAX_ELEMENTS];
    const char *names[MAX_ELEMENTS];
};

static const struct event_type types[DM_EVENT_N] = {
    [DM_EVENT_UNEXPECTED] = {"message unexpected",
                             "a message has come before its receive",
                             MPI_T_BIND_MPI_COMM,
                             3,
                             {FIRST, SECOND, NUMBER},
                             {"source", "tag", "bytes"}},
    [DM_EVENT_RNDV] = {"rendezvous begun",
                       "a message that was sent waits for its receive",
                       MPI_T_BIND_MPI_COMM,
                       3,
                       {FIRST, SECOND, NUMBER},
                       {"destination", "tag", "bytes"}},
    [DM_EVENT_COLL_OVER] = {"nonblocking collective over",
                            "a nonblocking or persistent collective is over at this process",
                            MPI_T_BIND_MPI_COMM,
                            1,
                            {FIRST},
                            {"error class"}},
    [DM_EVENT_LIMITED] = {"sender limited",
                          "a process has sent more than is kept (DATUM_UNEXPECTED), and must ask",
                          MPI_T_BIND_NO_OBJECT,
                          2,
                          {FIRST, NUMBER},
                          {"process", "bytes kept"}},
    [DM_EVENT_LOST] = {"process lost",
                       "a process has died, or cannot be reached any more",
                       MPI_T_BIND_NO_OBJECT,
                       1,
                       {FIRST},
                       {"process"}},
    [DM_EVENT_LONG_WAIT] =
        {"long wait",
         "a call has waited for a tenth of a second (longer with many ranks on a core), and for each one more",
         MPI_T_BIND_NO_OBJECT,
         1,
         {NUMBER},
         {"microseconds so far"}},
};

static struct MPIR_T_enum_s enums[DM_EVENT_N];

/* ---- what there is ---- */

int dm_tool_n_events(void)
{
    return DM_EVENT_N;
}

bool dm_tool_event_has_enum(MPI_T_enum e)
{
    return e >= enums && e < enums + DM_EVENT_N && e->is_used;
}

static MPI_T_enum event_enum(int index)
{
    enums[index] = (struct MPIR_T_enum_s){.is_used = true,
                                          .name = types[index].name,
                                          .items = types[index].names,
                                          .n_items = types[index].n_elements};
    return &enums[index];
}

bool dm_tool_event_is_type(int index)
{
    return index >= 0 && index < DM_EVENT_N;
}

int dm_tool_event_bind(int index)
{
    return types[index].bind;
}

const void *dm_tool_event_element(const struct dm_tool_event_data *data, enum dm_event_kind kind,
                                  int element, size_t *size_p)
{
    const struct event_element *at;

    if (element < 0 || element >= types[kind].n_elements)
        return NULL;
    at = &types[kind].elements[element];
    *size_p = at->type == MPI_INT ? sizeof(int) : sizeof(uint64_t);
    return (const char *)data + at->at;
}

int dm_t_event_get_num(int *num_events)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(num_events, DM_EVENT_N);
}

int dm_t_event_get_index(const char *name, int *event_index)
{
    DM_TOOL_CHECK_UP();
    if (name == NULL || event_index == NULL)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < DM_EVENT_N; i++)
        if (strcmp(name, types[i].name) == 0) {
            *event_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

int dm_tool_new_info(MPI_Info *info_p)
{
    struct dm_info *info;
    int err;

    if (info_p == NULL)
        return MPI_SUCCESS;
    dm_glock_enter();
    err = dm_info_create(&info);
    dm_glock_leave();
    *info_p = err == DM_OK ? info->obj.handle : MPI_INFO_NULL;
    return err == DM_OK ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

int dm_t_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                        MPI_Datatype *array_of_datatypes, MPI_Aint *array_of_displacements,
                        int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
                        int *desc_len, int *bind)
{
    const struct event_type *type;
    int space = num_elements != NULL ? *num_elements : 0;

    DM_TOOL_CHECK_UP();
    if (!dm_tool_event_is_type(event_index))
        return MPI_T_ERR_INVALID_INDEX;
    type = &types[event_index];
    for (int i = 0; i < type->n_elements && i < space; i++) {
        if (array_of_datatypes != NULL)
            array_of_datatypes[i] = type->elements[i].type;
        if (array_of_displacements != NULL)
            array_of_displacements[i] = (MPI_Aint)type->elements[i].at;
    }
    dm_tool_int(num_elements, type->n_elements);
    dm_tool_text(type->name, name, name_len);
    dm_tool_text(type->desc, desc, desc_len);
    dm_tool_int(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    dm_tool_int(bind, type->bind);
    if (enumtype != NULL)
        *enumtype = event_enum(event_index);
    return dm_tool_new_info(info);
}

/* ---- the source: there is one ---- */

int dm_t_source_get_num(int *num_sources)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(num_sources, 1);
}

int dm_t_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                         MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                         MPI_Count *max_ticks, MPI_Info *info)
{
    DM_TOOL_CHECK_UP();
    if (source_index != 0)
        return MPI_T_ERR_INVALID_INDEX;
    dm_tool_text("library", name, name_len);
    dm_tool_text("what the library notices, in the order of its clock", desc, desc_len);
    if (ordering != NULL)
        *ordering = MPI_T_SOURCE_ORDERED;
    if (ticks_per_second != NULL)
        *ticks_per_second = N_TICKS;
    if (max_ticks != NULL)
        *max_ticks = INT64_MAX;
    return dm_tool_new_info(info);
}

int dm_t_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    DM_TOOL_CHECK_UP();
    if (source_index != 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (timestamp == NULL)
        return MPI_T_ERR_INVALID;
    *timestamp = (MPI_Count)dm_clock_ns();
    return MPI_SUCCESS;
}
