/* test: np=2,3,4 cfg=PROGRESS=adaptive|thread timeout=60 */
/*
 * Functions of the program run in its own threads as long as it did not ask for MPI_THREAD_MULTIPLE, also
 * with a thread that makes progress: operations of nonblocking collectives, however long nobody calls
 * MPI. And signals are handled in the program's thread.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "mp_test.h"

#ifndef LEVEL
#define LEVEL MPI_THREAD_FUNNELED
#endif

#define N 1000

static pthread_t main_thread;
static int is_multiple;
static volatile int n_elsewhere, n_calls, n_signals, n_signals_elsewhere;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    n_calls++;
    if (!pthread_equal(pthread_self(), main_thread))
        n_elsewhere++;
    for (int i = 0; i < *len; i++)
        ((long *)inout)[i] += ((long *)in)[i];
}

static void on_signal(int sig)
{
    (void)sig;
    n_signals++;
    if (!pthread_equal(pthread_self(), main_thread))
        n_signals_elsewhere++;
}

static void compute(double seconds)
{
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < seconds)
        ;
}

int main(int argc, char **argv)
{
    struct sigaction act;
    MPI_Request req[4];
    long in[N], out[4][N];
    int level;
    MPI_Op op;

    is_multiple = LEVEL == MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, LEVEL, &level);
    main_thread = pthread_self();
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    memset(&act, 0, sizeof(act));
    act.sa_handler = on_signal;
    sigaction(SIGUSR1, &act, NULL);
    MUST(MPI_Op_create(add, 1, &op));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++)
            in[i] = i + mp_rank;
        memset(out, 0, sizeof(out));
        MUST(MPI_Iallreduce(in, out[0], N, MPI_LONG, op, MPI_COMM_WORLD, &req[0]));
        MUST(MPI_Ireduce(in, out[1], N, MPI_LONG, op, mp_size - 1, MPI_COMM_WORLD, &req[1]));
        MUST(MPI_Iscan(in, out[2], N, MPI_LONG, op, MPI_COMM_WORLD, &req[2]));
        MUST(MPI_Iallreduce(in, out[3], N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &req[3]));
        kill(getpid(), SIGUSR1);
        compute(0.02);
        MUST(MPI_Waitall(4, req, MPI_STATUSES_IGNORE));
        for (int i = 0; i < N; i++) {
            long all = (long)mp_size * i + (long)mp_size * (mp_size - 1) / 2;
            long some = (long)(mp_rank + 1) * i + (long)(mp_rank + 1) * mp_rank / 2;

            CHECK_EQ(out[0][i], all);
            CHECK_EQ(out[1][i], mp_rank == mp_size - 1 ? all : 0);
            CHECK_EQ(out[2][i], some);
            CHECK_EQ(out[3][i], all);
        }
    }
    CHECK(n_calls > 0);
    if (!is_multiple)
        CHECK_EQ(n_elsewhere, 0);
    CHECK_EQ(n_signals, 5);
    CHECK_EQ(n_signals_elsewhere, 0);
    MPI_Op_free(&op);
    return mp_finish();
}
