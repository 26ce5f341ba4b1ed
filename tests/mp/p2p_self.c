/* test: np=0,1,2 cfg=EAGER_LIMIT=0|16k timeout=20 */
/* Messages to oneself, in every mode, size and order. */
#include "p2p.h"

static void exchange(int len)
{
    unsigned char *out = filled(len, (size_t)len), *in = blank((size_t)len);
    MPI_Request reqs[3];
    MPI_Status st;

    /* Posted, then a blocking send, even a synchronous one. */
    for (int mode = 0; mode < 3; mode++) {
        memset(in, 0xa5, (size_t)len + 1);
        MPI_Irecv(in, len, MPI_BYTE, me, 1, MPI_COMM_WORLD, &reqs[0]);
        if (mode == 0)
            MPI_Send(out, len, MPI_BYTE, me, 1, MPI_COMM_WORLD);
        else if (mode == 1)
            MPI_Ssend(out, len, MPI_BYTE, me, 1, MPI_COMM_WORLD);
        else
            MPI_Rsend(out, len, MPI_BYTE, me, 1, MPI_COMM_WORLD);
        MPI_Wait(&reqs[0], &st);
        CHECK_EQ(count_of(&st), len);
        CHECK(is_filled(in, len, (size_t)len));
        CHECK_EQ(in[len], 0xa5);
    }
    /* Sent first. */
    memset(in, 0, (size_t)len);
    MPI_Isend(out, len, MPI_BYTE, me, 2, MPI_COMM_WORLD, &reqs[0]);
    MPI_Recv(in, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
    CHECK_EQ(st.MPI_SOURCE, me);
    CHECK(is_filled(in, len, (size_t)len));
    MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
    memset(in, 0, (size_t)len);
    MPI_Issend(out, len, MPI_BYTE, 0, 3, MPI_COMM_SELF, &reqs[1]);
    MPI_Recv(in, len, MPI_BYTE, 0, 3, MPI_COMM_SELF, &st);
    CHECK(is_filled(in, len, (size_t)len));
    MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
    /* Both at once. */
    memset(in, 0, (size_t)len);
    MPI_Sendrecv(out, len, MPI_BYTE, me, 4, in, len, MPI_BYTE, me, 4, MPI_COMM_WORLD, &st);
    CHECK(is_filled(in, len, (size_t)len));
    MPI_Sendrecv_replace(in, len, MPI_BYTE, me, 5, me, 5, MPI_COMM_WORLD, &st);
    CHECK(is_filled(in, len, (size_t)len));
    free(out);
    free(in);
}

static void many(void)
{
    enum { N = 5000 };
    static int in[N], out[N];
    static MPI_Request reqs[2 * N];

    for (int i = 0; i < N; i++) {
        out[i] = i * 3;
        if (i % 2 == 0)
            MPI_Isend(&out[i], 1, MPI_INT, me, i, MPI_COMM_WORLD, &reqs[i]);
        else
            MPI_Issend(&out[i], 1, MPI_INT, me, i, MPI_COMM_WORLD, &reqs[i]);
    }
    for (int i = N - 1; i >= 0; i--)
        MPI_Irecv(&in[i], 1, MPI_INT, me, i, MPI_COMM_WORLD, &reqs[N + i]);
    MPI_Waitall(2 * N, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        CHECK_EQ(in[i], i * 3);
}

static void strided(void)
{
    enum { N = 30000 };
    static int in[2 * N], out[2 * N];
    MPI_Datatype type;

    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * N; i++) {
        out[i] = i;
        in[i] = -1;
    }
    MPI_Sendrecv(out, 1, type, me, 0, in, 1, type, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * N - 1; i++)
        CHECK_EQ(in[i], i % 2 == 0 ? i : -1);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    exchange(0);
    exchange(1);
    exchange(8);
    exchange(1000);
    exchange(16384);
    exchange(16385);
    exchange(3000001);
    many();
    strided();
    return end();
}
