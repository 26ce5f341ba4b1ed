/* test: np=1,3 timeout=60 */
/*
 * Published names, MPI_Comm_join over a socket, ports and accepts of several threads at once.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mp_test.h"

static void names(void)
{
    char port[MPI_MAX_PORT_NAME], got[MPI_MAX_PORT_NAME], name[64], longer[600];
    MPI_Comm inter;
    int x = 0;

    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    snprintf(name, sizeof(name), "service %d", (int)getpid());
    MUST(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    FAILS(MPI_Lookup_name(name, MPI_INFO_NULL, got), MPI_ERR_NAME);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (mp_rank == 0) {
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
        MUST(MPI_Publish_name(name, MPI_INFO_NULL, port));
        FAILS(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Lookup_name(name, MPI_INFO_NULL, got));
    if (mp_rank == 0)
        CHECK(strcmp(got, port) == 0);
    if (mp_rank == 0 && mp_size > 1) {
        MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        MUST(MPI_Recv(&x, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
        CHECK_EQ(x, mp_size - 1);
        MUST(MPI_Comm_disconnect(&inter));
    } else if (mp_rank == mp_size - 1 && mp_size > 1) {
        MUST(MPI_Comm_connect(got, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        MUST(MPI_Send(&mp_rank, 1, MPI_INT, 0, 1, inter));
        MUST(MPI_Comm_disconnect(&inter));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (mp_rank == 0) {
        MUST(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
        FAILS(MPI_Unpublish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        MUST(MPI_Close_port(port));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    FAILS(MPI_Lookup_name(name, MPI_INFO_NULL, got), MPI_ERR_NAME);
    FAILS(MPI_Publish_name("", MPI_INFO_NULL, "x"), MPI_ERR_SERVICE);
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    FAILS(MPI_Publish_name(longer, MPI_INFO_NULL, "x"), MPI_ERR_SERVICE);
    FAILS(MPI_Publish_name("x", MPI_INFO_NULL, longer), MPI_ERR_PORT);
}

/* Both ends of a pair of sockets in a process that forks is no use: by a listening one. */
static void join_errors(void)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    int fds[2];

    FAILS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
    CHECK(inter == MPI_COMM_NULL);
    CHECK_EQ(pipe(fds), 0);
    FAILS(MPI_Comm_join(fds[0], &inter), MPI_ERR_ARG);
    close(fds[0]);
    close(fds[1]);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[1]);
    FAILS(MPI_Comm_join(fds[0], &inter), MPI_ERR_OTHER);
    close(fds[0]);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(write(fds[1], "GET / HTTP/1.1\r\n", 16), 16);
    FAILS(MPI_Comm_join(fds[0], &inter), MPI_ERR_OTHER);
    close(fds[0]);
    close(fds[1]);
}

/* ---- threads ---- */

enum { N_PAIRS = 3, N_TIMES = 5 };
static char ports[N_PAIRS][MPI_MAX_PORT_NAME];

static void *meet(void *arg)
{
    char *port = arg;
    int x = -1;
    MPI_Comm inter;

    for (int i = 0; i < N_TIMES; i++) {
        if (mp_rank == 0)
            MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        else
            MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        MUST(MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &x, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
        CHECK_EQ(x, i);
        MUST(MPI_Comm_disconnect(&inter));
    }
    return NULL;
}

/* Ranks 0 and 1 meet at several ports at once. */
static void threads(void)
{
    pthread_t ids[N_PAIRS];

    if (mp_rank == 0)
        for (int i = 0; i < N_PAIRS; i++)
            MUST(MPI_Open_port(MPI_INFO_NULL, ports[i]));
    MUST(MPI_Bcast(ports, sizeof(ports), MPI_CHAR, 0, MPI_COMM_WORLD));
    if (mp_rank < 2) {
        for (int i = 0; i < N_PAIRS; i++)
            CHECK_EQ(pthread_create(&ids[i], NULL, meet, ports[i]), 0);
        for (int i = 0; i < N_PAIRS; i++)
            pthread_join(ids[i], NULL);
    }
    if (mp_rank == 0)
        for (int i = 0; i < N_PAIRS; i++)
            MUST(MPI_Close_port(ports[i]));
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    names();
    join_errors();
    if (mp_size > 1 && level == MPI_THREAD_MULTIPLE)
        threads();
    return mp_finish();
}
