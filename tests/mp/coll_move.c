/* test: np=1,2,3,4,7 timeout=60 cfg=COLL=|bcast=scatter;gather=binomial;scatter=binomial;allgather=bruck;alltoall=bruck;barrier=dissemination|gather=linear;scatter=linear;allgather=ring;alltoall=pairwise;alltoallv=pairwise;barrier=tree */
/*
 * Collectives that move equal blocks: every root, many sizes, other layouts on
 * the other side, MPI_IN_PLACE.
 */
#include "coll_test.h"

static const size_t sizes[] = {0, 2, 6, 34, 62, 66, 1022, 1026, 16386, 70002};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void bcast(size_t n, int root, const struct layout *sl, const struct layout *rl)
{
    const struct layout *l = mp_rank == root ? sl : rl;
    size_t len = room(l, n);
    int *buf = new_buf(len);

    if (mp_rank == root)
        put_block(buf, l, 0, n, root, 0);
    MUST(MPI_Bcast(buf, elems(l, n), l->type, root, MPI_COMM_WORLD));
    check_block(buf, l, 0, n, root, 0);
    check_rest(buf, len);
    free(buf);
}

/* The root's buffer is only read: it may lie among the program's constants. */
static void bcast_constant(int n, int root)
{
    static const int constant[70002] = {[0] = 7, [5] = 9, [70001] = 11};
    static int buf[70002];

    memset(buf, 1, sizeof(buf));
    MUST(MPI_Bcast(mp_rank == root ? (void *)(size_t)constant : buf, n, MPI_INT, root,
                   MPI_COMM_WORLD));
    CHECK(mp_rank == root || memcmp(buf, constant, (size_t)n * sizeof(int)) == 0);
}

static void gather(size_t n, int root, const struct layout *sl, const struct layout *rl,
                   int in_place)
{
    size_t slen = room(sl, n);
    size_t rlen = room(rl, n * (size_t)mp_size);
    int *sbuf = new_buf(slen);
    int *rbuf = new_buf(rlen);

    put_block(sbuf, sl, 0, n, mp_rank, root);
    if (in_place && mp_rank == root) {
        put_block(rbuf, rl, n * (size_t)root, n, root, root);
        MUST(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rbuf, elems(rl, n), rl->type, root,
                        MPI_COMM_WORLD));
    } else {
        MUST(MPI_Gather(sbuf, elems(sl, n), sl->type, rbuf, elems(rl, n), rl->type, root,
                        MPI_COMM_WORLD));
    }
    if (mp_rank == root)
        for (int i = 0; i < mp_size; i++)
            check_block(rbuf, rl, n * (size_t)i, n, i, root);
    check_rest(rbuf, rlen);
    free(sbuf);
    free(rbuf);
}

static void scatter(size_t n, int root, const struct layout *sl, const struct layout *rl,
                    int in_place)
{
    size_t slen = room(sl, n * (size_t)mp_size);
    size_t rlen = room(rl, n);
    int *sbuf = new_buf(slen);
    int *rbuf = new_buf(rlen);
    int keeps = in_place && mp_rank == root;

    for (int i = 0; i < mp_size; i++)
        put_block(sbuf, sl, n * (size_t)i, n, root, i);
    if (keeps)
        MUST(MPI_Scatter(sbuf, elems(sl, n), sl->type, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
                         MPI_COMM_WORLD));
    else
        MUST(MPI_Scatter(sbuf, elems(sl, n), sl->type, rbuf, elems(rl, n), rl->type, root,
                         MPI_COMM_WORLD));
    if (!keeps)
        check_block(rbuf, rl, 0, n, root, mp_rank);
    check_rest(rbuf, rlen);
    for (int i = 0; i < mp_size; i++)
        check_block(sbuf, sl, n * (size_t)i, n, root, i);
    free(sbuf);
    free(rbuf);
}

