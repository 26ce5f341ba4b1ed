/* test: np=2,4 cfg=RNDV=auto|pipe timeout=30 */
/*
 * Performance variables of communicators and windows: lengths of queues, counts of messages of every kind of
 * send, the most that ever waited; what starts, stops and resets them; what is wrong; and objects that are freed.
 */
#include "mp_test.h"

typedef unsigned long long ull;

enum { LEN = 256, LARGE = 300000, TAG_LAST = 99, TAG_NEVER = 100 };

static MPI_T_pvar_session session;

/* The index of a variable, with its class and what it is bound to; -1: the library has none of that name. */
static int find(const char *name, int class, int want_bind, int is_level)
{
    int i = -1, len = 0, verbosity, got_class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum e;

    if (MPI_T_pvar_get_index(name, class, &i) != MPI_SUCCESS)
        return -1;
    MUST(MPI_T_pvar_get_info(i, NULL, &len, &verbosity, &got_class, &type, &e, NULL, &len, &bind,
                             &readonly, &continuous, &atomic));
    CHECK_EQ(got_class, class);
    CHECK_EQ(bind, want_bind);
    CHECK(type == MPI_UNSIGNED_LONG_LONG);
    CHECK(e == MPI_T_ENUM_NULL);
    CHECK_EQ(readonly, is_level);
    CHECK_EQ(continuous, is_level);
    CHECK_EQ(atomic, !is_level);
    return i;
}

