/* test: np=2 cfg=EAGER_LIMIT=0|64|16k|1m,RNDV=read|pipe|serial|split|zerocopy timeout=40 */
/* Derived datatypes on either side or both, short and long. */
#include <stddef.h>

#include "p2p.h"

enum { CONTIG, VECTOR, INDEXED, STRUCT, RESIZED, N_KINDS };

struct mixed {
    char c;
    double d;
    int i[2];
};

/*
 * n "elements" of 4 ints each, laid out by kind in a buffer; the position of int k of the stream
 * is at_of().
 */
static MPI_Datatype make(int kind)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, tmp;
    int lens[2] = {3, 1}, disps[2] = {2, 0};
    MPI_Aint bytes[2] = {8, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};

    switch (kind) {
    case CONTIG:
        MPI_Type_contiguous(4, MPI_INT, &type);
        break;
    case VECTOR: /* every other int, and one behind */
        MPI_Type_vector(4, 1, 2, MPI_INT, &tmp);
        MPI_Type_create_resized(tmp, 0, 8 * sizeof(int), &type);
        MPI_Type_free(&tmp);
        break;
    case INDEXED: /* ints 2 3 4, then 0; extent 5 */
        MPI_Type_indexed(2, lens, disps, MPI_INT, &type);
        break;
    case STRUCT: /* the same at byte displacements */
        MPI_Type_create_struct(2, lens, bytes, types, &type);
        break;
    case RESIZED: /* 4 ints, then a gap of 3 */
        MPI_Type_contiguous(4, MPI_INT, &tmp);
        MPI_Type_create_resized(tmp, 0, 7 * sizeof(int), &type);
        MPI_Type_free(&tmp);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

static int at_of(int kind, int k)
{
    int e = k / 4, j = k % 4;

    switch (kind) {
    case CONTIG:
        return k;
    case VECTOR:
        return e * 8 + j * 2;
    case INDEXED:
    case STRUCT:
        return e * 5 + (j < 3 ? 2 + j : 0);
    default:
        return e * 7 + j;
    }
}

static void exchange(int skind, int rkind, int n, int by_irecv)
{
    int room = n * 8 + 8;
    int *buf = malloc((size_t)room * sizeof(int));

    for (int i = 0; i < room; i++)
        buf[i] = -7;
    if (me == 0) {
        MPI_Datatype type = make(skind);

        for (int k = 0; k < 4 * n; k++)
            buf[at_of(skind, k)] = k;
        MPI_Send(buf, n, type, 1, 0, MPI_COMM_WORLD);
        MPI_Type_free(&type);
    } else {
        MPI_Datatype type = make(rkind);
        MPI_Status st;
        int count, elements, n_used = 0;

        if (by_irecv) {
            MPI_Request req;

            MPI_Irecv(buf, n, type, 0, 0, MPI_COMM_WORLD, &req);
            /* The type may go while the receive is pending. */
            MPI_Type_free(&type);
            MPI_Wait(&req, &st);
            type = make(rkind);
        } else {
            MPI_Recv(buf, n, type, 0, 0, MPI_COMM_WORLD, &st);
        }
        MPI_Get_count(&st, type, &count);
        CHECK_EQ(count, n);
        MPI_Get_elements(&st, type, &elements);
        CHECK_EQ(elements, 4 * n);
        for (int k = 0; k < 4 * n; k++) {
            CHECK_EQ(buf[at_of(rkind, k)], k);
            buf[at_of(rkind, k)] = -7;
            n_used++;
        }
        for (int i = 0; i < room; i++)
            CHECK_EQ(buf[i], -7);
        MPI_Type_free(&type);
    }
    free(buf);
}

/* MPI_BOTTOM and absolute addresses. */
static void absolute(void)
{
    int a = me == 0 ? 11 : 0, lens[2] = {1, 2};
    double d[2] = {me == 0 ? 1.5 : 0, me == 0 ? 2.5 : 0};
    MPI_Datatype type, types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Aint disps[2];

    MPI_Get_address(&a, &disps[0]);
    MPI_Get_address(d, &disps[1]);
    MPI_Type_create_struct(2, lens, disps, types, &type);
    MPI_Type_commit(&type);
    if (me == 0) {
        MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(a, 11);
        CHECK(d[0] == 1.5 && d[1] == 2.5);
    }
    MPI_Type_free(&type);
}

static void structs(int n)
{
    struct mixed *m = calloc((size_t)n, sizeof(*m));
    int lens[3] = {1, 1, 2};
    MPI_Aint disps[3] = {offsetof(struct mixed, c), offsetof(struct mixed, d),
                         offsetof(struct mixed, i)};
    MPI_Datatype type, tmp, types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};

    MPI_Type_create_struct(3, lens, disps, types, &tmp);
    MPI_Type_create_resized(tmp, 0, sizeof(struct mixed), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&tmp);
    if (me == 0) {
        for (int i = 0; i < n; i++)
            m[i] = (struct mixed){(char)i, i * 0.5, {i, -i}};
        MPI_Ssend(m, n, type, 1, 0, MPI_COMM_WORLD);
        MPI_Send(m, n, type, 1, 0, MPI_COMM_WORLD);
    } else {
        for (int turn = 0; turn < 2; turn++) {
            MPI_Status st;
            int count;

            memset(m, 0, (size_t)n * sizeof(*m));
            MPI_Recv(m, n, type, 0, 0, MPI_COMM_WORLD, &st);
            MPI_Get_count(&st, type, &count);
            CHECK_EQ(count, n);
            for (int i = 0; i < n; i++)
                CHECK(m[i].c == (char)i && m[i].d == i * 0.5 && m[i].i[0] == i && m[i].i[1] == -i);
        }
    }
    MPI_Type_free(&type);
    free(m);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 3, 4, 60, 1000, 5000, 70000};

    begin(&argc, &argv);
    for (int s = 0; s < N_KINDS; s++)
        for (int r = 0; r < N_KINDS; r++)
            for (int i = 0; i < 8; i++)
                exchange(s, r, counts[i], i % 2);
    absolute();
    structs(1);
    structs(100);
    structs(100000);
    return end();
}
