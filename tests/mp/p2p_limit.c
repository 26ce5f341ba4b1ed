/* test: np=2,3 cfg=EAGER_LIMIT=auto|16k|128k,RNDV=auto|zerocopy timeout=60 */
/*
 * Lengths around every limit at which a message may travel in another way: expected and not,
 * synchronous too, received in order whatever way each one took, the longest cut off.
 */
#include "p2p.h"

enum { LIMITS = 6, AROUND = 3, N_MORE = 3, N_FLOOD = 21, MAX = (1 << 18) + 200 };

static int lens[LIMITS * (2 * AROUND + 1) * N_MORE];
static int n_lens;

/* A header may count, or not. */
static void make_lens(void)
{
    static const int limits[LIMITS] = {1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18};
    static const int less[N_MORE] = {0, 64, 128};

    for (int i = 0; i < LIMITS; i++)
        for (int k = 0; k < N_MORE; k++)
            for (int d = -AROUND; d <= AROUND; d++)
                lens[n_lens++] = limits[i] - less[k] + d;
}

static void check(const unsigned char *buf, int i, const MPI_Status *st)
{
    CHECK_EQ(count_of(st), lens[i]);
    CHECK(is_filled(buf, i, (size_t)lens[i]));
    CHECK_EQ(buf[lens[i]], 0);
}

/* One after the other, the receive posted before. */
static void expected(unsigned char *buf)
{
    for (int i = 0; i < n_lens; i++) {
        if (me == 0) {
            unsigned char *out = filled(i, (size_t)lens[i]);

            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (i % 2 == 0)
                MPI_Send(out, lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD);
            else
                MPI_Ssend(out, lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD);
            free(out);
        } else if (me == 1) {
            MPI_Request req;
            MPI_Status st;

            memset(buf, 0, MAX);
            MPI_Irecv(buf, MAX, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            MPI_Wait(&req, &st);
            check(buf, i, &st);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All at once from everybody to the last, who takes the newest first. */
static void unexpected(unsigned char *buf)
{
    MPI_Request reqs[N_FLOOD];
    unsigned char *out[N_FLOOD];
    int last = np - 1;

    CHECK_EQ(n_lens % N_FLOOD, 0);
    for (int start = 0; start < n_lens; start += N_FLOOD) {
        for (int i = 0; i < N_FLOOD && me != last; i++) {
            out[i] = filled(start + i, (size_t)lens[start + i]);
            MPI_Isend(out[i], lens[start + i], MPI_BYTE, last, start + i, MPI_COMM_WORLD, &reqs[i]);
        }
        for (int from = 0; from < last && me == last; from++)
            for (int i = start + N_FLOOD - 1; i >= start; i--) {
                MPI_Status st;

                memset(buf, 0, MAX);
                MPI_Recv(buf, MAX, MPI_BYTE, from, i, MPI_COMM_WORLD, &st);
                check(buf, i, &st);
            }
        for (int i = 0; i < N_FLOOD && me != last; i++) {
            MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
            free(out[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One tag: long and short in the order of sending. */
static void in_order(unsigned char *buf)
{
    for (int i = 0; i < n_lens; i++) {
        int k = (i * 37) % n_lens;

        if (me == 0) {
            unsigned char *out = filled(k, (size_t)lens[k]);

            MPI_Send(out, lens[k], MPI_BYTE, 1, 7, MPI_COMM_WORLD);
            free(out);
        } else if (me == 1) {
            MPI_Status st;

            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
            CHECK_EQ(count_of(&st), lens[k]);
            MPI_Recv(buf, lens[k], MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(buf, k, (size_t)lens[k]));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A receive that is one byte too short. */
static void cut_off(unsigned char *buf)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < n_lens; i += 5) {
        if (me == 0) {
            unsigned char *out = filled(i, (size_t)lens[i]);

            MPI_Send(out, lens[i], MPI_BYTE, 1, 9, MPI_COMM_WORLD);
            free(out);
        } else if (me == 1) {
            int class;

            memset(buf, 0, MAX);
            MPI_Error_class(
                MPI_Recv(buf, lens[i] - 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                &class);
            CHECK_EQ(class, MPI_ERR_TRUNCATE);
            CHECK_EQ(buf[lens[i] - 1], 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    unsigned char *buf;

    begin(&argc, &argv);
    make_lens();
    buf = blank(MAX);
    expected(buf);
    unexpected(buf);
    in_order(buf);
    cut_off(buf);
    free(buf);
    return end();
}
