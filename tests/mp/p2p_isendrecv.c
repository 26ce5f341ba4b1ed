/* test: np=1,2,3 cfg=EAGER_LIMIT=0|auto timeout=30 */
/* MPI_Isendrecv and MPI_Isendrecv_replace. MPICH 4.0.2 gives no status, and crashes with long messages. */
#include "p2p.h"

static void shift(int len, int replace, int large, int how)
{
    int next = (me + 1) % np, prev = (me + np - 1) % np, flag = 0;
    unsigned char *out = filled(me, (size_t)len), *in = replace ? out : blank((size_t)len);
    MPI_Request req;
    MPI_Status st;

    if (replace && large)
        MPI_Isendrecv_replace_c(out, len, MPI_BYTE, next, 3, prev, 3, MPI_COMM_WORLD, &req);
    else if (replace)
        MPI_Isendrecv_replace(out, len, MPI_BYTE, next, 3, prev, 3, MPI_COMM_WORLD, &req);
    else if (large)
        MPI_Isendrecv_c(out, len, MPI_BYTE, next, 3, in, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                        MPI_COMM_WORLD, &req);
    else
        MPI_Isendrecv(out, len, MPI_BYTE, next, 3, in, len, MPI_BYTE, prev, 3, MPI_COMM_WORLD,
                      &req);
    memset(&st, 0x55, sizeof(st));
    if (how == 0)
        MPI_Wait(&req, &st);
    while (how == 1 && !flag)
        MPI_Test(&req, &flag, &st);
    if (how == 2)
        MPI_Waitall(1, &req, &st);
    CHECK(req == MPI_REQUEST_NULL);
    if (!is_library("MPICH")) { /* gives no status */
        CHECK_EQ(st.MPI_SOURCE, prev);
        CHECK_EQ(st.MPI_TAG, 3);
        CHECK_EQ(count_of(&st), len);
    }
    CHECK(is_filled(in, prev, (size_t)len));
    if (!replace)
        CHECK(is_filled(out, me, (size_t)len));
    if (in != out)
        free(in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One neighbour at each end is missing. */
static void chain(int len)
{
    int next = me + 1 < np ? me + 1 : MPI_PROC_NULL, prev = me > 0 ? me - 1 : MPI_PROC_NULL;
    unsigned char *buf = filled(me, (size_t)len);
    MPI_Request req;
    MPI_Status st;

    MPI_Isendrecv_replace(buf, len, MPI_BYTE, next, 4, prev, 4, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    if (!is_library("MPICH")) {
        CHECK_EQ(st.MPI_SOURCE, prev);
        CHECK_EQ(count_of(&st), prev == MPI_PROC_NULL ? 0 : len);
    }
    CHECK(is_filled(buf, prev == MPI_PROC_NULL ? me : prev, (size_t)len));
    free(buf);
}

/* Types with gaps that are freed at once; the request is freed too. */
static void typed(int n)
{
    int next = (me + 1) % np, prev = (me + np - 1) % np;
    int *buf = malloc(2 * (size_t)n * sizeof(int)), *in = malloc((size_t)n * sizeof(int));
    MPI_Datatype gaps;
    MPI_Request reqs[2];
    MPI_Status st;

    for (int i = 0; i < 2 * n; i++)
        buf[i] = me * 1000 + i;
    MPI_Type_vector(n, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Isendrecv(buf, 1, gaps, next, 5, in, n, MPI_INT, prev, 5, MPI_COMM_WORLD, &reqs[0]);
    MPI_Wait(&reqs[0], &st);
    for (int i = 0; i < n; i++)
        CHECK_EQ(in[i], prev * 1000 + 2 * i);
    MPI_Isendrecv_replace(buf, 1, gaps, next, 6, prev, 6, MPI_COMM_WORLD, &reqs[1]);
    MPI_Type_free(&gaps);
    MPI_Wait(&reqs[1], &st);
    for (int i = 0; i < 2 * n; i++)
        CHECK_EQ(buf[i], (i % 2 == 0 ? prev : me) * 1000 + i);
    free(in);
    free(buf);
}

static void errors(void)
{
    char out[8] = "abcdefg", in[8];
    int class, code;
    MPI_Request req, recv;
    MPI_Status st;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isendrecv(out, 8, MPI_BYTE, me, 7, in, 4, MPI_BYTE, me, 7, MPI_COMM_WORLD, &req);
    code = MPI_Wait(&req, &st);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, is_library("MPICH") ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    CHECK(memcmp(in, "abcd", 4) == 0);
    CHECK(req == MPI_REQUEST_NULL);
    code = MPI_Isendrecv(out, -1, MPI_BYTE, me, 7, in, 4, MPI_BYTE, me, 7, MPI_COMM_WORLD, &req);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_COUNT);
    code = MPI_Isendrecv_replace(out, 1, MPI_BYTE, me, 7, np, 7, MPI_COMM_WORLD, &req);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_RANK);
    /* Not matched: the receive of another message of ours. */
    MPI_Irecv(in, 1, MPI_BYTE, me, 8, MPI_COMM_WORLD, &recv);
    MPI_Isendrecv(out, 1, MPI_BYTE, me, 8, in + 1, 1, MPI_BYTE, me, 9, MPI_COMM_WORLD, &req);
    MPI_Wait(&recv, &st);
    MPI_Test(&req, &code, &st);
    CHECK(!code);
    MPI_Send(out + 1, 1, MPI_BYTE, me, 9, MPI_COMM_WORLD);
    MPI_Wait(&req, &st);
    if (!is_library("MPICH"))
        CHECK_EQ(st.MPI_TAG, 9);
    CHECK(memcmp(in, "ab", 2) == 0);
}

int main(int argc, char **argv)
{
    static const int lens[4] = {0, 5, 20000, 300000};

    begin(&argc, &argv);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 12; k++)
            shift(lens[i], k % 2, k / 2 % 2, k / 4);
        chain(lens[i]);
    }
    typed(10);
    typed(30000);
    errors();
    return end();
}
