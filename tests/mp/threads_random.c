/* test: np=1,2,3 timeout=90 */
/*
 * MPI_THREAD_MULTIPLE: random operations of threads, each with a communicator and a window of its own, alike on all
 * ranks. Beside them a thread that only waits, from the beginning to the end, and one that completes requests that
 * others have begun. THREADS_RANDOM_SEED says which operations, THREADS_RANDOM_OPS how many of each rank.
 */
#include <pthread.h>
#include <stdint.h>

#include "mp_test.h"

enum { N_THREADS = 5, N_OPS = 1500, MANY = 12, LONG_LEN = 9000, N_KINDS = 11 };

struct worker {
    pthread_t thread;
    int id;
    uint64_t random;
    MPI_Comm comm;
    MPI_Win win;
    int *base; /* of the window: a word for each rank, and a counter */
};

/* Requests that workers have handed to the completer. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    MPI_Request requests[N_THREADS]; /* MPI_REQUEST_NULL: none */
    int n, is_over;
} handed = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static struct worker workers[N_THREADS];
static MPI_Comm waiting;
static int n_ops;

static unsigned draw(struct worker *w, unsigned n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % n;
}

static int left_of(int distance)
{
    return (mp_rank - distance % mp_size + mp_size) % mp_size;
}

static int right_of(int distance)
{
    return (mp_rank + distance) % mp_size;
}

/* ---- messages ---- */

static void fill(int *buf, int n, int rank, int tag)
{
    for (int i = 0; i < n; i++)
        buf[i] = rank * 1000000 + tag * 1000 + i;
}

static void check_filled(const int *buf, int n, int rank, int tag)
{
    for (int i = 0; i < n; i++) {
        if (buf[i] == rank * 1000000 + tag * 1000 + i)
            continue;
        CHECK_EQ(buf[i], rank * 1000000 + tag * 1000 + i);
        return;
    }
}

static int random_len(struct worker *w)
{
    return draw(w, 8) == 0 ? (int)draw(w, LONG_LEN) : (int)draw(w, 60);
}

static void ring(struct worker *w, int tag)
{
    int distance = 1 + (int)draw(w, (unsigned)mp_size), len = random_len(w);
    int from = left_of(distance), *out = malloc(2 * LONG_LEN * sizeof(int)), *in = out + LONG_LEN;
    MPI_Status status;
    int n;

    fill(out, len, mp_rank, tag);
    MUST(MPI_Sendrecv(out, len, MPI_INT, right_of(distance), tag, in, LONG_LEN, MPI_INT, from, tag,
                      w->comm, &status));
    MUST(MPI_Get_count(&status, MPI_INT, &n));
    CHECK_EQ(n, len);
    check_filled(in, len, from, tag);
    free(out);
}