/* A variable of a communicator; started if it can be. */
static MPI_T_pvar_handle of_comm(const char *name, int class, MPI_Comm comm)
{
    int is_level = class == MPI_T_PVAR_CLASS_LEVEL, count = 0;
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
    int index = find(name, class, MPI_T_BIND_MPI_COMM, is_level);

    CHECK(index >= 0);
    MUST(MPI_T_pvar_handle_alloc(session, index, &comm, &h, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(MPI_T_pvar_start(session, h), is_level ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
    return h;
}

static ull value(MPI_T_pvar_handle h)
{
    ull v = ~0ull;

    MUST(MPI_T_pvar_read(session, h, &v));
    return v;
}

/* All variables of one communicator. */
struct vars {
    MPI_T_pvar_handle posted, unexpected, most, sent, sent_bytes, arrived, arrived_bytes;
    MPI_T_pvar_handle collectives;
};

static struct vars all_of(MPI_Comm comm)
{
    return (struct vars){
        of_comm("communicator: receives posted", MPI_T_PVAR_CLASS_LEVEL, comm),
        of_comm("communicator: messages unexpected", MPI_T_PVAR_CLASS_LEVEL, comm),
        of_comm("communicator: most messages unexpected", MPI_T_PVAR_CLASS_HIGHWATERMARK, comm),
        of_comm("communicator: messages sent", MPI_T_PVAR_CLASS_COUNTER, comm),
        of_comm("communicator: bytes sent", MPI_T_PVAR_CLASS_AGGREGATE, comm),
        of_comm("communicator: messages arrived", MPI_T_PVAR_CLASS_COUNTER, comm),
        of_comm("communicator: bytes arrived", MPI_T_PVAR_CLASS_AGGREGATE, comm),
        of_comm("communicator: collectives", MPI_T_PVAR_CLASS_COUNTER, comm)};
}

/* ---- queues ---- */

/* Rank 0 sends what rank 1 does not receive yet: two short messages, a long one, and the last. */
static void queues(MPI_Comm comm, MPI_Comm other, const struct vars *v, const struct vars *w)
{
    static char buf[LARGE];
    MPI_Request reqs[4];

    if (mp_rank == 0) {
        MUST(MPI_Isend(buf, 8, MPI_CHAR, 1, 1, comm, &reqs[0]));
        MUST(MPI_Isend(buf, 8, MPI_CHAR, 1, 1, other, &reqs[1]));
        MUST(MPI_Isend(buf, LARGE, MPI_CHAR, 1, 2, comm, &reqs[2]));
        MUST(MPI_Isend(buf, 0, MPI_CHAR, 1, TAG_LAST, comm, &reqs[3]));
        MUST(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE));
    } else if (mp_rank == 1) {
        MUST(MPI_Irecv(buf, 1, MPI_CHAR, 0, TAG_NEVER, comm, &reqs[0]));
        MUST(MPI_Irecv(buf, 1, MPI_CHAR, MPI_ANY_SOURCE, TAG_NEVER, comm, &reqs[1]));
        CHECK_EQ(value(v->posted), 2);
        CHECK_EQ(value(w->posted), 0);
        MUST(MPI_Cancel(&reqs[0]));
        CHECK_EQ(value(v->posted), 1);
        MUST(MPI_Cancel(&reqs[1]));
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        CHECK_EQ(value(v->posted), 0);
        MUST(MPI_Probe(0, TAG_LAST, comm, MPI_STATUS_IGNORE)); /* messages do not overtake */
        CHECK_EQ(value(v->unexpected), 3);
        CHECK_EQ(value(w->unexpected), 1);
        MUST(MPI_Recv(buf, LARGE, MPI_CHAR, 0, 2, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(value(v->unexpected), 2);
        CHECK_EQ(value(v->most), 3);
        MUST(MPI_T_pvar_reset(session, v->most));
        CHECK_EQ(value(v->most), 2); /* it starts with what there is */
        MUST(MPI_Recv(buf, 8, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE));
        MUST(MPI_Recv(buf, 8, MPI_CHAR, 0, TAG_LAST, comm, MPI_STATUS_IGNORE));
        MUST(MPI_Recv(buf, 8, MPI_CHAR, 0, 1, other, MPI_STATUS_IGNORE));
        CHECK_EQ(value(v->unexpected) + value(w->unexpected), 0);
        CHECK_EQ(value(v->most), 2);
        CHECK_EQ(value(w->most), 1);
        CHECK_EQ(value(v->arrived), 3);
        CHECK_EQ(value(v->arrived_bytes), 8 + LARGE);
        CHECK_EQ(value(w->arrived), 1);
        CHECK_EQ(value(w->arrived_bytes), 8);
    }
    CHECK_EQ(value(v->sent), mp_rank == 0 ? 3 : 0);
    CHECK_EQ(value(v->sent_bytes), mp_rank == 0 ? 8 + LARGE : 0);
    CHECK_EQ(value(w->sent), mp_rank == 0);
}

/* ---- every kind of send counts once ---- */

enum { N_KINDS = 11, N_INTS = 25 };

static void send_kinds(MPI_Comm comm, const int *buf)
{
    MPI_Request reqs[5], init;
    int got;

    MUST(MPI_Recv(&got, 1, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE)); /* receives are posted */
    MUST(MPI_Send(buf, N_INTS, MPI_INT, 1, 3, comm));
    MUST(MPI_Ssend(buf, N_INTS, MPI_INT, 1, 3, comm));
    MUST(MPI_Rsend(buf, N_INTS, MPI_INT, 1, 3, comm));
    MUST(MPI_Bsend(buf, N_INTS, MPI_INT, 1, 3, comm));
    MUST(MPI_Isend(buf, N_INTS, MPI_INT, 1, 3, comm, &reqs[0]));
    MUST(MPI_Issend(buf, N_INTS, MPI_INT, 1, 3, comm, &reqs[1]));
    MUST(MPI_Irsend(buf, N_INTS, MPI_INT, 1, 3, comm, &reqs[2]));
    MUST(MPI_Ibsend(buf, N_INTS, MPI_INT, 1, 3, comm, &reqs[3]));
    MUST(MPI_Isendrecv(buf, N_INTS, MPI_INT, 1, 3, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm,
                       &reqs[4]));
    MUST(MPI_Waitall(5, reqs, MPI_STATUSES_IGNORE));
    MUST(MPI_Sendrecv(buf, N_INTS, MPI_INT, 1, 3, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm,
                      MPI_STATUS_IGNORE));
    MUST(MPI_Send_init(buf, N_INTS, MPI_INT, 1, 3, comm, &init));
    MUST(MPI_Start(&init));
    MUST(MPI_Wait(&init, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&init));
    MUST(MPI_Send(buf, N_INTS, MPI_INT, MPI_PROC_NULL, 3, comm)); /* which is none */
}

static void recv_kinds(MPI_Comm comm)
{
    int bufs[N_KINDS][N_INTS] = {{0}}, go = 1;
    MPI_Request reqs[N_KINDS];

    for (int i = 0; i < N_KINDS; i++)
        MUST(MPI_Irecv(bufs[i], N_INTS, MPI_INT, 0, 3, comm, &reqs[i]));
    MUST(MPI_Send(&go, 1, MPI_INT, 0, 5, comm));
    MUST(MPI_Waitall(N_KINDS, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N_KINDS; i++)
        CHECK_EQ(bufs[i][N_INTS - 1], N_INTS - 1);
}

static void kinds(MPI_Comm comm, const struct vars *v)
{
    static char space[1 << 16];
    int buf[N_INTS], len;
    void *at;

    MUST(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK_EQ(value(v->sent) + value(v->arrived), 0);
    MUST(MPI_Barrier(comm));
    MUST(MPI_Buffer_attach(space, sizeof(space)));
    for (int i = 0; i < N_INTS; i++)
        buf[i] = i;
    if (mp_rank == 0)
        send_kinds(comm, buf);
    else if (mp_rank == 1)
        recv_kinds(comm);
    MUST(MPI_Buffer_detach(&at, &len));
    if (mp_rank < 2) {
        CHECK_EQ(value(v->sent), mp_rank == 0 ? N_KINDS : 1);
        CHECK_EQ(value(v->sent_bytes), sizeof(int) * (mp_rank == 0 ? N_KINDS * N_INTS : 1));
        CHECK_EQ(value(v->arrived), mp_rank == 1 ? N_KINDS : 1);
        CHECK_EQ(value(v->arrived_bytes), sizeof(int) * (mp_rank == 1 ? N_KINDS * N_INTS : 1));
        if (mp_rank == 1)
            CHECK_EQ(value(v->most), 0); /* all receives were posted */
    }
}

/* ---- start, stop, write ---- */

static void to_self(MPI_Comm comm, int n)
{
    int me, x = 0;

    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < n; i++)
        MUST(MPI_Sendrecv_replace(&x, 1, MPI_INT, me, 6, me, 6, comm, MPI_STATUS_IGNORE));
}

static void starts(MPI_Comm comm, const struct vars *v)
{
    ull x = 100;

    MUST(MPI_T_pvar_reset(session, v->sent));
    MUST(MPI_T_pvar_stop(session, v->sent));
    to_self(comm, 3);
    CHECK_EQ(value(v->sent), 0);
    MUST(MPI_T_pvar_start(session, v->sent));
    MUST(MPI_T_pvar_start(session, v->sent));
    to_self(comm, 2);
    CHECK_EQ(value(v->sent), 2);
    MUST(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    to_self(comm, 1);
    CHECK_EQ(value(v->sent), 2);
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_write(session, v->sent, &x));
    to_self(comm, 1);
    CHECK_EQ(value(v->sent), 101);
    MUST(MPI_T_pvar_readreset(session, v->sent, &x));
    CHECK_EQ(x, 101);
    CHECK_EQ(value(v->sent), 0);
}

static void collectives(MPI_Comm comm, const struct vars *v)
{
    MPI_Request req;
    int x = 1, sum = 0;

    for (int i = 0; i < 3; i++) /* what they share is made by the first ones */
        MUST(MPI_Barrier(comm));
    MUST(MPI_T_pvar_reset(session, v->collectives));
    MUST(MPI_T_pvar_reset(session, v->sent));
    for (int i = 0; i < 5; i++)
        MUST(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm));
    MUST(MPI_Ibarrier(comm, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Bcast(&x, 1, MPI_INT, 0, comm));
    CHECK_EQ(value(v->collectives), 7);
    CHECK_EQ(value(v->sent), 0); /* their messages are not the program's */
}

/* ---- what is wrong ---- */

static void wrong(MPI_Comm comm, const struct vars *v)
{
    int posted =
        find("communicator: receives posted", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_MPI_COMM, 1);
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
    MPI_Comm null = MPI_COMM_NULL;
    MPI_T_pvar_session other;
    int count;
    ull x = 1;

    CHECK_EQ(MPI_T_pvar_handle_alloc(session, posted, &null, &h, &count), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, posted, NULL, &h, &count), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, -1, &comm, &h, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, posted, &comm, NULL, &count), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, posted, &comm, &h, &count),
             MPI_T_ERR_INVALID_SESSION);
    CHECK_EQ(MPI_T_pvar_stop(session, v->posted), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_reset(session, v->posted), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_write(session, v->posted, &x), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_readreset(session, v->posted, &x), MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK_EQ(MPI_T_pvar_read(session, v->sent, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &x), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &x), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &x), MPI_T_ERR_INVALID);
    MUST(MPI_T_pvar_session_create(&other));
    CHECK_EQ(MPI_T_pvar_start(other, v->sent), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_read(other, v->sent, &x), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_pvar_session_free(&other));
    CHECK_EQ(MPI_T_pvar_read(other, v->sent, &x), MPI_T_ERR_INVALID_SESSION);
}

/* The variables of what is freed are of no use any more; the handles can be freed. */
static void gone(void)
{
    MPI_Comm comm;
    struct vars v;
    ull x;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    v = all_of(comm);
    MUST(MPI_Comm_free(&comm));
    CHECK_EQ(MPI_T_pvar_read(session, v.posted, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_read(session, v.sent, &x), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_stop(session, v.most), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_readreset(session, v.most, &x), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_handle_free(session, &v.sent));
    CHECK(v.sent == MPI_T_PVAR_HANDLE_NULL);
}

static void windows(void)
{
    int size = find("window: size", MPI_T_PVAR_CLASS_SIZE, MPI_T_BIND_MPI_WIN, 1);
    int pending = find("window: operations pending", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_MPI_WIN, 1);
    MPI_T_pvar_handle h[2];
    int count, x = 1;
    MPI_Win win;
    void *base;
    ull got;

    MUST(MPI_Win_allocate(4096 + 8 * mp_rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MUST(MPI_T_pvar_handle_alloc(session, size, &win, &h[0], &count));
    MUST(MPI_T_pvar_handle_alloc(session, pending, &win, &h[1], &count));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(&x, 1, MPI_INT, (mp_rank + 1) % mp_size, 0, 1, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(value(h[0]), 4096 + 8 * mp_rank);
    CHECK_EQ(value(h[1]), 0);
    MUST(MPI_Win_free(&win));
    CHECK_EQ(MPI_T_pvar_read(session, h[0], &got), MPI_T_ERR_INVALID_HANDLE);
}

/* A category lists those of communicators. */
static void category(void)
{
    int i, n = 0, len = 0, list[LEN];
    char name[LEN];

    MUST(MPI_T_category_get_index("communicators", &i));
    MUST(MPI_T_category_get_info(i, NULL, &len, NULL, &len, NULL, &n, NULL));
    CHECK(n >= 8 && n < LEN);
    MUST(MPI_T_category_get_pvars(i, n, list));
    for (int k = 0; k < n; k++) {
        len = LEN;
        MUST(MPI_T_pvar_get_info(list[k], name, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL, NULL));
        CHECK(strncmp(name, "communicator: ", 14) == 0);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm, world = MPI_COMM_WORLD;
    MPI_T_pvar_handle left;
    struct vars v, w;
    int provided, index, count;
    ull x;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MUST(MPI_T_pvar_session_create(&session));
    index = find("communicator: receives posted", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_MPI_COMM, 1);
    if (index >= 0) /* there are no objects yet */
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, &world, &left, &count),
                 MPI_T_ERR_INVALID_HANDLE);
    mp_start(&argc, &argv);
    if (index < 0 || mp_size < 2) /* another library */
        return mp_finish();
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    v = all_of(comm);
    w = all_of(MPI_COMM_WORLD);
    MUST(MPI_Barrier(comm)); /* all count, before the first message comes */
    queues(comm, MPI_COMM_WORLD, &v, &w);
    kinds(comm, &v);
    starts(comm, &v);
    collectives(comm, &v);
    wrong(comm, &v);
    gone();
    windows();
    category();
    MUST(MPI_T_pvar_handle_alloc(session, index, &world, &left, &count));
    MPI_Comm_free(&comm);
    MPI_Finalize();
    CHECK_EQ(MPI_T_pvar_read(session, left, &x), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_finalize());
    return mp_failures != 0;
}
