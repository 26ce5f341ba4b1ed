/*
 * A pool of processes like mpi4py's MPIPoolExecutor: any thread submits a call and waits for its
 * result. Each of the pool's threads owns a worker, which it has spawned, and whose death would
 * concern nobody else.
 *
 *     ./pool 3 20      3 workers, 20 calls from 5 threads
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CLIENTS 5

/* A call that somebody has submitted; lives at who waits for it. */
struct call {
    double argument, result;
    int is_done;
    struct call *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct call *first, **last;
    int is_over;
    char *program;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int calls_each;

/* ---- workers ---- */

/* The integral of 4 / (1 + x^2) from 0 to x. */
static double compute(double x)
{
    double sum = 0, h = x / 1000000;

    for (int i = 0; i < 1000000; i++)
        sum += 4 / (1 + (i + 0.5) * h * ((i + 0.5) * h));
    return sum * h;
}

static void serve(MPI_Comm parent)
{
    double x;

    for (;;) {
        MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, parent, MPI_STATUS_IGNORE);
        if (x < 0)
            break;
        x = compute(x);
        MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, parent);
    }
    MPI_Comm_disconnect(&parent);
}

/* ---- the pool ---- */

static struct call *take_call(void)
{
    struct call *call;

    pthread_mutex_lock(&pool.lock);
    while (pool.first == NULL && !pool.is_over)
        pthread_cond_wait(&pool.changed, &pool.lock);
    call = pool.first;
    if (call != NULL) {
        pool.first = call->next;
        if (pool.first == NULL)
            pool.last = &pool.first;
    }
    pthread_mutex_unlock(&pool.lock);
    return call;
}

static void *manage_worker(void *arg)
{
    double end = -1;
    struct call *call;
    MPI_Comm worker;

    (void)arg;
    MPI_Comm_spawn(pool.program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &worker,
                   MPI_ERRCODES_IGNORE);
    while ((call = take_call()) != NULL) {
        MPI_Send(&call->argument, 1, MPI_DOUBLE, 0, 0, worker);
        MPI_Recv(&call->result, 1, MPI_DOUBLE, 0, 0, worker, MPI_STATUS_IGNORE);
        pthread_mutex_lock(&pool.lock);
        call->is_done = 1;
        pthread_cond_broadcast(&pool.changed);
        pthread_mutex_unlock(&pool.lock);
    }
    MPI_Send(&end, 1, MPI_DOUBLE, 0, 0, worker);
    MPI_Comm_disconnect(&worker);
    return NULL;
}

/* Submit and wait. */
static double pool_call(double x)
{
    struct call call = {.argument = x};

    pthread_mutex_lock(&pool.lock);
    *pool.last = &call;
    pool.last = &call.next;
    pthread_cond_broadcast(&pool.changed);
    while (!call.is_done)
        pthread_cond_wait(&pool.changed, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    return call.result;
}

/* ---- a program that uses it ---- */

static void *client(void *arg)
{
    double *sum = arg;

    for (int i = 0; i < calls_each; i++)
        *sum += pool_call(1.0);
    return NULL;
}

static void run(int n_workers)
{
    pthread_t clients[N_CLIENTS], *workers = malloc((size_t)n_workers * sizeof(*workers));
    double sums[N_CLIENTS] = {0}, sum = 0;

    pool.last = &pool.first;
    for (int i = 0; i < n_workers; i++)
        pthread_create(&workers[i], NULL, manage_worker, NULL);
    for (int i = 0; i < N_CLIENTS; i++)
        pthread_create(&clients[i], NULL, client, &sums[i]);
    for (int i = 0; i < N_CLIENTS; i++) {
        pthread_join(clients[i], NULL);
        sum += sums[i];
    }
    pthread_mutex_lock(&pool.lock);
    pool.is_over = 1;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < n_workers; i++)
        pthread_join(workers[i], NULL);
    free(workers);
    printf("pi is %.6f, the mean of %d calls\n", sum / (N_CLIENTS * calls_each),
           N_CLIENTS * calls_each);
}

int main(int argc, char **argv)
{
    int n_workers = argc > 1 ? atoi(argv[1]) : 2;
    int level;
    MPI_Comm parent;

    calls_each = (argc > 2 ? atoi(argv[2]) : 20) / N_CLIENTS;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_get_parent(&parent);
    pool.program = argv[0];
    if (parent != MPI_COMM_NULL)
        serve(parent);
    else if (level == MPI_THREAD_MULTIPLE)
        run(n_workers);
    MPI_Finalize();
    return 0;
}
