/* test: np=0,1,2 timeout=60 */
/*
 * MPI_Comm_join of a parent and a child that it has spawned, over a socket of their own; many spawns in
 * turn leave no descriptor, no mapping and no process.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../self.h"
#include "mp_test.h"

enum { N_SPAWNS = 12, N_WARM = 4 };

static void join(int fd)
{
    MPI_Comm inter;
    int size, x = 7, y = 0;
    char c = 'x';

    MUST(MPI_Comm_join(fd, &inter));
    CHECK(inter != MPI_COMM_NULL);
    MUST(MPI_Comm_remote_size(inter, &size));
    CHECK_EQ(size, 1);
    MUST(MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(y, 7);
    MUST(MPI_Comm_disconnect(&inter));
    /* the socket is as it was */
    CHECK_EQ(write(fd, &c, 1), 1);
    c = 0;
    CHECK_EQ(read(fd, &c, 1), 1);
    CHECK_EQ(c, 'x');
}

static int child(MPI_Comm parent, int port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    MUST(MPI_Comm_disconnect(&parent)); /* they know each other by the socket alone */
    join(fd);
    close(fd);
    return mp_finish();
}

static void spawn_and_join(char *self)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    char text[16], *args[] = {text, NULL};
    MPI_Comm inter;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    snprintf(text, sizeof(text), "%d", ntohs(addr.sin_port));
    MUST(MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                        MPI_ERRCODES_IGNORE));
    fd = accept(listener, NULL, NULL);
    MUST(MPI_Comm_disconnect(&inter));
    join(fd);
    close(fd);
    close(listener);
}

int main(int argc, char **argv)
{
    int n_files = 0, n_maps = 0;
    MPI_Comm parent;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL)
        return child(parent, atoi(argv[1]));
    for (int i = 0; i < N_SPAWNS && mp_rank == 0; i++) {
        spawn_and_join(argv[0]);
        if (i == N_WARM) {
            n_files = self_count_files();
            n_maps = self_count_maps("");
        }
    }
    if (mp_rank == 0) {
        /* what is about to be closed may still be open: a few, not one for each */
        CHECK(self_count_files() <= n_files + 8);
        CHECK(self_count_maps("") <= n_maps + 8);
    }
    return mp_finish();
}
