/* test: np=1,2,3,4,7 timeout=60 cfg=COLL=|allgatherv=ring;alltoallv=pairwise */
/*
 * Collectives with a count for every rank: zero and odd counts, holes between blocks,
 * blocks in any order, MPI_IN_PLACE, one type per rank.
 */
#include "coll_test.h"

static unsigned int seed; /* the same in all ranks */

static unsigned int draw(unsigned int n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}

/*
 * Elements of each block and their places: blocks are laid out in a drawn order with
 * holes. Returns the elements in all.
 */
static int lay_out(int *counts, int *displs, int n, int scale, int is_given)
{
    int *order = malloc((size_t)n * sizeof(int));
    int at = 0;

    for (int i = 0; i < n; i++) {
        int j = (int)draw((unsigned)i + 1);

        order[i] = order[j];
        order[j] = i;
        if (!is_given)
            counts[i] = draw(4) == 0 ? 0 : (int)draw((unsigned)scale);
    }
    for (int i = 0; i < n; i++) {
        at += (int)draw(3);
        displs[order[i]] = at;
        at += counts[order[i]];
    }
    free(order);
    return at;
}

static void gatherv(const struct layout *l, int scale, int root, int in_place)
{
    int *counts = malloc((size_t)mp_size * sizeof(int));
    int *displs = malloc((size_t)mp_size * sizeof(int));
    int total = lay_out(counts, displs, mp_size, scale, 0);
    size_t n = (size_t)l->n;
    size_t rlen = room(l, (size_t)total * n);
    size_t mine = (size_t)counts[mp_rank] * n;
    int *sbuf = new_buf(mine + 1);
    int *rbuf = new_buf(rlen);
    int is_root = mp_rank == root;

    put_block(sbuf, &layouts[0], 0, mine, mp_rank, 0);
    if (is_root && in_place)
        put_block(rbuf, l, (size_t)displs[root] * n, mine, root, 0);
    if (is_root && in_place)
        MUST(MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rbuf, counts, displs, l->type, root,
                         MPI_COMM_WORLD));
    else
        MUST(MPI_Gatherv(sbuf, (int)mine, MPI_INT, rbuf, is_root ? counts : NULL,
                         is_root ? displs : NULL, l->type, root, MPI_COMM_WORLD));
    for (int i = 0; i < mp_size && is_root; i++)
        check_block(rbuf, l, (size_t)displs[i] * n, (size_t)counts[i] * n, i, 0);
    check_rest(rbuf, rlen);

    /* and back */
    for (int i = 0; i < mp_size && is_root; i++)
        put_block(rbuf, l, (size_t)displs[i] * n, (size_t)counts[i] * n, root, i);
    put_block(sbuf, &layouts[0], 0, mine, root, mp_rank);
    if (is_root && in_place)
        MUST(MPI_Scatterv(rbuf, counts, displs, l->type, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
                          MPI_COMM_WORLD));
    else
        MUST(MPI_Scatterv(rbuf, is_root ? counts : NULL, is_root ? displs : NULL, l->type, sbuf,
                          (int)mine, MPI_INT, root, MPI_COMM_WORLD));
    check_block(sbuf, &layouts[0], 0, mine, root, mp_rank);
    free(counts);
    free(displs);
    free(sbuf);
    free(rbuf);
}

static void allgatherv(const struct layout *l, int scale, int in_place)
{
    int *counts = malloc((size_t)mp_size * sizeof(int));
    int *displs = malloc((size_t)mp_size * sizeof(int));
    int total = lay_out(counts, displs, mp_size, scale, 0);
    size_t n = (size_t)l->n;
    size_t rlen = room(l, (size_t)total * n);
    size_t mine = (size_t)counts[mp_rank] * n;
    int *sbuf = new_buf(mine + 1);
    int *rbuf = new_buf(rlen);

    /* MPICH 4.0.2 overlooks the displacement where there is one rank. */
    if (mp_size == 1 && mp_is_library("MPICH"))
        displs[0] = 0;
    put_block(sbuf, &layouts[0], 0, mine, mp_rank, 0);
    if (in_place) {
        put_block(rbuf, l, (size_t)displs[mp_rank] * n, mine, mp_rank, 0);
        MUST(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rbuf, counts, displs, l->type,
                            MPI_COMM_WORLD));
    } else {
        MUST(MPI_Allgatherv(sbuf, (int)mine, MPI_INT, rbuf, counts, displs, l->type,
                            MPI_COMM_WORLD));
    }
    for (int i = 0; i < mp_size; i++)
        check_block(rbuf, l, (size_t)displs[i] * n, (size_t)counts[i] * n, i, 0);
    check_rest(rbuf, rlen);
    free(counts);
    free(displs);
    free(sbuf);
    free(rbuf);
}

