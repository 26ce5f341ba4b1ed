/* test: np=2,4 cfg=EAGER_LIMIT=64|16k timeout=60 */
/* MPI_THREAD_MULTIPLE: threads that exchange with each other and between processes at once. */
#include <pthread.h>

#include "p2p.h"

#define N_THREADS 3
#define N_ROUNDS  200

static MPI_Comm comms[N_THREADS];

/* Thread i of every rank has a communicator; sizes and ways of waiting vary. */
static void *traffic(void *arg)
{
    int id = (int)(size_t)arg, right = (me + 1) % np, left = (me + np - 1) % np;
    MPI_Comm comm = comms[id];

    for (int i = 0; i < N_ROUNDS; i++) {
        int len = i % 10 == 0 ? 40000 : i * 7 % 300, flag = 0;
        unsigned char *out = filled(me + id + i, (size_t)len), *in = blank((size_t)len);
        MPI_Request reqs[2];

        MPI_Irecv(in, len, MPI_BYTE, i % 2 ? left : MPI_ANY_SOURCE, i, comm, &reqs[0]);
        MPI_Isend(out, len, MPI_BYTE, right, i, comm, &reqs[1]);
        if (i % 3 == 0) {
            while (!flag)
                MPI_Testall(2, reqs, &flag, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
        }
        CHECK(is_filled(in, left + id + i, (size_t)len));
        free(out);
        free(in);
    }
    return NULL;
}

/* One thread blocks in a receive that another thread of the same process feeds. */
static void *receiver(void *arg)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        int v = -1;

        MPI_Recv(&v, 1, MPI_INT, me, 1000, comms[0], MPI_STATUS_IGNORE);
        CHECK_EQ(v, i);
    }
    return arg;
}

static void *sender(void *arg)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        if (i % 2)
            MPI_Send(&i, 1, MPI_INT, me, 1000, comms[0]);
        else
            MPI_Ssend(&i, 1, MPI_INT, me, 1000, comms[0]);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS + 2];
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < N_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, traffic, (void *)(size_t)i), 0);
    CHECK_EQ(pthread_create(&threads[N_THREADS], NULL, receiver, NULL), 0);
    CHECK_EQ(pthread_create(&threads[N_THREADS + 1], NULL, sender, NULL), 0);
    for (int i = 0; i < N_THREADS + 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return end();
}
