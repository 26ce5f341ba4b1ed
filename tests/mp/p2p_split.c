/* test: np=2,3 cfg=RNDV=auto|split timeout=60 */
/*
 * Large messages of which both sides may copy a part: lengths around the pieces, senders that wait at once, later,
 * or in another call, receivers that come first or late, several senders, buffers that are too short.
 */
#include "mp_test.h"

enum { MOST = 3 << 20, N_MSGS = 6 };

static const int lens[N_MSGS] = {49152,   (512 << 10) - 1, 512 << 10, (512 << 10) + 4097,
                                 1 << 20, MOST - 5};

static unsigned char *in, *out;

static void fill(unsigned char *buf, int len, int seed)
{
    for (int i = 0; i < len; i++)
        buf[i] = (unsigned char)((i * 31 + (i >> 8) * 7 + seed) & 255);
}

static void check(const unsigned char *buf, int len, int seed)
{
    int wrong = 0;

    for (int i = 0; i < len; i++)
        wrong += buf[i] != (unsigned char)((i * 31 + (i >> 8) * 7 + seed) & 255);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(buf[len], 0xee); /* nothing behind it */
}

static void compute(int n)
{
    volatile double x = 0;

    for (int i = 0; i < n * 1000; i++)
        x = x * 0.5 + i;
}

/* To rank 0 from all others; the sender waits in its send, or computes first. */
static void to_one(int is_blocking, int sender_late, int receiver_late)
{
    MPI_Request req;
    MPI_Status status;
    int n;

    for (int m = 0; m < N_MSGS; m++) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (mp_rank > 0) {
            fill(out, lens[m], mp_rank + m);
            if (is_blocking) {
                MUST(MPI_Send(out, lens[m], MPI_BYTE, 0, m, MPI_COMM_WORLD));
            } else {
                MUST(MPI_Isend(out, lens[m], MPI_BYTE, 0, m, MPI_COMM_WORLD, &req));
                compute(sender_late);
                MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
            }
            memset(out, 0, (size_t)lens[m]); /* it is the program's again */
            continue;
        }
        compute(receiver_late);
        for (int i = 1; i < mp_size; i++) {
            in[lens[m]] = 0xee;
            MUST(MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, m, MPI_COMM_WORLD, &status));
            MUST(MPI_Get_count(&status, MPI_BYTE, &n));
            CHECK_EQ(n, lens[m]);
            check(in, lens[m], status.MPI_SOURCE + m);
        }
    }
}

/* All messages at once, both ways; the receiver's buffers lie one behind the other. Receives of any source may
 * still wait at rank 0: other tags than theirs. */
static void windows(void)
{
    int peer = mp_rank ^ 1;
    MPI_Request reqs[2 * N_MSGS];
    size_t at = 0;

    if (peer >= mp_size)
        return;
    for (int m = 0; m < N_MSGS; at += (size_t)lens[m++] + 1) {
        fill(out + at, lens[m], mp_rank * 3 + m);
        in[at + (size_t)lens[m]] = 0xee;
        MUST(MPI_Irecv(in + at, lens[m], MPI_BYTE, peer, N_MSGS + m, MPI_COMM_WORLD, &reqs[m]));
    }
    at = 0;
    for (int m = 0; m < N_MSGS; at += (size_t)lens[m++] + 1)
        MUST(MPI_Isend(out + at, lens[m], MPI_BYTE, peer, N_MSGS + m, MPI_COMM_WORLD,
                       &reqs[N_MSGS + m]));
    MUST(MPI_Waitall(2 * N_MSGS, reqs, MPI_STATUSES_IGNORE));
    at = 0;
    for (int m = 0; m < N_MSGS; at += (size_t)lens[m++] + 1)
        check(in + at, lens[m], peer * 3 + m);
}

/* The receiver takes a part only; an odd one of an odd address. */
static void cut_off(void)
{
    int len = (1 << 20) - 3, err, class = MPI_SUCCESS;

    if (mp_rank == 1) {
        fill(out + 1, MOST - 1, 5);
        MUST(MPI_Send(out + 1, MOST - 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD));
    } else if (mp_rank == 0) {
        in[3 + len] = 0xee;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        err = MPI_Recv(in + 3, len, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(err, &class);
        CHECK_EQ(class, MPI_ERR_TRUNCATE);
        check(in + 3, len, 5);
    }
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    in = malloc((size_t)MOST * N_MSGS);
    out = malloc((size_t)MOST * N_MSGS);
    MUST(in == NULL || out == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        to_one(1, 0, 0);
        to_one(1, 0, 200);
        to_one(0, 0, 0);
        to_one(0, 50 * (round + 1), 0);
        to_one(0, 20, 50);
        windows();
    }
    cut_off();
    free(in);
    free(out);
    return mp_finish();
}
