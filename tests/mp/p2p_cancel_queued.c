/* test: np=2 cfg=UNEXPECTED=0|64k,EAGER=auto|sendrecv timeout=60 */
/*
 * Sends that wait in a queue for space are cancelled, also where the receiver has more unexpected messages than
 * it keeps meanwhile, so that what is queued goes by rendezvous: MPI_Wait returns, and says what is true.
 */
#include "p2p.h"

enum { N = 2000, LEN = 800, FLAG_TAG = N };

/* The receiver computes until all are queued. */
static void compute(void)
{
    double until = MPI_Wtime() + 0.1;

    while (MPI_Wtime() < until)
        ;
}

static void send_all(unsigned char **bufs, MPI_Request *reqs, int *gone)
{
    MPI_Status st;

    for (int i = 0; i < N; i++)
        MPI_Isend(bufs[i], LEN, MPI_BYTE, 1, i, MPI_COMM_WORLD, &reqs[i]);
    for (int i = 1; i < N; i += 3)
        MPI_Cancel(&reqs[i]);
    for (int i = 1; i < N; i += 3) {
        MPI_Wait(&reqs[i], &st);
        MPI_Test_cancelled(&st, &gone[i]);
    }
    MPI_Send(gone, N, MPI_INT, 1, FLAG_TAG, MPI_COMM_WORLD);
    MPI_Waitall(N, reqs, MPI_STATUSES_IGNORE);
}

static void recv_all(int *gone)
{
    unsigned char in[LEN];
    MPI_Status st;
    int flag;

    MPI_Recv(gone, N, MPI_INT, 0, FLAG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        if (gone[i])
            continue;
        memset(in, 0, LEN);
        MPI_Recv(in, LEN, MPI_BYTE, 0, i, MPI_COMM_WORLD, &st);
        CHECK_EQ(count_of(&st), LEN);
        CHECK(is_filled(in, i, LEN));
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
    CHECK(!flag);
}

int main(int argc, char **argv)
{
    static unsigned char *bufs[N];
    static MPI_Request reqs[N];
    static int gone[N];

    begin(&argc, &argv);
    for (int i = 0; i < N; i++)
        bufs[i] = filled(i, LEN);
    for (int round = 0; round < 3; round++) {
        memset(gone, 0, sizeof(gone));
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0) {
            send_all(bufs, reqs, gone);
        } else {
            compute();
            recv_all(gone);
        }
    }
    for (int i = 0; i < N; i++)
        free(bufs[i]);
    return end();
}
