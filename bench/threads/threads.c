/*
 * MPI_THREAD_MULTIPLE: threads of two ranks, thread i of one with thread i of the other, each pair on a communicator of
 * its own. Plain MPI-3: the same executable runs on any library of the MPICH ABI, and rebuilt on any other.
 *
 *   mpiexec -n 2 threads [-t THREADS,...] [-w WHAT,...] [-s SIZE] [-r ROUNDS] [-m MESSAGES] [-1] [-c]
 *
 *   -t numbers of threads (default 1,2,3,4,8,16), at most 64
 *   -w pingpong, window (64 sends, one answer), pair (64 receives posted, 64 sent, both directions),
 *      put (32 puts, one flush), allreduce, lock (both ranks lock the same part, put, unlock; a window of each thread's
 *      own), update (a part that all threads of both ranks accumulate 24000 bytes in, a flush for each), probe (a
 *      ping-pong with MPI_Mprobe), handed (windows of 64 whose requests another thread completes), idle (a ping-pong
 *      of all threads but the last, which waits in MPI_Recv for the end), wait (the longest call of a ping-pong, us)
 *      (default: all)
 *   -s bytes (default 8)
 *   -r rounds (default 5); each line gives the median and the minimum
 *   -m messages of each thread in a round (default 6400)
 *   -1 MPI_THREAD_SERIALIZED, for one thread only: what MULTIPLE costs
 *   -c the processor time of both ranks instead of the time: it counts under other load, too
 *
 * Output lines "WHAT THREADS MEDIAN MIN": microseconds for a message of the rank (of an exchange both ways half of it,
 * of allreduce and put a call), the threads together; wait: the longest of all.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MAX_ROUNDS = 101, WINDOW = 64, PUTS = 32, MAX_SIZE = 1 << 20 };
enum { N_UPDATED = 3000, UPDATE_PART = 16, LOCK_PART = 4 };
enum what {
    PINGPONG,
    ONE_WAY,
    PAIR,
    PUT,
    ALLREDUCE,
    LOCK,
    UPDATE,
    PROBE,
    HANDED,
    IDLE,
    LONGEST,
    N_WHATS
};

static const char *const names[N_WHATS] = {"pingpong",  "window", "pair",   "put",
                                           "allreduce", "lock",   "update", "probe",
                                           "handed",    "idle",   "wait"};

struct thread {
    pthread_t handle;
    int id;
    enum what what;
    int n; /* messages */
    double longest;
    char *out, *in; /* a message, and a window of them */
};

static MPI_Comm comms[MAX_THREADS];
static MPI_Win wins[MAX_THREADS], locked[MAX_THREADS], updated;
static pthread_barrier_t line_up;
static int rank, size = 8, n_rounds = 5, n_messages = 6400, n_now;
static bool counts_cpu;

