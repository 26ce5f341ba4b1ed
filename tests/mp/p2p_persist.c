/* test: np=1,2,3 cfg=EAGER_LIMIT=0|auto timeout=40 */
/* Persistent sends and receives: rounds of all modes, inactive requests, cancel, free, errors. */
#include "p2p.h"

#define ROUNDS 4

static MPI_Comm comm;

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static void check_empty(const MPI_Status *st)
{
    int flag;

    CHECK_EQ(st->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(st->MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(count_of(st), 0);
    MPI_Test_cancelled(st, &flag);
    CHECK(!flag);
}

/* An inactive request is like MPI_REQUEST_NULL, but keeps its handle. */
static void check_inactive(MPI_Request *req)
{
    MPI_Request reqs[2] = {*req, MPI_REQUEST_NULL}, was = *req;
    MPI_Status sts[2];
    int flag = 0, index = 0, n = 0, indices[2];

    memset(sts, 0x55, sizeof(sts));
    MPI_Wait(req, &sts[0]);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    MPI_Test(req, &flag, &sts[0]);
    CHECK(flag);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    flag = 0;
    MPI_Request_get_status(*req, &flag, &sts[0]);
    CHECK(flag);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    MPI_Waitall(2, reqs, sts);
    check_empty(&sts[0]);
    check_empty(&sts[1]);
    flag = 0;
    memset(sts, 0x55, sizeof(sts));
    MPI_Testall(2, reqs, &flag, sts);
    CHECK(flag);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    MPI_Waitany(2, reqs, &index, &sts[0]);
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(&sts[0]);
    index = 0;
    flag = 0;
    memset(sts, 0x55, sizeof(sts));
    MPI_Testany(2, reqs, &index, &flag, &sts[0]);
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    if (!is_library("MPICH")) /* leaves the status as it was */
        check_empty(&sts[0]);
    MPI_Waitsome(2, reqs, &n, indices, sts);
    CHECK_EQ(n, MPI_UNDEFINED);
    n = 0;
    MPI_Testsome(2, reqs, &n, indices, sts);
    CHECK_EQ(n, MPI_UNDEFINED);
    CHECK(reqs[0] == was && reqs[1] == MPI_REQUEST_NULL && *req == was);
}

/* Complete two requests in one of eight ways, statuses by place. */
static void finish(int how, MPI_Request reqs[2], MPI_Status sts[2])
{
    int left = 2, n, flag, indices[2];
    MPI_Status got[2];

    while (left > 0) {
        n = 0;
        switch (how) {
        case 0:
            MPI_Wait(&reqs[1], &sts[1]);
            MPI_Wait(&reqs[0], &sts[0]);
            return;
        case 1:
            MPI_Waitall(2, reqs, sts);
            return;
        case 2:
            MPI_Testall(2, reqs, &flag, sts);
            left = flag ? 0 : 2;
            continue;
        case 3:
            MPI_Waitany(2, reqs, indices, got);
            n = 1;
            break;
        case 4:
            MPI_Testany(2, reqs, indices, &flag, got);
            n = flag;
            break;
        case 5:
            MPI_Waitsome(2, reqs, &n, indices, got);
            CHECK(n > 0);
            break;
        case 6:
            MPI_Testsome(2, reqs, &n, indices, got);
            break;
        default:
            for (int i = 0; i < 2; i++)
                for (flag = 0; !flag;)
                    MPI_Test(&reqs[i], &flag, &sts[i]);
            return;
        }
        for (int k = 0; k < n; k++) {
            CHECK(indices[k] == 0 || indices[k] == 1);
            sts[indices[k]] = got[k];
        }
        left -= n;
    }
}

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int init_c_fn(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Every rank sends to the next and receives from the one before, several times. */
static void ring(int mode, int how, int len)
{
    static init_fn *const inits[4] = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init,
                                      MPI_Rsend_init};
    static init_c_fn *const inits_c[4] = {MPI_Send_init_c, MPI_Bsend_init_c, MPI_Ssend_init_c,
                                          MPI_Rsend_init_c};
    int next = (me + 1) % np, prev = (me + np - 1) % np;
    unsigned char *out = blank((size_t)len), *in = blank((size_t)len);
    MPI_Request reqs[2], first[2];
    MPI_Status sts[2];
    int any = how % 2;

    if (how < 4) {
        inits[mode](out, len, MPI_BYTE, next, 7, comm, &reqs[0]);
        MPI_Recv_init(in, len, MPI_BYTE, any ? MPI_ANY_SOURCE : prev, any ? MPI_ANY_TAG : 7, comm,
                      &reqs[1]);
    } else {
        inits_c[mode](out, len, MPI_BYTE, next, 7, comm, &reqs[0]);
        MPI_Recv_init_c(in, len, MPI_BYTE, any ? MPI_ANY_SOURCE : prev, any ? MPI_ANY_TAG : 7, comm,
                        &reqs[1]);
    }
    memcpy(first, reqs, sizeof(first));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < len; i++)
            out[i] = byte_of(me + 10 * round, (size_t)i);
        memset(in, 0xa5, (size_t)len);
        if (mode == 3) { /* ready: the receive must be there */
            MPI_Start(&reqs[1]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&reqs[0]);
        } else if (round % 2 == 0) {
            MPI_Startall(2, reqs);
        } else {
            MPI_Start(&reqs[0]);
            MPI_Start(&reqs[1]);
        }
        memset(sts, 0x55, sizeof(sts));
        finish(how, reqs, sts);
        CHECK_EQ(sts[1].MPI_SOURCE, prev);
        CHECK_EQ(sts[1].MPI_TAG, 7);
        CHECK_EQ(count_of(&sts[1]), len);
        CHECK(is_filled(in, prev + 10 * round, (size_t)len));
        CHECK(reqs[0] == first[0] && reqs[1] == first[1]);
        if (round == 1) {
            check_inactive(&reqs[0]);
            check_inactive(&reqs[1]);
        }
    }
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
    CHECK(reqs[0] == MPI_REQUEST_NULL && reqs[1] == MPI_REQUEST_NULL);
    free(in);
    free(out);
}

