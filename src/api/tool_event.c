/*
 * Tools: registrations for events, and reporting them (tool_event.h).
 *
 * Invariant: registrations and the queue are used under `lock`, in which nothing else is locked and nobody
 * called. An event that nobody has registered for is not queued.
 */
#include "api/tool_event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/tool.h"
#include "util/clock.h"
#include "util/glock.h"
#include "util/list.h"

#define N_QUEUED   512 /* events that wait to be reported */
#define N_SAFETIES (MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE + 1)

/* ---- state ---- */

struct event_callback {
    MPI_T_event_cb_function *fn; /* or NULL */
    void *user_data;
};

struct MPIR_T_event_registration_s {
    struct dm_list link;
    enum dm_event_kind kind;
    const struct dm_comm *comm; /* NULL: the type is bound to none, */
    bool has_lost_comm;         /* or it has been freed */
    bool is_freed;              /* as soon as it is not busy */
    int n_busy;                 /* threads that report an event of it */
    struct event_callback callbacks[N_SAFETIES];
    MPI_T_event_dropped_cb_function *dropped_fn;
    MPI_Count n_dropped;
    MPI_T_event_free_cb_function *free_fn;
    void *free_data;
};

/* One that is being reported; while it waits, its place in the queue. */
struct MPIR_T_event_instance_s {
    struct MPIR_T_event_instance_s *self;  /* tells it from a pointer to anything */
    MPI_T_event_registration registration; /* NULL: it was freed */
    enum dm_event_kind kind;
    uint64_t time_ns;
    struct dm_tool_event_data data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dm_list registrations = {&registrations, &registrations};
static struct {
    struct MPIR_T_event_instance_s at[N_QUEUED];
    unsigned first;
    atomic_uint n;
    bool is_reporting; /* a thread does; there is one at a time */
    bool is_on;
} queue;
static DM_THREAD_LOCAL int depth; /* of MPI calls */

/* ---- raised ---- */

static void event_queue(MPI_T_event_registration reg, const struct dm_event *event, uint64_t now)
{
    int first = event->kind == DM_EVENT_COLL_OVER ? dm_errcode_class(event->first) : event->first;

    if (queue.n == N_QUEUED) {
        reg->n_dropped++;
        return;
    }
    queue.at[(queue.first + queue.n++) % N_QUEUED] = (struct MPIR_T_event_instance_s){
        NULL, reg, event->kind, now, {first, event->second, event->number}};
}

static void event_raised(const struct dm_event *event)
{
    uint64_t now;

    pthread_mutex_lock(&lock);
    now = dm_clock_ns();
    dm_list_for_each (it, &registrations) {
        MPI_T_event_registration reg =
            dm_container_of(it, struct MPIR_T_event_registration_s, link);

        if (reg->kind == event->kind && !reg->has_lost_comm &&
            (reg->comm == NULL || reg->comm->ctx == event->ctx))
            event_queue(reg, event, now);
    }
    pthread_mutex_unlock(&lock);
}

/* Which kinds have a callback. */
static void event_set_wanted(void)
{
    unsigned wanted = 0;

    dm_list_for_each (it, &registrations) {
        MPI_T_event_registration reg =
            dm_container_of(it, struct MPIR_T_event_registration_s, link);

        if (!reg->has_lost_comm)
            wanted |= 1u << reg->kind;
    }
    if (dm_event_state.fn == NULL)
        dm_event_state.fn = event_raised;
    atomic_store_explicit(&dm_event_state.wanted, queue.is_on ? wanted : 0, memory_order_release);
    if (wanted != 0 && !dm_api.has_events) {
        dm_api.has_events = true;
        dm_api.is_slow = true;
    }
}

void dm_tool_events_switch(bool is_on)
{
    pthread_mutex_lock(&lock);
    queue.is_on = is_on;
    event_set_wanted();
    pthread_mutex_unlock(&lock);
}

static void event_on_comm_free(struct dm_comm *comm)
{
    pthread_mutex_lock(&lock);
    dm_list_for_each (it, &registrations) {
        MPI_T_event_registration reg =
            dm_container_of(it, struct MPIR_T_event_registration_s, link);

        reg->has_lost_comm |= reg->comm == comm;
    }
    event_set_wanted();
    pthread_mutex_unlock(&lock);
}

/* ---- reported ---- */

/* What a callback must be good for now. */
static MPI_T_cb_safety event_least_safety(void)
{
    return dm_world.state == DM_WORLD_UP ? MPI_T_CB_REQUIRE_NONE : MPI_T_CB_REQUIRE_MPI_RESTRICTED;
}

/* The callback of the least safety that is enough; NULL: there is none. */
static const struct event_callback *event_callback_for(MPI_T_event_registration reg,
                                                       MPI_T_cb_safety *safety_p)
{
    for (int safety = (int)event_least_safety(); safety < N_SAFETIES; safety++)
        if (reg->callbacks[safety].fn != NULL) {
            *safety_p = (MPI_T_cb_safety)safety;
            return &reg->callbacks[safety];
        }
    return NULL;
}

/* Free a registration that is on no list and not busy, outside the lock. */
static void event_delete(MPI_T_event_registration reg)
{
    if (reg->free_fn != NULL)
        reg->free_fn(reg, event_least_safety(), reg->free_data);
    free(reg);
}

/* Under the lock, which is given back meanwhile. */
static void event_report(struct MPIR_T_event_instance_s *instance)
{
    MPI_T_event_registration reg = instance->registration;
    MPI_T_cb_safety safety = event_least_safety();
    const struct event_callback *at = event_callback_for(reg, &safety);
    struct event_callback callback = at != NULL ? *at : (struct event_callback){NULL, NULL};
    MPI_T_event_dropped_cb_function *dropped_fn = reg->dropped_fn;
    MPI_Count n_dropped = reg->n_dropped + (at == NULL);

    reg->n_dropped = dropped_fn != NULL ? 0 : n_dropped;
    reg->n_busy++;
    pthread_mutex_unlock(&lock);
    instance->self = instance;
    if (dropped_fn != NULL && n_dropped > 0)
        dropped_fn(n_dropped, reg, 0, safety, callback.user_data);
    if (callback.fn != NULL)
        callback.fn(instance, reg, safety, callback.user_data);
    instance->self = NULL;
    pthread_mutex_lock(&lock);
    if (--reg->n_busy == 0 && reg->is_freed) {
        pthread_mutex_unlock(&lock);
        event_delete(reg);
        pthread_mutex_lock(&lock);
    }
}

/* What is there now; what the callbacks cause is left for the next call. */
static void event_report_all(void)
{
    pthread_mutex_lock(&lock);
    if (!queue.is_reporting) {
        queue.is_reporting = true;
        for (unsigned n = queue.n; n > 0 && queue.n > 0; n--) {
            struct MPIR_T_event_instance_s instance = queue.at[queue.first];

            queue.first = (queue.first + 1) % N_QUEUED;
            queue.n--;
            if (instance.registration != NULL)
                event_report(&instance);
        }
        queue.is_reporting = false;
    }
    pthread_mutex_unlock(&lock);
}

void dm_tool_events_enter(void)
{
    depth++;
}

void dm_tool_events_leave(void)
{
    if (depth == 0 || --depth > 0 || queue.n == 0) /* it may have begun before there were events */
        return;
    event_report_all();
}

/* ---- registrations ---- */

/* Under the lock. */
static bool event_is_registration(MPI_T_event_registration reg)
{
    dm_list_for_each (it, &registrations)
        if (reg != NULL && it == &reg->link)
            return true;
    return false;
}

static bool event_check(MPI_T_event_registration reg)
{
    bool is_one;

    pthread_mutex_lock(&lock);
    is_one = event_is_registration(reg);
    pthread_mutex_unlock(&lock);
    return is_one;
}

/* The communicator that a type is bound to. MPI_T_ERR_INVALID_HANDLE: there is none. */
static int event_bind(int index, const void *obj, const struct dm_comm **comm_p)
{
    *comm_p = NULL;
    if (dm_tool_event_bind(index) == MPI_T_BIND_NO_OBJECT)
        return MPI_SUCCESS;
    if (obj == NULL)
        return MPI_T_ERR_INVALID;
    dm_glock_enter();
    if (dm_world.state == DM_WORLD_UP) {
        *comm_p = dm_handle_get(DM_KIND_COMM, *(const MPI_Comm *)obj);
        dm_core_on_comm_free(event_on_comm_free);
    }
    dm_glock_leave();
    return *comm_p != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int dm_t_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                            MPI_T_event_registration *event_registration)
{
    MPI_T_event_registration reg;
    const struct dm_comm *comm;
    int err;

    (void)info; /* there are no hints */
    DM_TOOL_CHECK_UP();
    if (!dm_tool_event_is_type(event_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (event_registration == NULL)
        return MPI_T_ERR_INVALID;
    err = event_bind(event_index, obj_handle, &comm);
    if (err != MPI_SUCCESS)
        return err;
    reg = calloc(1, sizeof(*reg));
    if (reg == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    reg->kind = (enum dm_event_kind)event_index;
    reg->comm = comm;
    pthread_mutex_lock(&lock);
    dm_list_add_tail(&registrations, &reg->link);
    event_set_wanted();
    pthread_mutex_unlock(&lock);
    *event_registration = reg;
    return MPI_SUCCESS;
}

int dm_t_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                           MPI_T_event_free_cb_function *free_cb_function)
{
    bool is_busy;

    DM_TOOL_CHECK_UP();
    pthread_mutex_lock(&lock);
    if (!event_is_registration(event_registration)) {
        pthread_mutex_unlock(&lock);
        return MPI_T_ERR_INVALID_HANDLE;
    }
    dm_list_del(&event_registration->link);
    event_set_wanted();
    for (unsigned i = 0; i < queue.n; i++) {
        struct MPIR_T_event_instance_s *instance = &queue.at[(queue.first + i) % N_QUEUED];

        if (instance->registration == event_registration)
            instance->registration = NULL;
    }
    event_registration->free_fn = free_cb_function;
    event_registration->free_data = user_data;
    event_registration->is_freed = true;
    is_busy = event_registration->n_busy > 0;
    pthread_mutex_unlock(&lock);
    if (!is_busy)
        event_delete(event_registration);
    return MPI_SUCCESS;
}

int dm_t_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)
{
    DM_TOOL_CHECK_UP();
    if (!event_check(event_registration))
        return MPI_T_ERR_INVALID_HANDLE;
    return info_used != NULL ? dm_tool_new_info(info_used) : MPI_T_ERR_INVALID;
}

int dm_t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    (void)info;
    DM_TOOL_CHECK_UP();
    return event_check(event_registration) ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int dm_t_event_register_callback(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data,
                                 MPI_T_event_cb_function *event_cb_function)
{
    bool is_one;

    (void)info;
    DM_TOOL_CHECK_UP();
    if ((unsigned)cb_safety >= N_SAFETIES)
        return MPI_T_ERR_INVALID;
    pthread_mutex_lock(&lock);
    is_one = event_is_registration(event_registration);
    if (is_one)
        event_registration->callbacks[cb_safety] =
            (struct event_callback){event_cb_function, user_data};
    pthread_mutex_unlock(&lock);
    return is_one ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* Is there a callback of this safety? MPI_T_ERR_*. */
static int event_check_callback(MPI_T_event_registration reg, MPI_T_cb_safety safety)
{
    int err = MPI_T_ERR_INVALID_HANDLE;

    DM_TOOL_CHECK_UP();
    pthread_mutex_lock(&lock);
    if (event_is_registration(reg))
        err = (unsigned)safety < N_SAFETIES && reg->callbacks[safety].fn != NULL
                  ? MPI_SUCCESS
                  : MPI_T_ERR_INVALID;
    pthread_mutex_unlock(&lock);
    return err;
}

int dm_t_event_callback_get_info(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    int err = event_check_callback(event_registration, cb_safety);

    if (err == MPI_SUCCESS && info_used == NULL)
        err = MPI_T_ERR_INVALID;
    return err != MPI_SUCCESS ? err : dm_tool_new_info(info_used);
}

int dm_t_event_callback_set_info(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info info)
{
    (void)info;
    return event_check_callback(event_registration, cb_safety);
}

int dm_t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                   MPI_T_event_dropped_cb_function *dropped_cb_function)
{
    bool is_one;

    DM_TOOL_CHECK_UP();
    pthread_mutex_lock(&lock);
    is_one = event_is_registration(event_registration);
    if (is_one)
        event_registration->dropped_fn = dropped_cb_function;
    pthread_mutex_unlock(&lock);
    return is_one ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* ---- an event, in its callback ---- */

static bool event_is_instance(MPI_T_event_instance instance)
{
    return instance != NULL && instance->self == instance;
}

int dm_t_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    const void *element;
    size_t size;

    DM_TOOL_CHECK_UP();
    if (!event_is_instance(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    element =
        dm_tool_event_element(&event_instance->data, event_instance->kind, element_index, &size);
    if (element == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    if (buffer == NULL)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, element, size);
    return MPI_SUCCESS;
}

int dm_t_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    DM_TOOL_CHECK_UP();
    if (!event_is_instance(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (buffer == NULL)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, &event_instance->data, sizeof(event_instance->data));
    return MPI_SUCCESS;
}

int dm_t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    DM_TOOL_CHECK_UP();
    if (!event_is_instance(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (event_timestamp == NULL)
        return MPI_T_ERR_INVALID;
    *event_timestamp = (MPI_Count)event_instance->time_ns;
    return MPI_SUCCESS;
}

int dm_t_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    DM_TOOL_CHECK_UP();
    if (!event_is_instance(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    return dm_tool_answer(source_index, 0);
}
