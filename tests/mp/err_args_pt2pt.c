/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the point-to-point functions.
 */
#include "err_args.h"

static int buf[16];
static MPI_Datatype uncommitted, freed_t;
static MPI_Comm freed_c;

/* All functions that send with the arguments of MPI_Send. */
static int send_any(int which, const void *b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm c)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int rc;

    switch (which) {
    case 0:
        return MPI_Send(b, n, t, dest, tag, c);
    case 1:
        return MPI_Bsend(b, n, t, dest, tag, c);
    case 2:
        return MPI_Ssend(b, n, t, dest, tag, c);
    case 3:
        return MPI_Rsend(b, n, t, dest, tag, c);
    case 4:
        rc = MPI_Isend(b, n, t, dest, tag, c, &req);
        break;
    case 5:
        rc = MPI_Ibsend(b, n, t, dest, tag, c, &req);
        break;
    case 6:
        rc = MPI_Issend(b, n, t, dest, tag, c, &req);
        break;
    case 7:
        rc = MPI_Irsend(b, n, t, dest, tag, c, &req);
        break;
    case 8:
        return MPI_Sendrecv(b, n, t, dest, tag, buf, 1, MPI_INT, MPI_PROC_NULL, 0, c,
                            MPI_STATUS_IGNORE);
    case 9:
        return MPI_Sendrecv_replace((void *)b, n, t, dest, tag, MPI_PROC_NULL, 0, c,
                                    MPI_STATUS_IGNORE);
    default:
        return MPI_Send_c(b, n, t, dest, tag, c);
    }
    CHECK(req == MPI_REQUEST_NULL);
    return rc;
}

static int recv_any(int which, void *b, int n, MPI_Datatype t, int source, int tag, MPI_Comm c)
{
    MPI_Request req = MPI_REQUEST_NULL;

    switch (which) {
    case 0:
        return MPI_Recv(b, n, t, source, tag, c, MPI_STATUS_IGNORE);
    case 1:
        return MPI_Irecv(b, n, t, source, tag, c, &req);
    case 2:
        return MPI_Sendrecv(buf, 1, MPI_INT, MPI_PROC_NULL, 0, b, n, t, source, tag, c,
                            MPI_STATUS_IGNORE);
    case 3:
        return MPI_Sendrecv_replace(b, n, t, MPI_PROC_NULL, 0, source, tag, c, MPI_STATUS_IGNORE);
    default:
        return MPI_Recv_c(b, n, t, source, tag, c, MPI_STATUS_IGNORE);
    }
}

