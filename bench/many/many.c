/*
 * What a job of many ranks costs: the start, first and later messages of everybody to everybody, memory and descriptors
 * of a rank, a ping-pong beside ranks that are connected and wait, messages of all to one, collectives, windows, the
 * end. Runs with any MPI.
 *
 *   mpiexec -n N many [SECONDS [near]]
 *
 * Prints lines "name value" as they are measured. SECONDS (0.3): what is repeated, is so for about as long. near:
 * nothing that all send to all, for hundreds of ranks.
 */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_MESSAGES = 200, N_TO_ONE = 100, HALO_LEN = 1024, N_WINDOWS = 64, WINDOW_LEN = 4096 };

static int rank, size;
static double seconds = 0.3;

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void say(const char *name, double value)
{
    if (rank == 0) {
        printf("%s %.9g\n", name, value);
        fflush(stdout);
    }
}

static double n_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n - 3; /* ".", ".." and the directory itself */
}

/* Proportional set size, MiB. */
static double memory(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "Pss:", 4) == 0)
            kb = atol(line + 4);
    if (f != NULL)
        fclose(f);
    return (double)kb / 1024;
}

/* Largest and mean over the ranks. */
static void say_ranks(const char *name, double value)
{
    double most, sum;
    char text[64];

    MPI_Reduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    say(name, sum / size);
    snprintf(text, sizeof(text), "%s_most", name);
    say(text, most);
}

/*
 * From the first rank that began at `since` to the last one's `until`, over n. All ranks are on one machine, so they
 * have one clock: a rank alone would not see what others had done before they let it begin.
 */
static void say_job(const char *name, double since, double until, double n)
{
    double t[2] = {-since, until}, last[2];

    MPI_Reduce(t, last, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    say(name, (last[1] + last[0]) / n);
}

static void one_to_all(void)
{
    for (int d = 1; d < size; d++) {
        double out = rank, in;

        MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + d) % size, 0, &in, 1, MPI_DOUBLE,
                     (rank + size - d) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void everybody(const char *name)
{
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    one_to_all();
    say_job(name, t, now(), 1);
}

/* N_MESSAGES of 8 bytes to every other. */
static void many_messages(void)
{
    MPI_Request reqs[2 * N_MESSAGES];
    double out[N_MESSAGES] = {0}, in[N_MESSAGES];
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    for (int d = 1; d < size; d++) {
        for (int i = 0; i < N_MESSAGES; i++) {
            MPI_Irecv(&in[i], 1, MPI_DOUBLE, (rank + size - d) % size, 0, MPI_COMM_WORLD,
                      &reqs[2 * i]);
            MPI_Isend(&out[i], 1, MPI_DOUBLE, (rank + d) % size, 0, MPI_COMM_WORLD,
                      &reqs[2 * i + 1]);
        }
        MPI_Waitall(2 * N_MESSAGES, reqs, MPI_STATUSES_IGNORE);
    }
    say_job("message", t, now(), (double)N_MESSAGES * (size - 1));
}

/* Ranks 0 and 1, as long as rank 0 says; the others wait in a receive. */
static void ping_pong(void)
{
    double goes_on = 1;
    double t = now();
    long n = 0;

    if (rank > 1)
        MPI_Recv(&goes_on, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (rank < 2 && goes_on != 0) {
        if (rank == 0) {
            goes_on = ++n < 100000 && now() - t < seconds;
            MPI_Send(&goes_on, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&goes_on, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&goes_on, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&goes_on, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
    t = now() - t;
    for (int i = 2; rank == 0 && i < size; i++)
        MPI_Send(&goes_on, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD);
    if (rank == 0)
        say("pingpong", t / (double)n / 2);
}

static void all_to_one(void)
{
    double value = 0;
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    for (int i = 0; i < (rank == 0 ? N_TO_ONE * (size - 1) : N_TO_ONE); i++)
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    say_job("to_one", t, now(), (double)N_TO_ONE * (size - 1));
}

static char *room; /* of two messages for every rank */

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    double in = 1, out;

    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(room, 8, MPI_BYTE, room + 8 * (size_t)size, 8, MPI_BYTE, MPI_COMM_WORLD);
}

static void halo(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    MPI_Sendrecv(room, HALO_LEN, MPI_BYTE, left, 2, room + HALO_LEN, HALO_LEN, MPI_BYTE, right, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(room, HALO_LEN, MPI_BYTE, right, 2, room + HALO_LEN, HALO_LEN, MPI_BYTE, left, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds of the first call, which may connect, and of one of many. */
static void repeat(const char *name, void (*call)(void))
{
    char text[64];
    int n = 1;
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    call();
    if (call != barrier) {
        snprintf(text, sizeof(text), "%s_first", name);
        say_job(text, t, now(), 1);
    }
    for (;;) {
        int next = 0;

        MPI_Barrier(MPI_COMM_WORLD);
        t = now();
        for (int i = 0; i < n; i++)
            call();
        t = now() - t;
        if (t < seconds)
            next = t < seconds / 100 ? 10 * n : (int)(n * seconds / t * 1.2) + 1;
        MPI_Bcast(&next, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (next == 0)
            break;
        n = next;
    }
    say(name, t / n);
}

static void windows(void)
{
    MPI_Win win[N_WINDOWS];
    char *base;
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    for (int i = 0; i < N_WINDOWS; i++) {
        MPI_Win_allocate(WINDOW_LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win[i]);
        MPI_Win_fence(0, win[i]);
        MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win[i]);
        MPI_Win_fence(0, win[i]);
    }
    t = now() - t;
    say_ranks("windows_memory", memory());
    MPI_Barrier(MPI_COMM_WORLD);
    t -= now();
    for (int i = 0; i < N_WINDOWS; i++)
        MPI_Win_free(&win[i]);
    say("window", (now() + t) / N_WINDOWS);
}

/* Of MPI_Init, from the first rank that called it to the last one that came back; and of a barrier from then on. */
static void start(int *argc, char ***argv)
{
    double t[3], last[3];

    t[0] = -now();
    MPI_Init(argc, argv);
    t[1] = now();
    barrier();
    t[2] = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(t, last, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    say("init", last[1] + last[0]);
    say("barrier_first", last[2] - last[1]);
}

/* All send to all. */
static void crowd(void)
{
    everybody("first");
    everybody("second");
    everybody("third");
    many_messages();
    say_ranks("memory", memory());
    say_ranks("descriptors", n_descriptors());
    ping_pong();
    all_to_one();
}

int main(int argc, char **argv)
{
    int is_near;
    double t;

    start(&argc, &argv);
    is_near = argc > 2 && strcmp(argv[2], "near") == 0;
    if (argc > 1)
        seconds = atof(argv[1]);
    if (size < 2 || seconds <= 0) {
        fprintf(stderr, "many: wants two ranks or more, and seconds above 0\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    room = calloc(2, (size_t)size * 8 > HALO_LEN ? (size_t)size * 8 : HALO_LEN);
    if (!is_near)
        crowd();
    repeat("barrier", barrier);
    repeat("allreduce", allreduce);
    repeat("halo", halo);
    if (!is_near)
        repeat("alltoall", alltoall);
    windows();
    free(room);
    MPI_Barrier(MPI_COMM_WORLD);
    t = now();
    MPI_Finalize();
    say("finalize", now() - t);
    return 0;
}
