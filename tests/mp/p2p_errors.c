/* test: np=2 cfg=EAGER_LIMIT=0|64|16k,RNDV=read|pipe|split|zerocopy timeout=30 */
/* Truncation and other failures that the program gets to see. */
#include "p2p.h"

static MPI_Comm ctl;

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* What fits is delivered, the sender does not notice, the next message is whole. */
static void truncation(int len, int room, int posted_first)
{
    if (me == 0) {
        unsigned char *buf = filled(len, (size_t)len);

        if (posted_first)
            signal_to(1, 0, ctl);
        CHECK_EQ(MPI_Send(buf, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        CHECK_EQ(MPI_Ssend(buf, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        CHECK_EQ(MPI_Send(buf, len, MPI_BYTE, 1, 2, MPI_COMM_WORLD), MPI_SUCCESS);
        free(buf);
    } else {
        unsigned char *buf = blank((size_t)len), *buf2 = blank((size_t)len);
        MPI_Request req;
        MPI_Status st;
        int err;

        if (posted_first) {
            MPI_Irecv(buf, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req);
            signal_to(1, 0, ctl);
            err = MPI_Wait(&req, &st);
        } else {
            MPI_Probe(0, 1, MPI_COMM_WORLD, &st);
            err = MPI_Recv(buf, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &st);
        }
        CHECK_EQ(class_of(err), MPI_ERR_TRUNCATE);
        CHECK_EQ(st.MPI_SOURCE, 0);
        CHECK_EQ(st.MPI_TAG, 1);
        CHECK(is_filled(buf, len, (size_t)room));
        CHECK_EQ(buf[room], 0xa5);
        err = MPI_Recv(buf2, room, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        CHECK_EQ(class_of(err), MPI_ERR_TRUNCATE);
        CHECK_EQ(buf2[room], 0xa5);
        err = MPI_Recv(buf2, len, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &st);
        CHECK_EQ(err, MPI_SUCCESS);
        CHECK(is_filled(buf2, len, (size_t)len));
        free(buf);
        free(buf2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One of several fails: the statuses say which. */
static void in_status(void)
{
    int v[3] = {1, 2, 3}, small[1], n, indices[3], err, flag = 0;
    MPI_Request reqs[3];
    MPI_Status sts[3];

    for (int how = 0; how < 3; how++) {
        if (me == 0) {
            signal_to(1, 0, ctl);
            MPI_Send(v, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Send(v, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(v, 2, MPI_INT, 1, 2, MPI_COMM_WORLD);
            MPI_Send(v, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
        } else {
            int a, b[2];

            MPI_Irecv(&a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &reqs[0]);
            MPI_Irecv(small, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &reqs[1]);
            MPI_Irecv(b, 2, MPI_INT, 0, 2, MPI_COMM_WORLD, &reqs[2]);
            signal_to(1, 0, ctl);
            MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (how == 0) {
                err = MPI_Waitall(3, reqs, sts);
            } else if (how == 1) {
                err = MPI_Waitsome(3, reqs, &n, indices, sts);
                CHECK_EQ(n, 3);
            } else {
                err = MPI_Testall(3, reqs, &flag, sts);
                CHECK(flag);
            }
            CHECK_EQ(err, MPI_ERR_IN_STATUS);
            CHECK_EQ(sts[0].MPI_ERROR, MPI_SUCCESS);
            CHECK_EQ(class_of(sts[1].MPI_ERROR), MPI_ERR_TRUNCATE);
            CHECK_EQ(sts[2].MPI_ERROR, MPI_SUCCESS);
            for (int i = 0; i < 3; i++)
                CHECK(reqs[i] == MPI_REQUEST_NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void buffered(void)
{
    char space[2000 + 2 * MPI_BSEND_OVERHEAD], data[1001] = {0};
    MPI_Request req;
    void *back;
    int size;

    if (me == 0) {
        CHECK_EQ(class_of(MPI_Bsend(data, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD)), MPI_ERR_BUFFER);
        MPI_Buffer_attach(space, sizeof(space));
        CHECK_EQ(class_of(MPI_Buffer_attach(space, sizeof(space))), MPI_ERR_BUFFER);
        CHECK_EQ(MPI_Bsend(data, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        CHECK_EQ(MPI_Ibsend(data, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &req), MPI_SUCCESS);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK_EQ(
            class_of(MPI_Bsend(data, 1001 + (int)sizeof(space), MPI_BYTE, 1, 0, MPI_COMM_WORLD)),
            MPI_ERR_BUFFER);
        signal_to(0, 1, ctl);
        MPI_Buffer_detach(&back, &size);
        CHECK(back == space);
        CHECK_EQ(size, sizeof(space));
        /* All gone when detached: the room may be reused. */
        memset(space, 0xff, sizeof(space));
    } else {
        signal_to(0, 1, ctl);
        for (int i = 0; i < 2; i++) {
            memset(data, 1, sizeof(data));
            MPI_Recv(data, 1000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < 1000; k++)
                CHECK_EQ(data[k], 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bad_requests(void)
{
    MPI_Request req, copy;
    MPI_Message msg = MPI_MESSAGE_NULL;
    int x = 0, y, flag;

    MPI_Irecv(&y, 1, MPI_INT, me, 50, MPI_COMM_WORLD, &req);
    copy = req;
    MPI_Send(&x, 1, MPI_INT, me, 50, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK_EQ(class_of(MPI_Wait(&copy, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Waitall(1, &copy, MPI_STATUSES_IGNORE)), MPI_ERR_REQUEST);
    CHECK_EQ(class_of(MPI_Cancel(&copy)), MPI_ERR_REQUEST);
    copy = MPI_REQUEST_NULL;
    CHECK_EQ(class_of(MPI_Request_free(&copy)), MPI_ERR_REQUEST);
    CHECK(MPI_Mrecv(&y, 1, MPI_INT, &msg, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int lens[] = {1, 8, 64, 100, 5000, 16384, 20000, 300000, 3000001};

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &ctl);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 9; i++)
        for (int posted = 0; posted < 2; posted++) {
            truncation(lens[i], 0, posted);
            truncation(lens[i], lens[i] - 1, posted);
            truncation(lens[i], lens[i] / 2, posted);
        }
    in_status();
    buffered();
    bad_requests();
    MPI_Comm_free(&ctl);
    return end();
}
