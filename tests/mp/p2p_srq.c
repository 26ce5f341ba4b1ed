/* test: np=2,4,8 cfg=SRQ=yes,SRQ_SIZE=4k|32k|1m,PROGRESS=adaptive|wait,RNDV=auto|pipe timeout=60 */
/*
 * Receives that peers share run out: all flood one that computes, one floods all, and all flood all. Senders
 * become slower, and every message comes once, whole and in order.
 */
#include "counter.h"

enum { N = 300, MOST = 40000 };

static unsigned char in[MOST];

static int len_of(int from, int i)
{
    return i % 50 == 49 ? MOST - from : i % 7 == 3 ? 1500 + 13 * i : (i * 5 + from) % 90;
}

static unsigned char byte_at(int from, int to, int i, int k)
{
    return (unsigned char)(from * 41 + to * 11 + i * 7 + k + (k >> 8) * 3);
}

static unsigned char *message(int from, int to, int i)
{
    unsigned char *p = malloc((size_t)len_of(from, i) + 1);

    for (int k = 0; k < len_of(from, i); k++)
        p[k] = byte_at(from, to, i, k);
    return p;
}

static void check(int from, int i, const MPI_Status *status)
{
    int len, bad = 0;

    MPI_Get_count(status, MPI_BYTE, &len);
    CHECK_EQ(len, len_of(from, i));
    for (int k = 0; k < len; k++)
        bad += in[k] != byte_at(from, mp_rank, i, k);
    CHECK_EQ(bad, 0);
}

/* Not in the library: nothing is read meanwhile. */
static void compute(void)
{
    volatile unsigned x = 1;

    for (int i = 0; i < 30000000; i++)
        x = x * 1664525u + 1013904223u;
}

/* The messages of `from` to all that `to` names, -1: everybody else. */
static void flood(int is_sender, int to, int n_sources)
{
    int n_to = to >= 0 ? 1 : mp_size - 1, n = is_sender ? n_to * N : 0, at = 0, *next;
    MPI_Request *reqs = malloc((size_t)(n + 1) * sizeof(*reqs));
    unsigned char **bufs = malloc((size_t)(n + 1) * sizeof(*bufs));
    MPI_Status status;

    for (int i = 0; is_sender && i < N; i++) {
        for (int p = 0; p < mp_size; p++) {
            if (p == mp_rank || (to >= 0 && p != to))
                continue;
            bufs[at] = message(mp_rank, p, i);
            MUST(
                MPI_Isend(bufs[at], len_of(mp_rank, i), MPI_BYTE, p, 1, MPI_COMM_WORLD, &reqs[at]));
            at++;
        }
    }
    if (!is_sender)
        compute();
    next = calloc((size_t)mp_size, sizeof(*next));
    for (int i = 0; i < n_sources * N; i++) {
        MUST(MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
        check(status.MPI_SOURCE, next[status.MPI_SOURCE]++, &status);
    }
    MUST(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++)
        free(bufs[i]);
    free(next);
    free(bufs);
    free(reqs);
}

/* OFED's providers have no such receives: there each peer has its own, whatever is asked for. */
static int has_shared(void)
{
    const char *provider = getenv("DATUM_PROVIDER");

    return provider == NULL || strncmp(provider, "datum-", 6) == 0;
}

int main(int argc, char **argv)
{
    int provided;

    mp_start(&argc, &argv);
    flood(mp_rank != 0, 0, mp_rank == 0 ? mp_size - 1 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    flood(mp_rank == 0, -1, mp_rank == 0 ? 0 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
    flood(1, -1, mp_size - 1);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    if (has_shared())
        CHECK(counter("shared receives: messages in them") != 0);
    MUST(MPI_T_finalize());
    return mp_finish();
}
