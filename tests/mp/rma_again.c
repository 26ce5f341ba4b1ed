/* test: np=2,3,7 cfg=RMA=auto|emulated timeout=90 */
/*
 * Windows that are made and freed again and again, of several groups, more at a time than control blocks are kept:
 * each begins as the first one, whatever the block's windows before it were used for.
 */
#include "../self.h"
#include "mp_test.h"

#define AT_ONCE    12
#define ROUNDS     12
#define MANY       100 /* more than the blocks that are kept */
#define MOST_TRIES 10000

enum { CREATE, ALLOCATE, DYNAMIC, FLAVORS };

struct window {
    MPI_Win win;
    MPI_Comm comm;
    int rank, size;
    long *mem, own[2];
    MPI_Aint at;
};

static void make(struct window *w, int flavor, MPI_Comm comm)
{
    w->comm = comm;
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->size);
    w->mem = w->own;
    if (flavor == CREATE) {
        MUST(MPI_Win_create(w->own, sizeof(w->own), 1, MPI_INFO_NULL, comm, &w->win));
    } else if (flavor == ALLOCATE) {
        MUST(MPI_Win_allocate(sizeof(w->own), 1, MPI_INFO_NULL, comm, &w->mem, &w->win));
    } else {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->win));
        MUST(MPI_Win_attach(w->win, w->own, sizeof(w->own)));
    }
    w->mem[0] = w->mem[1] = -1;
    w->at = 0;
    if (flavor == DYNAMIC) {
        MPI_Aint mine;

        MPI_Get_address(w->own, &mine);
        MPI_Sendrecv(&mine, 1, MPI_AINT, (w->rank + w->size - 1) % w->size, 0, &w->at, 1, MPI_AINT,
                     (w->rank + 1) % w->size, 0, comm, MPI_STATUS_IGNORE);
    }
}

/* Ends in a way of its own each time: a lock that others have waited for, counters of posts, of fences. */
static void use(struct window *w, long value, int way)
{
    int right = (w->rank + 1) % w->size, left = (w->rank + w->size - 1) % w->size;
    MPI_Group all, to, from;

    MPI_Barrier(w->comm);
    if (way % 3 == 0) {
        for (int i = 0; i <= way % 4; i++) {
            MUST(MPI_Win_fence(0, w->win));
            MUST(MPI_Put(&value, 1, MPI_LONG, right, w->at, 1, MPI_LONG, w->win));
            MUST(MPI_Win_fence(0, w->win));
        }
    } else if (way % 3 == 1) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w->win));
        MUST(MPI_Accumulate(&value, 1, MPI_LONG, right, w->at, 1, MPI_LONG, MPI_REPLACE, w->win));
        MUST(MPI_Win_unlock(right, w->win));
        MPI_Barrier(w->comm);
    } else {
        MPI_Comm_group(w->comm, &all);
        MPI_Group_incl(all, 1, &right, &to);
        MPI_Group_incl(all, 1, &left, &from);
        MUST(MPI_Win_post(from, 0, w->win));
        MUST(MPI_Win_start(to, 0, w->win));
        MUST(MPI_Put(&value, 1, MPI_LONG, right, w->at, 1, MPI_LONG, w->win));
        MUST(MPI_Win_complete(w->win));
        MUST(MPI_Win_wait(w->win));
        MPI_Group_free(&all);
        MPI_Group_free(&to);
        MPI_Group_free(&from);
    }
    CHECK_EQ(w->mem[0], value);
    CHECK_EQ(w->mem[1], -1);
}

/* Many at a time: few files have their blocks; those that were freed first are not kept. Returns whether there are any. */
static int many(MPI_Comm comm)
{
    static struct window w[MANY];
    int n_before = self_count_maps("memfd:datum-ctl"), n_made, n_kept;

    for (int i = 0; i < MANY; i++)
        make(&w[i], i % 2 ? CREATE : ALLOCATE, comm);
    n_made = self_count_maps("memfd:datum-ctl");
    for (int i = 0; i < MANY; i += 9)
        use(&w[i], i, i);
    CHECK(n_made - n_before <= 12);
    for (int i = 0; i < MANY; i++)
        MUST(MPI_Win_free(&w[i].win));
    n_kept = self_count_maps("memfd:datum-ctl");
    CHECK(n_kept < n_made || n_made == 0);
    return n_kept > 0;
}

int main(int argc, char **argv)
{
    static struct window w[AT_ONCE];
    MPI_Comm comms[3];
    int has_blocks = 0, is_again = 0, n_before;

    mp_start(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -mp_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2, mp_rank, &comms[2]);
    for (int round = 0; round < ROUNDS; round++) {
        int n = round % 3 == 0 ? AT_ONCE : 1 + round % 4;

        for (int i = 0; i < n; i++)
            make(&w[i], (round + i) % FLAVORS, comms[(round / 2 + i) % 3]);
        for (int i = 0; i < n; i++)
            use(&w[i], 1000 * round + i, round + i);
        for (int i = 0; i < n; i++)
            MUST(MPI_Win_free(&w[round % 2 ? i : n - 1 - i].win));
    }
    has_blocks = many(MPI_COMM_WORLD);
    /* who is alone on a host has none */
    MUST(MPI_Allreduce(MPI_IN_PLACE, &has_blocks, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    /* a new window takes a block that is kept, unless somebody is late in leaving it */
    for (int i = 0; has_blocks && !is_again; i++) {
        CHECK(i < MOST_TRIES);
        n_before = self_count_maps("memfd:datum-ctl");
        make(&w[0], CREATE, MPI_COMM_WORLD);
        is_again = self_count_maps("memfd:datum-ctl") == n_before || i >= MOST_TRIES;
        MUST(MPI_Allreduce(MPI_IN_PLACE, &is_again, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        MUST(MPI_Win_free(&w[0].win));
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return mp_finish();
}
