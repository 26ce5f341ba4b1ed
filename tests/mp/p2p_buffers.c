/* test: np=1,2,3 cfg=EAGER_LIMIT=0|auto timeout=60 */
/*
 * Buffers for buffered sends: of the process, of communicators and of sessions, automatic ones, flushed,
 * detached and left to whoever frees their owner.
 */
#include "mp_test.h"

enum { SMALL = 1000, LONG = 1 << 20, ROOM = 4 * (LONG + MPI_BSEND_OVERHEAD), TAG = 5, OTHER = 6 };

static int next, prev;
static char *data, *got;

static char *buffer_new(size_t len)
{
    char *buffer = calloc(1, len);

    CHECK(buffer != NULL);
    return buffer;
}

/* Has a detached buffer been written to since it was last looked at? */
static int is_used(char *buffer)
{
    int is = 0;

    for (int i = 0; i < ROOM; i++)
        is |= buffer[i] != 0;
    memset(buffer, 0, ROOM);
    return is;
}

static void fill(int len, int seed)
{
    for (int i = 0; i < len; i++)
        data[i] = (char)(seed + i % 101 + 1);
}

static void want_got(int len, int seed)
{
    int wrong = 0;

    for (int i = 0; i < len; i++)
        wrong += got[i] != (char)(seed + i % 101 + 1);
    CHECK_EQ(wrong, 0);
}

static void receive(int len, int seed, int tag, MPI_Comm comm)
{
    MPI_Status status;
    int n;

    memset(got, 0, (size_t)len);
    MUST(MPI_Recv(got, len, MPI_CHAR, prev, tag, comm, &status));
    MUST(MPI_Get_count(&status, MPI_CHAR, &n));
    CHECK_EQ(n, len);
    want_got(len, seed);
}

/* Each sends to the next one, in a ring. */
static void pass(int len, MPI_Comm comm)
{
    fill(len, mp_rank);
    MUST(MPI_Bsend(data, len, MPI_CHAR, next, TAG, comm));
    memset(data, 0, (size_t)len);
    receive(len, prev, TAG, comm);
}

static void want_detached(MPI_Comm comm, const void *buffer, int size)
{
    void *was = &was;
    int n = -1;

    if (comm != MPI_COMM_NULL)
        MUST(MPI_Comm_detach_buffer(comm, &was, &n));
    else
        MUST(MPI_Buffer_detach(&was, &n));
    CHECK(was == buffer);
    CHECK_EQ(n, size);
}

/* The three that may be attached, by whom. */
struct owners {
    MPI_Comm comm;
    MPI_Session session;
    char *of_comm, *of_session, *of_process;
    int has_comm, has_session, has_process;
};

/* Which of them was used? All are attached as they were. */
static void want_used(const struct owners *o, int comm, int session, int process)
{
    void *was = NULL;
    int size;

    if (o->has_comm) {
        want_detached(o->comm, o->of_comm, ROOM);
        CHECK_EQ(is_used(o->of_comm), comm);
        MUST(MPI_Comm_attach_buffer_c(o->comm, o->of_comm, ROOM));
    }
    if (o->has_session) {
        MUST(MPI_Session_detach_buffer(o->session, &was, &size));
        CHECK(was == o->of_session && size == ROOM);
        CHECK_EQ(is_used(o->of_session), session);
        MUST(MPI_Session_attach_buffer(o->session, o->of_session, ROOM));
    }
    if (o->has_process) {
        want_detached(MPI_COMM_NULL, o->of_process, ROOM);
        CHECK_EQ(is_used(o->of_process), process);
        MUST(MPI_Buffer_attach(o->of_process, ROOM));
    }
}

/* The communicator's own goes first, then its session's, then the process's. */
static void pass_all(struct owners *o, MPI_Comm parent)
{
    o->has_process = 1;
    MUST(MPI_Buffer_attach(o->of_process, ROOM));
    pass(SMALL, o->comm);
    want_used(o, 0, 0, 1);
    o->has_session = 1;
    MUST(MPI_Session_attach_buffer_c(o->session, o->of_session, ROOM));
    FAILS(MPI_Session_attach_buffer(o->session, data, LONG), MPI_ERR_BUFFER);
    pass(SMALL, o->comm);
    pass(LONG, o->comm);
    want_used(o, 0, 1, 0);
    pass(SMALL, MPI_COMM_WORLD);
    want_used(o, 0, 0, 1);
    o->has_comm = 1;
    MUST(MPI_Comm_attach_buffer(o->comm, o->of_comm, ROOM));
    pass(SMALL, o->comm);
    want_used(o, 1, 0, 0);
    pass(SMALL, parent);
    MUST(MPI_Session_flush_buffer(o->session));
    want_used(o, 0, 1, 0);
    o->has_comm = 0;
    want_detached(o->comm, o->of_comm, ROOM);
    pass(SMALL, o->comm);
    want_used(o, 0, 1, 0);
}