/* Complete n requests, in one of the ways. */
static void complete(struct worker *w, int n, MPI_Request *reqs)
{
    int how = (int)draw(w, 5), index, flag = 0, indices[2 * MANY], n_done = 0, n_some;

    switch (how) {
    case 0:
        MUST(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
        break;
    case 1:
        for (int i = 0; i < n; i++) {
            MUST(MPI_Waitany(n, reqs, &index, MPI_STATUS_IGNORE));
            CHECK(index >= 0 && index < n);
        }
        break;
    case 2:
        while (n_done < n) {
            MUST(MPI_Waitsome(n, reqs, &n_some, indices, MPI_STATUSES_IGNORE));
            CHECK(n_some > 0);
            n_done += n_some;
        }
        break;
    case 3:
        while (!flag)
            MUST(MPI_Testall(n, reqs, &flag, MPI_STATUSES_IGNORE));
        break;
    default:
        for (int i = n - 1; i >= 0; i--)
            MUST(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < n; i++)
        CHECK(reqs[i] == MPI_REQUEST_NULL);
}

static void many(struct worker *w, int tag)
{
    int distance = 1 + (int)draw(w, (unsigned)mp_size), n = 1 + (int)draw(w, MANY);
    int is_sync = draw(w, 3) == 0, out[MANY], in[MANY];
    MPI_Request reqs[2 * MANY];

    for (int i = 0; i < n; i++) {
        in[i] = -1;
        out[i] = tag * 100 + i;
        MUST(MPI_Irecv(&in[i], 1, MPI_INT, left_of(distance), tag, w->comm, &reqs[i]));
    }
    for (int i = 0; i < n; i++)
        MUST((is_sync ? MPI_Issend : MPI_Isend)(&out[i], 1, MPI_INT, right_of(distance), tag,
                                                w->comm, &reqs[n + i]));
    complete(w, 2 * n, reqs);
    for (int i = 0; i < n; i++)
        CHECK_EQ(in[i], tag * 100 + i);
}

static void probe(struct worker *w, int tag)
{
    int distance = 1 + (int)draw(w, (unsigned)mp_size), len = (int)draw(w, 200);
    int is_blocking = (int)draw(w, 2), from = left_of(distance), flag = is_blocking, n;
    int out[200], in[200];
    MPI_Request req;
    MPI_Message message;
    MPI_Status status;

    fill(out, len, mp_rank, tag);
    MUST(MPI_Isend(out, len, MPI_INT, right_of(distance), tag, w->comm, &req));
    if (is_blocking)
        MUST(MPI_Mprobe(MPI_ANY_SOURCE, tag, w->comm, &message, &status));
    while (!flag)
        MUST(MPI_Improbe(from, MPI_ANY_TAG, w->comm, &flag, &message, &status));
    MUST(MPI_Get_count(&status, MPI_INT, &n));
    CHECK_EQ(n, len);
    CHECK_EQ(status.MPI_SOURCE, from);
    MUST(MPI_Mrecv(in, n, MPI_INT, &message, MPI_STATUS_IGNORE));
    check_filled(in, n, from, tag);
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

/* A receive that nothing is sent to, and one that is cancelled or not, whatever comes first. */
static void cancel(struct worker *w, int tag)
{
    int a = -1, b = -1, was_cancelled;
    MPI_Request never, perhaps;
    MPI_Status status;

    MUST(MPI_Irecv(&a, 1, MPI_INT, mp_rank, tag + 5000, w->comm, &never));
    MUST(MPI_Irecv(&b, 1, MPI_INT, mp_rank, tag, w->comm, &perhaps));
    MUST(MPI_Cancel(&never));
    MUST(MPI_Wait(&never, &status));
    MUST(MPI_Test_cancelled(&status, &was_cancelled));
    CHECK(was_cancelled);
    if (draw(w, 2) == 0) {
        MUST(MPI_Send(&tag, 1, MPI_INT, mp_rank, tag, w->comm));
        MUST(MPI_Cancel(&perhaps));
        MUST(MPI_Wait(&perhaps, &status));
        MUST(MPI_Test_cancelled(&status, &was_cancelled));
        if (was_cancelled)
            MUST(MPI_Recv(&b, 1, MPI_INT, mp_rank, tag, w->comm, MPI_STATUS_IGNORE));
        CHECK_EQ(b, tag);
    } else {
        MUST(MPI_Cancel(&perhaps));
        MUST(MPI_Wait(&perhaps, MPI_STATUS_IGNORE));
    }
}

/* Another thread waits for it. */
static void hand_over(struct worker *w, int tag)
{
    int in = -1, from = left_of(1);
    MPI_Request req;

    MUST(MPI_Irecv(&in, 1, MPI_INT, from, tag, w->comm, &req));
    MUST(MPI_Send(&tag, 1, MPI_INT, right_of(1), tag, w->comm));
    pthread_mutex_lock(&handed.lock);
    handed.requests[w->id] = req;
    handed.n++;
    pthread_cond_broadcast(&handed.cond);
    while (handed.requests[w->id] != MPI_REQUEST_NULL)
        pthread_cond_wait(&handed.cond, &handed.lock);
    pthread_mutex_unlock(&handed.lock);
    CHECK_EQ(in, tag);
}

static void *complete_for_others(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&handed.lock);
    while (!handed.is_over) {
        MPI_Request mine[N_THREADS];
        int flags[N_THREADS] = {0};

        if (handed.n == 0) {
            pthread_cond_wait(&handed.cond, &handed.lock);
            continue;
        }
        memcpy(mine, handed.requests, sizeof(mine));
        pthread_mutex_unlock(&handed.lock);
        for (int i = 0; i < N_THREADS; i++)
            if (mine[i] != MPI_REQUEST_NULL)
                MUST(MPI_Test(&mine[i], &flags[i], MPI_STATUS_IGNORE));
        pthread_mutex_lock(&handed.lock);
        for (int i = 0; i < N_THREADS; i++) {
            if (!flags[i])
                continue;
            handed.requests[i] = MPI_REQUEST_NULL;
            handed.n--;
        }
        pthread_cond_broadcast(&handed.cond);
    }
    pthread_mutex_unlock(&handed.lock);
    return NULL;
}

/* ---- collectives and windows ---- */

static void collective(struct worker *w, int tag)
{
    int root = (int)draw(w, (unsigned)mp_size), value = mp_rank == root ? tag : -1, sum = 0;
    int how = (int)draw(w, 3), one = mp_rank + tag;
    MPI_Request req;

    MUST(MPI_Bcast(&value, 1, MPI_INT, root, w->comm));
    CHECK_EQ(value, tag);
    if (how == 0) {
        MUST(MPI_Barrier(w->comm));
        return;
    }
    if (how == 1) {
        MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, w->comm));
    } else {
        MUST(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, w->comm, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2 + mp_size * tag);
}

static void one_sided(struct worker *w, int tag)
{
    int target = right_of(1 + (int)draw(w, (unsigned)mp_size)), back = -1, one = 1, old = -1;
    MPI_Request req;

    MUST(MPI_Put(&tag, 1, MPI_INT, target, mp_rank, 1, MPI_INT, w->win));
    MUST(MPI_Win_flush(target, w->win));
    MUST(MPI_Rget(&back, 1, MPI_INT, target, mp_rank, 1, MPI_INT, w->win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(back, tag);
    MUST(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, mp_size, MPI_SUM, w->win));
    MUST(MPI_Win_flush(0, w->win));
    CHECK(old >= 0);
    if (draw(w, 8) > 0)
        return;
    MUST(MPI_Barrier(w->comm));
    MUST(MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, mp_size, MPI_NO_OP, w->win));
    MUST(MPI_Win_flush(0, w->win));
    CHECK_EQ(old % mp_size, 0);
    MUST(MPI_Barrier(w->comm));
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < n_ops / N_THREADS; i++) {
        int tag = i % 900;

        switch (draw(w, N_KINDS)) {
        case 0:
        case 1:
            ring(w, tag);
            break;
        case 2:
        case 3:
            many(w, tag);
            break;
        case 4:
        case 5:
            probe(w, tag);
            break;
        case 6:
            cancel(w, tag);
            break;
        case 7:
            hand_over(w, tag);
            break;
        case 8:
            collective(w, tag);
            break;
        default:
            one_sided(w, tag);
        }
    }
    return NULL;
}

