/*
 * Tools: performance variables. The first are those bound to objects (tool_bound.h). Each other one is a
 * counter of DATUM_STATS, always running and read-only. These come with MPI_Init, and keep their last
 * values after MPI_Finalize.
 */
#include "api/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/stats.h"
#include "api/tool_bound.h"
#include "util/glock.h"

#define NAME_LEN 128
#define DESC_LEN (NAME_LEN + 64)

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
    struct dm_tool_bound *bound; /* or NULL: a counter */
};

static void pvar_refresh(void)
{
    dm_glock_enter();
    if (dm_world.chan != NULL)
        counters.n = dm_stats_collect(dm_chan_adapt(dm_world.chan), counters.at);
    dm_glock_leave();
}

int dm_tool_n_counters(void)
{
    pvar_refresh();
    return counters.n;
}

static bool pvar_is_one(int index)
{
    return index >= 0 && index < dm_tool_n_bound() + dm_tool_n_counters();
}

static bool pvar_is_bound(int index)
{
    return index < dm_tool_n_bound();
}

/* A part has the name of the whole in front: "peers connected: endpoints". */
static void pvar_counter_name(int index, char name[NAME_LEN])
{
    int head = index;

    while (head > 0 && counters.at[head].name[0] == ' ')
        head--;
    if (head == index)
        snprintf(name, NAME_LEN, "%s", counters.at[index].name);
    else
        snprintf(name, NAME_LEN, "%s: %s", counters.at[head].name, counters.at[index].name + 2);
}

static int pvar_counter_class(int index)
{
    bool is_bytes = strcmp(counters.at[index].unit, "bytes") == 0;

    return is_bytes ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
}

/* What a variable is called and what it is, by its index; the texts are kept by the caller. */
static void pvar_describe(int index, struct dm_tool_bound_info *info, char name[NAME_LEN],
                          char desc[DESC_LEN])
{
    const struct dm_adapt_stat *stat;

    if (pvar_is_bound(index)) {
        dm_tool_bound_info(index, info);
        return;
    }
    index -= dm_tool_n_bound();
    stat = &counters.at[index];
    pvar_counter_name(index, name);
    snprintf(desc, DESC_LEN, "%s of this process%s%s", name, stat->unit[0] != '\0' ? ", in " : "",
             stat->unit);
    *info =
        (struct dm_tool_bound_info){name, desc, pvar_counter_class(index), MPI_T_BIND_NO_OBJECT};
}

/* ---- what there is ---- */

int dm_t_pvar_get_num(int *num_pvar)
{
    DM_TOOL_CHECK_UP();
    return dm_tool_answer(num_pvar, dm_tool_n_bound() + dm_tool_n_counters());
}