static void order(void)
{
    struct owners o = {.of_comm = buffer_new(ROOM),
                       .of_session = buffer_new(ROOM),
                       .of_process = buffer_new(ROOM)};
    MPI_Group group, part;
    MPI_Request request;
    MPI_Comm parent;
    MPI_Count size_c;
    void *was;
    int size, all[1][3] = {{0, mp_size - 1, 1}};

    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &o.session));
    MUST(MPI_Group_from_session_pset(o.session, "mpi://WORLD", &group));
    MUST(MPI_Group_range_incl(group, 1, all, &part));
    MUST(MPI_Comm_create_from_group(part, "order", MPI_INFO_NULL, MPI_ERRORS_RETURN, &parent));
    MUST(MPI_Comm_dup(parent, &o.comm));
    MUST(MPI_Session_detach_buffer(o.session, &was, &size));
    CHECK(was == NULL && size == 0);
    FAILS(MPI_Bsend(data, 1, MPI_CHAR, next, TAG, o.comm), MPI_ERR_BUFFER);
    pass_all(&o, parent);

    MUST(MPI_Session_detach_buffer_c(o.session, &was, &size_c));
    CHECK(was == o.of_session && size_c == ROOM);
    o.has_session = 0;
    MUST(MPI_Session_attach_buffer(o.session, MPI_BUFFER_AUTOMATIC, 0));
    pass(LONG, o.comm);
    MUST(MPI_Session_iflush_buffer(o.session, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    want_used(&o, 0, 0, 0);
    want_detached(MPI_COMM_NULL, o.of_process, ROOM);

    MUST(MPI_Comm_free(&o.comm));
    MUST(MPI_Comm_free(&parent));
    MUST(MPI_Group_free(&part));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Session_finalize(&o.session));
    free(o.of_process);
    free(o.of_comm);
    free(o.of_session);
}

