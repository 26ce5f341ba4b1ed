/* test: np=2,3 cfg=RMA=auto|emulated|direct timeout=120 */
/*
 * Puts and gets of many short runs, on either side or on both, on memory of malloc and of the library: every
 * byte of both memories is compared, also between the runs. More runs and bytes than a packet has.
 */
#include "mp_test.h"

#define BYTES 140000
#define AT    16 /* where the data begin */

/* A total of bytes, in blocks of some bytes, stride bytes apart, at the origin and at the target. */
static const struct layout {
    int total, o_len, o_stride, t_len, t_stride;
} layouts[] = {
    {512, 8, 24, 8, 40},
    {512, 8, 24, 512, 512},
    {512, 512, 512, 8, 40},
    {28, 4, 8, 4, 8},
    {64, 4, 8, 8, 12},
    {9000, 3, 7, 9, 20},
    {9000, 9, 11, 3, 4},
    {40000, 1000, 1600, 500, 600},
    {40000, 40000, 40000, 4, 8},
    {40000, 4, 12, 40000, 40000},
    {65536, 4096, 5000, 4096, 8192},
};

enum { FENCE, PSCW, LOCK, N_EPOCHS };

static unsigned char *mine, *window, *want;
static MPI_Win win;
static MPI_Group to, from;
static int next, before;

static unsigned char pattern(int rank, int salt, int i)
{
    return (unsigned char)(rank * 131 + salt * 17 + i * 7 + i / 251);
}

static void fill(unsigned char *mem, int rank, int salt)
{
    for (int i = 0; i < BYTES; i++)
        mem[i] = pattern(rank, salt, i);
}

static void compare(const unsigned char *mem)
{
    for (int i = 0; i < BYTES; i++) {
        if (mem[i] != want[i]) {
            CHECK_EQ(mem[i], want[i]);
            CHECK_EQ(i, -1);
            return;
        }
    }
}

static int place(int k, int len, int stride)
{
    return AT + k / len * stride + k % len;
}

static MPI_Datatype blocks(int total, int len, int stride)
{
    MPI_Datatype type;

    if (len % 4 == 0)
        MUST(MPI_Type_create_hvector(total / len, len / 4, stride, MPI_INT, &type));
    else
        MUST(MPI_Type_create_hvector(total / len, len, stride, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static void move(const struct layout *l, int epoch, int is_put)
{
    MPI_Datatype o = blocks(l->total, l->o_len, l->o_stride);
    MPI_Datatype t = blocks(l->total, l->t_len, l->t_stride);

    if (epoch == FENCE)
        MUST(MPI_Win_fence(0, win));
    if (epoch == PSCW) {
        MUST(MPI_Win_post(from, 0, win));
        MUST(MPI_Win_start(to, 0, win));
    }
    if (epoch == LOCK)
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    if (is_put)
        MUST(MPI_Put(mine + AT, 1, o, next, AT, 1, t, win));
    else
        MUST(MPI_Get(mine + AT, 1, o, next, AT, 1, t, win));
    MUST(MPI_Type_free(&o));
    MUST(MPI_Type_free(&t));
    if (epoch == FENCE)
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (epoch == PSCW) {
        MUST(MPI_Win_complete(win));
        MUST(MPI_Win_wait(win));
    }
    if (epoch == LOCK)
        MUST(MPI_Win_unlock(next, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* What is to be in the window, or in my memory, afterwards. */
static void predict(const struct layout *l, int is_put)
{
    fill(want, mp_rank, is_put ? 2 : 1);
    for (int k = 0; k < l->total; k++) {
        int o = place(k, l->o_len, l->o_stride), t = place(k, l->t_len, l->t_stride);

        if (is_put)
            want[t] = pattern(before, 1, o);
        else
            want[o] = pattern(next, 2, t);
    }
}

static void try_all(void)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        for (int epoch = 0; epoch < N_EPOCHS; epoch++) {
            for (int is_put = 0; is_put < 2; is_put++) {
                fill(mine, mp_rank, 1);
                MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mp_rank, 0, win));
                fill(window, mp_rank, 2);
                MUST(MPI_Win_unlock(mp_rank, win));
                MUST(MPI_Barrier(MPI_COMM_WORLD));
                move(&layouts[i], epoch, is_put);
                predict(&layouts[i], is_put);
                MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
                compare(is_put ? window : mine);
                MUST(MPI_Win_unlock(mp_rank, win));
                fill(want, mp_rank, is_put ? 1 : 2);
                compare(is_put ? mine : window);
                MUST(MPI_Barrier(MPI_COMM_WORLD));
            }
        }
    }
}

int main(int argc, char **argv)
{
    unsigned char *memory;
    MPI_Group world;

    mp_start(&argc, &argv);
    next = (mp_rank + 1) % mp_size;
    before = (mp_rank + mp_size - 1) % mp_size;
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_incl(world, 1, &next, &to));
    MUST(MPI_Group_incl(world, 1, &before, &from));
    MUST(MPI_Group_free(&world));
    memory = malloc(BYTES);
    mine = malloc(BYTES);
    want = malloc(BYTES);
    if (memory == NULL || mine == NULL || want == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    window = memory;
    MUST(MPI_Win_create(window, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    try_all();
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
    try_all();
    MUST(MPI_Win_free(&win));
    free(memory);
    free(mine);
    free(want);
    MUST(MPI_Group_free(&to));
    MUST(MPI_Group_free(&from));
    return mp_finish();
}