/* Requests that were never started, and peers that do not exist. */
static void never(void)
{
    char c = 0;
    MPI_Request reqs[3];
    MPI_Status sts[3];
    int index, flag;

    MPI_Send_init(&c, 1, MPI_CHAR, 0, 1, comm, &reqs[0]);
    check_inactive(&reqs[0]);
    MPI_Request_free(&reqs[0]);
    MPI_Recv_init(&c, 1, MPI_CHAR, MPI_PROC_NULL, 3, comm, &reqs[0]);
    MPI_Send_init(&c, 1, MPI_CHAR, MPI_PROC_NULL, 3, comm, &reqs[1]);
    MPI_Bsend_init(&c, 1, MPI_CHAR, MPI_PROC_NULL, 3, comm, &reqs[2]);
    check_inactive(&reqs[0]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(3, reqs);
        flag = 0;
        MPI_Request_get_status(reqs[0], &flag, &sts[0]);
        CHECK(flag);
        if (!is_library("MPICH")) /* gives the empty status */
            CHECK_EQ(sts[0].MPI_SOURCE, MPI_PROC_NULL);
        MPI_Waitall(3, reqs, sts);
        if (!is_library("MPICH"))
            CHECK_EQ(sts[0].MPI_SOURCE, MPI_PROC_NULL);
        CHECK_EQ(sts[0].MPI_TAG, MPI_ANY_TAG);
        CHECK_EQ(count_of(&sts[0]), 0);
    }
    /* One of three is active. */
    MPI_Start(&reqs[1]);
    MPI_Waitany(3, reqs, &index, MPI_STATUS_IGNORE);
    if (!is_library("MPICH")) /* holds it for inactive */
        CHECK_EQ(index, 1);
    MPI_Waitany(3, reqs, &index, MPI_STATUS_IGNORE);
    CHECK_EQ(index, MPI_UNDEFINED);
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&reqs[i]);
}

/* A receive is cancelled, and good for another round. */
static void cancelled(void)
{
    int value = -1, want = 42, flag;
    MPI_Request req, send;
    MPI_Status st;

    MPI_Recv_init(&value, 1, MPI_INT, me, 5, comm, &req);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&req);
        MPI_Test(&req, &flag, &st);
        CHECK(!flag);
        MPI_Request_get_status(req, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Cancel(&req);
        MPI_Wait(&req, &st);
        MPI_Test_cancelled(&st, &flag);
        CHECK(flag);
        CHECK(req != MPI_REQUEST_NULL);
        check_inactive(&req);
    }
    MPI_Start(&req);
    MPI_Isend(&want, 1, MPI_INT, me, 5, comm, &send);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(!flag);
    CHECK_EQ(value, 42);
    CHECK_EQ(st.MPI_SOURCE, me);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&req);
}

