/*
 * Tools: performance variables of communicators and windows.
 *
 * Invariant: what is here is used inside the global lock; a variable whose communicator (that of its
 * window) is gone has none, and is on no list.
 */
#include "api/tool_bound.h"

#include <stdlib.h>

#include "api/api.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"
#include "util/list.h"

/* How a value comes about. */
enum bound_how {
    BOUND_LEVEL, /* it is what is read */
    BOUND_SUM,   /* it is what has been added while it was running; */
    BOUND_SUM32, /* the same of what is counted by 32 bits */
    BOUND_PEAK   /* it is the most that was there while it was running */
};

struct dm_tool_bound {
    struct dm_list link; /* in bounds */
    const struct bound_row *row;
    struct dm_comm *comm; /* NULL: it is gone */
    struct dm_win *win;   /* of which comm is; or NULL */
    struct dm_p2p_tally *tally;
    struct dm_p2p_peak *peak; /* while a BOUND_PEAK is running */
    bool is_running;
    uint64_t value; /* without what has come since it was started: */
    uint64_t from;  /* what was read then */
};

struct bound_row {
    struct dm_tool_bound_info info;
    enum bound_how how;
    bool has_tally;
    uint64_t (*read)(const struct dm_tool_bound *bound);
};

static uint64_t bound_posted(const struct dm_tool_bound *bound)
{
    return dm_p2p_n_posted(bound->comm);
}

static uint64_t bound_unexpected(const struct dm_tool_bound *bound)
{
    return dm_p2p_n_unexpected(bound->comm);
}

static uint64_t bound_peak(const struct dm_tool_bound *bound)
{
    return dm_p2p_peak_get(bound->peak);
}

static uint64_t bound_sent(const struct dm_tool_bound *bound)
{
    return bound->tally->n_sent;
}

static uint64_t bound_sent_bytes(const struct dm_tool_bound *bound)
{
    return bound->tally->sent_bytes;
}

static uint64_t bound_arrived(const struct dm_tool_bound *bound)
{
    return bound->tally->n_arrived;
}

static uint64_t bound_arrived_bytes(const struct dm_tool_bound *bound)
{
    return bound->tally->arrived_bytes;
}

/* Each takes the next tag. */
static uint64_t bound_collectives(const struct dm_tool_bound *bound)
{
    return bound->comm->coll_seq;
}

static uint64_t bound_win_size(const struct dm_tool_bound *bound)
{
    return (uint64_t)bound->win->size;
}

static uint64_t bound_win_pending(const struct dm_tool_bound *bound)
{
    return (uint64_t)bound->win->pending.n_transfers;
}

#define OF_COMM(name, desc, class)                                                                 \
    {                                                                                              \
        "communicator: " name, desc, MPI_T_PVAR_CLASS_##class, MPI_T_BIND_MPI_COMM                 \
    }
#define OF_WIN(name, desc, class)                                                                  \
    {                                                                                              \
        "window: " name, desc, MPI_T_PVAR_CLASS_##class, MPI_T_BIND_MPI_WIN                        \
    }

