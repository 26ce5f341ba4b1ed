/* test: np=2,4 timeout=60 */
/*
 * Events of the tools interface: their types and source; what they say, in which order, to which callback; those
 * that are dropped; registrations that are freed, in their own callback too; what is wrong.
 */
#include "mp_test.h"

typedef unsigned long long ull;

enum { LEN = 256, LARGE = 4 << 20, N_MANY = 2000, TAG_LAST = 99999, N_TRIES = 50 };

/* What a callback saw. */
struct seen {
    int n;
    int n_dropped;
    int n_freed;
    int ints[2];
    ull number;
    MPI_Count time;
    MPI_T_cb_safety safety;
    MPI_T_event_registration reg;
    MPI_T_event_instance instance;
    int n_calls; /* of MPI, that the callback made */
};

static MPI_Comm comm;

static int find(const char *name)
{
    int i = -1;

    return MPI_T_event_get_index(name, &i) == MPI_SUCCESS ? i : -1;
}

/* ---- types ---- */

static void check_type(int index)
{
    char name[LEN], desc[4 * LEN], item[LEN];
    int name_len = LEN, desc_len = 4 * LEN, verbosity, bind, n = 8, again, n_items, value,
        len = LEN;
    MPI_Datatype array_of_types[8];
    MPI_Aint displacements[8];
    MPI_Info info;
    MPI_T_enum e;

    MUST(MPI_T_event_get_info(index, name, &name_len, &verbosity, array_of_types, displacements, &n,
                              &e, &info, desc, &desc_len, &bind));
    CHECK_EQ(name_len, strlen(name) + 1);
    CHECK(desc_len > 1);
    CHECK(n >= 1 && n <= 8);
    CHECK(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM);
    MUST(MPI_T_event_get_index(name, &again));
    CHECK_EQ(again, index);
    for (int i = 0; i < n; i++) {
        CHECK(array_of_types[i] == MPI_INT || array_of_types[i] == MPI_UNSIGNED_LONG_LONG);
        CHECK(displacements[i] >= 0 && displacements[i] <= 64);
    }
    MUST(MPI_T_enum_get_info(e, &n_items, item, &len)); /* the names of the elements */
    CHECK_EQ(n_items, n);
    len = LEN;
    MUST(MPI_T_enum_get_item(e, n - 1, &value, item, &len));
    CHECK_EQ(value, n - 1);
    CHECK_EQ(MPI_T_enum_get_item(e, n, &value, item, &len), MPI_T_ERR_INVALID_INDEX);
    MUST(MPI_Info_free(&info));
    n = 0; /* without arrays: how many there are */
    MUST(MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, &n, NULL, NULL, NULL, NULL,
                              NULL));
    CHECK_EQ(n, n_items);
}

static void all_types(void)
{
    int n, cat, n_events = 0, list[LEN];
    char name[LEN], desc[LEN];
    int name_len = LEN, desc_len = LEN;
    MPI_Count rate, most, before, after;
    MPI_T_source_order order;
    MPI_Info info;

    MUST(MPI_T_event_get_num(&n));
    CHECK(n >= 6 && n < LEN);
    for (int i = 0; i < n; i++)
        check_type(i);
    MUST(MPI_T_category_get_index("events", &cat));
    MUST(MPI_T_category_get_num_events(cat, &n_events));
    CHECK_EQ(n_events, n);
    MUST(MPI_T_category_get_events(cat, n, list));
    CHECK_EQ(list[n - 1], n - 1);
    MUST(MPI_T_source_get_num(&n));
    CHECK_EQ(n, 1);
    MUST(MPI_T_source_get_info(0, name, &name_len, desc, &desc_len, &order, &rate, &most, &info));
    CHECK_EQ(name_len, strlen(name) + 1);
    CHECK(order == MPI_T_SOURCE_ORDERED);
    CHECK(rate > 0 && most > rate);
    MUST(MPI_Info_free(&info));
    MUST(MPI_T_source_get_timestamp(0, &before));
    MUST(MPI_T_source_get_timestamp(0, &after));
    CHECK(after >= before);
}

