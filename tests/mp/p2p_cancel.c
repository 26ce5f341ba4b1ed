/* test: np=1,2,3 cfg=EAGER_LIMIT=0|64|auto timeout=20 */
/*
 * Cancelled sends of every mode: what MPI_Test_cancelled says is true. MPICH over shared memory never cancels
 * a send; what it says is true as well.
 */
#include "p2p.h"

static MPI_Comm ctl;
static int dest;

static int is_cancelled(const MPI_Status *st)
{
    int flag;

    MPI_Test_cancelled(st, &flag);
    return flag;
}

enum { ISEND, ISSEND, IRSEND, IBSEND, SEND_INIT, SSEND_INIT, BSEND_INIT, N_MODES };

static void start(int mode, const void *buf, int len, int tag, MPI_Request *req)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    switch (mode) {
    case ISEND:
        MPI_Isend(buf, len, MPI_BYTE, dest, tag, comm, req);
        break;
    case ISSEND:
        MPI_Issend(buf, len, MPI_BYTE, dest, tag, comm, req);
        break;
    case IRSEND:
        MPI_Irsend(buf, len, MPI_BYTE, dest, tag, comm, req);
        break;
    case IBSEND:
        MPI_Ibsend(buf, len, MPI_BYTE, dest, tag, comm, req);
        break;
    case SEND_INIT:
        MPI_Send_init(buf, len, MPI_BYTE, dest, tag, comm, req);
        MPI_Start(req);
        break;
    case SSEND_INIT:
        MPI_Ssend_init(buf, len, MPI_BYTE, dest, tag, comm, req);
        MPI_Start(req);
        break;
    default:
        MPI_Bsend_init(buf, len, MPI_BYTE, dest, tag, comm, req);
        MPI_Start(req);
    }
}