/* Those of communicators first. */
static const struct bound_row rows[] = {
    {OF_COMM("receives posted", "receives that wait for a message", LEVEL), BOUND_LEVEL, false,
     bound_posted},
    {OF_COMM("messages unexpected", "messages that wait for a receive", LEVEL), BOUND_LEVEL, false,
     bound_unexpected},
    {OF_COMM("most messages unexpected", "the most messages that waited for a receive at a time",
             HIGHWATERMARK),
     BOUND_PEAK, false, bound_peak},
    {OF_COMM("messages sent", "messages that the program has begun to send", COUNTER), BOUND_SUM,
     true, bound_sent},
    {OF_COMM("bytes sent", "their bytes", AGGREGATE), BOUND_SUM, true, bound_sent_bytes},
    {OF_COMM("messages arrived", "messages that have come, received or not", COUNTER), BOUND_SUM,
     true, bound_arrived},
    {OF_COMM("bytes arrived", "their bytes", AGGREGATE), BOUND_SUM, true, bound_arrived_bytes},
    {OF_COMM("collectives", "collectives with data that have begun, the library's own included",
             COUNTER),
     BOUND_SUM32, false, bound_collectives},
    {OF_WIN("size", "bytes of this process's part", SIZE), BOUND_LEVEL, false, bound_win_size},
    {OF_WIN("operations pending", "transfers and packets of this origin that are under way", LEVEL),
     BOUND_LEVEL, false, bound_win_pending},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static struct dm_list bounds = {&bounds, &bounds};

/* ---- what there is ---- */

int dm_tool_n_bound(void)
{
    return N_ROWS;
}

int dm_tool_n_bound_to_comm(void)
{
    int n = 0;

    while (rows[n].info.bind == MPI_T_BIND_MPI_COMM)
        n++;
    return n;
}

void dm_tool_bound_info(int index, struct dm_tool_bound_info *info)
{
    *info = rows[index].info;
}

bool dm_tool_bound_is_level(int index)
{
    return rows[index].how == BOUND_LEVEL;
}

/* ---- with an object ---- */

/* Its object is gone. */
static void bound_release(struct dm_tool_bound *bound)
{
    if (bound->comm == NULL)
        return;
    dm_list_del(&bound->link);
    if (bound->tally != NULL)
        dm_p2p_tally_put(bound->tally);
    if (bound->peak != NULL)
        dm_p2p_peak_free(bound->peak);
    bound->tally = NULL;
    bound->peak = NULL;
    bound->comm = NULL;
}

static void bound_on_comm_free(struct dm_comm *comm)
{
    dm_list_for_each_safe (it, tmp, &bounds) {
        struct dm_tool_bound *bound = dm_container_of(it, struct dm_tool_bound, link);

        if (bound->comm == comm)
            bound_release(bound);
    }
}

void dm_tool_bound_close(void)
{
    while (!dm_list_is_empty(&bounds))
        bound_release(dm_container_of(bounds.next, struct dm_tool_bound, link));
}

/* Find the object behind a handle; false: there is none. */
static bool bound_find(struct dm_tool_bound *bound, const void *obj)
{
    if (dm_world.state != DM_WORLD_UP)
        return false;
    if (bound->row->info.bind == MPI_T_BIND_MPI_WIN) {
        bound->win = dm_win_get(*(const MPI_Win *)obj);
        bound->comm = bound->win != NULL ? bound->win->comm : NULL;
    } else {
        bound->comm = dm_handle_get(DM_KIND_COMM, *(const MPI_Comm *)obj);
    }
    return bound->comm != NULL;
}

static int bound_attach(struct dm_tool_bound *bound, const void *obj)
{
    if (!bound_find(bound, obj))
        return MPI_T_ERR_INVALID_HANDLE;
    if (bound->row->has_tally) {
        bound->tally = dm_p2p_tally_get(bound->comm);
        if (bound->tally == NULL)
            return MPI_T_ERR_OUT_OF_HANDLES;
    }
    dm_core_on_comm_free(bound_on_comm_free);
    dm_list_add_tail(&bounds, &bound->link);
    bound->is_running = bound->row->how == BOUND_LEVEL;
    if (bound->row->how == BOUND_PEAK)
        bound->value = dm_p2p_n_unexpected(bound->comm);
    return MPI_SUCCESS;
}

int dm_tool_bound_new(int index, const void *obj, struct dm_tool_bound **bound_p)
{
    struct dm_tool_bound *bound;
    int err;

    if (obj == NULL)
        return MPI_T_ERR_INVALID;
    bound = calloc(1, sizeof(*bound));
    if (bound == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    bound->row = &rows[index];
    dm_glock_enter();
    err = bound_attach(bound, obj);
    dm_glock_leave();
    if (err != MPI_SUCCESS) {
        free(bound);
        bound = NULL;
    }
    *bound_p = bound;
    return err;
}

void dm_tool_bound_free(struct dm_tool_bound *bound)
{
    dm_glock_enter();
    bound_release(bound);
    dm_glock_leave();
    free(bound);
}

/* ---- use, inside the lock ---- */

static uint64_t bound_value(const struct dm_tool_bound *bound)
{
    uint64_t now;

    if (!bound->is_running)
        return bound->value;
    now = bound->row->read(bound);
    switch (bound->row->how) {
    case BOUND_SUM:
        return bound->value + (now - bound->from);
    case BOUND_SUM32:
        return bound->value + (uint32_t)(now - bound->from);
    case BOUND_PEAK:
        return now > bound->value ? now : bound->value;
    default:
        return now;
    }
}

static int bound_run(struct dm_tool_bound *bound)
{
    if (bound->is_running)
        return MPI_SUCCESS;
    if (bound->row->how == BOUND_PEAK) {
        bound->peak = dm_p2p_peak_new(bound->comm);
        if (bound->peak == NULL)
            return MPI_T_ERR_OUT_OF_HANDLES;
    }
    bound->from = bound->row->read(bound);
    bound->is_running = true;
    return MPI_SUCCESS;
}

/* Whether it runs is left as it is. */
static void bound_set(struct dm_tool_bound *bound, uint64_t value)
{
    bound->value = value;
    if (bound->peak != NULL)
        dm_p2p_peak_reset(bound->peak);
    if (bound->is_running)
        bound->from = bound->row->read(bound);
}

/* Enter for a variable that has its object still. */
static bool bound_enter(const struct dm_tool_bound *bound)
{
    dm_glock_enter();
    if (bound->comm != NULL && !bound->comm->is_freed)
        return true;
    dm_glock_leave();
    return false;
}

int dm_tool_bound_start(struct dm_tool_bound *bound)
{
    int err;

    if (!bound_enter(bound))
        return MPI_T_ERR_INVALID_HANDLE;
    err = bound_run(bound);
    dm_glock_leave();
    return err;
}

int dm_tool_bound_stop(struct dm_tool_bound *bound)
{
    if (!bound_enter(bound))
        return MPI_T_ERR_INVALID_HANDLE;
    bound->value = bound_value(bound);
    bound->is_running = false;
    if (bound->peak != NULL)
        dm_p2p_peak_free(bound->peak);
    bound->peak = NULL;
    dm_glock_leave();
    return MPI_SUCCESS;
}

int dm_tool_bound_read(struct dm_tool_bound *bound, uint64_t *value)
{
    if (!bound_enter(bound))
        return MPI_T_ERR_INVALID_HANDLE;
    *value = bound_value(bound);
    dm_glock_leave();
    return MPI_SUCCESS;
}

int dm_tool_bound_write(struct dm_tool_bound *bound, uint64_t value)
{
    if (!bound_enter(bound))
        return MPI_T_ERR_INVALID_HANDLE;
    bound_set(bound, value);
    dm_glock_leave();
    return MPI_SUCCESS;
}

int dm_tool_bound_reset(struct dm_tool_bound *bound, uint64_t *value)
{
    if (!bound_enter(bound))
        return MPI_T_ERR_INVALID_HANDLE;
    if (value != NULL)
        *value = bound_value(bound);
    bound_set(bound, bound->row->how == BOUND_PEAK ? dm_p2p_n_unexpected(bound->comm) : 0);
    dm_glock_leave();
    return MPI_SUCCESS;
}