/* all[i * size + j]: elements that i sends to j; symmetric for MPI_IN_PLACE. */
static void alltoallv(const struct layout *l, int scale, int in_place)
{
    size_t sq = (size_t)mp_size * (size_t)mp_size;
    int *all = malloc(sq * sizeof(int));
    int *lists = malloc(4 * (size_t)mp_size * sizeof(int));
    int *scounts = lists, *rcounts = lists + mp_size;
    int *sdispls = lists + 2 * mp_size, *rdispls = lists + 3 * mp_size;
    size_t n = (size_t)l->n;
    size_t rlen;
    int total;
    int *sbuf, *rbuf;

    for (int i = 0; i < mp_size; i++)
        for (int j = 0; j < mp_size; j++)
            all[i * mp_size + j] = draw(4) == 0 ? 0 : (int)draw((unsigned)scale);
    for (int i = 0; i < mp_size; i++) {
        scounts[i] = all[mp_rank * mp_size + i];
        rcounts[i] = all[i * mp_size + mp_rank];
        if (in_place)
            rcounts[i] = all[(i < mp_rank ? i : mp_rank) * mp_size + (i < mp_rank ? mp_rank : i)];
        scounts[i] *= l->n;
    }
    total = lay_out(scounts, sdispls, mp_size, scale, 1);
    sbuf = new_buf((size_t)total + 1);
    total = lay_out(rcounts, rdispls, mp_size, scale, 1);
    rlen = room(l, (size_t)total * n);
    rbuf = new_buf(rlen);
    for (int i = 0; i < mp_size; i++) {
        put_block(sbuf, &layouts[0], (size_t)sdispls[i], (size_t)scounts[i], mp_rank, i);
        if (in_place)
            put_block(rbuf, l, (size_t)rdispls[i] * n, (size_t)rcounts[i] * n, mp_rank, i);
    }
    if (in_place)
        MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, rbuf, rcounts, rdispls,
                           l->type, MPI_COMM_WORLD));
    else
        MUST(MPI_Alltoallv(sbuf, scounts, sdispls, MPI_INT, rbuf, rcounts, rdispls, l->type,
                           MPI_COMM_WORLD));
    for (int i = 0; i < mp_size; i++)
        check_block(rbuf, l, (size_t)rdispls[i] * n, (size_t)rcounts[i] * n, i, mp_rank);
    check_rest(rbuf, rlen);
    free(all);
    free(lists);
    free(sbuf);
    free(rbuf);
}

/* A layout per rank; counts such that both sides have as many ints. */
static void alltoallw(int scale, int in_place)
{
    MPI_Datatype *types = malloc(2 * (size_t)mp_size * sizeof(*types));
    int *lists = malloc(4 * (size_t)mp_size * sizeof(int));
    int *scounts = lists, *rcounts = lists + mp_size;
    int *sdispls = lists + 2 * mp_size, *rdispls = lists + 3 * mp_size;
    size_t block = (size_t)(scale + 2) * 6; /* ints of memory for each */
    int *sbuf = new_buf(block * (size_t)mp_size);
    int *rbuf = new_buf(block * (size_t)mp_size);

    for (int i = 0; i < mp_size; i++) {
        int n = 2 * ((i + mp_rank) * 7 % scale);
        const struct layout *sl = &layouts[i % N_LAYOUTS];
        const struct layout *rl = &layouts[(i + mp_rank + 1) % N_LAYOUTS];
        size_t at = block * (size_t)i;

        types[i] = sl->type;
        types[mp_size + i] = rl->type;
        scounts[i] = elems(sl, (size_t)n);
        rcounts[i] = elems(rl, (size_t)n);
        sdispls[i] = rdispls[i] = (int)(at * sizeof(int));
        put_block(sbuf + at, sl, 0, (size_t)n, mp_rank, i);
        if (in_place)
            put_block(rbuf + at, rl, 0, (size_t)n, mp_rank, i);
    }
    if (in_place)
        MUST(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, rbuf, rcounts, rdispls, types + mp_size,
                           MPI_COMM_WORLD));
    else
        MUST(MPI_Alltoallw(sbuf, scounts, sdispls, types, rbuf, rcounts, rdispls, types + mp_size,
                           MPI_COMM_WORLD));
    for (int i = 0; i < mp_size; i++)
        check_block(rbuf + block * (size_t)i, &layouts[(i + mp_rank + 1) % N_LAYOUTS], 0,
                    2 * (size_t)((i + mp_rank) * 7 % scale), i, mp_rank);
    check_rest(rbuf, block * (size_t)mp_size);
    free(types);
    free(lists);
    free(sbuf);
    free(rbuf);
}

int main(int argc, char **argv)
{
    static const int scales[] = {2, 9, 300, 5000};

    mp_start(&argc, &argv);
    make_layouts();
    for (int s = 0; s < 4; s++) {
        for (int l = 0; l < N_LAYOUTS; l++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                for (int root = 0; root < mp_size; root++)
                    gatherv(&layouts[l], scales[s], root, in_place);
                for (int i = 0; i < 3; i++) {
                    allgatherv(&layouts[l], scales[s], in_place);
                    alltoallv(&layouts[l], scales[s], in_place);
                }
            }
        }
        alltoallw(scales[s], 0);
        alltoallw(scales[s], 1);
    }
    free_layouts();
    return mp_finish();
}