static void *wait_only(void *arg)
{
    int in = -1;

    (void)arg;
    MUST(MPI_Recv(&in, 1, MPI_INT, left_of(1), 0, waiting, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 42);
    return NULL;
}

static void open_worker(struct worker *w, int id, uint64_t seed)
{
    w->id = id;
    handed.requests[id] = MPI_REQUEST_NULL;
    w->random = seed * 1000 + (uint64_t)id;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &w->comm));
    MUST(MPI_Win_allocate((mp_size + 1) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL,
                          w->comm, &w->base, &w->win));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mp_rank, 0, w->win));
    memset(w->base, 0, (size_t)(mp_size + 1) * sizeof(int));
    MUST(MPI_Win_unlock(mp_rank, w->win));
    MUST(MPI_Barrier(w->comm));
    MUST(MPI_Win_lock_all(0, w->win));
}

static void close_worker(struct worker *w)
{
    MUST(MPI_Win_unlock_all(w->win));
    MUST(MPI_Win_free(&w->win));
    MUST(MPI_Comm_free(&w->comm));
}

int main(int argc, char **argv)
{
    const char *seed = getenv("THREADS_RANDOM_SEED"), *ops = getenv("THREADS_RANDOM_OPS");
    pthread_t waiter, completer;
    int level, value = 42;

    MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    n_ops = ops != NULL ? atoi(ops) : N_OPS;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &waiting));
    for (int i = 0; i < N_THREADS; i++)
        open_worker(&workers[i], i, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    CHECK_EQ(pthread_create(&waiter, NULL, wait_only, NULL), 0);
    CHECK_EQ(pthread_create(&completer, NULL, complete_for_others, NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_lock(&handed.lock);
    handed.is_over = 1;
    pthread_cond_broadcast(&handed.cond);
    pthread_mutex_unlock(&handed.lock);
    pthread_join(completer, NULL);
    MUST(MPI_Send(&value, 1, MPI_INT, right_of(1), 0, waiting));
    pthread_join(waiter, NULL);
    for (int i = 0; i < N_THREADS; i++)
        close_worker(&workers[i]);
    MUST(MPI_Comm_free(&waiting));
    return mp_finish();
}
