/* test: np=1,2,3 cfg=EAGER_LIMIT=0|16k timeout=30 */
/*
 * What MPI_Finalize finds: sends that nobody has received, by requests that were freed, do not keep
 * it from returning, be they halves of something, partitions, or matched by a probe; sends that are received
 * late, and receives that were posted and freed, still take place.
 */
#include "mp_test.h"

enum { LEN = 1 << 18, LATE = 5, NEVER = 6, POSTED = 7, PROBED = 8 };

static char late[LEN], never[LEN], posted[LEN], again[LEN];

static void fill(char *buf)
{
    for (int i = 0; i < LEN; i++)
        buf[i] = (char)(i % 113 + mp_rank);
}

static void check(const char *buf, int from)
{
    for (int i = 0; i < LEN; i++)
        CHECK_EQ(buf[i], (char)(i % 113 + from));
}

/* To the next rank, which does not receive it. */
static void send_for_nothing(int to)
{
    static char room[LEN + MPI_BSEND_OVERHEAD];
    MPI_Request req;

    MUST(MPI_Isend(never, LEN, MPI_CHAR, to, NEVER, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Issend(never, 1, MPI_CHAR, to, NEVER, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Isend(never, 1, MPI_CHAR, to, NEVER, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Ssend_init(never, LEN, MPI_CHAR, to, NEVER, MPI_COMM_WORLD, &req));
    MUST(MPI_Start(&req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Buffer_attach(room, sizeof(room)));
    MUST(MPI_Bsend(never, LEN, MPI_CHAR, to, NEVER, MPI_COMM_WORLD));
}

/* The halves of sends that are received elsewhere, or nowhere. */
static void halves_for_nothing(int to)
{
    MPI_Request req;

    MUST(MPI_Isendrecv(never, LEN, MPI_CHAR, to, NEVER, NULL, 0, MPI_CHAR, MPI_PROC_NULL, 0,
                       MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Isendrecv_replace(again, LEN, MPI_CHAR, to, NEVER, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                               &req));
    MUST(MPI_Request_free(&req));
}

/* Paired, but the receiver never starts. */
static void partitions_for_nothing(int to, int from)
{
    MPI_Request send, recv;

    MUST(MPI_Precv_init(posted, 2, LEN / 2, MPI_CHAR, from, NEVER, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &recv));
    MUST(MPI_Psend_init(never, 2, LEN / 2, MPI_CHAR, to, NEVER, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &send));
    MUST(MPI_Request_free(&recv));
    MUST(MPI_Start(&send));
    MUST(MPI_Pready_range(0, 1, send));
    MUST(MPI_Request_free(&send));
}

/* Their receiver has looked at them, and taken them out. */
static void probe_for_nothing(int to, int from)
{
    MPI_Request req;
    MPI_Message message;

    MUST(MPI_Isend(never, LEN, MPI_CHAR, to, PROBED, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Issend(never, 1, MPI_CHAR, to, PROBED, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    for (int i = 0; i < 2; i++)
        MUST(MPI_Mprobe(from, PROBED, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
}

/* Rank 0 is gone, or going, when the others look for its message. */
static void receive_late(void)
{
    char got[LEN];
    int flag;

    for (int i = 0; i < 1000; i++)
        MUST(MPI_Iprobe(0, NEVER + 100, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(got, LEN, MPI_CHAR, 0, LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check(got, 0);
}

int main(int argc, char **argv)
{
    MPI_Request req;
    int to, from;

    mp_start(&argc, &argv);
    to = (mp_rank + 1) % mp_size;
    from = (mp_rank + mp_size - 1) % mp_size;
    fill(late);
    fill(never);
    MUST(MPI_Irecv(posted, LEN, MPI_CHAR, from, POSTED, MPI_COMM_WORLD, &req));
    MUST(MPI_Request_free(&req));
    send_for_nothing(to);
    halves_for_nothing(to);
    partitions_for_nothing(to, from);
    probe_for_nothing(to, from);
    for (int i = 1; mp_rank == 0 && i < mp_size; i++) {
        MUST(MPI_Isend(late, LEN, MPI_CHAR, i, LATE, MPI_COMM_WORLD, &req));
        MUST(MPI_Request_free(&req));
    }
    if (mp_rank > 0)
        receive_late();
    MUST(MPI_Send(late, LEN, MPI_CHAR, to, POSTED, MPI_COMM_WORLD));
    MPI_Finalize();
    return mp_failures != 0;
}
