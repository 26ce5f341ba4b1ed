/*
 * Two ranks that send each other checked data without a pause: small and eager messages with
 * numbers, large messages, puts, gets and sums. Rank 0 prints "running", then "round N"
 * now and then; they end after the round in which the file "stop" is there, and look whether
 * anything has come twice.
 * rails -s HOST: the second rank is spawned there.
 * rails -w: with a window of its own for every round.
 * rails -t LEN N: N messages of LEN bytes one way instead, and the milliseconds that they took.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_SMALL 40
#define N_EAGER 6
#define N_LARGE 2
#define N_ALL   (N_SMALL + N_EAGER + N_LARGE)
#define LARGE   1500000
#define PUT_LEN 700000

static int rank;
static MPI_Comm all;

static void wrong(const char *what, long round, long at)
{
    fprintf(stderr, "rank %d: wrong data: %s, round %ld, byte or number %ld\n", rank, what, round,
            at);
    MPI_Abort(all, 1);
}

/* Bytes that depend on sender, round, message and place. */
static void fill(unsigned char *at, size_t len, int from, long round, int number)
{
    unsigned x = (unsigned)from * 77773u + (unsigned)round * 1031u + (unsigned)number * 31u;

    for (size_t i = 0; i < len; i++)
        at[i] = (unsigned char)(x + i + (i >> 8) * 7);
}

static void check(const unsigned char *at, size_t len, int from, long round, int number,
                  const char *what)
{
    unsigned x = (unsigned)from * 77773u + (unsigned)round * 1031u + (unsigned)number * 31u;

    for (size_t i = 0; i < len; i++) {
        if (at[i] != (unsigned char)(x + i + (i >> 8) * 7))
            wrong(what, round, (long)i);
    }
}

static size_t len_of(long round, int number)
{
    if (number < N_SMALL)
        return (size_t)((round * 131 + number * 17) % 900);
    if (number < N_SMALL + N_EAGER)
        return (size_t)(1000 + (round * 997 + number * 3001) % 14000);
    return (size_t)(LARGE - (round % 7) * 4097 - number);
}

/* All with one tag: the order, and the lengths, say which is which. */
static void messages(long round, unsigned char **out, unsigned char **in)
{
    MPI_Request reqs[2 * N_ALL];
    MPI_Status stats[2 * N_ALL];
    int peer = !rank;
    int n;

    for (int i = 0; i < N_ALL; i++) {
        memset(in[i], 0xee, len_of(round, i));
        MPI_Irecv(in[i], LARGE, MPI_BYTE, peer, 1, all, &reqs[i]);
    }
    for (int i = 0; i < N_ALL; i++) {
        fill(out[i], len_of(round, i), rank, round, i);
        MPI_Isend(out[i], (int)len_of(round, i), MPI_BYTE, peer, 1, all, &reqs[N_ALL + i]);
    }
    MPI_Waitall(2 * N_ALL, reqs, stats);
    for (int i = 0; i < N_ALL; i++) {
        MPI_Get_count(&stats[i], MPI_BYTE, &n);
        if ((size_t)n != len_of(round, i))
            wrong("length of a message", round, n);
        check(in[i], len_of(round, i), peer, round, i, "message");
    }
}