/* Freed while active: the operation goes on. Of a communicator and with a type that are gone too. */
static void freed(int len)
{
    unsigned char *out = filled(9, 2 * (size_t)len), *in = blank(2 * (size_t)len);
    int next = (me + 1) % np, prev = (me + np - 1) % np;
    MPI_Request send, recv, other;
    MPI_Datatype gaps;
    MPI_Comm dup;
    MPI_Status st;
    int n;

    MPI_Comm_dup(comm, &dup);
    MPI_Type_vector(len, 1, 2, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Send_init(out, 1, gaps, next, 1, dup, &send);
    MPI_Recv_init(in, 1, gaps, prev, 1, dup, &recv);
    MPI_Send_init(out, 1, gaps, next, 2, dup, &other);
    MPI_Type_free(&gaps);
    MPI_Comm_free(&dup);
    MPI_Request_free(&other);
    MPI_Start(&recv);
    MPI_Start(&send);
    MPI_Request_free(&send);
    CHECK(send == MPI_REQUEST_NULL);
    MPI_Wait(&recv, &st);
    MPI_Get_count(&st, MPI_BYTE, &n);
    CHECK_EQ(n, len);
    for (int i = 0; i < 2 * len; i++)
        CHECK_EQ(in[i], i % 2 == 0 ? out[i] : 0xa5);
    MPI_Request_free(&recv);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody reads from `out` any more */
    free(in);
    free(out);
}

static void errors(void)
{
    char in[8], out[8] = "abcdefg";
    MPI_Request reqs[2], plain = MPI_REQUEST_NULL;
    MPI_Status sts[2];
    int code, flag;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Recv_init(in, 4, MPI_CHAR, me, 1, comm, &reqs[0]);
    MPI_Send_init(out, 8, MPI_CHAR, me, 1, comm, &reqs[1]);

    CHECK_EQ(class_of(MPI_Cancel(&reqs[0])), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Start(&plain)), MPI_ERR_REQUEST);
    MPI_Irecv(in, 1, MPI_CHAR, me, 77, comm, &plain);
    CHECK_EQ(class_of(MPI_Start(&plain)), MPI_ERR_REQUEST);
    /* None is started when one is wrong. */
    {
        MPI_Request both[2] = {reqs[0], plain};

        CHECK_EQ(class_of(MPI_Startall(2, both)), MPI_ERR_REQUEST);
        check_inactive(&reqs[0]);
    }
    MPI_Cancel(&plain);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);

    MPI_Start(&reqs[0]);
    CHECK_EQ(class_of(MPI_Start(&reqs[0])), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Startall(2, reqs)), MPI_ERR_REQUEST);
    MPI_Start(&reqs[1]);
    sts[0].MPI_ERROR = 12345;
    code = MPI_Wait(&reqs[0], &sts[0]);
    CHECK_EQ(class_of(code), MPI_ERR_TRUNCATE);
    CHECK_EQ(sts[0].MPI_ERROR, 12345);
    CHECK(reqs[0] != MPI_REQUEST_NULL);
    MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
    if (!is_library("MPICH")) /* gives the failed status again */
        check_inactive(&reqs[0]);

    MPI_Startall(2, reqs);
    code = MPI_Waitall(2, reqs, sts);
    CHECK_EQ(class_of(code), MPI_ERR_IN_STATUS);
    CHECK_EQ(class_of(sts[0].MPI_ERROR), MPI_ERR_TRUNCATE);
    if (class_of(sts[1].MPI_ERROR) == MPI_ERR_PENDING)
        MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
    else
        CHECK_EQ(sts[1].MPI_ERROR, MPI_SUCCESS);

    /* The next round has nothing of the failed one. */
    MPI_Start(&reqs[0]);
    MPI_Send(out + 4, 4, MPI_CHAR, me, 1, comm);
    CHECK_EQ(MPI_Wait(&reqs[0], &sts[0]), MPI_SUCCESS);
    CHECK_EQ(count_of(&sts[0]), 4);
    CHECK(memcmp(in, "efg", 4) == 0);

    MPI_Startall(0, NULL);
    CHECK_EQ(class_of(MPI_Startall(-1, reqs)), MPI_ERR_COUNT);
    CHECK_EQ(class_of(MPI_Startall(1, NULL)), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Start(NULL)), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Send_init(out, -1, MPI_CHAR, me, 1, comm, &plain)), MPI_ERR_COUNT);
    CHECK_EQ(class_of(MPI_Send_init(out, 1, MPI_CHAR, np, 1, comm, &plain)), MPI_ERR_RANK);
    CHECK_EQ(class_of(MPI_Ssend_init(out, 1, MPI_CHAR, me, -2, comm, &plain)), MPI_ERR_TAG);
    CHECK_EQ(class_of(MPI_Rsend_init(out, 1, MPI_DATATYPE_NULL, me, 1, comm, &plain)),
             MPI_ERR_TYPE);
    CHECK_EQ(class_of(MPI_Recv_init(in, 1, MPI_CHAR, me, 1, MPI_COMM_NULL, &plain)), MPI_ERR_COMM);
    CHECK_EQ(class_of(MPI_Bsend_init(NULL, 1, MPI_CHAR, me, 1, comm, &plain)), MPI_ERR_BUFFER);

    /* A buffered one fails at its start when there is no buffer, and stays inactive. */
    MPI_Bsend_init(out, 8, MPI_CHAR, me, 1, comm, &plain);
    CHECK_EQ(class_of(MPI_Start(&plain)), MPI_ERR_BUFFER);
    MPI_Test(&plain, &flag, &sts[0]);
    CHECK(flag);
    if (!is_library("MPICH"))
        check_empty(&sts[0]);
    MPI_Request_free(&plain);

    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
    CHECK_EQ(class_of(MPI_Request_free(&reqs[0])), MPI_ERR_REQUEST);
}

int main(int argc, char **argv)
{
    static const int lens[4] = {0, 8, 20000, 300000};
    void *room;
    int size;

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    never();
    cancelled();
    room = malloc(1 << 20);
    MPI_Buffer_attach(room, 1 << 20);
    for (int mode = 0; mode < 4; mode++)
        for (int how = 0; how < 8; how++)
            ring(mode, how, lens[(mode + how) % 4]);
    for (int i = 0; i < 4; i++)
        ring(i, 1, lens[3]);
    MPI_Buffer_detach(&room, &size);
    free(room);
    freed(1);
    freed(30000);
    errors();
    MPI_Comm_free(&comm);
    return end();
}