/* Of three messages with one tag the middle one is cancelled before anybody wants it. */
static void unmatched(int mode, int len)
{
    unsigned char *bufs[3], *in = blank((size_t)len);
    int room = 3 * (len + MPI_BSEND_OVERHEAD), n = 0, size, flag;
    MPI_Request reqs[3];
    MPI_Status st;
    void *attached = malloc((size_t)room);

    for (int i = 0; i < 3; i++)
        bufs[i] = filled(i, (size_t)len);
    if (me == 0) {
        MPI_Buffer_attach(attached, room);
        for (int i = 0; i < 3; i++)
            start(mode, bufs[i], len, 5, &reqs[i]);
        MPI_Cancel(&reqs[1]);
        if (np > 1) {
            MPI_Wait(&reqs[1], &st);
            n = is_cancelled(&st);
        } else { /* waiting for an uncancelled one would be an error of ours */
            MPI_Test(&reqs[1], &flag, &st);
            while (!flag && !is_library("MPICH"))
                MPI_Test(&reqs[1], &flag, &st);
            n = flag && is_cancelled(&st);
        }
        if (!is_library("MPICH"))
            CHECK_EQ(n, 1);
        if (np > 1)
            MPI_Send(&n, 1, MPI_INT, dest, 1, ctl);
    }
    if (me == dest) {
        if (np > 1)
            MPI_Recv(&n, 1, MPI_INT, 0, 1, ctl, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++) {
            if (i == 1 && n)
                continue;
            memset(in, 0xa5, (size_t)len);
            MPI_Recv(in, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &st);
            CHECK_EQ(count_of(&st), len);
            CHECK(is_filled(in, i, (size_t)len));
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
        CHECK(!flag);
    }
    if (me == 0) {
        MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE);
        if (mode >= SEND_INIT) {
            for (int i = 0; i < 3; i++) {
                CHECK(reqs[i] != MPI_REQUEST_NULL);
                MPI_Request_free(&reqs[i]);
            }
        }
        MPI_Buffer_detach(&attached, &size);
    }
    free(attached);
    free(in);
    for (int i = 0; i < 3; i++)
        free(bufs[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The receive is there: the message arrives and nothing was cancelled. */
static void matched(int mode, int len)
{
    unsigned char *out = filled(7, (size_t)len), *in = blank((size_t)len);
    int room = len + MPI_BSEND_OVERHEAD, size;
    void *attached = malloc((size_t)room);
    MPI_Request recv = MPI_REQUEST_NULL, send;
    MPI_Status st;

    if (me == 0)
        MPI_Buffer_attach(attached, room);
    if (me == dest)
        MPI_Irecv(in, len, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &recv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        start(mode, out, len, 6, &send);
        MPI_Cancel(&send);
        MPI_Cancel(&send);
        if (np > 1) {
            MPI_Wait(&send, &st);
            CHECK(!is_cancelled(&st) || is_library("MPICH"));
        }
    }
    if (me == dest) {
        MPI_Wait(&recv, &st);
        CHECK_EQ(count_of(&st), len);
        CHECK(!is_cancelled(&st));
        CHECK(is_filled(in, 7, (size_t)len));
    }
    if (me == 0) {
        if (np == 1) {
            MPI_Wait(&send, &st);
            CHECK(!is_cancelled(&st));
        }
        if (mode >= SEND_INIT)
            MPI_Request_free(&send);
        MPI_Buffer_detach(&attached, &size);
    }
    free(attached);
    free(in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Cancelled and received at the same time: one of both, on both sides. */
static void race(int len)
{
    for (int i = 0; i < 100; i++) {
        unsigned char *out = filled(i, (size_t)len), *in = blank((size_t)len);
        int n = 0, flag = 0;
        MPI_Request req;
        MPI_Status st;

        if (me == 0) {
            MPI_Isend(out, len, MPI_BYTE, dest, i, MPI_COMM_WORLD, &req);
            MPI_Cancel(&req);
            MPI_Wait(&req, &st);
            n = is_cancelled(&st);
            MPI_Send(&n, 1, MPI_INT, dest, 2, ctl);
        } else if (me == dest) {
            MPI_Request recv;

            MPI_Irecv(in, len, MPI_BYTE, 0, i, MPI_COMM_WORLD, &recv);
            MPI_Recv(&n, 1, MPI_INT, 0, 2, ctl, MPI_STATUS_IGNORE);
            if (n) {
                MPI_Test(&recv, &flag, &st);
                CHECK(!flag);
                MPI_Cancel(&recv);
            }
            MPI_Wait(&recv, &st);
            CHECK_EQ(is_cancelled(&st), n);
            CHECK(n || is_filled(in, i, (size_t)len));
        }
        free(in);
        free(out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Cancelled, then freed: the message is gone all the same, or comes. Copies of a handle are the same. */
static void handles(void)
{
    int value = 3, flag, n = 0;
    MPI_Request reqs[2], copy;
    MPI_Status sts[2];

    if (me == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Isend(&value, 1, MPI_INT, dest, 20 + i, MPI_COMM_WORLD, &reqs[i]);
        copy = reqs[0];
        MPI_Cancel(&copy);
        MPI_Wait(&reqs[0], &sts[0]);
        CHECK(reqs[0] == MPI_REQUEST_NULL);
        n = is_cancelled(&sts[0]);
        CHECK(n || is_library("MPICH"));
        MPI_Send(&n, 1, MPI_INT, dest, 3, ctl);
        MPI_Waitall(2, reqs, sts);
        CHECK(!is_cancelled(&sts[1]));
    }
    if (me == dest) {
        MPI_Recv(&n, 1, MPI_INT, 0, 3, ctl, sts);
        MPI_Recv(&value, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, sts);
        if (!n)
            MPI_Recv(&value, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, sts);
        MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag, sts);
        CHECK(!flag);
    }
    if (me == 0) {
        MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &reqs[0]);
        MPI_Cancel(&reqs[0]);
        MPI_Wait(&reqs[0], &sts[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A matched probe has matched: too late to cancel. */
static void probed(int len)
{
    unsigned char *out = filled(8, (size_t)len), *in = blank((size_t)len);
    MPI_Message msg;
    MPI_Request req;
    MPI_Status st;

    if (me == 0) {
        MPI_Issend(out, len, MPI_BYTE, dest, 30, MPI_COMM_WORLD, &req);
        signal_to(dest, 0, ctl);
        MPI_Cancel(&req);
        MPI_Wait(&req, &st);
        CHECK(!is_cancelled(&st));
    } else if (me == dest) {
        MPI_Mprobe(0, 30, MPI_COMM_WORLD, &msg, &st);
        signal_to(dest, 0, ctl);
        MPI_Mrecv(in, len, MPI_BYTE, &msg, &st);
        CHECK(is_filled(in, 8, (size_t)len));
    }
    free(in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int lens[4] = {0, 8, 10000, 400000};

    begin(&argc, &argv);
    dest = np - 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &ctl);
    for (int i = 0; i < 4; i++) {
        for (int mode = 0; mode < N_MODES; mode++) {
            if (np > 1 || !is_library("MPICH"))
                unmatched(mode, lens[i]);
            matched(mode, lens[i]);
        }
        if (np > 1) {
            race(lens[i]);
            probed(lens[i]);
        }
    }
    if (np > 1)
        handles();
    MPI_Comm_free(&ctl);
    return end();
}
