/* test: np=2 prov=datum-shm timeout=30 */
/*
 * Threads of one process wait for locks of windows of their own, and sleep: one of them for all. Whichever lock is
 * given back, its holder sees that somebody sleeps for it and wakes the process.
 */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "counter.h"
#include "mp_test.h"

#define THREADS 3
#define ROUNDS  12
#define LOOKS   10 /* one after the other that find all threads asleep */
#define WAIT_S  5

static MPI_Win wins[THREADS];

static void *lock(void *arg)
{
    int i = (int)(long)arg;

    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]));
    MUST(MPI_Win_unlock(0, wins[i]));
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD));
    return NULL;
}

static void wait_in_threads(void)
{
    pthread_t threads[THREADS];

    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, lock, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int is_asleep(int pid, const char *thread)
{
    char path[300], line[300] = "", *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, thread);
    f = fopen(path, "r");
    if (f == NULL)
        return 1;
    end = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
    fclose(f);
    return end == NULL || end[2] == 'S';
}

static int are_asleep(int pid)
{
    struct dirent *entry;
    char path[64];
    DIR *dir;
    int n = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.' && !is_asleep(pid, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    return n == 0;
}

/* All threads of the other process sleep, for some time. */
static void await_sleep(int pid)
{
    double last = MPI_Wtime() + WAIT_S;

    for (int n = 0; n < LOOKS && MPI_Wtime() < last; n = are_asleep(pid) ? n + 1 : 0)
        usleep(1000);
}

/* Give the locks back one by one, the one that was asked for last first: was somebody woken for each? */
static int give_back(int pid)
{
    int n_woken = 0;

    for (int i = THREADS; i-- > 0;) {
        long long before;

        await_sleep(pid);
        before = counter("sleepers woken");
        MUST(MPI_Win_unlock(0, wins[i]));
        n_woken += counter("sleepers woken") > before;
        MUST(MPI_Recv(NULL, 0, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    return n_woken == THREADS;
}

int main(int argc, char **argv)
{
    int level, n_whole = 0, pid = (int)getpid();
    void *mem;

    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++)
        MUST(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &wins[i]));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS && mp_rank == 0; i++)
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]));
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0)
            n_whole += give_back(pid);
        else
            wait_in_threads();
    }
    /* A sleeper looks around now and then, and may be awake by chance. */
    CHECK(mp_rank != 0 || n_whole >= ROUNDS / 4);
    for (int i = 0; i < THREADS; i++)
        MPI_Win_free(&wins[i]);
    MUST(MPI_T_finalize());
    return mp_finish();
}