static void refusals(void)
{
    char small[MPI_BSEND_OVERHEAD + 8];

    FAILS(MPI_Bsend(data, 1, MPI_CHAR, next, TAG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Comm_attach_buffer(MPI_COMM_WORLD, small, -1), MPI_ERR_ARG);
    FAILS(MPI_Comm_attach_buffer(MPI_COMM_NULL, small, 8), MPI_ERR_COMM);
    FAILS(MPI_Comm_detach_buffer(MPI_COMM_WORLD, NULL, NULL), MPI_ERR_ARG);
    MUST(MPI_Comm_attach_buffer(MPI_COMM_WORLD, small, sizeof(small)));
    FAILS(MPI_Comm_attach_buffer(MPI_COMM_WORLD, data, LONG), MPI_ERR_BUFFER);
    FAILS(MPI_Bsend(data, SMALL, MPI_CHAR, next, TAG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    pass(8, MPI_COMM_WORLD);
    want_detached(MPI_COMM_WORLD, small, sizeof(small));
    want_detached(MPI_COMM_WORLD, NULL, 0);
    want_detached(MPI_COMM_NULL, NULL, 0);
}

static void automatic(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL)
        MUST(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, -1));
    else
        MUST(MPI_Buffer_attach_c(MPI_BUFFER_AUTOMATIC, 0));
    for (int len = 0; len <= LONG; len = len * 7 + 1)
        pass(len, MPI_COMM_WORLD);
    for (int i = 0; i < 200; i++) {
        fill(SMALL, mp_rank + i);
        MUST(MPI_Bsend(data, SMALL, MPI_CHAR, next, TAG, MPI_COMM_WORLD));
    }
    for (int i = 0; i < 200; i++)
        receive(SMALL, prev + i, TAG, MPI_COMM_WORLD);
    want_detached(comm, MPI_BUFFER_AUTOMATIC, 0);
}

static void meet(MPI_Comm comm)
{
    MUST(MPI_Barrier(comm));
}

/* A flush waits for what was there before it, and not for what comes later. */
static void flushes(int is_automatic)
{
    char *buffer = is_automatic ? MPI_BUFFER_AUTOMATIC : buffer_new(ROOM);
    MPI_Request early, late, freed;
    MPI_Comm comm;
    int flag = -1;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_flush_buffer(comm));
    MUST(MPI_Comm_iflush_buffer(comm, &early));
    MUST(MPI_Wait(&early, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_attach_buffer(comm, buffer, is_automatic ? 0 : ROOM));
    fill(LONG, mp_rank);
    MUST(MPI_Bsend(data, LONG, MPI_CHAR, next, TAG, comm));
    MUST(MPI_Comm_iflush_buffer(comm, &early));
    fill(LONG, mp_rank + 1);
    MUST(MPI_Bsend(data, LONG, MPI_CHAR, next, OTHER, comm));
    MUST(MPI_Comm_iflush_buffer(comm, &late));
    MUST(MPI_Comm_iflush_buffer(comm, &freed));
    MUST(MPI_Request_free(&freed));
    meet(MPI_COMM_WORLD);
    if (mp_size > 1) { /* nobody receives them yet */
        MUST(MPI_Test(&early, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 0);
    }
    meet(MPI_COMM_WORLD);
    receive(LONG, prev, TAG, comm);
    MUST(MPI_Wait(&early, MPI_STATUS_IGNORE));
    if (mp_size > 1) {
        MUST(MPI_Request_get_status(late, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 0);
        FAILS(MPI_Cancel(&late), MPI_ERR_REQUEST);
    }
    meet(MPI_COMM_WORLD);
    receive(LONG, prev + 1, OTHER, comm);
    MUST(MPI_Waitall(1, &late, MPI_STATUSES_IGNORE));
    MUST(MPI_Comm_flush_buffer(comm));
    want_detached(comm, buffer, is_automatic ? 0 : ROOM);
    MUST(MPI_Comm_free(&comm));
    if (!is_automatic)
        free(buffer);
}

static void flush_of_process(void)
{
    char *buffer = buffer_new(ROOM);
    MPI_Request request, recv;

    MUST(MPI_Buffer_flush());
    MUST(MPI_Buffer_attach(buffer, ROOM));
    MUST(MPI_Irecv(got, LONG, MPI_CHAR, prev, TAG, MPI_COMM_WORLD, &recv));
    fill(LONG, mp_rank);
    MUST(MPI_Bsend(data, LONG, MPI_CHAR, next, TAG, MPI_COMM_WORLD));
    MUST(MPI_Buffer_iflush(&request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Buffer_flush());
    want_detached(MPI_COMM_NULL, buffer, ROOM);
    free(buffer);
    MUST(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    want_got(LONG, prev);
}

/* A communicator that is freed has sent what is in its buffer. */
static void freed(void)
{
    char *buffer = buffer_new(ROOM);
    MPI_Request recv;
    MPI_Comm comm;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_attach_buffer(comm, buffer, ROOM));
    MUST(MPI_Irecv(got, LONG, MPI_CHAR, prev, TAG, comm, &recv));
    fill(LONG, mp_rank);
    MUST(MPI_Bsend(data, LONG, MPI_CHAR, next, TAG, comm));
    MUST(MPI_Comm_free(&comm));
    memset(buffer, 0x5a, ROOM);
    free(buffer);
    MUST(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    want_got(LONG, prev);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    next = (mp_rank + 1) % mp_size;
    prev = (mp_rank + mp_size - 1) % mp_size;
    data = buffer_new(LONG);
    got = buffer_new(LONG);
    refusals();
    order();
    automatic(MPI_COMM_NULL);
    automatic(MPI_COMM_WORLD);
    flushes(0);
    flushes(1);
    flush_of_process();
    freed();
    /* The end waits for what is left, too. */
    MUST(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0));
    fill(LONG, mp_rank);
    MUST(MPI_Bsend(data, LONG, MPI_CHAR, next, TAG, MPI_COMM_WORLD));
    receive(LONG, prev, TAG, MPI_COMM_WORLD);
    free(data);
    free(got);
    return mp_finish();
}