static double exchange(struct thread *t)
{
    double longest = 0;

    for (int i = 0; i < t->n / 2; i++) {
        double since = t->what == LONGEST ? MPI_Wtime() : 0, took;

        if (rank == 0)
            MPI_Send(t->out, size, MPI_BYTE, 1, 0, comms[t->id]);
        MPI_Recv(t->in, size, MPI_BYTE, 1 - rank, 0, comms[t->id], MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(t->out, size, MPI_BYTE, 0, 0, comms[t->id]);
        took = t->what == LONGEST ? MPI_Wtime() - since : 0;
        longest = took > longest ? took : longest;
    }
    return longest;
}

static void one_way(const struct thread *t)
{
    MPI_Comm comm = comms[t->id];
    MPI_Request reqs[WINDOW];

    for (int i = 0; i < t->n / WINDOW; i++) {
        for (int k = 0; k < WINDOW; k++) {
            if (rank == 0)
                MPI_Isend(t->out, size, MPI_BYTE, 1, 0, comm, &reqs[k]);
            else
                MPI_Irecv(t->in + (size_t)k * (size_t)size, size, MPI_BYTE, 0, 0, comm, &reqs[k]);
        }
        MPI_Waitall(WINDOW, reqs, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(t->in, 0, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(t->out, 0, MPI_BYTE, 0, 1, comm);
    }
}

static void both_ways(const struct thread *t)
{
    MPI_Comm comm = comms[t->id];
    MPI_Request reqs[2 * WINDOW];

    for (int i = 0; i < t->n / (2 * WINDOW); i++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(t->in + (size_t)k * (size_t)size, size, MPI_BYTE, 1 - rank, 0, comm,
                      &reqs[k]);
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(t->out, size, MPI_BYTE, 1 - rank, 0, comm, &reqs[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, reqs, MPI_STATUSES_IGNORE);
    }
}

static void puts_and_flushes(const struct thread *t)
{
    for (int i = 0; i < t->n; i++) {
        MPI_Put(t->out, size, MPI_BYTE, 1 - rank, 0, size, MPI_BYTE, wins[t->id]);
        if (i % PUTS == PUTS - 1)
            MPI_Win_flush(1 - rank, wins[t->id]);
    }
}

static void locks(const struct thread *t)
{
    MPI_Win win = locked[t->id];

    for (int i = 0; i < t->n / LOCK_PART; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(t->out, size, MPI_BYTE, 0, 0, size, MPI_BYTE, win);
        MPI_Win_unlock(0, win);
    }
}

static void updates(const struct thread *t)
{
    static double ones[N_UPDATED];

    for (int i = 0; i < t->n / UPDATE_PART; i++) {
        MPI_Accumulate(ones, N_UPDATED, MPI_DOUBLE, 0, 0, N_UPDATED, MPI_DOUBLE, MPI_SUM, updated);
        MPI_Win_flush(0, updated);
    }
}

static void probes(const struct thread *t)
{
    MPI_Comm comm = comms[t->id];
    MPI_Message message;

    for (int i = 0; i < t->n / 2; i++) {
        if (rank == 0)
            MPI_Send(t->out, size, MPI_BYTE, 1, 0, comm);
        MPI_Mprobe(1 - rank, 0, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(t->in, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(t->out, size, MPI_BYTE, 0, 0, comm);
    }
}

/* Windows as in both_ways. Each thread posts one, and completes what its neighbour has posted. */
static MPI_Request handed[MAX_THREADS][2 * WINDOW];

static void hands_over(const struct thread *t)
{
    MPI_Comm comm = comms[t->id];
    MPI_Request *reqs = handed[t->id];

    for (int i = 0; i < t->n / (2 * WINDOW); i++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(t->in + (size_t)k * (size_t)size, size, MPI_BYTE, 1 - rank, 0, comm,
                      &reqs[k]);
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(t->out, size, MPI_BYTE, 1 - rank, 0, comm, &reqs[WINDOW + k]);
        pthread_barrier_wait(&line_up);
        MPI_Waitall(2 * WINDOW, handed[(t->id + 1) % n_now], MPI_STATUSES_IGNORE);
        pthread_barrier_wait(&line_up);
    }
}

/* The last thread waits until the first is done, and sends it a message. */
static void beside_one(struct thread *t)
{
    MPI_Comm comm = comms[n_now - 1];

    if (n_now == 1 || t->id < n_now - 1)
        (void)exchange(t);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, rank, 2, comm, MPI_STATUS_IGNORE);
    if (n_now > 1 && t->id == 0)
        MPI_Send(NULL, 0, MPI_BYTE, rank, 2, comm);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    double value = 1, sum;

    pthread_barrier_wait(&line_up);
    switch (t->what) {
    case PINGPONG:
    case LONGEST:
        t->longest = exchange(t);
        break;
    case ONE_WAY:
        one_way(t);
        break;
    case PAIR:
        both_ways(t);
        break;
    case PUT:
        puts_and_flushes(t);
        break;
    case LOCK:
        locks(t);
        break;
    case UPDATE:
        updates(t);
        break;
    case PROBE:
        probes(t);
        break;
    case HANDED:
        hands_over(t);
        break;
    case IDLE:
        beside_one(t);
        break;
    default:
        for (int i = 0; i < t->n; i++)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comms[t->id]);
    }
    pthread_barrier_wait(&line_up);
    return NULL;
}

static double now(void)
{
    struct timespec t;

    if (!counts_cpu)
        return MPI_Wtime();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* So many of t->n each of them does. */
static int part_of(enum what what)
{
    return what == LOCK ? LOCK_PART : what == UPDATE ? UPDATE_PART : 1;
}

/* Microseconds for a message, or the longest call. The calling thread is the first. */
static double measure(enum what what, struct thread *threads, int n_threads)
{
    double since, longest = 0, us, sum;

    n_now = n_threads;
    pthread_barrier_init(&line_up, NULL, (unsigned)n_threads);
    MPI_Barrier(MPI_COMM_WORLD);
    since = now();
    for (int i = 0; i < n_threads; i++) {
        threads[i].what = what;
        threads[i].n = n_messages;
    }
    for (int i = 1; i < n_threads; i++)
        if (pthread_create(&threads[i].handle, NULL, run, &threads[i]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    run(&threads[0]);
    us = (now() - since) * 1e6 * part_of(what) /
         ((double)n_messages * (n_threads - (what == IDLE && n_threads > 1)));
    for (int i = 1; i < n_threads; i++)
        pthread_join(threads[i].handle, NULL);
    pthread_barrier_destroy(&line_up);
    for (int i = 0; i < n_threads; i++)
        longest = threads[i].longest > longest ? threads[i].longest : longest;
    if (counts_cpu) {
        MPI_Allreduce(&us, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        us = sum;
    }
    return what == LONGEST ? longest * 1e6 : us;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void line(enum what what, struct thread *threads, int n_threads)
{
    double us[MAX_ROUNDS] = {0};

    measure(what == LONGEST ? PINGPONG : what, threads, n_threads);
    for (int i = 0; i < n_rounds; i++)
        us[i] = measure(what, threads, n_threads);
    qsort(us, (size_t)n_rounds, sizeof(us[0]), by_value);
    if (rank == 0)
        printf("%s %d %.3f %.3f\n", names[what], n_threads,
               us[what == LONGEST ? n_rounds - 1 : n_rounds / 2], us[0]);
    fflush(stdout);
}

/* Is it in the list? */
static bool is_wanted(const char *whats, const char *what)
{
    size_t len = strlen(what);

    for (const char *at = whats; at != NULL && (at = strstr(at, what)) != NULL; at += len)
        if ((at == whats || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return whats == NULL;
}

static void run_all(const char *whats, char *numbers)
{
    struct thread threads[MAX_THREADS] = {0};
    static double sums[N_UPDATED];

    MPI_Win_create(sums, sizeof(sums), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &updated);
    MPI_Win_lock_all(0, updated);
    for (int i = 0; i < MAX_THREADS; i++) {
        void *base;

        threads[i].id = i;
        threads[i].out = calloc(1, (size_t)size);
        threads[i].in = calloc(WINDOW, (size_t)size);
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, comms[i], &base, &wins[i]);
        MPI_Win_lock_all(0, wins[i]);
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, comms[i], &base, &locked[i]);
    }
    for (char *word = strtok(numbers, ","); word != NULL; word = strtok(NULL, ",")) {
        int n = atoi(word);

        for (int what = 0; what < N_WHATS && n >= 1 && n <= MAX_THREADS; what++)
            if (is_wanted(whats, names[what]))
                line((enum what)what, threads, n);
    }
    MPI_Win_unlock_all(updated);
    MPI_Win_free(&updated);
    for (int i = 0; i < MAX_THREADS; i++) {
        MPI_Win_unlock_all(wins[i]);
        MPI_Win_free(&wins[i]);
        MPI_Win_free(&locked[i]);
        MPI_Comm_free(&comms[i]);
        free(threads[i].out);
        free(threads[i].in);
    }
}

int main(int argc, char **argv)
{
    char standard[] = "1,2,3,4,8,16", *numbers = standard;
    const char *whats = NULL;
    int want = MPI_THREAD_MULTIPLE, level, n_ranks, opt;

    while ((opt = getopt(argc, argv, "t:w:s:r:m:1c")) != -1) {
        if (opt == 't')
            numbers = optarg;
        else if (opt == 'w')
            whats = optarg;
        else if (opt == 's')
            size = atoi(optarg);
        else if (opt == 'r')
            n_rounds = atoi(optarg);
        else if (opt == 'm')
            n_messages = atoi(optarg);
        else if (opt == 'c')
            counts_cpu = true;
        else if (opt == '1')
            want = MPI_THREAD_SERIALIZED;
        else
            return 2;
    }
    if (size < 1 || size > MAX_SIZE || n_rounds < 1 || n_rounds > MAX_ROUNDS ||
        n_messages < 2 * WINDOW)
        return 2;
    MPI_Init_thread(&argc, &argv, want, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (n_ranks != 2 || level < want) {
        if (rank == 0)
            fprintf(stderr, "threads: wants 2 ranks and MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    run_all(whats, numbers);
    MPI_Finalize();
    return 0;
}