/* ---- callbacks ---- */

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration reg,
                     MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;
    MPI_Count time;
    int source = -1;

    seen->n++;
    CHECK(reg == seen->reg);
    MUST(MPI_T_event_get_timestamp(instance, &time));
    CHECK(time >= seen->time); /* the source is ordered */
    MUST(MPI_T_event_get_source(instance, &source));
    CHECK_EQ(MPI_T_event_get_source(instance, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(source, 0);
    seen->time = time;
    seen->safety = safety;
    seen->instance = instance;
}

/* One with source or destination, tag and bytes. */
static void on_message(MPI_T_event_instance instance, MPI_T_event_registration reg,
                       MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;
    struct {
        int ints[2];
        ull number;
    } copy;
    int x;

    on_event(instance, reg, safety, user_data);
    MUST(MPI_T_event_read(instance, 0, &seen->ints[0]));
    MUST(MPI_T_event_read(instance, 1, &seen->ints[1]));
    MUST(MPI_T_event_read(instance, 2, &seen->number));
    MUST(MPI_T_event_copy(instance, &copy));
    CHECK_EQ(copy.ints[0], seen->ints[0]);
    CHECK_EQ(copy.ints[1], seen->ints[1]);
    CHECK_EQ(copy.number, seen->number);
    CHECK_EQ(MPI_T_event_read(instance, 3, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_read(instance, -1, &x), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_read(instance, 0, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_event_copy(instance, NULL), MPI_T_ERR_INVALID);
}

/* MPI may be called: all of it. */
static void on_message_calling(MPI_T_event_instance instance, MPI_T_event_registration reg,
                               MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;
    int flag, x = 1, y = 0;

    on_message(instance, reg, safety, user_data);
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_NONE);
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    CHECK_EQ(y, 1);
    seen->n_calls++;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration reg, int source,
                       MPI_T_cb_safety safety, void *user_data)
{
    static struct seen none;
    struct seen *seen = user_data != NULL ? user_data : &none;

    (void)safety;
    CHECK_EQ(source, 0);
    CHECK(count > 0);
    (void)reg;
    seen->n_dropped += (int)count;
}

static void on_freed(MPI_T_event_registration reg, MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;

    (void)safety;
    CHECK(reg == seen->reg);
    seen->n_freed++;
}

static void on_message_freeing(MPI_T_event_instance instance, MPI_T_event_registration reg,
                               MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;

    on_message(instance, reg, safety, user_data);
    MUST(MPI_T_event_handle_free(reg, seen, on_freed));
    CHECK_EQ(seen->n_freed, 0); /* it is still in use */
}

/* A registration with a callback; obj is of a communicator or NULL. */
static void want(const char *type, MPI_Comm *obj, MPI_T_event_cb_function *fn, struct seen *seen)
{
    memset(seen, 0, sizeof(*seen));
    MUST(MPI_T_event_handle_alloc(find(type), obj, MPI_INFO_NULL, &seen->reg));
    MUST(MPI_T_event_register_callback(seen->reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, seen, fn));
}

static void leave(struct seen *seen)
{
    MUST(MPI_T_event_handle_free(seen->reg, seen, on_freed));
    CHECK_EQ(seen->n_freed, 1);
    CHECK_EQ(MPI_T_event_handle_set_info(seen->reg, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE);
}

/* ---- messages: rank 0 sends n of them to rank 1, which takes them when all have come ---- */

static void send_some(int n)
{
    int x = 0;

    for (int i = 0; i < n; i++)
        MUST(MPI_Send(&x, 1, MPI_INT, 1, i == n - 1 ? TAG_LAST : i, comm));
}

static void await_last(void)
{
    MUST(MPI_Probe(0, TAG_LAST, comm, MPI_STATUS_IGNORE)); /* messages do not overtake */
}

static void take_some(int n)
{
    int x;

    for (int i = 0; i < n; i++)
        MUST(MPI_Recv(&x, 1, MPI_INT, 0, i == n - 1 ? TAG_LAST : i, comm, MPI_STATUS_IGNORE));
}

static void unexpected(void)
{
    struct seen seen, other;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Count before, after;
    int x;

    if (mp_rank == 0)
        send_some(3);
    if (mp_rank != 1)
        return;
    take_some(3); /* whatever of them came before there was a registration, or not */
    want("message unexpected", &comm, on_message_calling, &seen);
    want("message unexpected", &world, on_message, &other);
    MUST(MPI_T_source_get_timestamp(0, &before));
    MUST(MPI_Send(&x, 0, MPI_INT, 0, 1, comm)); /* go */
    await_last();
    MUST(MPI_T_source_get_timestamp(0, &after));
    CHECK_EQ(seen.n, 5);
    CHECK_EQ(seen.n_calls, 5);
    CHECK_EQ(seen.ints[0], 0);
    CHECK_EQ(seen.ints[1], TAG_LAST);
    CHECK_EQ(seen.number, sizeof(int));
    CHECK(seen.time >= before && seen.time <= after);
    CHECK_EQ(other.n, 0); /* that is another communicator */
    CHECK_EQ(MPI_T_event_read(seen.instance, 0, &x), MPI_T_ERR_INVALID_HANDLE); /* it is over */
    take_some(5);
    CHECK_EQ(seen.n, 5);
    leave(&seen);
    leave(&other);
}

/* The callback for the least safety is taken; without one events are dropped. */
static void safeties(void)
{
    struct seen seen, strict;
    int x;

    if (mp_rank != 1)
        return;
    want("message unexpected", &comm, on_message, &seen);
    memset(&strict, 0, sizeof(strict));
    strict.reg = seen.reg;
    MUST(MPI_T_event_register_callback(seen.reg, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL,
                                       &strict, on_message));
    MUST(MPI_Send(&x, 0, MPI_INT, 0, 1, comm));
    await_last();
    take_some(5);
    CHECK_EQ(seen.n, 5);
    CHECK_EQ(strict.n, 0);
    MUST(MPI_T_event_register_callback(seen.reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    MUST(MPI_Send(&x, 0, MPI_INT, 0, 1, comm));
    await_last();
    take_some(5);
    CHECK_EQ(seen.n, 5);
    CHECK_EQ(strict.n, 5);
    CHECK(strict.safety == MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    leave(&seen);
}

/* More in one call than are kept. */
static void many(void)
{
    struct seen seen;
    int x;

    if (mp_rank == 0) {
        MUST(MPI_Recv(&x, 0, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE));
        send_some(N_MANY);
    } else if (mp_rank == 1) {
        want("message unexpected", &comm, on_message, &seen);
        MUST(MPI_T_event_set_dropped_handler(seen.reg, on_dropped));
        MUST(MPI_Send(&x, 0, MPI_INT, 0, 1, comm));
        await_last();
        CHECK_EQ(seen.n + seen.n_dropped, N_MANY);
        CHECK(seen.n_dropped > 0);
        take_some(N_MANY);
        leave(&seen);
    }
}

static void freed_in_callback(void)
{
    struct seen seen;
    int x;

    if (mp_rank != 1)
        return;
    want("message unexpected", &comm, on_message_freeing, &seen);
    MUST(MPI_Send(&x, 0, MPI_INT, 0, 1, comm));
    await_last();
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.n_freed, 1);
    take_some(5);
    CHECK_EQ(seen.n, 1);
}

/* Rank 0's part of those above: as often as rank 1 says go. */
static void serve(int n_times)
{
    int x;

    for (int i = 0; i < n_times; i++) {
        MUST(MPI_Recv(&x, 0, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE));
        send_some(5);
    }
}

/* ---- other types ---- */

static void rendezvous(void)
{
    static char buf[LARGE];
    struct seen seen;
    MPI_Request req;

    if (mp_rank == 0) {
        want("rendezvous begun", &comm, on_message, &seen);
        MUST(MPI_Isend(buf, LARGE, MPI_CHAR, 1, 7, comm, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(seen.n, 1);
        CHECK_EQ(seen.ints[0], 1);
        CHECK_EQ(seen.ints[1], 7);
        CHECK_EQ(seen.number, LARGE);
        leave(&seen);
    } else if (mp_rank == 1) {
        MUST(MPI_Recv(buf, LARGE, MPI_CHAR, 0, 7, comm, MPI_STATUS_IGNORE));
    }
}

static void on_coll(MPI_T_event_instance instance, MPI_T_event_registration reg,
                    MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;

    on_event(instance, reg, safety, user_data);
    MUST(MPI_T_event_read(instance, 0, &seen->ints[0]));
}

static void collective(void)
{
    struct seen seen;
    MPI_Request req;

    want("nonblocking collective over", &comm, on_coll, &seen);
    MUST(MPI_Ibarrier(comm, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(seen.n, 1);
    CHECK_EQ(seen.ints[0], MPI_SUCCESS);
    leave(&seen);
}

static void on_wait(MPI_T_event_instance instance, MPI_T_event_registration reg,
                    MPI_T_cb_safety safety, void *user_data)
{
    struct seen *seen = user_data;

    on_event(instance, reg, safety, user_data);
    MUST(MPI_T_event_read(instance, 0, &seen->number));
    CHECK(seen->number > 0);
}

/* Rank 1 waits for rank 0, which takes its time; tried until it is seen, as either may be held up. */
static void long_wait(void)
{
    struct seen seen;
    int x, more = 1;

    if (mp_rank > 1)
        return;
    if (mp_rank == 1)
        want("long wait", NULL, on_wait, &seen);
    for (int i = 0; more; i++) {
        if (mp_rank == 0) {
            double end;

            MUST(MPI_Recv(&more, 1, MPI_INT, 1, 8, comm, MPI_STATUS_IGNORE));
            for (end = MPI_Wtime() + 0.5; more && MPI_Wtime() < end;)
                continue;
            MUST(MPI_Send(&x, 1, MPI_INT, 1, 8, comm));
            continue;
        }
        more = seen.n == 0 && i < N_TRIES;
        MUST(MPI_Send(&more, 1, MPI_INT, 0, 8, comm));
        MUST(MPI_Recv(&x, 1, MPI_INT, 0, 8, comm, MPI_STATUS_IGNORE));
    }
    if (mp_rank == 0)
        return;
    CHECK(seen.n > 0);
    leave(&seen);
}

/* ---- what is wrong ---- */

static void wrong(void)
{
    int index = find("message unexpected"), n;
    MPI_Comm null = MPI_COMM_NULL;
    MPI_T_event_registration reg;
    struct seen seen;
    MPI_Info info;
    MPI_Count t;

    CHECK_EQ(MPI_T_event_handle_alloc(index, &null, MPI_INFO_NULL, &reg), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &reg), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_event_handle_alloc(-1, &comm, MPI_INFO_NULL, &reg), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_handle_alloc(index, &comm, MPI_INFO_NULL, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(
        MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, &n, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_get_index("no such type", &n), MPI_T_ERR_INVALID_NAME);
    CHECK_EQ(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_source_get_timestamp(-1, &t), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_read(NULL, 0, &n), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_copy(NULL, &n), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_get_source(NULL, &n), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_get_timestamp(NULL, &t), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_handle_free(NULL, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_set_dropped_handler(NULL, on_dropped), MPI_T_ERR_INVALID_HANDLE);
    want("message unexpected", &comm, on_message, &seen);
    CHECK_EQ(MPI_T_event_handle_get_info(seen.reg, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_event_callback_get_info(seen.reg, MPI_T_CB_REQUIRE_NONE, NULL),
             MPI_T_ERR_INVALID);
    MUST(MPI_T_event_handle_get_info(seen.reg, &info));
    MUST(MPI_Info_free(&info));
    MUST(MPI_T_event_callback_get_info(seen.reg, MPI_T_CB_REQUIRE_NONE, &info));
    MUST(MPI_T_event_callback_set_info(seen.reg, MPI_T_CB_REQUIRE_NONE, info));
    MUST(MPI_Info_free(&info));
    CHECK_EQ(MPI_T_event_callback_get_info(seen.reg, MPI_T_CB_REQUIRE_THREAD_SAFE, &info),
             MPI_T_ERR_INVALID); /* there is none */
    CHECK_EQ(MPI_T_event_register_callback(seen.reg, (MPI_T_cb_safety)9, MPI_INFO_NULL, NULL,
                                           on_message),
             MPI_T_ERR_INVALID);
    leave(&seen);
}

/* A registration outlives its communicator; nothing comes of it any more. */
static void communicator_freed(void)
{
    struct seen seen;
    MPI_Comm dup;

    MUST(MPI_Comm_dup(comm, &dup));
    want("message unexpected", &dup, on_message, &seen);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_dup(comm, &dup)); /* perhaps the same memory, and the same context */
    if (mp_rank < 2) {
        int x = 0, y, peer = 1 - mp_rank;

        MUST(MPI_Send(&x, 1, MPI_INT, peer, 1, dup));
        MUST(MPI_Send(&x, 1, MPI_INT, peer, 2, dup));
        MUST(MPI_Recv(&y, 1, MPI_INT, peer, 2, dup, MPI_STATUS_IGNORE));
        MUST(MPI_Recv(&y, 1, MPI_INT, peer, 1, dup, MPI_STATUS_IGNORE));
    }
    CHECK_EQ(seen.n, 0);
    leave(&seen);
    MUST(MPI_Comm_free(&dup));
}

int main(int argc, char **argv)
{
    struct seen early;
    int provided, n;

    CHECK_EQ(MPI_T_event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MUST(MPI_T_event_get_num(&n));
    if (n == 0 || find("message unexpected") < 0) { /* another library */
        mp_start(&argc, &argv);
        return mp_finish();
    }
    all_types();
    want("process lost", NULL, on_event, &early); /* of no object: before MPI_Init too */
    mp_start(&argc, &argv);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    wrong();
    unexpected();
    safeties();
    freed_in_callback();
    if (mp_rank == 0)
        serve(4);
    many();
    rendezvous();
    collective();
    long_wait();
    communicator_freed();
    CHECK_EQ(early.n, 0);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    leave(&early);
    MUST(MPI_T_finalize());
    return mp_failures != 0;
}
