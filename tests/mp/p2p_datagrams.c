/* test: np=12 prov=datum-shm cfg=CONNECT=demand timeout=60 */
/*
 * Messages to peers that are not connected yet, inside a host: order and data while a pair goes over from
 * datagrams to the pipe, by number or by length, both ways at once; and more at a time to one than it has
 * places for.
 */
#include <stdint.h>
#include <stdlib.h>

#include "mp_test.h"

enum { N_MANY = 700 /* a pair is connected before */, N_FLOOD = 450, LEN_MAX = 3000 };

/* Lengths that end datagrams at another message in each pair; some pairs never. */
static int length(int from, int to, int i)
{
    if (i == 3 + (from * 7 + to) % 40 && (from + to) % 3 != 0)
        return LEN_MAX - from;
    return 1 + (i * 37 + from) % 1100;
}

static unsigned char byte_of(int from, int i, int at)
{
    return (unsigned char)(from * 31 + i * 7 + at);
}

static void fill(unsigned char *buf, int from, int i, int len)
{
    for (int k = 0; k < len; k++)
        buf[k] = byte_of(from, i, k);
}

static void check(const unsigned char *buf, int from, int i, int len)
{
    for (int k = 0; k < len; k++)
        CHECK_EQ(buf[k], byte_of(from, i, k));
}

/* n messages with each of some others, the next one with all of them after each. */
static void exchange(int n, int step)
{
    unsigned char in[LEN_MAX], out[LEN_MAX];
    MPI_Status status;
    int got;

    for (int i = 0; i < n; i++)
        for (int d = 1; d < mp_size; d += step) {
            int to = (mp_rank + d) % mp_size, from = (mp_rank + mp_size - d) % mp_size;

            fill(out, mp_rank, i, length(mp_rank, to, i));
            MUST(MPI_Sendrecv(out, length(mp_rank, to, i), MPI_BYTE, to, 1, in, LEN_MAX, MPI_BYTE,
                              from, 1, MPI_COMM_WORLD, &status));
            MUST(MPI_Get_count(&status, MPI_BYTE, &got));
            CHECK_EQ(got, length(from, mp_rank, i));
            check(in, from, i, got);
        }
}

/* One way, all at once. */
static void flood(int root)
{
    MPI_Request req[N_FLOOD];
    int out[N_FLOOD], in;

    for (int i = 0; i < N_FLOOD && mp_rank != root; i++) {
        out[i] = i;
        MUST(MPI_Isend(&out[i], 1, MPI_INT, root, 2, MPI_COMM_WORLD, &req[i]));
    }
    for (int i = 0; i < N_FLOOD && mp_rank == root; i++)
        for (int from = 0; from < mp_size; from++) {
            if (from == root)
                continue;
            MUST(MPI_Recv(&in, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(in, i);
        }
    if (mp_rank != root)
        MUST(MPI_Waitall(N_FLOOD, req, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    flood(5);
    exchange(60, 1);
    exchange(N_MANY, 5);
    flood(7);
    return mp_finish();
}
