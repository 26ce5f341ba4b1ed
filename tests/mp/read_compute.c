/* test: np=2 timeout=60 */
/*
 * A message that is read is over for its sender when it has been received, whatever the receiver does
 * then: after many that were answered at once, one whose receiver calls MPI no more until the sender is done.
 */
#include "mp_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define LEN    (256 << 10)
#define ROUNDS 100

static void pingpong(char *buf)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (mp_rank == 0)
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        MUST(MPI_Recv(buf, LEN, MPI_BYTE, 1 - mp_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (mp_rank == 1)
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    }
}

/* The sender tells by a file, without MPI; the receiver computes until it is there. */
static void sender_is_done(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0600);

    CHECK(fd >= 0);
    close(fd);
}

static void compute_until(const char *name)
{
    while (access(name, F_OK) != 0)
        ;
    CHECK_EQ(unlink(name), 0);
}

int main(int argc, char **argv)
{
    char *buf;

    mp_start(&argc, &argv);
    buf = calloc(1, LEN);
    for (int i = 0; i < 20; i++) {
        pingpong(buf);
        if (mp_rank == 0) {
            MUST(MPI_Send(buf, LEN, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
            sender_is_done("sent");
        } else {
            MUST(MPI_Recv(buf, LEN, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            compute_until("sent");
        }
    }
    free(buf);
    return mp_finish();
}
