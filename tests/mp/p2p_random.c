/* test: np=1,2,3,5 cfg=EAGER_LIMIT=64|16k timeout=120 */
/*
 * Random traffic from a seed: several threads of every rank exchange messages of random types,
 * lengths, tags and ways of sending and receiving over several communicators. Both sides draw the
 * same plan; a message's two types have the same elements in different places, and
 * nothing beside these places may change.
 *
 *   p2p_random [SEED [ROUNDS]]
 */
#include <pthread.h>

#include "p2p.h"

enum { N_THREADS = 3, N_COMMS = 4, N_MESSAGES = 40, N_LAYOUTS = 6, GAP = 0x5a5a5a5a };

static MPI_Comm comms[N_COMMS];
static int has_threads, seed = 1, n_rounds = 12;

struct message {
    int from, to; /* ranks of the world */
    int comm, tag, n;
    int send_layout, recv_layout;
    int is_sync, is_probed;
    unsigned key; /* of its content */
};

static unsigned draw(unsigned *state, unsigned n)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % n;
}

/* Where element i of n is, in ints from the start of the buffer. */
static int place(int layout, int n, int i)
{
    switch (layout) {
    case 0:
        return i;
    case 1:
        return 3 * i; /* a vector */
    case 2:
        return 2 * (n - 1 - i) + 1; /* backwards */
    case 3:
        return i / 3 * 5 + i % 3; /* blocks */
    case 4:
        return 2 + 2 * i; /* structs with a hole on both sides */
    default:
        return 1 + i; /* a part of an array */
    }
}

static int room(int n)
{
    return 3 * n + 16;
}

/* The type of one of the layouts; it is used with a count of 1. */
static MPI_Datatype type_of(int layout, int n)
{
    int *lens = malloc(((size_t)n + 1) * sizeof(*lens));
    int *at = malloc(((size_t)n + 1) * sizeof(*at));
    MPI_Datatype type, part;
    int k = 0;

    switch (layout) {
    case 0:
        MPI_Type_contiguous(n, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_vector(n, 1, 3, MPI_INT, &type);
        break;
    case 2:
        for (int i = 0; i < n; i++)
            at[i] = place(2, n, i);
        MPI_Type_create_indexed_block(n, 1, at, MPI_INT, &type);
        break;
    case 3:
        for (int i = 0; i < n; i += 3, k++) {
            lens[k] = n - i < 3 ? n - i : 3;
            at[k] = i / 3 * 5;
        }
        MPI_Type_indexed(k, lens, at, MPI_INT, &type);
        break;
    case 4: {
        MPI_Aint first = 2 * sizeof(int);
        int one = 1;

        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &part);
        MPI_Type_contiguous(n, part, &type);
        MPI_Type_free(&part);
        part = type;
        MPI_Type_create_struct(1, &one, &first, &part, &type);
        MPI_Type_free(&part);
        break;
    }
    default: {
        int size = n + 2, start = 1;

        if (n == 0)
            MPI_Type_contiguous(0, MPI_INT, &type);
        else
            MPI_Type_create_subarray(1, &size, &n, &start, MPI_ORDER_C, MPI_INT, &type);
    }
    }
    MPI_Type_commit(&type);
    free(lens);
    free(at);
    return type;
}

static int content(const struct message *m, int i)
{
    return (int)((m->key + (unsigned)i) * 2654435761u);
}

static void plan(int thread, int round, struct message *messages)
{
    unsigned state = (unsigned)(seed * 7919 + thread * 104729 + round * 31 + 17);

    for (int i = 0; i < 20; i++)
        draw(&state, 2);
    for (int i = 0; i < N_MESSAGES; i++) {
        struct message *m = &messages[i];
        static const int lens[] = {0, 1, 2, 7, 30, 200, 1500, 5000, 40000};

        m->from = (int)draw(&state, (unsigned)np);
        m->to = (int)draw(&state, (unsigned)np);
        m->comm = (int)draw(&state, N_COMMS);
        m->is_sync = draw(&state, 4) == 0;
        m->is_probed = draw(&state, 4) == 0;
        /* A thread's tags are its own; what is probed for has others than what is not. */
        m->tag = thread + N_THREADS * (m->is_probed + 2 * (int)draw(&state, 3));
        m->n = lens[draw(&state, draw(&state, 8) == 0 ? 9 : 7)];
        m->send_layout = (int)draw(&state, N_LAYOUTS);
        m->recv_layout = (int)draw(&state, N_LAYOUTS);
        m->key = state;
    }
}

/* A rank of the world in one of the communicators. */
static int rank_in(int comm, int rank)
{
    return comm % 2 == 0 ? rank : np - 1 - rank;
}

