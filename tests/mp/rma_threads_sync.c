/* test: np=1,2,3,4 timeout=90 */
/*
 * Every thread has windows of its own, makes and frees them, and goes through epochs of every
 * kind on them, while all threads update one window under one lock_all: each kind of
 * synchronization waits for its own partners only.
 */
#include <pthread.h>
#include <stddef.h>

#include "mp_test.h"

#define THREADS 4
#define WINDOWS 2 /* that each thread makes, one after the other */
#define TURNS   12
#define N       40

enum { CREATE, ALLOC_MEM, ALLOCATE, DYNAMIC, N_WAYS };

static MPI_Win common;
static MPI_Comm comms[THREADS];

struct part {
    long from_left[N]; /* put by the rank on the left */
    long sum;          /* added to by all, under a lock or atomically */
    long guarded;      /* read and written under exclusive locks */
};

struct mine {
    MPI_Comm comm;
    MPI_Win win;
    struct part *mem;
    MPI_Aint base[64];
    int id, left, right;
};

static MPI_Aint at(const struct mine *m, int rank, size_t field)
{
    return m->base[rank] + (MPI_Aint)field;
}

static void make(struct mine *m, int way)
{
    MPI_Aint here = 0;

    if (way == ALLOCATE) {
        MUST(MPI_Win_allocate(sizeof(*m->mem), 1, MPI_INFO_NULL, m->comm, &m->mem, &m->win));
    } else if (way == ALLOC_MEM) {
        MUST(MPI_Alloc_mem(sizeof(*m->mem), MPI_INFO_NULL, &m->mem));
        MUST(MPI_Win_create(m->mem, sizeof(*m->mem), 1, MPI_INFO_NULL, m->comm, &m->win));
    } else {
        m->mem = malloc(sizeof(*m->mem));
        if (way == CREATE) {
            MUST(MPI_Win_create(m->mem, sizeof(*m->mem), 1, MPI_INFO_NULL, m->comm, &m->win));
        } else {
            MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, m->comm, &m->win));
            MUST(MPI_Win_attach(m->win, m->mem, sizeof(*m->mem)));
            MPI_Get_address(m->mem, &here);
        }
    }
    memset(m->mem, 0, sizeof(*m->mem));
    MPI_Allgather(&here, 1, MPI_AINT, m->base, 1, MPI_AINT, m->comm);
}

static void put_right(struct mine *m, const long *data)
{
    MUST(MPI_Put(data, N, MPI_LONG, m->right, at(m, m->right, 0), N, MPI_LONG, m->win));
}

static void check_left(const struct mine *m, int turn, int kind)
{
    for (int i = 0; i < N; i++)
        CHECK_EQ(m->mem->from_left[i], 1000L * m->left + 100 * m->id + 10 * turn + kind + i);
}

static void fill(const struct mine *m, long *data, int turn, int kind)
{
    for (int i = 0; i < N; i++)
        data[i] = 1000L * mp_rank + 100 * m->id + 10 * turn + kind + i;
}

static void by_fence(struct mine *m, int turn)
{
    long data[N];

    fill(m, data, turn, 0);
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, m->win));
    put_right(m, data);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, m->win));
    check_left(m, turn, 0);
}

static void by_pscw(struct mine *m, int turn)
{
    MPI_Group all, from, to;
    long data[N];
    int done = 0;

    MPI_Comm_group(m->comm, &all);
    MPI_Group_incl(all, 1, &m->left, &from);
    MPI_Group_incl(all, 1, &m->right, &to);
    fill(m, data, turn, 1);
    MUST(MPI_Win_post(from, 0, m->win));
    MUST(MPI_Win_start(to, 0, m->win));
    put_right(m, data);
    MUST(MPI_Win_complete(m->win));
    if (turn % 2)
        MUST(MPI_Win_wait(m->win));
    while (turn % 2 == 0 && !done)
        MUST(MPI_Win_test(m->win, &done));
    check_left(m, turn, 1);
    MPI_Group_free(&all);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

static void by_lock(struct mine *m)
{
    long one = 1, x = -1;

    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, m->win));
    MUST(
        MPI_Get(&x, 1, MPI_LONG, 0, at(m, 0, offsetof(struct part, guarded)), 1, MPI_LONG, m->win));
    MUST(MPI_Win_flush(0, m->win));
    x++;
    MUST(
        MPI_Put(&x, 1, MPI_LONG, 0, at(m, 0, offsetof(struct part, guarded)), 1, MPI_LONG, m->win));
    MUST(MPI_Win_unlock(0, m->win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, m->right, 0, m->win));
    MUST(MPI_Accumulate(&one, 1, MPI_LONG, m->right, at(m, m->right, offsetof(struct part, sum)), 1,
                        MPI_LONG, MPI_SUM, m->win));
    MUST(MPI_Win_unlock(m->right, m->win));
}

static void by_lock_all(struct mine *m)
{
    long one = 1, old[2] = {-1, -1};
    MPI_Request req[2];

    MUST(MPI_Win_lock_all(0, m->win));
    for (int i = 0; i < 2; i++)
        MUST(MPI_Rget_accumulate(&one, 1, MPI_LONG, &old[i], 1, MPI_LONG, m->left,
                                 at(m, m->left, offsetof(struct part, sum)), 1, MPI_LONG, MPI_SUM,
                                 m->win, &req[i]));
    MUST(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    CHECK(old[0] >= 0 && old[1] > old[0]);
    MUST(MPI_Win_unlock_all(m->win));
}

static void add_to_common(int id)
{
    long one = 1, old;
    int target = (mp_rank + id) % mp_size;

    MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, common));
    MUST(MPI_Win_flush(target, common));
    CHECK(old >= 0);
}

static void one_window(struct mine *m, int way)
{
    make(m, way);
    for (int turn = 0; turn < TURNS; turn++) {
        /* the turns of all ranks begin alike, in another order at each thread */
        for (int k = 0; k < 4; k++) {
            int kind = (k + m->id) % 4;

            MPI_Barrier(m->comm);
            if (kind == 0)
                by_fence(m, turn);
            else if (kind == 1)
                by_pscw(m, turn);
            else if (kind == 2)
                by_lock(m);
            else
                by_lock_all(m);
            add_to_common(m->id);
        }
    }
    MPI_Barrier(m->comm);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, m->win));
    CHECK_EQ(m->mem->sum, 3L * TURNS);
    CHECK_EQ(m->mem->guarded, mp_rank == 0 ? (long)TURNS * mp_size : 0);
    MUST(MPI_Win_unlock(mp_rank, m->win));
    MUST(MPI_Win_free(&m->win));
    if (way == ALLOC_MEM)
        MUST(MPI_Free_mem(m->mem));
    else if (way != ALLOCATE)
        free(m->mem);
}

static void *work(void *arg)
{
    struct mine m = {.id = (int)(long)arg};

    m.comm = comms[m.id];
    m.left = (mp_rank + mp_size - 1) % mp_size;
    m.right = (mp_rank + 1) % mp_size;
    for (int i = 0; i < WINDOWS; i++)
        one_window(&m, (m.id + i) % N_WAYS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *mem, total = 0;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MUST(MPI_Win_allocate(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &common));
    mem[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, common));
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(MPI_Win_unlock_all(common));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(mem, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (mp_rank == 0)
        CHECK_EQ(total, 4L * TURNS * WINDOWS * THREADS * mp_size);
    MUST(MPI_Win_free(&common));
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return mp_finish();
}
