/* test: np=2,3 cfg=EAGER_LIMIT=0|64|16k timeout=60 */
/* Every send mode, blocking or not, by every size, to posted and to later receives. */
#include "p2p.h"

static const int sizes[] = {0,     1,      7,       8,       9,       31,     63,    64,
                            65,    255,    1000,    4096,    16383,   16384,  16385, 65536,
                            70001, 262144, 1048575, 1048577, 4194304, 4194311};
#define N_SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))

enum { SEND, SSEND, RSEND, BSEND, ISEND, ISSEND, IRSEND, IBSEND, N_MODES };

static MPI_Comm ctl; /* for signals */

static void send_by(int mode, const void *buf, int len, int dest, int tag)
{
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Status st;

    switch (mode) {
    case SEND:
        MPI_Send(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
        break;
    case SSEND:
        MPI_Ssend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
        break;
    case RSEND:
        MPI_Rsend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
        break;
    case BSEND:
        MPI_Bsend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
        break;
    case ISEND:
        MPI_Isend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD, &req);
        break;
    case ISSEND:
        MPI_Issend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD, &req);
        break;
    case IRSEND:
        MPI_Irsend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD, &req);
        break;
    case IBSEND:
        MPI_Ibsend(buf, len, MPI_BYTE, dest, tag, MPI_COMM_WORLD, &req);
        break;
    }
    MPI_Wait(&req, &st);
    CHECK(req == MPI_REQUEST_NULL);
}

/* The receive is posted before the send starts, or only when the message may be there. */
static void one(int mode, int len, int tag, int posted_first)
{
    if (me == 0) {
        unsigned char *buf = filled(tag, (size_t)len);

        signal_to(1, 0, ctl);
        if (posted_first || mode == SEND || mode == SSEND || mode == BSEND) {
            send_by(mode, buf, len, 1, tag);
        } else {
            MPI_Request req;

            MPI_Isend(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &req);
            signal_to(0, 1, ctl);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
        }
        free(buf);
    } else if (me == 1) {
        unsigned char *buf = blank((size_t)len);
        MPI_Request req;
        MPI_Status st;

        if (posted_first) {
            MPI_Irecv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &req);
            signal_to(1, 0, ctl);
            MPI_Wait(&req, &st);
        } else {
            signal_to(1, 0, ctl);
            if (mode != SEND && mode != SSEND && mode != BSEND)
                signal_to(0, 1, ctl);
            MPI_Recv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &st);
        }
        CHECK_EQ(st.MPI_SOURCE, 0);
        CHECK_EQ(st.MPI_TAG, tag);
        CHECK_EQ(count_of(&st), len);
        CHECK(is_filled(buf, tag, (size_t)len));
        CHECK_EQ(buf[len], 0xa5);
        free(buf);
    }
}

/* The others send at the same time, so that rank 0 hears from all. */
static void all_to_one(int len)
{
    if (me == 0) {
        for (int i = 1; i < np; i++) {
            unsigned char *buf = blank((size_t)len);
            MPI_Status st;

            MPI_Recv(buf, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
            CHECK_EQ(st.MPI_TAG, 100 + st.MPI_SOURCE);
            CHECK_EQ(count_of(&st), len);
            CHECK(is_filled(buf, st.MPI_SOURCE, (size_t)len));
            free(buf);
        }
    } else {
        unsigned char *buf = filled(me, (size_t)len);

        MPI_Send(buf, len, MPI_BYTE, 0, 100 + me, MPI_COMM_WORLD);
        free(buf);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nobody(void)
{
    MPI_Status st;
    MPI_Request req;
    int x = 7, n;

    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    memset(&st, 0xff, sizeof(st));
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st);
    CHECK_EQ(st.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(st.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK_EQ(n, 0);
    CHECK_EQ(x, 7);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &req);
    memset(&st, 0xff, sizeof(st));
    MPI_Wait(&req, &st);
    CHECK_EQ(st.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    CHECK(req == MPI_REQUEST_NULL);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, &x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                 &st);
    CHECK_EQ(st.MPI_SOURCE, MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    int room = 4200000 + MPI_BSEND_OVERHEAD;
    void *space = malloc((size_t)room), *back;

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &ctl);
    MPI_Buffer_attach(space, room);
    for (int i = 0; i < N_SIZES; i++) {
        for (int mode = 0; mode < N_MODES; mode++) {
            one(mode, sizes[i], i * 10 + mode, 1);
            if (mode != RSEND && mode != IRSEND && mode != IBSEND)
                one(mode, sizes[i], i * 10 + mode, 0);
        }
        all_to_one(sizes[i]);
    }
    nobody();
    MPI_Buffer_detach(&back, &room);
    CHECK(back == space);
    free(space);
    MPI_Comm_free(&ctl);
    return end();
}
