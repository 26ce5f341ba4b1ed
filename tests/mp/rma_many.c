/* test: np=2,7,24 cfg=RMA=auto|emulated timeout=90 */
/*
 * Many windows of all flavors at a time, over the world and over communicators of other orders, each used
 * with a few targets, by all kinds of synchronization; a window whose memory one process lacks.
 */
#include "mp_test.h"

#define EACH   10 /* windows of each flavor */
#define ROUNDS 3

enum flavor { CREATE, ALLOCATE, SHARED, DYNAMIC, FLAVORS };

struct window {
    MPI_Win win;
    MPI_Comm comm;
    int rank, size, is_dynamic;
    long *mem;       /* of this process: one for each who may write, and one more that all add to */
    MPI_Aint *bases; /* of all, where displacements are addresses */
};

static MPI_Comm backwards, odd_even;

static void make(struct window *w, enum flavor flavor, MPI_Comm comm)
{
    MPI_Aint len, base;

    w->comm = comm;
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->size);
    w->is_dynamic = flavor == DYNAMIC;
    len = (MPI_Aint)((size_t)(w->size + 1) * sizeof(long));
    if (flavor == CREATE || flavor == DYNAMIC)
        w->mem = malloc((size_t)len);
    switch (flavor) {
    case CREATE:
        MUST(MPI_Win_create(w->mem, len, sizeof(long), MPI_INFO_NULL, comm, &w->win));
        break;
    case ALLOCATE:
        MUST(MPI_Win_allocate(len, sizeof(long), MPI_INFO_NULL, comm, &w->mem, &w->win));
        break;
    case SHARED:
        MUST(MPI_Win_allocate_shared(len, sizeof(long), MPI_INFO_NULL, comm, &w->mem, &w->win));
        break;
    default:
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->win));
        MUST(MPI_Win_attach(w->win, w->mem, len));
    }
    memset(w->mem, 0, (size_t)len);
    w->bases = malloc((size_t)w->size * sizeof(*w->bases));
    MPI_Get_address(w->mem, &base);
    MPI_Allgather(&base, 1, MPI_AINT, w->bases, 1, MPI_AINT, comm);
}

static MPI_Aint place(const struct window *w, int target, int i)
{
    return w->is_dynamic ? w->bases[target] + (MPI_Aint)i * (MPI_Aint)sizeof(long) : i;
}

/* To two targets: a put in the place of this rank, and something added to the last one. */
static void write_to(const struct window *w, int target, const long *value)
{
    MUST(MPI_Put(value, 1, MPI_LONG, target, place(w, target, w->rank), 1, MPI_LONG, w->win));
    MUST(MPI_Accumulate(value, 1, MPI_LONG, target, place(w, target, w->size), 1, MPI_LONG, MPI_SUM,
                        w->win));
}

static void use(const struct window *w, int round)
{
    int next = (w->rank + 1) % w->size, far = (w->rank + w->size / 2) % w->size;
    int from_next = (w->rank + w->size - 1) % w->size;
    int from_far = (w->rank + w->size - w->size / 2) % w->size;
    long value = 1000L * (round + 1) + w->rank, sum = 0;
    MPI_Group all, targets, origins;

    if (round == 0) {
        MUST(MPI_Win_fence(0, w->win));
        write_to(w, next, &value);
        if (far != next)
            write_to(w, far, &value);
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    } else if (round == 1) {
        int to[2] = {next, far}, from[2] = {from_next, from_far};

        MPI_Win_get_group(w->win, &all);
        MPI_Group_incl(all, far != next ? 2 : 1, to, &targets);
        MPI_Group_incl(all, far != next ? 2 : 1, from, &origins);
        MUST(MPI_Win_post(origins, 0, w->win));
        MUST(MPI_Win_start(targets, 0, w->win));
        write_to(w, next, &value);
        if (far != next)
            write_to(w, far, &value);
        MUST(MPI_Win_complete(w->win));
        MUST(MPI_Win_wait(w->win));
        MPI_Group_free(&all);
        MPI_Group_free(&targets);
        MPI_Group_free(&origins);
    } else {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w->win));
        write_to(w, next, &value);
        MUST(MPI_Win_unlock(next, w->win));
        MUST(MPI_Win_lock_all(0, w->win));
        if (far != next)
            write_to(w, far, &value);
        MUST(MPI_Win_unlock_all(w->win));
        MPI_Barrier(w->comm);
    }
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, w->rank, 0, w->win));
    CHECK_EQ(w->mem[from_next], 1000L * (round + 1) + from_next);
    CHECK_EQ(w->mem[from_far], 1000L * (round + 1) + from_far);
    sum = w->mem[from_next] + (from_far != from_next ? w->mem[from_far] : 0);
    CHECK_EQ(w->mem[w->size], sum);
    MUST(MPI_Win_unlock(w->rank, w->win));
    MPI_Barrier(w->comm);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
    w->mem[w->size] = 0;
    MUST(MPI_Win_unlock(w->rank, w->win));
    MPI_Barrier(w->comm);
}

static void end(struct window *w, enum flavor flavor)
{
    if (flavor == DYNAMIC)
        MUST(MPI_Win_detach(w->win, w->mem));
    MUST(MPI_Win_free(&w->win));
    if (flavor == CREATE || flavor == DYNAMIC)
        free(w->mem);
    free(w->bases);
}

static void many(void)
{
    static struct window windows[FLAVORS][EACH];
    MPI_Comm comms[] = {MPI_COMM_WORLD, backwards, odd_even}, here[3];

    for (int i = 0; i < 3; i++)
        MUST(MPI_Comm_split_type(comms[i], MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here[i]));
    for (int f = 0; f < FLAVORS; f++)
        for (int i = 0; i < EACH; i++)
            make(&windows[f][i], f, f == SHARED ? here[i % 3] : comms[i % 3]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < EACH; i++)
            for (int f = 0; f < FLAVORS; f++)
                use(&windows[f][i], round);
    for (int i = EACH; i-- > 0;)
        for (int f = 0; f < FLAVORS; f++)
            end(&windows[f][i], f);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&here[i]);
}

/* All get the error if one cannot have its memory, and the next window works. */
static void one_lacks(void)
{
    MPI_Aint len = mp_rank == mp_size - 1 ? (MPI_Aint)1 << 60 : 8;
    struct window w;
    MPI_Win win;
    void *mem;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_allocate(len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    make(&w, ALLOCATE, MPI_COMM_WORLD);
    use(&w, 0);
    end(&w, ALLOCATE);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, 0, mp_size - mp_rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2, mp_rank, &odd_even);
    many();
    one_lacks();
    MPI_Comm_free(&backwards);
    MPI_Comm_free(&odd_even);
    return mp_finish();
}
