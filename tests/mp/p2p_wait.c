/* test: np=2,4 cfg=EAGER_LIMIT=0|16k timeout=40 */
/* Wait and Test for one, all, any, some; null requests, freed requests, statuses. */
#include "p2p.h"

#define N 200

static MPI_Comm ctl;

static void check_empty(const MPI_Status *st)
{
    int flag;

    CHECK_EQ(st->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(st->MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(count_of(st), 0);
    MPI_Test_cancelled(st, &flag);
    CHECK(!flag);
}

static void nulls(void)
{
    MPI_Request reqs[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status sts[3];
    int flag = 0, index = 0, n = 0, indices[3];

    memset(sts, 0x55, sizeof(sts));
    MPI_Wait(&reqs[0], &sts[0]);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    MPI_Test(&reqs[0], &flag, &sts[0]);
    CHECK(flag);
    check_empty(&sts[0]);
    memset(sts, 0x55, sizeof(sts));
    MPI_Waitall(3, reqs, sts);
    check_empty(&sts[2]);
    flag = 0;
    MPI_Testall(3, reqs, &flag, sts);
    CHECK(flag);
    MPI_Waitany(3, reqs, &index, &sts[0]);
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(&sts[0]);
    flag = 0;
    MPI_Testany(3, reqs, &index, &flag, &sts[0]);
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    MPI_Waitsome(3, reqs, &n, indices, sts);
    CHECK_EQ(n, MPI_UNDEFINED);
    n = 0;
    MPI_Testsome(3, reqs, &n, indices, sts);
    CHECK_EQ(n, MPI_UNDEFINED);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

/* Rank 0 sends N messages when told; rank 1 has N receives and completes them by `how`. */
static void complete(int how, int len)
{
    unsigned char *bufs[N];
    MPI_Request reqs[N + 1];
    MPI_Status sts[N + 1];
    char seen[N] = {0};
    int indices[N + 1];

    reqs[N] = MPI_REQUEST_NULL;
    for (int i = 0; i < N && me < 2; i++)
        bufs[i] = me == 0 ? filled(i, (size_t)len) : blank((size_t)len);
    if (me == 0) {
        signal_to(1, 0, ctl);
        for (int i = 0; i < N; i++)
            MPI_Isend(bufs[i], len, MPI_BYTE, 1, i, MPI_COMM_WORLD, &reqs[i]);
        MPI_Waitall(N + 1, reqs, sts);
    } else if (me == 1) {
        int left = N, n, index, flag;

        for (int i = 0; i < N; i++)
            MPI_Irecv(bufs[i], len, MPI_BYTE, 0, i, MPI_COMM_WORLD, &reqs[i]);
        MPI_Testall(N + 1, reqs, &flag, sts);
        CHECK(!flag);
        MPI_Testany(N + 1, reqs, &index, &flag, sts);
        CHECK(!flag);
        CHECK_EQ(index, MPI_UNDEFINED);
        MPI_Testsome(N + 1, reqs, &n, indices, sts);
        CHECK_EQ(n, 0);
        MPI_Test(&reqs[3], &flag, sts);
        CHECK(!flag);
        signal_to(1, 0, ctl);
        while (left > 0) {
            n = 0;
            switch (how) {
            case 0:
                for (int i = N - 1; i >= 0; i--) {
                    MPI_Wait(&reqs[i], &sts[N - 1 - i]);
                    indices[n++] = i;
                }
                break;
            case 1:
                MPI_Waitall(N + 1, reqs, sts);
                for (n = 0; n < N; n++)
                    indices[n] = n;
                break;
            case 2:
                MPI_Waitany(N + 1, reqs, indices, sts);
                n = 1;
                break;
            case 3:
                MPI_Waitsome(N + 1, reqs, &n, indices, sts);
                CHECK(n > 0);
                break;
            case 4:
                MPI_Testany(N + 1, reqs, indices, &flag, sts);
                n = flag;
                break;
            case 5:
                MPI_Testsome(N + 1, reqs, &n, indices, sts);
                break;
            case 6:
                MPI_Testall(N + 1, reqs, &flag, sts);
                for (n = 0; flag && n < N; n++)
                    indices[n] = n;
                break;
            default:
                for (int i = 0; i < N; i++) {
                    if (reqs[i] == MPI_REQUEST_NULL)
                        continue;
                    MPI_Test(&reqs[i], &flag, &sts[n]);
                    if (flag)
                        indices[n++] = i;
                }
            }
            for (int k = 0; k < n; k++) {
                int i = indices[k];

                CHECK(i >= 0 && i < N && !seen[i]);
                seen[i] = 1;
                CHECK(reqs[i] == MPI_REQUEST_NULL);
                CHECK_EQ(sts[k].MPI_TAG, i);
                CHECK_EQ(sts[k].MPI_SOURCE, 0);
                CHECK_EQ(count_of(&sts[k]), len);
                CHECK(is_filled(bufs[i], i, (size_t)len));
            }
            left -= n;
        }
        MPI_Waitany(N + 1, reqs, &index, sts);
        CHECK_EQ(index, MPI_UNDEFINED);
    }
    for (int i = 0; i < N && me < 2; i++)
        free(bufs[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The operation goes on after its request was freed. */
static void freed(int len)
{
    if (me == 0) {
        unsigned char *buf = filled(3, (size_t)len);
        MPI_Request req;

        MPI_Isend(buf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &req);
        MPI_Request_free(&req);
        CHECK(req == MPI_REQUEST_NULL);
        signal_to(1, 0, ctl);
        free(buf);
    } else if (me == 1) {
        unsigned char *buf = blank((size_t)len);

        MPI_Recv(buf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(buf, 3, (size_t)len));
        signal_to(1, 0, ctl);
        free(buf);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) {
        unsigned char *buf = blank((size_t)len);
        MPI_Request req;
        volatile unsigned char *last = &buf[len > 0 ? len - 1 : 0];

        MPI_Irecv(buf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &req);
        MPI_Request_free(&req);
        signal_to(1, 0, ctl);
        /* Only the content tells. */
        while (len > 0 && *last != byte_of(4, (size_t)len - 1)) {
            int flag;

            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ctl, &flag, MPI_STATUS_IGNORE);
        }
        signal_to(0, 1, ctl);
        free(buf);
    } else if (me == 0) {
        unsigned char *buf = filled(4, (size_t)len);

        signal_to(1, 0, ctl);
        MPI_Send(buf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        signal_to(0, 1, ctl);
        free(buf);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &ctl);
    nulls();
    for (int how = 0; how < 8; how++) {
        complete(how, 4);
        complete(how, 20000);
    }
    freed(4);
    freed(100000);
    MPI_Comm_free(&ctl);
    return end();
}
