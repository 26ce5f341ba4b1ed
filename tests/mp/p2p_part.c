/* test: np=1,2,3 cfg=EAGER_LIMIT=0|auto timeout=40 */
/*
 * Partitioned communication: numbers of partitions that differ, order of init calls, types, errors. MPICH
 * 4.0.2 crashes when the numbers differ.
 */
#include "p2p.h"

static int next, prev;

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* How the partitions of a round are made ready. */
static void make_ready(int how, int parts, MPI_Request req)
{
    int list[64];

    switch (how) {
    case 0:
        for (int i = 0; i < parts; i++)
            MPI_Pready(i, req);
        break;
    case 1:
        for (int i = parts - 1; i >= 0; i--)
            MPI_Pready(i, req);
        break;
    case 2:
        MPI_Pready_range(0, parts / 2, req);
        if (parts / 2 + 1 < parts)
            MPI_Pready_range(parts / 2 + 1, parts - 1, req);
        break;
    default:
        for (int i = 0; i < parts; i++)
            list[i] = (i + 1) % parts;
        MPI_Pready_list(parts, list, req);
    }
}

/* sparts * scount == rparts * rcount bytes from each rank to the next, several rounds. */
static void ring(int sparts, int scount, int rparts, int rcount, int late)
{
    size_t len = (size_t)sparts * (size_t)scount;
    unsigned char *out = blank(len), *in = blank(len);
    MPI_Request reqs[2], first[2];
    MPI_Status st;
    int flag;

    if (!late)
        MPI_Precv_init(in, rparts, rcount, MPI_BYTE, prev, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &reqs[1]);
    MPI_Psend_init(out, sparts, scount, MPI_BYTE, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    if (late) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Precv_init(in, rparts, rcount, MPI_BYTE, prev, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &reqs[1]);
    }
    memcpy(first, reqs, sizeof(first));
    for (int how = 0; how < 4; how++) {
        for (size_t i = 0; i < len; i++)
            out[i] = byte_of(me + how, i);
        memset(in, 0xa5, len);
        if (how % 2 == 0) {
            MPI_Startall(2, reqs);
            make_ready(how, sparts, reqs[0]);
        } else {
            /* The receiver is not there yet. */
            MPI_Start(&reqs[0]);
            make_ready(how, sparts, reqs[0]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&reqs[1]);
        }
        for (int i = rparts - 1; i >= 0; i--) {
            for (flag = 0; !flag;)
                MPI_Parrived(reqs[1], i, &flag);
            for (int k = i * rcount; k < (i + 1) * rcount; k++)
                CHECK_EQ(in[k], byte_of(prev + how, (size_t)k));
        }
        MPI_Wait(&reqs[1], &st);
        CHECK_EQ(st.MPI_SOURCE, prev);
        CHECK_EQ(st.MPI_TAG, 4);
        if (!is_library("MPICH")) /* counts one partition */
            CHECK_EQ(count_of(&st), (int)len);
        MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
        CHECK(reqs[0] == first[0] && reqs[1] == first[1]);
        /* Inactive ones count as null. */
        MPI_Wait(&reqs[1], &st);
        if (!is_library("MPICH")) {
            CHECK_EQ(st.MPI_SOURCE, MPI_ANY_SOURCE);
            CHECK_EQ(count_of(&st), 0);
        }
    }
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
    free(in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A partition that is not ready keeps the rest from being complete, but not others from coming. */
static void partly(void)
{
    int out[8], in[8], flag;
    MPI_Request reqs[2];

    for (int i = 0; i < 8; i++)
        out[i] = me * 100 + i;
    MPI_Psend_init(out, 4, 2, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    MPI_Precv_init(in, 4, 2, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]);
    MPI_Startall(2, reqs);
    MPI_Pready(2, reqs[0]);
    if (!is_library("MPICH")) { /* sends when all are ready */
        for (flag = 0; !flag;)
            MPI_Parrived(reqs[1], 2, &flag);
        CHECK_EQ(in[4], prev * 100 + 4);
        CHECK_EQ(in[5], prev * 100 + 5);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* before anybody makes the others ready */
    MPI_Parrived(reqs[1], 1, &flag);
    CHECK(!flag);
    MPI_Testall(2, reqs, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready_range(0, 1, reqs[0]);
    MPI_Pready(3, reqs[0]);
    MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(in[i], prev * 100 + i);
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
}

/* Requests of one tag pair up in the order of their init calls; ordinary messages stay apart. */
static void order(void)
{
    enum { N = 5 };
    int out[N][3], in[N][3], plain = -1, mine = me + 1000;
    MPI_Request sends[N], recvs[N], req;

    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++)
            out[i][k] = me * 100 + i * 10 + k;
        MPI_Psend_init(out[i], 3, 1, MPI_INT, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
        MPI_Precv_init(in[i], 1, 3, MPI_INT, prev, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &recvs[i]);
    }
    MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &req);
    for (int i = N - 1; i >= 0; i--) {
        MPI_Start(&sends[i]);
        MPI_Start(&recvs[N - 1 - i]);
        make_ready(1, 3, sends[i]);
    }
    MPI_Waitall(N, recvs, MPI_STATUSES_IGNORE);
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    CHECK_EQ(plain, -1);
    MPI_Barrier(MPI_COMM_WORLD); /* all have looked */
    MPI_Send(&mine, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK_EQ(plain, prev + 1000);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++)
            CHECK_EQ(in[i][k], prev * 100 + i * 10 + k);
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&recvs[i]);
    }
}

