/* test: np=2,3 cfg=RNDV=auto|pipe|serial|write,RNDV_INLINE=no|yes,EAGER_LIMIT=4k timeout=60 */
/*
 * What arrives is what the buffer held when MPI_Bsend, MPI_Ibsend or MPI_Start was called, contiguous or not: the
 * program changes it at once, and many messages have to wait until the receiver comes.
 */
#include "p2p.h"

enum { N = 200, LEN = 20000, BLOCK = 100 };

static unsigned char *data;
static MPI_Datatype gaps; /* every other block */

/* The bytes of the message where they are in memory. */
static size_t place_of(int is_gapped, size_t at)
{
    return is_gapped ? at / BLOCK * 2 * BLOCK + at % BLOCK : at;
}

static void set(int is_gapped, int seed)
{
    for (size_t at = 0; at < LEN; at++)
        data[place_of(is_gapped, at)] = byte_of(seed, at);
}

static void send_one(int i, int dest, MPI_Request *start)
{
    int is_gapped = i % 2;
    MPI_Request req;

    if (i % 3 == 0) {
        MPI_Bsend(data, is_gapped ? 1 : LEN, is_gapped ? gaps : MPI_BYTE, dest, i, MPI_COMM_WORLD);
    } else if (i % 3 == 1) {
        MPI_Ibsend(data, is_gapped ? 1 : LEN, is_gapped ? gaps : MPI_BYTE, dest, i, MPI_COMM_WORLD,
                   &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Bsend_init(data, is_gapped ? 1 : LEN, is_gapped ? gaps : MPI_BYTE, dest, i,
                       MPI_COMM_WORLD, start);
        MPI_Start(start);
        MPI_Wait(start, MPI_STATUS_IGNORE);
        MPI_Request_free(start);
    }
}

int main(int argc, char **argv)
{
    int size = N * (LEN + MPI_BSEND_OVERHEAD), source;
    MPI_Request start, all;
    unsigned char *in;
    void *buffer;

    begin(&argc, &argv);
    data = calloc(2, LEN);
    in = calloc(1, LEN);
    buffer = malloc((size_t)size);
    CHECK(data != NULL && in != NULL && buffer != NULL);
    MPI_Type_vector(LEN / BLOCK, BLOCK, 2 * BLOCK, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Buffer_attach(buffer, size);
    for (int i = 0; i < N; i++) {
        set(i % 2, i);
        send_one(i, (me + 1) % np, &start);
        memset(data, 0, 2 * LEN);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &all); /* all have sent all, nobody has received any */
    MPI_Wait(&all, MPI_STATUS_IGNORE);
    source = (me + np - 1) % np;
    for (int i = 0; i < N; i++) {
        MPI_Recv(in, LEN, MPI_BYTE, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, i, LEN));
    }
    MPI_Buffer_detach(&buffer, &size);
    MPI_Type_free(&gaps);
    free(buffer);
    free(data);
    free(in);
    return end();
}
