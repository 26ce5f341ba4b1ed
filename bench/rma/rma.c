/*
 * One-sided calls between two ranks, or fences of any number, plain MPI-3: one kind of window and
 * one kind of epoch per run, so that a library which hangs in one of them is only asked that.
 *
 *   mpiexec -n 2 rma [-w WINDOW] [-e EPOCH] [-t TARGET] [-s MIN:MAX] [-r ROUNDS]
 *   mpiexec -n N rma -e fences
 *
 * WINDOW: allocate, mem (created on memory of MPI_Alloc_mem) or plain (on malloc's). EPOCH: fence,
 * pscw, lock (one for each call) or flush (one lock_all, a flush for each call). TARGET, with lock
 * and flush: waits in MPI_Barrier (barrier), in a loop of MPI_Iprobe (poll), or computes without
 * MPI calls (compute).
 * Output lines "WHAT SIZE MEDIAN BEST": microseconds for one call and what completes it, MB/s of 32
 * puts or gets, calls a second of 64 puts of 8 bytes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define STREAM     32
#define BURST      64
#define COMPUTE    0.1 /* seconds */

enum epoch { FENCE, PSCW, LOCK, FLUSH, FENCES, N_EPOCHS };
enum call { PUT, GET, ACC, GACC, FOP, CAS, NOTHING, N_CALLS };