static void sends(void)
{
    for (int f = 0; f <= 10; f++) {
        BAD(send_any(f, buf, 1, MPI_INT, mp_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(send_any(f, buf, 1, MPI_INT, -5, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(send_any(f, buf, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(send_any(f, buf, 1, MPI_INT, MPI_ROOT, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(send_any(f, buf, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
        BAD(send_any(f, buf, 1, MPI_INT, 0, -1000, MPI_COMM_WORLD), MPI_ERR_TAG);
        BAD(send_any(f, buf, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
        BAD(send_any(f, NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
        BAD(send_any(f, NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        BAD(send_any(f, MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        BAD(send_any(f, buf, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(send_any(f, buf, 1, uncommitted, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(send_any(f, buf, 1, freed_t, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(send_any(f, buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
        BAD(send_any(f, buf, 1, MPI_INT, 0, 0, freed_c), MPI_ERR_COMM);
        BAD(send_any(f, buf, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT), MPI_ERR_COMM);
        BAD(send_any(f, buf, 1, (MPI_Datatype)MPI_SUM, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        for (int i = 0; i < N_NO_HANDLES; i++) {
            BAD(send_any(f, buf, 1, MPI_INT, 0, 0, no_handles[i]), MPI_ERR_COMM);
            BAD(send_any(f, buf, 1, no_handles[i], 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        }
        /* What looks wrong and is right. */
        if (f != 1 && f != 5) {
            MPI_Request req;
            if (f < 4 || f > 7)
                MUST(send_any(f, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
            MUST(MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &req));
            MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        }
    }
    BAD(MPI_Isend(buf, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    /* No buffer is attached. */
    BAD(MPI_Bsend(buf, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
}

static void recvs(void)
{
    for (int f = 0; f <= 4; f++) {
        BAD(recv_any(f, buf, 1, MPI_INT, mp_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(recv_any(f, buf, 1, MPI_INT, MPI_ROOT, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        BAD(recv_any(f, buf, 1, MPI_INT, 0, -2, MPI_COMM_WORLD), MPI_ERR_TAG);
        BAD(recv_any(f, buf, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
        BAD(recv_any(f, NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        BAD(recv_any(f, buf, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(recv_any(f, buf, 1, uncommitted, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(recv_any(f, buf, 1, freed_t, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        BAD(recv_any(f, buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
        BAD(recv_any(f, buf, 1, MPI_INT, 0, 0, freed_c), MPI_ERR_COMM);
    }
    BAD(MPI_Recv(buf, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    BAD(MPI_Irecv(buf, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
}

static void probes(void)
{
    MPI_Message msg = MPI_MESSAGE_NULL;
    MPI_Request req;
    MPI_Status st;
    int flag;

    BAD(MPI_Probe(mp_size, 0, MPI_COMM_WORLD, &st), MPI_ERR_RANK);
    BAD(MPI_Probe(0, -2, MPI_COMM_WORLD, &st), MPI_ERR_TAG);
    BAD(MPI_Probe(0, 0, MPI_COMM_NULL, &st), MPI_ERR_COMM);
    BAD(MPI_Iprobe(mp_size, 0, MPI_COMM_WORLD, &flag, &st), MPI_ERR_RANK);
    BAD(MPI_Iprobe(0, -2, MPI_COMM_WORLD, &flag, &st), MPI_ERR_TAG);
    BAD(MPI_Iprobe(0, 0, freed_c, &flag, &st), MPI_ERR_COMM);
    BAD(MPI_Iprobe(0, 0, MPI_COMM_WORLD, NULL, &st), MPI_ERR_ARG);
    BAD(MPI_Mprobe(mp_size, 0, MPI_COMM_WORLD, &msg, &st), MPI_ERR_RANK);
    BAD(MPI_Mprobe(0, -2, MPI_COMM_WORLD, &msg, &st), MPI_ERR_TAG);
    BAD(MPI_Mprobe(0, 0, MPI_COMM_NULL, &msg, &st), MPI_ERR_COMM);
    BAD(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, NULL, &st), MPI_ERR_ARG);
    BAD(MPI_Improbe(mp_size, 0, MPI_COMM_WORLD, &flag, &msg, &st), MPI_ERR_RANK);
    BAD(MPI_Improbe(0, -2, MPI_COMM_WORLD, &flag, &msg, &st), MPI_ERR_TAG);
    BAD(MPI_Improbe(0, 0, MPI_COMM_NULL, &flag, &msg, &st), MPI_ERR_COMM);
    msg = MPI_MESSAGE_NULL;
    BAD(MPI_Mrecv(buf, 1, MPI_INT, &msg, &st), MPI_ERR_REQUEST);
    BAD(MPI_Imrecv(buf, 1, MPI_INT, &msg, &req), MPI_ERR_REQUEST);
    msg = MPI_MESSAGE_NO_PROC;
    BAD(MPI_Mrecv(buf, -1, MPI_INT, &msg, &st), MPI_ERR_COUNT);
    BAD(MPI_Mrecv(buf, 1, MPI_DATATYPE_NULL, &msg, &st), MPI_ERR_TYPE);
    BAD(MPI_Mrecv(buf, 1, uncommitted, &msg, &st), MPI_ERR_TYPE);
    BAD(MPI_Imrecv(buf, -1, MPI_INT, &msg, &req), MPI_ERR_COUNT);
    BAD(MPI_Imrecv(buf, 1, freed_t, &msg, &req), MPI_ERR_TYPE);
    MUST(MPI_Mrecv(buf, 1, MPI_INT, &msg, &st));
    CHECK_EQ(st.MPI_SOURCE, MPI_PROC_NULL);
}

static void requests(void)
{
    MPI_Request req, stale, two[2];
    MPI_Status st, sts[2];
    int flag, index, n, indices[2];

    MUST(MPI_Irecv(buf, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &req));
    stale = req;
    MUST(MPI_Cancel(&req));
    MUST(MPI_Wait(&req, &st));
    CHECK(req == MPI_REQUEST_NULL);
    MUST(MPI_Test_cancelled(&st, &flag));
    CHECK(flag);
    for (int i = 0; i <= N_NO_HANDLES; i++) {
        int bad = i < N_NO_HANDLES ? no_handles[i] : stale;
        req = bad;
        BAD(MPI_Wait(&req, &st), MPI_ERR_REQUEST);
        req = bad;
        BAD(MPI_Test(&req, &flag, &st), MPI_ERR_REQUEST);
        req = bad;
        BAD(MPI_Request_free(&req), MPI_ERR_REQUEST);
        req = bad;
        BAD(MPI_Cancel(&req), MPI_ERR_REQUEST);
        two[0] = two[1] = bad;
        BAD(MPI_Waitall(2, two, sts), MPI_ERR_REQUEST);
        BAD(MPI_Testall(2, two, &flag, sts), MPI_ERR_REQUEST);
        BAD(MPI_Waitany(2, two, &index, &st), MPI_ERR_REQUEST);
        BAD(MPI_Testany(2, two, &index, &flag, &st), MPI_ERR_REQUEST);
        BAD(MPI_Waitsome(2, two, &n, indices, sts), MPI_ERR_REQUEST);
        BAD(MPI_Testsome(2, two, &n, indices, sts), MPI_ERR_REQUEST);
        BAD(MPI_Request_get_status(bad, &flag, &st), MPI_ERR_REQUEST);
    }
    req = MPI_REQUEST_NULL;
    BAD(MPI_Request_free(&req), MPI_ERR_REQUEST);
    BAD(MPI_Cancel(&req), MPI_ERR_REQUEST);
    MUST(MPI_Wait(&req, &st));
    BAD(MPI_Wait(NULL, &st), MPI_ERR_ARG);
    BAD(MPI_Wait(&req, NULL), MPI_ERR_ARG);
    BAD(MPI_Test(&req, NULL, &st), MPI_ERR_ARG);
    two[0] = two[1] = MPI_REQUEST_NULL;
    BAD(MPI_Waitall(-1, two, sts), MPI_ERR_COUNT);
    BAD(MPI_Testall(-1, two, &flag, sts), MPI_ERR_COUNT);
    BAD(MPI_Waitany(-1, two, &index, &st), MPI_ERR_COUNT);
    BAD(MPI_Testany(-1, two, &index, &flag, &st), MPI_ERR_COUNT);
    BAD(MPI_Waitsome(-1, two, &n, indices, sts), MPI_ERR_COUNT);
    BAD(MPI_Testsome(-1, two, &n, indices, sts), MPI_ERR_COUNT);
    BAD(MPI_Waitall(2, NULL, sts), MPI_ERR_ARG);
    BAD(MPI_Waitall(2, two, NULL), MPI_ERR_ARG);
    BAD(MPI_Waitany(2, two, NULL, &st), MPI_ERR_ARG);
    BAD(MPI_Waitsome(2, two, NULL, indices, sts), MPI_ERR_ARG);
    BAD(MPI_Waitsome(2, two, &n, NULL, sts), MPI_ERR_ARG);
    MUST(MPI_Waitall(2, two, sts));
    MUST(MPI_Waitall(0, NULL, NULL));
}

static void statuses(void)
{
    MPI_Status st;
    int n;

    memset(&st, 0, sizeof(st));
    BAD(MPI_Get_count(NULL, MPI_INT, &n), MPI_ERR_ARG);
    BAD(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &n), MPI_ERR_ARG);
    BAD(MPI_Get_count(&st, MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    BAD(MPI_Get_count(&st, freed_t, &n), MPI_ERR_TYPE);
    BAD(MPI_Get_count(&st, MPI_INT, NULL), MPI_ERR_ARG);
    BAD(MPI_Get_elements(NULL, MPI_INT, &n), MPI_ERR_ARG);
    BAD(MPI_Get_elements(&st, MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    BAD(MPI_Get_elements(&st, MPI_INT, NULL), MPI_ERR_ARG);
    BAD(MPI_Test_cancelled(NULL, &n), MPI_ERR_ARG);
    BAD(MPI_Test_cancelled(&st, NULL), MPI_ERR_ARG);
}

static void buffers(void)
{
    MPI_Request req;
    char room[200];
    void *p;
    int n, position = 0;

    BAD(MPI_Buffer_attach(room, -1), MPI_ERR_ARG); /* lengths are not counts */
    BAD(MPI_Pack(buf, 1, MPI_INT, room, -1, &position, MPI_COMM_WORLD), MPI_ERR_ARG);
    BAD(MPI_Unpack(room, -1, &position, buf, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG);
    BAD(MPI_Psend_init(buf, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &req),
        MPI_ERR_ARG);
    BAD(MPI_Buffer_detach(NULL, &n), MPI_ERR_ARG);
    BAD(MPI_Buffer_detach(&p, NULL), MPI_ERR_ARG);
    MUST(MPI_Buffer_attach(room, sizeof(room)));
    BAD(MPI_Buffer_attach(room, sizeof(room)), MPI_ERR_BUFFER);
    BAD(MPI_Bsend(buf, 1000, MPI_BYTE, 0, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    MUST(MPI_Buffer_detach(&p, &n));
    CHECK(p == room);
    CHECK_EQ(n, sizeof(room));
}

/* A message longer than the room for it, through every call that can notice. */
static void truncation(void)
{
    MPI_Request two[2];
    MPI_Status st, sts[2];
    int rc, cls, x = 0;

    for (int n = 4; n <= 100000; n *= 25) {
        char *big = calloc((size_t)n, 1);
        MPI_Request req;

        MUST(MPI_Isend(big, n, MPI_BYTE, 0, 5, MPI_COMM_SELF, &req));
        BAD(MPI_Recv(&x, 3, MPI_BYTE, 0, 5, MPI_COMM_SELF, &st), MPI_ERR_TRUNCATE);
        MPI_Wait(&req, MPI_STATUS_IGNORE);

        MUST(MPI_Irecv(&x, 3, MPI_BYTE, 0, 6, MPI_COMM_SELF, &two[0]));
        MUST(MPI_Isend(big, n, MPI_BYTE, 0, 6, MPI_COMM_SELF, &two[1]));
        rc = MPI_Waitall(2, two, sts);
        MPI_Error_class(rc, &cls);
        CHECK_EQ(cls, MPI_ERR_IN_STATUS);
        MPI_Error_class(sts[0].MPI_ERROR, &cls);
        CHECK_EQ(cls, MPI_ERR_TRUNCATE);
        CHECK_EQ(sts[1].MPI_ERROR, MPI_SUCCESS);
        CHECK(two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL);
        free(big);
    }
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    errors_return();
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    freed_t = freed_type();
    freed_c = freed_comm();
    sends();
    recvs();
    probes();
    requests();
    statuses();
    buffers();
    truncation();
    MPI_Type_free(&uncommitted);
    return mp_finish();
}
