/*
 * What N messages of LEN bytes from rank 0 to rank 1 cost, by the counters of the library: designs N LEN [HOW]. Rank 1
 * answers every message with an empty one first thing. HOW: halves, rank 0 sends the whole, a half of
 * it, and so on in turn; queue, it sends all N before it waits; put, it puts LEN bytes into a window of rank 1 and flushes, N
 * times. Each rank prints a line for each counter, by how much it has moved: "RANK NAME VALUE". Data are checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 256, NAME = 128 };

static MPI_T_pvar_handle handles[MAX];
static char names[MAX][NAME];
static unsigned long long before[MAX], after[MAX];
static MPI_T_pvar_session session;
static int n_vars;

static void open_counters(void)
{
    int provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&n_vars);
    if (n_vars > MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < n_vars; i++) {
        int len = NAME, desc_len = 0, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum e;

        MPI_T_pvar_get_info(i, names[i], &len, &verbosity, &class, &type, &e, NULL, &desc_len,
                            &bind, &readonly, &continuous, &atomic);
        MPI_T_pvar_handle_alloc(session, i, NULL, &handles[i], &count);
    }
}

static void read_counters(unsigned long long *values)
{
    for (int i = 0; i < n_vars; i++)
        MPI_T_pvar_read(session, handles[i], &values[i]);
}

/* The part of the buffer that message i is. */
static void part(int i, size_t len, const char *how, size_t *at_p, size_t *len_p)
{
    *at_p = 0;
    *len_p = len;
    if (strcmp(how, "halves") == 0 && i % 2 == 1) {
        *at_p = i % 4 == 1 ? 0 : len / 2;
        *len_p = len / 2;
    }
}

static void fill(char *buf, size_t len, int i)
{
    for (size_t k = 0; k < len; k++)
        buf[k] = (char)(i * 7 + (int)(k % 251));
}

static void check(const char *buf, size_t len, int i)
{
    for (size_t k = 0; k < len; k++) {
        if (buf[k] != (char)(i * 7 + (int)(k % 251))) {
            fprintf(stderr, "message %d: byte %zu is wrong\n", i, k);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void round_trip(char *buf, int i, size_t len, const char *how, int rank)
{
    size_t at, n;

    part(i, len, how, &at, &n);
    if (rank == 0) {
        fill(buf + at, n, i);
        MPI_Send(buf + at, (int)n, MPI_CHAR, 1, i, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_CHAR, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buf + at, (int)n, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(buf + at, n, i);
        MPI_Send(NULL, 0, MPI_CHAR, 0, i, MPI_COMM_WORLD);
    }
}

/* All at once, in two halves of the buffer in turn at the receiver. */
static void flood(char *buf, int n, size_t len, int rank)
{
    MPI_Request *reqs = malloc((size_t)n * sizeof(*reqs));

    fill(buf, len, 0);
    for (int i = 0; i < n && rank == 0; i++)
        MPI_Isend(buf, (int)len, MPI_CHAR, 1, i, MPI_COMM_WORLD, &reqs[i]);
    if (rank == 0)
        MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n && rank == 1; i++) {
        memset(buf, 1, len);
        MPI_Recv(buf, (int)len, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(buf, len, 0);
    }
    free(reqs);
}

static void put_all(char *buf, int n, size_t len, MPI_Win win, int rank)
{
    fill(buf, len, rank == 0 ? n : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n && rank == 0; i++) {
        MPI_Put(buf, (int)len, MPI_CHAR, 1, 0, (int)len, MPI_CHAR, win);
        MPI_Win_flush(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    check(buf, len, n);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, rank;
    size_t len = argc > 2 ? (size_t)atol(argv[2]) : 8;
    const char *how = argc > 3 ? argv[3] : "";
    char *buf = malloc(len + 1);
    MPI_Win win = MPI_WIN_NULL;

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* lines of two ranks stay whole */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* connections, the link for RDMA, and what is registered once */
    for (int i = 0; i < 8; i++)
        round_trip(buf, i, len, "", rank);
    if (strcmp(how, "put") == 0) {
        MPI_Win_create(buf, (MPI_Aint)len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_lock_all(0, win);
        put_all(buf, 1, len, win, rank);
    }
    open_counters();
    MPI_Barrier(MPI_COMM_WORLD);
    read_counters(before);
    if (strcmp(how, "queue") == 0)
        flood(buf, n, len, rank);
    else if (strcmp(how, "put") == 0)
        put_all(buf, n, len, win, rank);
    else
        for (int i = 0; i < n; i++)
            round_trip(buf, i, len, how, rank);
    read_counters(after);
    for (int i = 0; i < n_vars; i++) {
        if (after[i] >= before[i])
            printf("%d %s %llu\n", rank, names[i], after[i] - before[i]);
    }
    if (win != MPI_WIN_NULL) {
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    MPI_T_finalize();
    MPI_Finalize();
    free(buf);
    return 0;
}
