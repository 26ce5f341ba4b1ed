/* test: np=1,2 cfg=PROGRESS=poll|thread timeout=60 */
/*
 * MPI_THREAD_MULTIPLE: threads send to themselves, each on a communicator of its own, while variables and events of
 * all these are there: every message is counted once and reported once, in the order of the clock.
 */
#include <pthread.h>

#include "mp_test.h"

enum { N_THREADS = 4, N_MSGS = 300 };

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    MPI_T_event_registration reg;
    MPI_T_pvar_handle arrived;
    int n_events;
    int n_dropped;
    int last_tag;
};
static struct worker workers[N_THREADS];
static MPI_T_pvar_session session;
static MPI_Count last_time; /* one callback runs at a time */

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration reg,
                     MPI_T_cb_safety safety, void *user_data)
{
    struct worker *w = user_data;
    MPI_Count time = 0;
    int tag = -1, flag;

    (void)safety;
    CHECK(reg == w->reg);
    MUST(MPI_T_event_get_timestamp(instance, &time));
    CHECK(time >= last_time);
    last_time = time;
    MUST(MPI_T_event_read(instance, 1, &tag));
    CHECK(tag > w->last_tag);
    w->last_tag = tag;
    w->n_events++;
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, N_MSGS, w->comm, &flag, MPI_STATUS_IGNORE));
}

static void on_dropped(MPI_Count count, MPI_T_event_registration reg, int source,
                       MPI_T_cb_safety safety, void *user_data)
{
    struct worker *w = user_data;

    (void)source, (void)safety;
    CHECK(reg == w->reg);
    w->n_dropped += (int)count;
}

/* A message that comes before its receive. */
static void one(struct worker *w, int i)
{
    int x = i, y = -1;

    MUST(MPI_Send(&x, 1, MPI_INT, mp_rank, i, w->comm));
    MUST(MPI_Recv(&y, 1, MPI_INT, mp_rank, i, w->comm, MPI_STATUS_IGNORE));
    CHECK_EQ(y, i);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    unsigned long long value = 0;

    for (int i = 0; i < N_MSGS; i++) {
        one(w, i);
        MUST(MPI_T_pvar_read(session, w->arrived, &value));
        CHECK_EQ(value, i + 1);
    }
    return NULL;
}

static void start(struct worker *w, int event, int variable)
{
    int count;

    w->last_tag = -1;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &w->comm));
    MUST(MPI_T_event_handle_alloc(event, &w->comm, MPI_INFO_NULL, &w->reg));
    MUST(MPI_T_event_register_callback(w->reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, w, on_event));
    MUST(MPI_T_event_set_dropped_handler(w->reg, on_dropped));
    MUST(MPI_T_pvar_handle_alloc(session, variable, &w->comm, &w->arrived, &count));
    MUST(MPI_T_pvar_start(session, w->arrived));
}

int main(int argc, char **argv)
{
    int provided, event, variable, n = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    if (MPI_T_event_get_index("message unexpected", &event) != MPI_SUCCESS ||
        MPI_T_pvar_get_index("communicator: messages arrived", MPI_T_PVAR_CLASS_COUNTER,
                             &variable) != MPI_SUCCESS) /* another library */
        return mp_finish();
    MUST(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < N_THREADS; i++)
        start(&workers[i], event, variable);
    for (int i = 0; i < N_THREADS; i++)
        n += pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    CHECK_EQ(n, N_THREADS);
    for (int i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD); /* what is left is reported now */
    for (int i = 0; i < N_THREADS; i++) {
        one(&workers[i], N_MSGS); /* those that were dropped are reported before it */
        CHECK_EQ(workers[i].n_events + workers[i].n_dropped, N_MSGS + 1);
        MUST(MPI_T_event_handle_free(workers[i].reg, NULL, NULL));
        MPI_Comm_free(&workers[i].comm);
    }
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_finalize());
    return mp_finish();
}
