/* test: np=2,3 timeout=30 */
/*
 * Pairs with holes: updates of one are atomic whoever does them, and what lies in a hole or behind the
 * last pair of a window is nobody's but the program's, which changes it meanwhile.
 */
#include "mp_test.h"

#define SWAPS 3000
#define TURNS 300

struct short_int {
    short value;
    int place;
};

/* Each brings a value and takes one away: at the end all are there that were. */
static void exchange(void)
{
    struct short_int *mem, mine = {(short)(mp_rank + 1), mp_rank + 1}, old;
    int sum, n_torn = 0;
    MPI_Win win;

    MUST(MPI_Win_allocate(sizeof(*mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    mem->value = 0;
    mem->place = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SWAPS; i++) {
        MUST(MPI_Fetch_and_op(&mine, &old, MPI_SHORT_INT, 0, 0, MPI_REPLACE, win));
        MUST(MPI_Win_flush(0, win));
        n_torn += old.value != old.place;
        mine = old;
    }
    MUST(MPI_Win_unlock_all(win));
    CHECK_EQ(n_torn, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = mine.value + (mp_rank == 0 ? mem->value : 0);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, mp_size * (mp_size + 1) / 2);
    MUST(MPI_Win_free(&win));
}

/* The owner counts in its own short beside pairs that the others replace. */
static void beside(MPI_Datatype type, void *part, size_t len, volatile short *mine)
{
    char pair[16], old[16];
    int n = 0, n_ended = 0, flag;
    MPI_Win win;

    memset(pair, mp_rank, sizeof(pair));
    *mine = 0;
    MUST(MPI_Win_create(part, (MPI_Aint)len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (mp_rank == 0) {
        while (n_ended < mp_size - 1) {
            for (int i = 0; i < 2000; i++, n++)
                (*mine)++;
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            if (flag)
                MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            n_ended += flag;
        }
        CHECK_EQ(*mine, (short)n);
    } else {
        MUST(MPI_Win_lock_all(0, win));
        for (int i = 0; i < TURNS; i++) {
            MUST(MPI_Fetch_and_op(pair, old, type, 0, 0, MPI_REPLACE, win));
            MUST(MPI_Accumulate(pair, 1, type, 0, 0, 1, type, MPI_MAXLOC, win));
            MUST(MPI_Win_flush(0, win));
        }
        MUST(MPI_Win_unlock_all(win));
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MUST(MPI_Win_free(&win));
}

/* A region that ends with the pair, without the hole behind it. */
static void attached(void)
{
    struct {
        long value;
        int place, other;
    } mem = {1, 1, 77}, pair = {5, mp_rank, 0};
    MPI_Aint at;
    MPI_Win win;

    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_attach(win, &mem, sizeof(long) + sizeof(int)));
    MPI_Get_address(&mem, &at);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(&pair, 1, MPI_LONG_INT, 0, at, 1, MPI_LONG_INT, MPI_MAXLOC, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(mem.value, mp_rank == 0 ? 5 : 1);
    CHECK_EQ(mem.place, mp_rank == 0 ? 0 : 1);
    CHECK_EQ(mem.other, 77);
    MUST(MPI_Win_detach(win, &mem));
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static struct {
        long value;
        int place;
        short other;
    } behind;
    static struct {
        short value, other;
        int place;
    } within;

    mp_start(&argc, &argv);
    exchange();
    beside(MPI_LONG_INT, &behind, sizeof(long) + sizeof(int), &behind.other);
    beside(MPI_LONG_INT, &behind, sizeof(behind), &behind.other);
    beside(MPI_SHORT_INT, &within, sizeof(within), &within.other);
    attached();
    return mp_finish();
}