/* The window: what the peer puts, what it gets, a sum. */
static void puts_and_gets(long round, MPI_Win win, unsigned char *mem, unsigned char *out,
                          unsigned char *in)
{
    long *sum = (long *)(void *)(mem + 2 * PUT_LEN);
    int peer = !rank;
    long one = 1;

    fill(out, PUT_LEN, rank, round, 1000);
    fill(mem + PUT_LEN, PUT_LEN, rank, round, 1001);
    memset(in, 0xee, PUT_LEN);
    MPI_Win_fence(0, win);
    MPI_Put(out, PUT_LEN, MPI_BYTE, peer, 0, PUT_LEN, MPI_BYTE, win);
    MPI_Get(in, PUT_LEN, MPI_BYTE, peer, PUT_LEN, PUT_LEN, MPI_BYTE, win);
    MPI_Accumulate(&one, 1, MPI_LONG, peer, 2 * PUT_LEN, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    check(mem, PUT_LEN, peer, round, 1000, "put");
    check(in, PUT_LEN, peer, round, 1001, "get");
    if (*sum != round + 1)
        wrong("sum", round, *sum);
    memset(mem, 0xee, PUT_LEN);
}

static MPI_Win window(unsigned char **mem_p)
{
    MPI_Win win;

    MPI_Win_allocate(2 * PUT_LEN + sizeof(long), 1, MPI_INFO_NULL, all, mem_p, &win);
    memset(*mem_p, 0, 2 * PUT_LEN + sizeof(long));
    MPI_Barrier(all);
    return win;
}

static void stream(int is_anew)
{
    unsigned char *out[N_ALL], *in[N_ALL], *mem;
    int is_over = 0;
    MPI_Win win;
    long round;

    for (int i = 0; i < N_ALL; i++) {
        out[i] = malloc(LARGE);
        in[i] = malloc(LARGE);
        if (out[i] == NULL || in[i] == NULL)
            wrong("memory", 0, i);
    }
    win = window(&mem);
    for (round = 0; !is_over; round++) {
        messages(round, out, in);
        puts_and_gets(round, win, mem, out[0], in[0]);
        if (is_anew) {
            MPI_Win_free(&win);
            win = window(&mem);
            *(long *)(void *)(mem + 2 * PUT_LEN) = round + 1;
            MPI_Barrier(all);
        }
        if (rank == 0 && round % 5 == 0) {
            printf(round == 0 ? "running\n" : "round %ld\n", round);
            fflush(stdout);
        }
        is_over = rank == 0 && access("stop", F_OK) == 0;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, all);
    }
    MPI_Barrier(all);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, all, &is_over, MPI_STATUS_IGNORE);
    if (is_over)
        wrong("a message too many", round, 0);
    MPI_Win_free(&win);
    for (int i = 0; i < N_ALL; i++) {
        free(out[i]);
        free(in[i]);
    }
    if (rank == 0)
        printf("done: %ld rounds\n", round);
}

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void timed(int len, int n)
{
    unsigned char *buf = malloc((size_t)len);
    double start = 0;

    if (buf == NULL)
        wrong("memory", 0, 0);
    for (int i = -1; i < n; i++) { /* the first one connects what is to be connected */
        if (i <= 0) {
            MPI_Barrier(all);
            usleep(i < 0 ? 0 : 500000);
            MPI_Barrier(all);
            start = now_ms();
        }
        if (rank == 0) {
            fill(buf, (size_t)len, 0, i, 0);
            MPI_Send(buf, len, MPI_BYTE, 1, 1, all);
        } else {
            MPI_Recv(buf, len, MPI_BYTE, 0, 1, all, MPI_STATUS_IGNORE);
            check(buf, (size_t)len, 0, i, 0, "message");
        }
    }
    MPI_Barrier(all);
    if (rank == 0)
        printf("took %.0f\n", now_ms() - start);
    free(buf);
}

/* The second rank is a job of its own, on another host. */
static MPI_Comm spawn(char *self, const char *host)
{
    MPI_Comm child;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "host", host);
    MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    return child;
}

int main(int argc, char **argv)
{
    MPI_Comm other;

    MPI_Init(&argc, &argv);
    all = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&other);
    if (argc == 3 && strcmp(argv[1], "-s") == 0)
        other = spawn(argv[0], argv[2]);
    if (other != MPI_COMM_NULL)
        MPI_Intercomm_merge(other, argc == 1, &all);
    MPI_Comm_rank(all, &rank);
    if (argc == 4 && strcmp(argv[1], "-t") == 0)
        timed(atoi(argv[2]), atoi(argv[3]));
    else
        stream(argc == 2 && strcmp(argv[1], "-w") == 0);
    if (other != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&all);
        MPI_Comm_disconnect(&other);
    }
    MPI_Finalize();
    return 0;
}