static const char *const epochs[] = {"fence", "pscw", "lock", "flush", "fences"};
static const char *const windows[] = {"allocate", "mem", "plain"};
static const char *const targets[] = {"barrier", "poll", "compute"};
static const char *const calls[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap", "empty"};

static enum epoch epoch;
static int window, target, rank, n_rounds = 5;
static char *buf, *result;
static MPI_Win win;
static MPI_Group other;

static void one_call(enum call what, int len)
{
    static long one = 1, zero;

    switch (what) {
    case PUT:
        MPI_Put(buf, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
        break;
    case GET:
        MPI_Get(buf, len, MPI_BYTE, 1, 0, len, MPI_BYTE, win);
        break;
    case ACC:
        MPI_Accumulate(buf, len / 8, MPI_LONG, 1, 0, len / 8, MPI_LONG, MPI_SUM, win);
        break;
    case GACC:
        MPI_Get_accumulate(buf, len / 8, MPI_LONG, result, len / 8, MPI_LONG, 1, 0, len / 8,
                           MPI_LONG, MPI_SUM, win);
        break;
    case FOP:
        MPI_Fetch_and_op(&one, result, MPI_LONG, 1, 0, MPI_SUM, win);
        break;
    case CAS:
        MPI_Compare_and_swap(&one, &zero, result, MPI_LONG, 1, 0, win);
        break;
    default:
        break;
    }
}

/* One epoch with n calls; both ranks are in it where the target takes part. */
static void one_epoch(enum call what, int len, int n)
{
    if (epoch == PSCW && rank == 1) {
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
        return;
    }
    if (epoch == PSCW)
        MPI_Win_start(other, 0, win);
    if (epoch == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (int i = 0; rank == 0 && i < n; i++)
        one_call(what, len);
    switch (epoch) {
    case PSCW:
        MPI_Win_complete(win);
        break;
    case LOCK:
        MPI_Win_unlock(1, win);
        break;
    case FLUSH:
        MPI_Win_flush(1, win);
        break;
    default:
        MPI_Win_fence(0, win);
    }
}

/* What the target of a passive epoch does until the origin is done. */
static void be_target(void)
{
    int arrived = 0;
    double end;

    if (target == 2) {
        for (end = MPI_Wtime() + COMPUTE; MPI_Wtime() < end;)
            ;
    } else if (target == 1) {
        while (!arrived)
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Microseconds for one epoch. */
static double measure(enum call what, int len, int n_calls, int n)
{
    int is_passive = epoch == LOCK || epoch == FLUSH, done = 0;
    double start, time;

    MPI_Barrier(MPI_COMM_WORLD);
    if (is_passive && rank == 1) {
        be_target();
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    start = MPI_Wtime();
    /* a target that computes is not to be caught in MPI when it has done so */
    while (done < n && (target != 2 || MPI_Wtime() - start < COMPUTE / 2)) {
        one_epoch(what, len, n_calls);
        done++;
    }
    time = MPI_Wtime() - start;
    if (is_passive && target == 1)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (is_passive)
        MPI_Barrier(MPI_COMM_WORLD);
    return time / done * 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rounds of one line; rate is 0 or what makes a rate of one epoch (bytes, calls). */
static void row(const char *name, enum call what, long len, int n_calls, double rate)
{
    double t[MAX_ROUNDS] = {0};
    long bytes = len * n_calls;
    int n = bytes > 1 << 18 ? 4 : bytes > 1 << 14 ? 40 : 400;

    for (int r = -1; r < n_rounds; r++)
        t[r < 0 ? 0 : r] = measure(what, (int)len, n_calls, n);
    if (rank != 0)
        return;
    qsort(t, (size_t)n_rounds, sizeof(t[0]), by_value);
    printf("%s/%s/%s", name, windows[window], epochs[epoch]);
    if (target > 0)
        printf("/%s", targets[target]);
    printf(" %ld %.4f %.4f\n", len, rate > 0 ? rate / t[n_rounds / 2] : t[n_rounds / 2],
           rate > 0 ? rate / t[0] : t[0]);
    fflush(stdout);
}

static void all_rows(long min, long max)
{
    row("empty", NOTHING, 0, 0, 0);
    for (enum call what = PUT; what <= GACC; what++) {
        for (long len = min; len <= max; len *= 8)
            row(calls[what], what, len, 1, 0);
    }
    row(calls[FOP], FOP, 8, 1, 0);
    if (target == 2) {
        row(calls[CAS], CAS, 8, 1, 0);
        return;
    }
    for (long len = min; len <= max; len *= 8) {
        row("put_bandwidth", PUT, len, STREAM, (double)len * STREAM);
        row("get_bandwidth", GET, len, STREAM, (double)len * STREAM);
    }
    row("put_rate", PUT, 8, BURST, BURST * 1e6);
    row("accumulate_rate", ACC, 8, BURST, BURST * 1e6);
    /* last, since Open MPI crashes in it */
    row(calls[CAS], CAS, 8, 1, 0);
}

/* Empty fences of all ranks: "fences RANKS MEDIAN BEST". */
static void fences(void)
{
    double t[MAX_ROUNDS] = {0};
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = -1; r < n_rounds; r++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (int i = 0; i < 200; i++)
            MPI_Win_fence(0, win);
        t[r < 0 ? 0 : r] = (MPI_Wtime() - start) * 1e6 / 200;
    }
    qsort(t, (size_t)n_rounds, sizeof(t[0]), by_value);
    if (rank == 0)
        printf("fences %d %.4f %.4f\n", size, t[n_rounds / 2], t[0]);
}

static int find(const char *text, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
    }
    return -1;
}

static int usage(void)
{
    fprintf(stderr, "usage: rma [-w allocate|mem|plain] [-e fence|pscw|lock|flush|fences]\n"
                    "           [-t barrier|poll|compute] [-s MIN:MAX] [-r ROUNDS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}

static char *make_window(long size)
{
    char *base;

    if (window == 0) {
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        return base;
    }
    if (window == 1)
        MPI_Alloc_mem(size, MPI_INFO_NULL, &base);
    else
        base = malloc((size_t)size);
    MPI_Win_create(base, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return base;
}

static void free_window(char *base)
{
    MPI_Win_free(&win);
    if (window == 1)
        MPI_Free_mem(base);
    else if (window == 2)
        free(base);
}

int main(int argc, char **argv)
{
    long min = 8, max = 4 << 20;
    int c, peer, size;
    MPI_Group all;
    char *base;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    epoch = FLUSH;
    while ((c = getopt(argc, argv, "w:e:t:s:r:")) != -1) {
        if (c == 'w' && (window = find(optarg, windows, 3)) >= 0)
            continue;
        if (c == 'e' && find(optarg, epochs, N_EPOCHS) >= 0) {
            epoch = (enum epoch)find(optarg, epochs, N_EPOCHS);
            continue;
        }
        if (c == 't' && (target = find(optarg, targets, 3)) >= 0)
            continue;
        if (c == 's' && sscanf(optarg, "%ld:%ld", &min, &max) == 2 && min >= 8 && max >= min)
            continue;
        if (c == 'r' && (n_rounds = atoi(optarg)) > 0 && n_rounds <= MAX_ROUNDS)
            continue;
        return usage();
    }
    if (size < 2 || (size > 2 && epoch != FENCES) || (target > 0 && epoch < LOCK))
        return usage();
    base = make_window(max);
    memset(base, 0, (size_t)max);
    buf = calloc(1, (size_t)max);
    result = calloc(1, (size_t)max);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    peer = 1 - rank;
    if (epoch == PSCW)
        MPI_Group_incl(all, 1, &peer, &other);
    if (epoch == FENCE || epoch == FENCES)
        MPI_Win_fence(0, win);
    if (epoch == FLUSH)
        MPI_Win_lock_all(0, win);
    if (epoch == FENCES)
        fences();
    else
        all_rows(min, max);
    if (epoch == FLUSH)
        MPI_Win_unlock_all(win);
    if (epoch == FENCE || epoch == FENCES)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (epoch == PSCW)
        MPI_Group_free(&other);
    MPI_Group_free(&all);
    free_window(base);
    free(buf);
    free(result);
    MPI_Finalize();
    return 0;
}
