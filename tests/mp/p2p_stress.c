/* test: np=2,4 cfg=EAGER=rdma|sendrecv,RING_SLOTS=4|64,RING_SLOT_SIZE=256|16k,RNDV=read|pipe|serial|split|zerocopy,CQ=auto|split timeout=120 */
/* Everybody sends to everybody at once: all sizes, thousands outstanding, long messages both ways. */
#include "p2p.h"

static unsigned rnd_state;

static int rnd(int n)
{
    rnd_state = rnd_state * 1664525u + 1013904223u;
    return (int)((rnd_state >> 8) % (unsigned)n);
}

/* Length of message i from a to b: both sides know it. */
static int len_of(int a, int b, int i)
{
    static const int lens[] = {0, 1, 8, 40, 200, 256, 1000, 5000, 16384, 17000, 70000, 200000};

    rnd_state = (unsigned)(a * 7919 + b * 104729 + i * 31 + 1);
    return i % 16 == 0 ? lens[rnd(12)] : lens[rnd(6)];
}

static void all_pairs(int n)
{
    int total = 2 * np * n, k = 0;
    MPI_Request *reqs = malloc((size_t)total * sizeof(*reqs));
    unsigned char **bufs = malloc((size_t)total * sizeof(*bufs));

    /* Half of the receives before the sends, half after. */
    for (int half = 0; half < 2; half++) {
        for (int p = 0; p < np; p++)
            for (int i = half; i < n; i += 2) {
                int len = len_of(p, me, i);

                bufs[p * n + i] = blank((size_t)len);
                MPI_Irecv(bufs[p * n + i], len, MPI_BYTE, p, i, MPI_COMM_WORLD, &reqs[k++]);
            }
        for (int p = 0; p < np && half == 0; p++)
            for (int i = 0; i < n; i++) {
                int len = len_of(me, p, i);

                bufs[(np + p) * n + i] = filled(me * 100 + p * 10 + i, (size_t)len);
                if (i % 5 == 0)
                    MPI_Issend(bufs[(np + p) * n + i], len, MPI_BYTE, p, i, MPI_COMM_WORLD,
                               &reqs[k++]);
                else
                    MPI_Isend(bufs[(np + p) * n + i], len, MPI_BYTE, p, i, MPI_COMM_WORLD,
                              &reqs[k++]);
            }
    }
    CHECK_EQ(k, total);
    MPI_Waitall(total, reqs, MPI_STATUSES_IGNORE);
    for (int p = 0; p < np; p++)
        for (int i = 0; i < n; i++)
            CHECK(is_filled(bufs[p * n + i], p * 100 + me * 10 + i, (size_t)len_of(p, me, i)));
    for (int i = 0; i < total; i++)
        free(bufs[i]);
    free(bufs);
    free(reqs);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Both send first: only nonblocking sends may do that with long messages. */
static void head_on(int len)
{
    int peer = me ^ 1;
    unsigned char *out = filled(me, (size_t)len), *in = blank((size_t)len);
    MPI_Request req;

    if (peer < np) {
        for (int turn = 0; turn < 3; turn++) {
            memset(in, 0, (size_t)len);
            MPI_Isend(out, len, MPI_BYTE, peer, turn, MPI_COMM_WORLD, &req);
            MPI_Recv(in, len, MPI_BYTE, peer, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
            CHECK(is_filled(in, peer, (size_t)len));
        }
        MPI_Sendrecv_replace(out, len, MPI_BYTE, peer, 9, peer, 9, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        CHECK(is_filled(out, peer, (size_t)len));
    }
    free(out);
    free(in);
}

/* A flood that nobody receives until it is over. */
static void flood(int n)
{
    if (me > 0) {
        for (int i = 0; i < n; i++)
            MPI_Send(&i, 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, 100, MPI_COMM_WORLD);
    } else {
        int next[64][7], v;
        MPI_Status st;

        for (int p = 1; p < np; p++) {
            MPI_Recv(NULL, 0, MPI_INT, p, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int t = 0; t < 7; t++)
                next[p][t] = t;
        }
        for (int i = 0; i < n * (np - 1); i++) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, i % 3 == 0 && i < n ? i % 7 : MPI_ANY_TAG,
                     MPI_COMM_WORLD, &st);
            CHECK_EQ(v, next[st.MPI_SOURCE][st.MPI_TAG]);
            next[st.MPI_SOURCE][st.MPI_TAG] += 7;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Short messages round a ring: everybody waits for somebody. */
static void around(int n)
{
    int v = 0, left = (me + np - 1) % np, right = (me + 1) % np;

    for (int i = 0; i < n; i++) {
        if (me == 0) {
            MPI_Send(&i, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
            MPI_Recv(&v, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&v, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&v, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        }
        CHECK_EQ(v, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    all_pairs(10);
    all_pairs(np > 4 ? 100 : 400);
    head_on(0);
    head_on(16385);
    head_on(1000003);
    flood(3000);
    around(np > 4 ? 100 : 1000);
    return end();
}
