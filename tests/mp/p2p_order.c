/* test: np=2,4 cfg=EAGER_LIMIT=0|16k,RNDV_INLINE=no|yes timeout=40 */
/* Messages do not overtake; wildcards take the earliest; probes see what a receive would get. */
#include "p2p.h"

static MPI_Comm ctl;

/* One sender, one tag: in order, whatever the sizes. */
static void no_overtaking(void)
{
    static const int lens[] = {4, 40000, 8, 0, 100000, 16, 300};
    const int rounds = 20;

    if (me == 0) {
        MPI_Request reqs[7 * 20];
        unsigned char *bufs[7 * 20];

        for (int i = 0; i < 7 * rounds; i++) {
            bufs[i] = filled(i, (size_t)lens[i % 7]);
            MPI_Isend(bufs[i], lens[i % 7], MPI_BYTE, 1, 5, MPI_COMM_WORLD, &reqs[i]);
        }
        MPI_Waitall(7 * rounds, reqs, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 7 * rounds; i++)
            free(bufs[i]);
    } else if (me == 1) {
        for (int i = 0; i < 7 * rounds; i++) {
            unsigned char *buf = blank(100000);
            MPI_Status st;

            MPI_Recv(buf, 100000, MPI_BYTE, i % 3 == 0 ? MPI_ANY_SOURCE : 0,
                     i % 2 == 0 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &st);
            CHECK_EQ(count_of(&st), lens[i % 7]);
            CHECK(is_filled(buf, i, (size_t)lens[i % 7]));
            free(buf);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Receives with and without wildcards, posted first: each message takes the earliest that fits. */
static void posted_order(void)
{
    MPI_Request reqs[6];
    MPI_Status sts[6];
    int vals[6];

    if (me == 1) {
        MPI_Irecv(&vals[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &reqs[0]);
        MPI_Irecv(&vals[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &reqs[1]);
        MPI_Irecv(&vals[2], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &reqs[2]);
        MPI_Irecv(&vals[3], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &reqs[3]);
        MPI_Irecv(&vals[4], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &reqs[4]);
        MPI_Irecv(&vals[5], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &reqs[5]);
        signal_to(1, 0, ctl);
        MPI_Waitall(6, reqs, sts);
        /* tags sent: 3 1 2 1 3 3 */
        CHECK_EQ(vals[2], 0);
        CHECK_EQ(vals[0], 1);
        CHECK_EQ(vals[1], 2);
        CHECK_EQ(vals[3], 3);
        CHECK_EQ(vals[4], 4);
        CHECK_EQ(vals[5], 5);
        CHECK_EQ(sts[2].MPI_TAG, 3);
        CHECK_EQ(sts[4].MPI_TAG, 3);
    } else if (me == 0) {
        static const int tags[] = {3, 1, 2, 1, 3, 3};

        signal_to(1, 0, ctl);
        for (int i = 0; i < 6; i++)
            MPI_Send(&i, 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Communicators do not mix. */
static void contexts(void)
{
    int a = -1, b = -1;

    if (me == 0) {
        int one = 1, two = 2;
        MPI_Request reqs[2];

        MPI_Isend(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &reqs[0]);
        MPI_Isend(&two, 1, MPI_INT, 1, 0, ctl, &reqs[1]);
        MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
    } else if (me == 1) {
        MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, ctl, MPI_STATUS_IGNORE);
        MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(a, 1);
        CHECK_EQ(b, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void probes(int len)
{
    if (me == 0) {
        unsigned char *buf = filled(len, (size_t)len);
        MPI_Request reqs[5];

        for (int i = 0; i < 5; i++)
            MPI_Isend(buf, len, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD, &reqs[i]);
        MPI_Waitall(5, reqs, MPI_STATUSES_IGNORE);
        free(buf);
    } else if (me == 1) {
        unsigned char *buf = blank((size_t)len);
        MPI_Status st, st2;
        MPI_Message msg;
        MPI_Request req;
        int flag = 0;

        MPI_Probe(0, 10, MPI_COMM_WORLD, &st);
        CHECK_EQ(count_of(&st), len);
        CHECK_EQ(st.MPI_SOURCE, 0);
        MPI_Recv(buf, len, MPI_BYTE, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st2);
        CHECK_EQ(st2.MPI_TAG, 10);
        CHECK(is_filled(buf, len, (size_t)len));

        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
        CHECK_EQ(st.MPI_TAG, 11);
        MPI_Recv(buf, len, MPI_BYTE, 0, 11, MPI_COMM_WORLD, &st2);

        /* A matched message is nobody else's. */
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &msg, &st);
        CHECK_EQ(st.MPI_TAG, 12);
        memset(buf, 0, (size_t)len);
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &st2);
        CHECK_EQ(st2.MPI_TAG, 13);
        MPI_Recv(buf, len, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &st2);
        CHECK_EQ(st2.MPI_TAG, 13);
        memset(buf, 0, (size_t)len);
        MPI_Mrecv(buf, len, MPI_BYTE, &msg, &st2);
        CHECK(msg == MPI_MESSAGE_NULL);
        CHECK_EQ(st2.MPI_TAG, 12);
        CHECK_EQ(count_of(&st2), len);
        CHECK(is_filled(buf, len, (size_t)len));

        memset(buf, 0, (size_t)len);
        flag = 0;
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, &flag, &msg, &st);
        MPI_Imrecv(buf, len, MPI_BYTE, &msg, &req);
        MPI_Wait(&req, &st2);
        CHECK_EQ(st2.MPI_TAG, 14);
        CHECK(is_filled(buf, len, (size_t)len));

        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
        CHECK_EQ(flag, 0);
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &msg, &st);
        CHECK_EQ(flag, 0);
        MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &msg, &st);
        CHECK(msg == MPI_MESSAGE_NO_PROC);
        MPI_Mrecv(buf, len, MPI_BYTE, &msg, &st);
        CHECK_EQ(st.MPI_SOURCE, MPI_PROC_NULL);
        CHECK(msg == MPI_MESSAGE_NULL);
        free(buf);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void cancels(void)
{
    MPI_Request reqs[3];
    MPI_Status st;
    int v[3] = {-1, -1, -1}, flag;

    if (me == 1) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&v[i], 1, MPI_INT, 0, 20, MPI_COMM_WORLD, &reqs[i]);
        MPI_Cancel(&reqs[1]);
        MPI_Wait(&reqs[1], &st);
        MPI_Test_cancelled(&st, &flag);
        CHECK(flag);
        signal_to(1, 0, ctl);
        MPI_Wait(&reqs[0], &st);
        MPI_Test_cancelled(&st, &flag);
        CHECK(!flag);
        MPI_Wait(&reqs[2], &st);
        CHECK_EQ(v[0], 100);
        CHECK_EQ(v[1], -1);
        CHECK_EQ(v[2], 101);
        /* Too late to cancel. */
        MPI_Irecv(&v[0], 1, MPI_INT, 0, 21, MPI_COMM_WORLD, &reqs[0]);
        signal_to(1, 0, ctl);
        MPI_Recv(&v[1], 1, MPI_INT, 0, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&reqs[0]);
        MPI_Wait(&reqs[0], &st);
        MPI_Test_cancelled(&st, &flag);
        CHECK(!flag);
        CHECK_EQ(v[0], 7);
    } else if (me == 0) {
        signal_to(1, 0, ctl);
        for (int i = 100; i < 102; i++)
            MPI_Send(&i, 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
        signal_to(1, 0, ctl);
        v[0] = 7;
        MPI_Ssend(v, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
        MPI_Send(v, 1, MPI_INT, 1, 22, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &ctl);
    no_overtaking();
    posted_order();
    contexts();
    probes(0);
    probes(100);
    probes(5000);
    cancels();
    MPI_Comm_free(&ctl);
    return end();
}
