/*
 * Tools: performance variables. One is a counter of DATUM_STATS, always running and read-only. They come
 * with MPI_Init, and keep their last values after MPI_Finalize.
 */
#include "api/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/stats.h"
#include "util/glock.h"

#define NAME_LEN 128

static struct {
    struct dm_adapt_stat at[DM_STATS_MAX];
    int n;
} counters;

struct MPIR_T_pvar_session_s {
    struct MPIR_T_pvar_session_s *self;
    struct MPIR_T_pvar_handle_s *handles;
};

struct MPIR_T_pvar_handle_s {
    struct MPIR_T_pvar_handle_s *next;
    struct MPIR_T_pvar_session_s *session;
    int index;
};

static void pvar_refresh(void)
{
    dm_glock_enter();
    if (dm_world.chan != NULL)
        counters.n = dm_stats_collect(dm_chan_adapt(dm_world.chan), counters.at);
    dm_glock_leave();
}

int dm_tool_n_pvars(void)
{
    pvar_refresh();
    return counters.n;
}

static bool pvar_is_counter(int index)
{
    pvar_refresh();
    return index >= 0 && index < counters.n;
}

/* A part has the name of the whole in front: "peers connected: endpoints". */
static void pvar_name(int index, char name[NAME_LEN])
{
    int head = index;

    while (head > 0 && counters.at[head].name[0] == ' ')
        head--;
    if (head == index)
        snprintf(name, NAME_LEN, "%s", counters.at[index].name);
    else
        snprintf(name, NAME_LEN, "%s: %s", counters.at[head].name, counters.at[index].name + 2);
}

static int pvar_class(int index)
{
    bool is_bytes = strcmp(counters.at[index].unit, "bytes") == 0;

    return is_bytes ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
}

/* ---- what there is ---- */

int dm_t_pvar_get_num(int *num_pvar)
{
    DM_TOOL_CHECK_UP();
    dm_tool_int(num_pvar, dm_tool_n_pvars());
    return MPI_SUCCESS;
}

int dm_t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                       int *bind, int *readonly, int *continuous, int *atomic)
{
    char text[NAME_LEN];
    char about[NAME_LEN + 64];

    DM_TOOL_CHECK_UP();
    if (!pvar_is_counter(pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    pvar_name(pvar_index, text);
    snprintf(about, sizeof(about), "%s of this process%s%s", text,
             counters.at[pvar_index].unit[0] != '\0' ? ", in " : "", counters.at[pvar_index].unit);
    dm_tool_text(text, name, name_len);
    dm_tool_text(about, desc, desc_len);
    dm_tool_int(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    dm_tool_int(var_class, pvar_class(pvar_index));
    dm_tool_int(datatype, MPI_UNSIGNED_LONG_LONG);
    if (enumtype != NULL)
        *enumtype = MPI_T_ENUM_NULL;
    dm_tool_int(bind, MPI_T_BIND_NO_OBJECT);
    dm_tool_int(readonly, 1);
    dm_tool_int(continuous, 1);
    dm_tool_int(atomic, 0);
    return MPI_SUCCESS;
}

int dm_t_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    char text[NAME_LEN];

    DM_TOOL_CHECK_UP();
    if (name == NULL || pvar_index == NULL)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < dm_tool_n_pvars(); i++) {
        pvar_name(i, text);
        if (strcmp(name, text) == 0 && pvar_class(i) == var_class) {
            *pvar_index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

/* ---- sessions and handles ---- */

static bool pvar_is_session(MPI_T_pvar_session session)
{
    return session != MPI_T_PVAR_SESSION_NULL && session->self == session;
}

/* Where the pointer to the handle is, in the session's list; NULL when it is not there. */
static MPI_T_pvar_handle *pvar_handle_slot(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    MPI_T_pvar_handle *slot = &session->handles;

    while (*slot != NULL && *slot != handle)
        slot = &(*slot)->next;
    return handle != MPI_T_PVAR_HANDLE_NULL && *slot == handle ? slot : NULL;
}

int dm_t_pvar_session_create(MPI_T_pvar_session *session)
{
    DM_TOOL_CHECK_UP();
    if (session == NULL)
        return MPI_T_ERR_INVALID;
    *session = calloc(1, sizeof(**session));
    if (*session == NULL)
        return MPI_T_ERR_OUT_OF_SESSIONS;
    (*session)->self = *session;
    return MPI_SUCCESS;
}

int dm_t_pvar_session_free(MPI_T_pvar_session *session)
{
    DM_TOOL_CHECK_UP();
    if (session == NULL || !pvar_is_session(*session))
        return MPI_T_ERR_INVALID_SESSION;
    for (MPI_T_pvar_handle h = (*session)->handles, next; h != NULL; h = next) {
        next = h->next;
        free(h);
    }
    (*session)->self = NULL;
    free(*session);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int dm_t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                           MPI_T_pvar_handle *handle, int *count)
{
    (void)obj_handle; /* no variable is bound to an object */
    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (!pvar_is_counter(pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (handle == NULL || count == NULL)
        return MPI_T_ERR_INVALID;
    *handle = malloc(sizeof(**handle));
    if (*handle == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    **handle = (struct MPIR_T_pvar_handle_s){session->handles, session, pvar_index};
    session->handles = *handle;
    *count = 1;
    return MPI_SUCCESS;
}

int dm_t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    MPI_T_pvar_handle *slot;

    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    slot = handle != NULL ? pvar_handle_slot(session, *handle) : NULL;
    if (slot == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    *slot = (*handle)->next;
    free(*handle);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

/* ---- use ---- */

/* What a call says that would change a variable; for all handles it leaves those out that cannot. */
static int pvar_refuse(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int err)
{
    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (handle == MPI_T_PVAR_ALL_HANDLES)
        return MPI_SUCCESS;
    return pvar_handle_slot(session, handle) != NULL ? err : MPI_T_ERR_INVALID_HANDLE;
}

int dm_t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_refuse(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int dm_t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_refuse(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int dm_t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_refuse(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

int dm_t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    (void)buf;
    return handle == MPI_T_PVAR_ALL_HANDLES && dm_tool_is_up()
               ? MPI_T_ERR_INVALID_HANDLE
               : pvar_refuse(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

int dm_t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    (void)buf;
    return handle == MPI_T_PVAR_ALL_HANDLES && dm_tool_is_up()
               ? MPI_T_ERR_INVALID_HANDLE
               : pvar_refuse(session, handle, MPI_T_ERR_PVAR_NO_ATOMIC);
}

int dm_t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (handle == MPI_T_PVAR_ALL_HANDLES || pvar_handle_slot(session, handle) == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (buf == NULL)
        return MPI_T_ERR_INVALID;
    pvar_refresh();
    *(unsigned long long *)buf = counters.at[handle->index].value;
    return MPI_SUCCESS;
}
