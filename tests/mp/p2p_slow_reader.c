/* test: np=2,8,20 prov=datum-shm,datum-tcp timeout=120 */
/*
 * Short blocking sends to a process that does not receive yet: what was sent is what the buffer had at the call,
 * messages of all lengths stay in order, and those of a process that has nothing else to do arrive, too,
 * before it ends, before its communicator is freed, and before a call that it waits in.
 */
#include <string.h>

#include "mp_test.h"

enum { MANY = 400, LEN = 100, TAG_GO = 1, TAG_DATA, TAG_LAST };

static int len_of(int i)
{
    return i % 7 == 3 ? LEN : i % 65;
}

static void fill(unsigned char *data, int from, int i)
{
    for (int k = 0; k < LEN; k++)
        data[k] = (unsigned char)(from * 31 + i * 7 + k);
}

static void send_many(int to, MPI_Comm comm)
{
    unsigned char data[LEN];

    for (int i = 0; i < MANY; i++) {
        fill(data, mp_rank, i);
        if (i % 50 == 49)
            MUST(MPI_Rsend(data, len_of(i), MPI_BYTE, to, TAG_DATA, comm));
        else
            MUST(MPI_Send(data, len_of(i), MPI_BYTE, to, TAG_DATA, comm));
        memset(data, 0xee, sizeof(data));
    }
}

/* Posted before their sender may send, since some of its sends are ready ones. */
static void receive_many(int from, MPI_Comm comm, int is_late)
{
    static unsigned char got[MANY][LEN];
    unsigned char data[LEN];
    MPI_Request reqs[MANY];
    MPI_Status statuses[MANY];
    int n;

    for (int i = 0; i < MANY; i++)
        MUST(MPI_Irecv(got[i], LEN, MPI_BYTE, from, TAG_DATA, comm, &reqs[i]));
    MUST(MPI_Send(NULL, 0, MPI_BYTE, from, TAG_GO, comm));
    if (is_late) /* it has sent all when it says so */
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, from, TAG_LAST, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Waitall(MANY, reqs, statuses));
    for (int i = 0; i < MANY; i++) {
        fill(data, from, i);
        MPI_Get_count(&statuses[i], MPI_BYTE, &n);
        CHECK_EQ(n, len_of(i));
        CHECK(memcmp(got[i], data, (size_t)len_of(i)) == 0);
    }
}

/* From everybody to one, one sender after the other, with unexpected ones from those that come later. */
static void to_one(MPI_Comm comm)
{
    int value;

    if (mp_rank != 0) {
        for (int i = 0; i < MANY; i++)
            MUST(MPI_Send(&i, 1, MPI_INT, 0, TAG_DATA + 10, comm));
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_GO, comm, MPI_STATUS_IGNORE));
        send_many(0, comm);
        MUST(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_LAST, comm));
        return;
    }
    for (int from = mp_size - 1; from > 0; from--) {
        receive_many(from, comm, 1);
        for (int i = 0; i < MANY; i++) {
            MUST(MPI_Recv(&value, 1, MPI_INT, from, TAG_DATA + 10, comm, MPI_STATUS_IGNORE));
            CHECK_EQ(value, i);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    mp_start(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        to_one(MPI_COMM_WORLD);
        if (round == 1)
            MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (mp_rank == 0)
        for (int from = 1; from < mp_size; from++)
            MUST(MPI_Send(NULL, 0, MPI_BYTE, from, TAG_GO, comm));
    else
        MUST(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_GO, comm, MPI_STATUS_IGNORE));
    /* The last thing that anybody sends. */
    for (int i = 0; mp_rank != 0 && i < MANY; i++)
        MUST(MPI_Send(&i, 1, MPI_INT, 0, TAG_DATA, comm));
    for (int from = mp_size - 1; mp_rank == 0 && from > 0; from--)
        for (int i = 0, value; i < MANY; i++) {
            MUST(MPI_Recv(&value, 1, MPI_INT, from, TAG_DATA, comm, MPI_STATUS_IGNORE));
            CHECK_EQ(value, i);
        }
    MUST(MPI_Comm_free(&comm));
    return mp_finish();
}
