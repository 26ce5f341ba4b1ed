/*
 * Bandwidth of MPI and of raw DAT by the same method: windows of messages one way, each answered by a few bytes, by
 * turns, in the same two processes, from and to the same memory. The raw side has an instance of the provider
 * (DATUM_PROVIDER) and a connection of its own, and writes by RDMA.
 *
 *   mpiexec -n 2 stream [-q] [MIN:MAX]         sizes grow fourfold (64k:1m)
 *
 * Output lines "SERIES SIZE MOST MEDIAN P10 P90 MB/s", of the rounds.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>

#include "../../tests/dat/dat_test.h"

#define WINDOW     16
#define ROUNDS_MAX 40
#define LEN_MAX    (4u << 20)
#define SPINS      200         /* until the core is offered to others */
#define BYTES      (32u << 20) /* of one series in one round, at least one window */

enum { RAW, MPI, N_SERIES };

static struct {
    int rank, n_rounds;
    struct dt dat;
    struct dt_mem mem, peers; /* the message, and behind it the words */
    uint64_t turn;
} me;

/* ---- raw ---- */

/* Behind the message: what the peer has written, and what is written from. */
static size_t word_at(int i)
{
    return LEN_MAX + (size_t)i * 64;
}

static void connect_raw(const char *provider)
{
    struct {
        DAT_CONN_QUAL qual;
        struct sockaddr_in6 addr;
    } where = {0};
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    DAT_EVENT event;

    dt_open(&me.dat, provider);
    dt_alloc(&me.dat, &me.mem, word_at(2), false);
    if (me.rank == 1) {
        OK(dat_psp_create_any(me.dat.ia, &where.qual, me.dat.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
        where.addr = me.dat.addr;
    }
    MPI_Bcast(&where, sizeof(where), MPI_BYTE, 1, MPI_COMM_WORLD);
    if (me.rank == 1) {
        event = dt_wait(me.dat.cr_evd);
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, me.dat.ep, 0, NULL));
    } else {
        OK(dat_ep_connect(me.dat.ep, (DAT_IA_ADDRESS_PTR)&where.addr, where.qual, DT_WAIT_US, 0,
                          NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    }
    dt_want_conn(me.dat.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    if (me.rank == 1)
        OK(dat_psp_free(psp));
    MPI_Sendrecv(&me.mem, sizeof(me.mem), MPI_BYTE, 1 - me.rank, 0, &me.peers, sizeof(me.peers),
                 MPI_BYTE, 1 - me.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void write_raw(size_t from, size_t to, size_t len, int is_last)
{
    DAT_LMR_TRIPLET seg = dt_seg(&me.mem, from, len);
    DAT_RMR_TRIPLET remote = dt_remote(&me.peers, to, len);

    OK(dat_ep_post_rdma_write(me.dat.ep, 1, &seg, dt_cookie(0), &remote,
                              is_last ? DAT_COMPLETION_DEFAULT_FLAG
                                      : DAT_COMPLETION_SUPPRESS_FLAG));
}

/*
 * The peer's word for this turn, or already for the next one; and so many completions. Providers without a thread move
 * data meanwhile.
 */
static void wait_raw(int n_due)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(me.mem.buf + word_at(0));
    DAT_EVENT event;
    int spins = 0;

    while (n_due > 0 || atomic_load_explicit(word, memory_order_acquire) < me.turn) {
        if (dat_evd_dequeue(me.dat.req_evd, &event) != DAT_SUCCESS) {
            if (++spins % SPINS == 0)
                sched_yield();
            continue;
        }
        CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        n_due--;
    }
}

static void tell_raw(void)
{
    memcpy(me.mem.buf + word_at(1), &me.turn, sizeof(me.turn));
    write_raw(word_at(1), word_at(0), sizeof(me.turn), 1);
}

static void window_raw(size_t len)
{
    me.turn++;
    if (me.rank == 1) {
        wait_raw(0);
        tell_raw();
        wait_raw(1);
        return;
    }
    for (int i = 0; i < WINDOW; i++)
        write_raw(0, 0, len, 0);
    tell_raw();
    wait_raw(1);
}

/* ---- MPI ---- */

static void window_mpi(size_t len)
{
    MPI_Request req[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        if (me.rank == 0)
            MPI_Isend(me.mem.buf, (int)len, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &req[i]);
        else
            MPI_Irecv(me.mem.buf, (int)len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &req[i]);
    }
    MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
    if (me.rank == 0)
        MPI_Recv(me.mem.buf + word_at(0), 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(me.mem.buf + word_at(1), 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* ---- rounds ---- */

static const struct series {
    const char *name;
    void (*window)(size_t len);
} series[N_SERIES] = {{"raw", window_raw}, {"mpi", window_mpi}};

/* MB/s. */
static double run_round(const struct series *s, size_t len)
{
    size_t n = BYTES / WINDOW / len > 0 ? BYTES / WINDOW / len : 1;
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    s->window(len);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (size_t i = 0; i < n; i++)
        s->window(len);
    return (double)n * WINDOW * (double)len / (MPI_Wtime() - start) * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(size_t len)
{
    double mbs[N_SERIES][ROUNDS_MAX];
    int n = me.n_rounds;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < N_SERIES; k++)
            mbs[k][i] = run_round(&series[k], len);
    for (int k = 0; me.rank == 0 && k < N_SERIES; k++) {
        qsort(mbs[k], (size_t)n, sizeof(mbs[k][0]), by_value);
        printf("%s %zu %.2f %.2f %.2f %.2f MB/s\n", series[k].name, len, mbs[k][n - 1],
               mbs[k][n / 2], mbs[k][n / 10], mbs[k][n - 1 - n / 10]);
    }
}

int main(int argc, char **argv)
{
    int is_quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    const char *provider = getenv("DATUM_PROVIDER");
    size_t least = 64 << 10, most = 1 << 20;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 + is_quick && sscanf(argv[1 + is_quick], "%zu:%zu", &least, &most) != 2)
        least = 0;
    if (size != 2 || least < 8 || most < least || most > LEN_MAX) {
        if (me.rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 stream [-q] [MIN:MAX]\nsizes from 8 to 4194304\n");
        MPI_Finalize();
        return 2;
    }
    me.n_rounds = is_quick ? 5 : 11;
    connect_raw(provider != NULL ? provider : "datum-shm");
    for (size_t len = least; len <= most; len *= 4)
        measure(len);
    MPI_Barrier(MPI_COMM_WORLD);
    dt_close(&me.dat);
    MPI_Finalize();
    return 0;
}
