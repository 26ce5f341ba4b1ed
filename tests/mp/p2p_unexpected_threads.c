/* test: np=2,3 cfg=UNEXPECTED=0|4k timeout=60 */
/*
 * Threads that send more than the receiver may keep, which has to ask them to hold back: every thread's messages
 * come whole and in order, by whichever thread receives them, while others talk to each other beside the hold;
 * then it is over, and everything goes at once again.
 */
#include <pthread.h>

#include "p2p.h"

enum { N_THREADS = 3, N = 150, N_TALKS = 100, TAG_BESIDE = 50 };

static MPI_Comm comms[N_THREADS]; /* of a thread of every rank */

static int len_of(int i)
{
    return i % 20 == 0 ? 20000 : i * 31 % 700;
}

/* Every rank but 0; half by requests, which are held together. */
static void *flood(void *arg)
{
    int id = (int)(size_t)arg;
    unsigned char *out[N];
    MPI_Request reqs[N];

    for (int i = 0; i < N; i++) {
        out[i] = filled(me * 7 + id + i, (size_t)len_of(i));
        if (i % 2 || id == 0)
            MPI_Isend(out[i], len_of(i), MPI_BYTE, 0, id, comms[id], &reqs[i]);
        else
            MPI_Send(out[i], len_of(i), MPI_BYTE, 0, id, comms[id]);
        if (i % 2 == 0 && id != 0)
            reqs[i] = MPI_REQUEST_NULL;
    }
    MPI_Waitall(N, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        free(out[i]);
    return NULL;
}

/* One at rank 0, for thread id of everybody; probes, matched ones too, and wildcards. */
static void *take(void *arg)
{
    int id = (int)(size_t)arg, next[64] = {0};

    for (int n = 0; n < N * (np - 1); n++) {
        unsigned char *in = blank(20000);
        MPI_Message msg;
        MPI_Status st;
        int len;

        if (n % 3 == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, id, comms[id], &msg, &st);
            MPI_Mrecv(in, 20000, MPI_BYTE, &msg, &st);
        } else {
            MPI_Recv(in, 20000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[id], &st);
        }
        MPI_Get_count(&st, MPI_BYTE, &len);
        CHECK_EQ(len, len_of(next[st.MPI_SOURCE]));
        CHECK(is_filled(in, st.MPI_SOURCE * 7 + id + next[st.MPI_SOURCE], (size_t)len));
        next[st.MPI_SOURCE]++;
        free(in);
    }
    return NULL;
}

/* Of every rank with the next one, by a communicator that is not flooded. */
static void *talk(void *arg)
{
    int value, to = (me + 1) % np, from = (me + np - 1) % np;

    for (int i = 0; i < N_TALKS; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, to, TAG_BESIDE, &value, 1, MPI_INT, from, TAG_BESIDE,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, i);
    }
    return arg;
}

/* The receiver starts late: what comes first is unexpected. */
static void round_of_all(void)
{
    pthread_t threads[N_THREADS + 1];

    CHECK_EQ(pthread_create(&threads[N_THREADS], NULL, talk, NULL), 0);
    if (me == 0) {
        pthread_join(threads[N_THREADS], NULL);
        for (int i = 0; i < N_THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, take, (void *)(size_t)i), 0);
    } else {
        for (int i = 0; i < N_THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, flood, (void *)(size_t)i), 0);
        pthread_join(threads[N_THREADS], NULL);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 2; i++) {
        round_of_all();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < N_THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return end();
}