/* Elements with gaps; the sender's partitions end inside elements of the receiver. */
static void typed(int sparts, int scount, int rparts, int rcount)
{
    int n = sparts * scount, *out = malloc((size_t)n * sizeof(int));
    int *in = malloc(2 * (size_t)n * sizeof(int));
    MPI_Datatype vector, gaps;
    MPI_Request reqs[2];

    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 8 * sizeof(int), &gaps);
    MPI_Type_free(&vector);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < n; i++)
        out[i] = me * 10000 + i;
    for (int i = 0; i < 2 * n; i++)
        in[i] = -1;
    MPI_Psend_init(out, sparts, scount, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    MPI_Precv_init(in, rparts, rcount, gaps, prev, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]);
    MPI_Type_free(&gaps);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, reqs);
        make_ready(round, sparts, reqs[0]);
        MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < n; i++) {
        CHECK_EQ(in[2 * i], prev * 10000 + i);
        CHECK_EQ(in[2 * i + 1], -1);
    }
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
    free(in);
    free(out);
}

static void proc_null(void)
{
    int value = 5, flag;
    MPI_Request reqs[2];
    MPI_Status sts[2];

    MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &reqs[0]);
    MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &reqs[1]);
    MPI_Startall(2, reqs);
    MPI_Pready(0, reqs[0]);
    MPI_Parrived(reqs[1], 0, &flag);
    CHECK(flag);
    MPI_Waitall(2, reqs, sts);
    CHECK_EQ(sts[1].MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(count_of(&sts[1]), 0);
    CHECK_EQ(value, 5);
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
}

static void errors(void)
{
    int out[4] = {1, 2, 3, 4}, in[4], flag = 0;
    MPI_Request reqs[2], other;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Psend_init(out, 4, 1, MPI_INT, me, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    MPI_Precv_init(in, 2, 2, MPI_INT, me, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]);
    CHECK_EQ(class_of(MPI_Pready(0, reqs[0])), MPI_ERR_REQUEST); /* not started */
    CHECK_EQ(MPI_Parrived(reqs[1], 0, &flag), MPI_SUCCESS);
    CHECK(flag); /* inactive */
    flag = 0;
    CHECK_EQ(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_SUCCESS);
    CHECK(flag); /* null */
    MPI_Startall(2, reqs);
    CHECK_EQ(class_of(MPI_Start(&reqs[0])), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Pready(4, reqs[0])), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Pready(-1, reqs[0])), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Pready_range(1, 0, reqs[0])), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Parrived(reqs[1], 2, &flag)), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Pready(0, reqs[1])), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Parrived(reqs[0], 0, &flag)), MPI_ERR_REQUEST);
    MPI_Irecv(&flag, 1, MPI_INT, me, 9, MPI_COMM_WORLD, &other);
    CHECK_EQ(class_of(MPI_Pready(0, other)), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Parrived(other, 0, &flag)), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Pready(0, MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    MPI_Cancel(&other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Pready(1, reqs[0]);
    CHECK_EQ(class_of(MPI_Pready(1, reqs[0])), MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Cancel(&reqs[0])), MPI_ERR_REQUEST);
    MPI_Pready(0, reqs[0]);
    MPI_Pready_range(2, 3, reqs[0]);
    CHECK_EQ(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    CHECK_EQ(in[3], 4);
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
    CHECK_EQ(class_of(MPI_Psend_init(out, -1, 1, MPI_INT, me, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &reqs[0])),
             MPI_ERR_ARG);
    CHECK_EQ(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &reqs[0])),
             MPI_ERR_RANK);
    CHECK_EQ(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, me, MPI_ANY_TAG, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &reqs[0])),
             MPI_ERR_TAG);
}

/* Nobody calls the other half: the requests may go all the same, and leave nothing behind. */
static void no_partner(void)
{
    char buf[4];
    MPI_Request reqs[2];

    MPI_Psend_init(buf, 2, 2, MPI_BYTE, next, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    MPI_Precv_init(buf, 2, 2, MPI_BYTE, prev, 78, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]);
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (me + 1) % np;
    prev = (me + np - 1) % np;
    ring(1, 12, 1, 12, 0);
    for (int late = 0; late < 2; late++) {
        ring(4, 3, 3, 4, late);
        ring(1, 24, 12, 2, late);
        ring(12, 2, 1, 24, late);
        ring(8, 30000, 6, 40000, late);
        ring(3, 0, 2, 0, late);
    }
    partly();
    order();
    typed(8, 4, 4, 2);
    if (!is_library("MPICH")) { /* wants partitions of whole elements */
        typed(8, 3, 3, 2);
        typed(4, 30000, 10000, 3);
    }
    proc_null();
    if (!is_library("MPICH"))
        errors();
    no_partner();
    return end();
}
