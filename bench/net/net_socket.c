/*
 * The floor of a network: ping-pong and stream over a bare TCP socket, spinning,
 * between the first two ranks; MPI only tells rank 1 where to connect to.
 *
 *   mpiexec -n 2 net_socket [-s MIN:MAX] [-r ROUNDS] [-a ADDRESS]
 *
 * -a the address of rank 0 to use (default: what its host name resolves to).
 * Output lines as of pingpong: "latency SIZE MEDIAN MIN" in us per half round trip,
 * "bandwidth SIZE MEDIAN MAX" in MB/s (10^6 bytes).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define FLOOR "net_socket"
#include "net_floor.h"

static int fd;

/* Rank 0 listens. */
static void floor_open(int rank, const char *address, char *buf, size_t buf_len)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *ai = NULL;
    char where[2][128] = {"", ""};
    socklen_t len;
    int one = 1;

    (void)buf;
    (void)buf_len;
    if (rank == 0) {
        char host[100] = "";
        struct sockaddr_storage addr;
        int listener;

        gethostname(host, sizeof(host) - 1);
        hints.ai_flags = AI_PASSIVE;
        if (getaddrinfo(address != NULL ? address : host, NULL, &hints, &ai) != 0)
            die("the name of this host does not resolve");
        listener = socket(ai->ai_family, SOCK_STREAM, 0);
        if (listener < 0 || bind(listener, ai->ai_addr, ai->ai_addrlen) != 0 ||
            listen(listener, 1) != 0)
            die("listen");
        len = sizeof(addr);
        getsockname(listener, (struct sockaddr *)&addr, &len);
        getnameinfo((struct sockaddr *)&addr, len, where[0], sizeof(where[0]), where[1],
                    sizeof(where[1]), NI_NUMERICHOST | NI_NUMERICSERV);
        MPI_Send(where, sizeof(where), MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Recv(where, sizeof(where), MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (getaddrinfo(where[0], where[1], &hints, &ai) != 0)
            die(where[0]);
        fd = socket(ai->ai_family, SOCK_STREAM, 0);
        if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) != 0)
            die("connect");
    }
    freeaddrinfo(ai);
    if (fd < 0)
        die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void floor_all(char *buf, long len, int is_send)
{
    while (len > 0) {
        ssize_t n = is_send ? send(fd, buf, (size_t)len, 0) : recv(fd, buf, (size_t)len, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            die(is_send ? "send" : "recv");
        if (n > 0) {
            buf += n;
            len -= n;
        }
    }
}

static void floor_close(void)
{
    close(fd);
}