int dm_t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                       int *bind, int *readonly, int *continuous, int *atomic)
{
    struct dm_tool_bound_info about;
    char name_of[NAME_LEN];
    char desc_of[DESC_LEN];
    bool is_level;

    DM_TOOL_CHECK_UP();
    if (!pvar_is_one(pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    pvar_describe(pvar_index, &about, name_of, desc_of);
    is_level = !pvar_is_bound(pvar_index) || dm_tool_bound_is_level(pvar_index);
    dm_tool_text(about.name, name, name_len);
    dm_tool_text(about.desc, desc, desc_len);
    dm_tool_int(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    dm_tool_int(var_class, about.var_class);
    dm_tool_int(datatype, MPI_UNSIGNED_LONG_LONG);
    if (enumtype != NULL)
        *enumtype = MPI_T_ENUM_NULL;
    dm_tool_int(bind, about.bind);
    dm_tool_int(readonly, is_level);
    dm_tool_int(continuous, is_level);
    dm_tool_int(atomic, !is_level);
    return MPI_SUCCESS;
}

int dm_t_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    struct dm_tool_bound_info about;
    char name_of[NAME_LEN];
    char desc_of[DESC_LEN];

    DM_TOOL_CHECK_UP();
    if (name == NULL || pvar_index == NULL)
        return MPI_T_ERR_INVALID;
    for (int i = 0; pvar_is_one(i); i++) {
        pvar_describe(i, &about, name_of, desc_of);
        if (strcmp(name, about.name) == 0 && about.var_class == var_class) {
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

static void pvar_handle_delete(MPI_T_pvar_handle handle)
{
    if (handle->bound != NULL)
        dm_tool_bound_free(handle->bound);
    free(handle);
}

int dm_t_pvar_session_free(MPI_T_pvar_session *session)
{
    DM_TOOL_CHECK_UP();
    if (session == NULL || !pvar_is_session(*session))
        return MPI_T_ERR_INVALID_SESSION;
    for (MPI_T_pvar_handle h = (*session)->handles, next; h != NULL; h = next) {
        next = h->next;
        pvar_handle_delete(h);
    }
    (*session)->self = NULL;
    free(*session);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int dm_t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                           MPI_T_pvar_handle *handle, int *count)
{
    struct dm_tool_bound *bound = NULL;
    int err = MPI_SUCCESS;

    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (!pvar_is_one(pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (handle == NULL || count == NULL)
        return MPI_T_ERR_INVALID;
    if (pvar_is_bound(pvar_index))
        err = dm_tool_bound_new(pvar_index, obj_handle, &bound);
    if (err != MPI_SUCCESS)
        return err;
    *handle = malloc(sizeof(**handle));
    if (*handle == NULL) {
        if (bound != NULL)
            dm_tool_bound_free(bound);
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    **handle = (struct MPIR_T_pvar_handle_s){session->handles, session, pvar_index, bound};
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
    pvar_handle_delete(*handle);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

/* ---- use ---- */

/* Can it be started, stopped, written? */
static bool pvar_is_fixed(MPI_T_pvar_handle handle)
{
    return handle->bound == NULL || dm_tool_bound_is_level(handle->index);
}

/*
 * Do something to a variable, which is refused with this error to those that are fixed; of all handles
 * of a session (MPI-4.0 section 15.3.7) those are left out that cannot, or have lost their object.
 */
static int pvar_apply(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                      int (*fn)(struct dm_tool_bound *bound), int refusal)
{
    int err = MPI_SUCCESS;

    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (handle != MPI_T_PVAR_ALL_HANDLES) {
        if (pvar_handle_slot(session, handle) == NULL)
            return MPI_T_ERR_INVALID_HANDLE;
        return pvar_is_fixed(handle) ? refusal : fn(handle->bound);
    }
    for (MPI_T_pvar_handle h = session->handles; h != NULL; h = h->next) {
        int err_of = pvar_is_fixed(h) ? MPI_SUCCESS : fn(h->bound);

        if (err_of != MPI_SUCCESS && err_of != MPI_T_ERR_INVALID_HANDLE)
            err = err_of;
    }
    return err;
}

/* Check the handle and the buffer of a call for one variable. */
static int pvar_check(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    DM_TOOL_CHECK_UP();
    if (!pvar_is_session(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (handle == MPI_T_PVAR_ALL_HANDLES)
        return MPI_T_ERR_INVALID;
    if (pvar_handle_slot(session, handle) == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    return buf != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

static int pvar_reset_bound(struct dm_tool_bound *bound)
{
    return dm_tool_bound_reset(bound, NULL);
}

int dm_t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_apply(session, handle, dm_tool_bound_start, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int dm_t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_apply(session, handle, dm_tool_bound_stop, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int dm_t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return pvar_apply(session, handle, pvar_reset_bound, MPI_T_ERR_PVAR_NO_WRITE);
}

int dm_t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    int err = pvar_check(session, handle, buf);

    if (err != MPI_SUCCESS)
        return err;
    if (pvar_is_fixed(handle))
        return MPI_T_ERR_PVAR_NO_WRITE;
    return dm_tool_bound_write(handle->bound, *(const unsigned long long *)buf);
}

/* A value, and set it back in the same moment if that is asked for. */
static int pvar_get(MPI_T_pvar_handle handle, void *buf, bool resets)
{
    uint64_t value = 0;
    int err = MPI_SUCCESS;

    if (handle->bound == NULL) {
        pvar_refresh();
        value = counters.at[handle->index - dm_tool_n_bound()].value;
    } else if (resets) {
        err = dm_tool_bound_reset(handle->bound, &value);
    } else {
        err = dm_tool_bound_read(handle->bound, &value);
    }
    if (err == MPI_SUCCESS)
        *(unsigned long long *)buf = value;
    return err;
}

int dm_t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int err = pvar_check(session, handle, buf);

    if (err != MPI_SUCCESS)
        return err;
    return pvar_is_fixed(handle) ? MPI_T_ERR_PVAR_NO_ATOMIC : pvar_get(handle, buf, true);
}

int dm_t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int err = pvar_check(session, handle, buf);

    return err != MPI_SUCCESS ? err : pvar_get(handle, buf, false);
}