static void allgather(size_t n, const struct layout *sl, const struct layout *rl, int in_place)
{
    size_t slen = room(sl, n);
    size_t rlen = room(rl, n * (size_t)mp_size);
    int *sbuf = new_buf(slen);
    int *rbuf = new_buf(rlen);

    put_block(sbuf, sl, 0, n, mp_rank, 0);
    if (in_place) {
        put_block(rbuf, rl, n * (size_t)mp_rank, n, mp_rank, 0);
        MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rbuf, elems(rl, n), rl->type,
                           MPI_COMM_WORLD));
    } else {
        MUST(MPI_Allgather(sbuf, elems(sl, n), sl->type, rbuf, elems(rl, n), rl->type,
                           MPI_COMM_WORLD));
    }
    for (int i = 0; i < mp_size; i++)
        check_block(rbuf, rl, n * (size_t)i, n, i, 0);
    check_rest(rbuf, rlen);
    free(sbuf);
    free(rbuf);
}

static void alltoall(size_t n, const struct layout *sl, const struct layout *rl, int in_place)
{
    const struct layout *from = in_place ? rl : sl;
    size_t len = room(rl, n * (size_t)mp_size);
    int *sbuf = new_buf(room(from, n * (size_t)mp_size));
    int *rbuf = new_buf(len);

    for (int i = 0; i < mp_size; i++)
        put_block(in_place ? rbuf : sbuf, from, n * (size_t)i, n, mp_rank, i);
    if (in_place)
        MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rbuf, elems(rl, n), rl->type,
                          MPI_COMM_WORLD));
    else
        MUST(MPI_Alltoall(sbuf, elems(sl, n), sl->type, rbuf, elems(rl, n), rl->type,
                          MPI_COMM_WORLD));
    for (int i = 0; i < mp_size; i++)
        check_block(rbuf, rl, n * (size_t)i, n, i, mp_rank);
    check_rest(rbuf, len);
    free(sbuf);
    free(rbuf);
}

static void all_of(size_t n, const struct layout *sl, const struct layout *rl)
{
    /* long ones are slow where ranks share cores: two roots say enough */
    int step = n > 2000 && mp_size > 2 ? mp_size - 1 : 1;

    for (int root = 0; root < mp_size; root += step) {
        bcast(n, root, sl, rl);
        for (int in_place = 0; in_place < 2; in_place++) {
            gather(n, root, sl, rl, in_place);
            scatter(n, root, sl, rl, in_place);
        }
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        allgather(n, sl, rl, in_place);
        alltoall(n, sl, rl, in_place);
    }
}

#define LEFT 99

/* Nobody leaves a barrier before the last one has come, which would hear of it: clocks of hosts differ. */
static void barrier(void)
{
    for (int late = 0; late < mp_size; late++) {
        int has_left = 0;

        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (mp_rank == late) {
            double start = MPI_Wtime();

            while (MPI_Wtime() < start + 0.01 && !has_left)
                MUST(
                    MPI_Iprobe(MPI_ANY_SOURCE, LEFT, MPI_COMM_WORLD, &has_left, MPI_STATUS_IGNORE));
            CHECK(!has_left);
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (mp_rank != late)
            MUST(MPI_Send(NULL, 0, MPI_INT, late, LEFT, MPI_COMM_WORLD));
        for (int i = 1; i < mp_size && mp_rank == late; i++)
            MUST(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, LEFT, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    make_layouts();
    barrier();
    for (size_t i = 0; i < N_SIZES; i++) {
        for (int root = 0; root < mp_size && !mp_is_library("MPICH"); root++)
            bcast_constant((int)sizes[i], root); /* MPICH 4.0.2 writes there */
        if (sizes[i] > 20000) {
            all_of(sizes[i], &layouts[0], &layouts[0]);
            continue;
        }
        for (int s = 0; s < N_LAYOUTS; s++)
            for (int r = 0; r < N_LAYOUTS; r++)
                if (sizes[i] < 2000 || s != r)
                    all_of(sizes[i], &layouts[s], &layouts[r]);
    }
    free_layouts();
    return mp_finish();
}
