/* test: np=2,3,8 timeout=60 cfg=COLL_SHM=yes|no */
/*
 * Collectives with lengths of their own for every pair of ranks, from nothing to what fits no slot of the
 * memory that they share, so that some blocks go one way and some another in the same call; types
 * differ between the sides; roots go round, and nothing but the calls themselves keeps ranks together.
 */
#include "coll_test.h"

#define N_SCALES 5

/* Ints of the longest block. */
static const int scales[N_SCALES] = {3, 100, 3000, 14000, 50000};
static int rank, n, round_no;

/* Of what src has for dst: even, so that all layouts can have it. */
static size_t len_of(int src, int dst, int scale)
{
    static const int parts[] = {0, 7, 1, 16, 3, 12};
    size_t k = (size_t)(src * 5 + dst * 3 + round_no) % 6;

    return ((size_t)scale * (size_t)parts[k] / 16) & ~(size_t)1;
}

/* Where blocks of these lengths lie in a buffer: counts and displacements in elements; ints of all. */
static size_t lay_out(const struct layout *l, const size_t *lens, int *counts, int *displs)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        counts[i] = elems(l, lens[i]);
        displs[i] = elems(l, at);
        at += lens[i];
    }
    return room(l, at);
}

static size_t first_of(const struct layout *l, const int *displs, int i)
{
    return (size_t)displs[i] * (size_t)l->n;
}

/* ---- to and from a root ---- */

static void rooted(const struct layout *one, const struct layout *many, int scale, int root)
{
    int counts[64], displs[64], in_place = rank == root && round_no % 2;
    size_t lens[64], mine = len_of(rank, root, scale), all;
    int *buf, *own = new_buf(room(one, mine));

    for (int i = 0; i < n; i++)
        lens[i] = len_of(i, root, scale);
    all = lay_out(many, lens, counts, displs);
    buf = new_buf(all);
    put_block(own, one, 0, mine, rank, 1);
    if (in_place)
        put_block(buf, many, first_of(many, displs, rank), mine, rank, 1);
    MUST(MPI_Gatherv(in_place ? MPI_IN_PLACE : own, elems(one, mine), one->type, buf, counts,
                     displs, many->type, root, MPI_COMM_WORLD));
    for (int i = 0; i < n && rank == root; i++)
        check_block(buf, many, first_of(many, displs, i), lens[i], i, 1);
    for (int i = 0; i < n && rank == root; i++)
        put_block(buf, many, first_of(many, displs, i), lens[i], root, i);
    MUST(MPI_Scatterv(buf, counts, displs, many->type, in_place ? MPI_IN_PLACE : own,
                      elems(one, mine), one->type, root, MPI_COMM_WORLD));
    /* the memory is mine again */
    for (int i = 0; i < n && rank == root; i++)
        put_block(buf, many, first_of(many, displs, i), lens[i], 99, i);
    check_block(own, one, 0, mine, in_place ? rank : root, in_place ? 1 : rank);
    check_rest(own, room(one, mine));
    free(buf);
    free(own);
}

/* ---- all to all ---- */

static void exchanges(const struct layout *out, const struct layout *in, int scale)
{
    int scounts[64], sdispls[64], rcounts[64], rdispls[64];
    size_t slens[64] = {0}, rlens[64] = {0}, all;
    int *sbuf, *rbuf;

    for (int i = 0; i < n; i++) {
        slens[i] = len_of(rank, i, scale);
        rlens[i] = len_of(i, rank, scale);
    }
    sbuf = new_buf(lay_out(out, slens, scounts, sdispls));
    all = lay_out(in, rlens, rcounts, rdispls);
    rbuf = new_buf(all);
    for (int i = 0; i < n; i++)
        put_block(sbuf, out, first_of(out, sdispls, i), slens[i], rank, i);
    MUST(MPI_Alltoallv(sbuf, scounts, sdispls, out->type, rbuf, rcounts, rdispls, in->type,
                       MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        put_block(sbuf, out, first_of(out, sdispls, i), slens[i], 99, i);
    for (int i = 0; i < n; i++)
        check_block(rbuf, in, first_of(in, rdispls, i), rlens[i], i, rank);
    check_rest(rbuf, all);
    free(sbuf);
    free(rbuf);
}

/* A type of its own for every pair, in place: both sides of a pair have the same length. */
static void in_place(int scale)
{
    int counts[64], displs[64];
    size_t lens[64], firsts[64], all = 0;
    MPI_Datatype types[64];
    int *buf;

    for (int i = 0; i < n; i++) {
        const struct layout *l = &layouts[(i + rank) % N_LAYOUTS];

        lens[i] = len_of(i < rank ? i : rank, i < rank ? rank : i, scale);
        types[i] = l->type;
        counts[i] = elems(l, lens[i]);
        displs[i] = (int)(all * sizeof(int));
        firsts[i] = all;
        all += room(l, lens[i]);
    }
    buf = new_buf(all);
    for (int i = 0; i < n; i++)
        put_block(buf + firsts[i], &layouts[(i + rank) % N_LAYOUTS], 0, lens[i], rank, i);
    MUST(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, displs, types, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        check_block(buf + firsts[i], &layouts[(i + rank) % N_LAYOUTS], 0, lens[i], i, rank);
    check_rest(buf, all);
    free(buf);
}

static void to_all(const struct layout *out, const struct layout *in, int scale)
{
    int counts[64], displs[64];
    size_t lens[64], all;
    int *own, *buf;

    for (int i = 0; i < n; i++)
        lens[i] = len_of(i, 0, scale);
    all = lay_out(in, lens, counts, displs);
    own = new_buf(room(out, lens[rank]));
    buf = new_buf(all);
    put_block(own, out, 0, lens[rank], rank, 4);
    MUST(MPI_Allgatherv(own, elems(out, lens[rank]), out->type, buf, counts, displs, in->type,
                        MPI_COMM_WORLD));
    put_block(own, out, 0, lens[rank], 99, 4);
    for (int i = 0; i < n; i++)
        check_block(buf, in, first_of(in, displs, i), lens[i], i, 4);
    check_rest(buf, all);
    free(own);
    free(buf);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    rank = mp_rank;
    n = mp_size;
    make_layouts();
    for (round_no = 0; round_no < 8 * N_SCALES; round_no++) {
        int scale = scales[round_no % N_SCALES];
        const struct layout *a = &layouts[round_no % N_LAYOUTS];
        const struct layout *b = &layouts[round_no / N_LAYOUTS % N_LAYOUTS];

        rooted(a, b, scale, round_no / 2 % n);
        exchanges(a, b, scale);
        rooted(b, a, scale, round_no % n);
        in_place(scale);
        to_all(a, b, scale);
    }
    free_layouts();
    return mp_finish();
}
