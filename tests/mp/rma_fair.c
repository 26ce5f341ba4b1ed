/* test: np=1,2,3,4,8 cfg=RMA_ATOMIC=auto|yes timeout=60 */
/*
 * Locks are fair: ranks that ask for one part's lock again and again, exclusive or shared, with
 * holds of different length, all get their share. What counts is grants, not time: how many all
 * have had when the last rank has had its share. A lock is held for some of the times that it takes to ask, so that
 * others do meanwhile: who has not been heard of yet cannot be in the queue.
 */
#include <stddef.h>

#include "mp_test.h"

#define GRANTS 60 /* the share of each rank */
#define FEWER  12 /* the same where a lock takes long */

/* At rank 0, changed by atomic updates only. */
struct totals {
    long n_grants; /* so far, of all */
    long inside;   /* at the moment: exclusive ones add 1000, shared ones 1 */
    long n_done;   /* ranks that have had their share */
};

static MPI_Win total_win, lock_win;
static struct totals *totals;
static char complaint[200];
static double hold; /* seconds */
static int share;

/* Add to a field of the totals; what was there. */
static long add(size_t field, long x)
{
    long old = -1;

    MUST(MPI_Fetch_and_op(&x, &old, MPI_LONG, 0, (MPI_Aint)field, x == 0 ? MPI_NO_OP : MPI_SUM,
                          total_win));
    MUST(MPI_Win_flush(0, total_win));
    return old;
}
#define ADD(field, x) add(offsetof(struct totals, field), x)

/* One lock, held for some calls. */
static void turn(int type, int length)
{
    long weight = type == MPI_LOCK_EXCLUSIVE ? 1000 : 1, before;
    double until;

    MUST(MPI_Win_lock(type, 0, 0, lock_win));
    before = ADD(inside, weight);
    CHECK(type == MPI_LOCK_EXCLUSIVE ? before == 0 : before >= 0 && before < 1000);
    (void)ADD(n_grants, 1);
    until = MPI_Wtime() + hold;
    for (int i = 0; i < length || MPI_Wtime() < until; i++)
        (void)ADD(n_grants, 0);
    (void)ADD(inside, -weight);
    MUST(MPI_Win_unlock(0, lock_win));
}

/* Who has had the share goes on until all have: has nobody had much more than the share by then? */
static int contend(int shared_of_4, int length_of_odd)
{
    long mine = 0, all = 0;
    int is_fair = 0;

    if (mp_rank == 0)
        memset(totals, 0, sizeof(*totals));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, total_win));
    while (mp_failures == 0 && all <= 10L * share * mp_size) {
        int type = (mine + mp_rank) % 4 < shared_of_4 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;

        turn(type, mp_rank % 2 ? length_of_odd : 1);
        if (++mine == share)
            (void)ADD(n_done, 1);
        if (mine >= share && ADD(n_done, 0) == mp_size)
            break;
        all = ADD(n_grants, 0);
    }
    all = ADD(n_grants, 0);
    MUST(MPI_Win_unlock_all(total_win));
    if (mp_failures == 0)
        is_fair = mine >= share && all <= 2L * share * mp_size;
    if (!is_fair)
        snprintf(complaint, sizeof(complaint),
                 "rank %d, %d of 4 shared, odd ranks hold %d, locks held %.6f s: %ld locks of %ld",
                 mp_rank, shared_of_4, length_of_odd, hold, mine, all);
    MPI_Allreduce(MPI_IN_PLACE, &is_fair, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return is_fair;
}

/*
 * On a busy machine it may take far longer to ask than when nobody else wants the lock; then all hold it for longer.
 * One that is not fair is taken again at once however long it was held.
 */
static void be_fair(int shared_of_4, int length_of_odd)
{
    int is_fair;

    if (mp_failures != 0)
        return;
    is_fair = contend(shared_of_4, length_of_odd);
    for (int i = 0; i < 3 && !is_fair; i++) {
        complaint[0] = 0;
        hold = hold < 50e-6 ? 400e-6 : 8 * hold;
        share = FEWER;
        is_fair = contend(shared_of_4, length_of_odd);
    }
    if (!is_fair && complaint[0] != 0)
        fprintf(stderr, "%s\n", complaint);
    mp_failures += !is_fair;
    MPI_Allreduce(MPI_IN_PLACE, &mp_failures, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* Seconds for n locks by whoever is farthest from them, nobody else wanting any. */
static double lock_times(int n)
{
    double time = 0;

    for (int rank = 0; rank < mp_size; rank++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != mp_rank)
            continue;
        time = MPI_Wtime();
        for (int i = 0; i < 20; i++) {
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, lock_win));
            MUST(MPI_Win_unlock(0, lock_win));
        }
        time = (MPI_Wtime() - time) * n / 20;
    }
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
}

/* The lock's window in each way: it may be granted by the owner or taken in shared memory. */
static void one_window(int way)
{
    static long own[2];
    MPI_Comm host;
    long *mem;
    int n_host;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n_host);
    MPI_Comm_free(&host);
    MPI_Allreduce(MPI_IN_PLACE, &n_host, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (way == 0)
        MUST(MPI_Win_create(own, sizeof(own), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &lock_win));
    else if (way == 1 || n_host < mp_size)
        MUST(MPI_Win_allocate(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &lock_win));
    else
        MUST(MPI_Win_allocate_shared(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &lock_win));
    (void)lock_times(1); /* connections are made first */
    hold = lock_times(4);
    share = hold > 200e-6 ? FEWER : GRANTS;
    be_fair(0, 1);
    be_fair(0, 20);
    be_fair(2, 20);
    be_fair(3, 1);
    MUST(MPI_Win_free(&lock_win));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &totals, &total_win));
    for (int way = 0; way < 3 && mp_failures == 0; way++)
        one_window(way);
    MUST(MPI_Win_free(&total_win));
    return mp_finish();
}
