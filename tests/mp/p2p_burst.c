/* test: np=2 cfg=EAGER=rdma|sendrecv timeout=30 */
/*
 * A burst that finds no room, since who should receive is late: short messages that wait together arrive one by
 * one, in order and whole, whatever their lengths, with synchronous ones, long ones and derived types
 * between them.
 */
#include "p2p.h"

#include <stdbool.h>
#include <time.h>

#define N     1500
#define LONG  40000
#define EVERY 97 /* is a long one */

static int len_of(int i)
{
    return i % EVERY == 0 ? LONG : i * 7 % 61 + (i % 11 == 0 ? 2000 : 0);
}

static void send_all(void)
{
    static unsigned char buf[N][2 * 2064];
    static unsigned char much[N / EVERY + 1][LONG];
    static MPI_Request req[N];
    MPI_Datatype every_other;

    for (int i = 0; i < N; i++) {
        int len = len_of(i);
        bool is_strided = i % 5 == 0 && len < LONG;
        unsigned char *to = len == LONG ? much[i / EVERY] : buf[i];

        for (int k = 0; k < len; k++)
            to[is_strided ? 2 * k : k] = byte_of(i, (size_t)k);
        if (is_strided) {
            MPI_Type_vector(len, 1, 2, MPI_BYTE, &every_other);
            MPI_Type_commit(&every_other);
            MPI_Isend(to, 1, every_other, 1, i % 3, MPI_COMM_WORLD, &req[i]);
            MPI_Type_free(&every_other);
        } else if (i % 13 == 0) {
            MPI_Issend(to, len, MPI_BYTE, 1, i % 3, MPI_COMM_WORLD, &req[i]);
        } else {
            MPI_Isend(to, len, MPI_BYTE, 1, i % 3, MPI_COMM_WORLD, &req[i]);
        }
    }
    MPI_Waitall(N, req, MPI_STATUSES_IGNORE);
}

static void receive_all(void)
{
    const struct timespec late = {0, 50000000};
    static unsigned char buf[LONG];
    MPI_Status st;
    int len;

    nanosleep(&late, NULL);
    for (int i = 0; i < N; i++) {
        MPI_Recv(buf, LONG, MPI_BYTE, 0, i % 3, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_BYTE, &len);
        CHECK_EQ(len, len_of(i));
        for (int k = 0; k < len; k++) {
            if (buf[k] != byte_of(i, (size_t)k)) {
                CHECK(!"a byte is wrong");
                break;
            }
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD); /* they are connected */
    if (me == 0)
        send_all();
    else
        receive_all();
    return end();
}