static int *send_one(const struct message *m, MPI_Request *req)
{
    MPI_Datatype type = type_of(m->send_layout, m->n);
    int *buf = malloc((size_t)room(m->n) * sizeof(*buf));

    for (int i = 0; i < room(m->n); i++)
        buf[i] = GAP;
    for (int i = 0; i < m->n; i++)
        buf[place(m->send_layout, m->n, i)] = content(m, i);
    if (m->is_sync)
        MPI_Issend(buf, 1, type, rank_in(m->comm, m->to), m->tag, comms[m->comm], req);
    else
        MPI_Isend(buf, 1, type, rank_in(m->comm, m->to), m->tag, comms[m->comm], req);
    MPI_Type_free(&type); /* the send keeps it */
    return buf;
}

static int *receive_one(const struct message *m, MPI_Request *req)
{
    MPI_Datatype type = type_of(m->recv_layout, m->n);
    int *buf = malloc((size_t)room(m->n) * sizeof(*buf));
    int source = rank_in(m->comm, m->from);

    for (int i = 0; i < room(m->n); i++)
        buf[i] = GAP;
    if (m->is_probed) {
        MPI_Message message;
        MPI_Status status;
        int n;

        MPI_Mprobe(source, m->tag, comms[m->comm], &message, &status);
        MPI_Get_elements(&status, MPI_INT, &n);
        CHECK_EQ(n, m->n);
        MPI_Imrecv(buf, 1, type, &message, req);
    } else {
        MPI_Irecv(buf, 1, type, source, m->tag, comms[m->comm], req);
    }
    MPI_Type_free(&type);
    return buf;
}

static void check_received(const struct message *m, const int *buf)
{
    int n = 0;

    for (int i = 0; i < m->n; i++)
        CHECK_EQ(buf[place(m->recv_layout, m->n, i)], content(m, i));
    for (int i = 0; i < room(m->n); i++)
        n += buf[i] == GAP;
    for (int i = 0; i < m->n; i++)
        n -= content(m, i) == GAP;
    CHECK_EQ(n, room(m->n) - m->n);
}

/* In one of several ways; all requests are complete then. */
static void complete(int n, MPI_Request *reqs, unsigned way)
{
    int left = n, index, flag, done[2 * N_MESSAGES];

    switch (way) {
    case 0:
        MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
        return;
    case 1:
        for (; left > 0; left--) {
            MPI_Waitany(n, reqs, &index, MPI_STATUS_IGNORE);
            CHECK(index != MPI_UNDEFINED);
        }
        return;
    case 2:
        while (left > 0) {
            MPI_Testsome(n, reqs, &index, done, MPI_STATUSES_IGNORE);
            left -= index;
        }
        return;
    default:
        for (flag = 0; !flag;)
            MPI_Testall(n, reqs, &flag, MPI_STATUSES_IGNORE);
    }
}

static void run_round(int thread, int round)
{
    struct message messages[N_MESSAGES];
    int *in[N_MESSAGES] = {0}, *bufs[2 * N_MESSAGES];
    MPI_Request reqs[2 * N_MESSAGES];
    int n = 0;

    plan(thread, round, messages);
    /* Receives before sends or after; what is probed for comes last. */
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < N_MESSAGES; i++) {
            const struct message *m = &messages[i];

            if (pass == (me + round) % 2 && m->from == me) {
                bufs[n] = send_one(m, &reqs[n]);
                n++;
            }
            if (pass == (m->is_probed ? 2 : (me + round + 1) % 2) && m->to == me) {
                in[i] = bufs[n] = receive_one(m, &reqs[n]);
                n++;
            }
        }
    complete(n, reqs, (unsigned)(round + thread) % 4);
    for (int i = 0; i < N_MESSAGES; i++)
        if (in[i] != NULL)
            check_received(&messages[i], in[i]);
    for (int i = 0; i < n; i++) {
        CHECK(reqs[i] == MPI_REQUEST_NULL);
        free(bufs[i]);
    }
}

static void *run(void *arg)
{
    for (int round = 0; round < n_rounds; round++)
        run_round((int)(size_t)arg, round);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    has_threads = provided == MPI_THREAD_MULTIPLE;
    if (argc > 1)
        seed = atoi(argv[1]);
    if (argc > 2)
        n_rounds = atoi(argv[2]);
    for (int i = 0; i < N_COMMS; i++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank_in(i, me), &comms[i]);
    for (size_t i = 0; i < N_THREADS; i++) {
        if (!has_threads)
            run((void *)i);
        else if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < N_THREADS && has_threads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return end();
}
