/*
 * The floor of a network: ping-pong and stream over a bare TCP socket, spinning,
 * between the first two ranks; MPI only tells rank 1 where to connect to.
 *
 *   mpiexec -n 2 socket [-s MIN:MAX] [-r ROUNDS] [-a ADDRESS]
 *
 * -a the address of rank 0 to use (default: what its host name resolves to).
 * Output lines as of pingpong: "latency SIZE MEDIAN MIN" in us per half round trip,
 * "bandwidth SIZE MEDIAN MAX" in MB/s (10^6 bytes).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define WINDOW     16

static void die(const char *what)
{
    fprintf(stderr, "socket: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A connected socket between rank 0, which listens, and rank 1. */
static int connect_ranks(int rank, const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *ai = NULL;
    char where[2][128] = {"", ""};
    socklen_t len;
    int fd, one = 1;

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
    return fd;
}

/* Sends or receives all of it, spinning. */
static void all(int fd, char *buf, long len, int is_send)
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

static double exchange(int fd, char *buf, long len, int n, int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < n; i++) {
        all(fd, buf, len, rank == 0);
        all(fd, buf, len, rank != 0);
    }
    return (MPI_Wtime() - start) * 1e6 / n / 2;
}

static double stream(int fd, char *buf, long len, int n, int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < n * WINDOW; i++)
        all(fd, buf, len, rank == 0);
    all(fd, buf, 1, rank != 0);
    return (double)len * n * WINDOW / (MPI_Wtime() - start) / 1e6;
}

int main(int argc, char **argv)
{
    long min = 8, max = 4 << 20;
    int n_rounds = 5, rank, size, c, fd;
    const char *address = NULL;
    char *buf;

    MPI_Init(&argc, &argv);
    while ((c = getopt(argc, argv, "s:r:a:")) != -1) {
        if (c == 's' && sscanf(optarg, "%ld:%ld", &min, &max) == 2 && min > 0 && max >= min)
            continue;
        if (c == 'r' && (n_rounds = atoi(optarg)) > 0 && n_rounds <= MAX_ROUNDS)
            continue;
        if (c != 'a') {
            fprintf(stderr, "usage: socket [-s MIN:MAX] [-r ROUNDS] [-a ADDRESS]\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
            return 2;
        }
        address = optarg;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buf = malloc((size_t)max);
    if (size != 2 || buf == NULL) {
        fprintf(stderr, "socket: needs 2 ranks and a buffer of %ld bytes\n", max);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    memset(buf, 1, (size_t)max);
    fd = connect_ranks(rank, address);
    for (int is_rate = 0; is_rate < 2; is_rate++) {
        for (long len = min; len <= max; len *= 2) {
            double t[MAX_ROUNDS] = {0};
            int n = (int)((is_rate ? 16e6 : 64e6) / (double)len);
            int n_max = is_rate ? 2000 : 20000;

            n = n > n_max ? n_max : n < 4 ? 4 : n;
            for (int r = -1; r < n_rounds; r++)
                t[r < 0 ? 0 : r] = (is_rate ? stream : exchange)(fd, buf, len, n, rank);
            qsort(t, (size_t)n_rounds, sizeof(t[0]), by_value);
            if (rank == 0)
                printf("%s %ld %.4f %.4f\n", is_rate ? "bandwidth" : "latency", len,
                       t[n_rounds / 2], is_rate ? t[n_rounds - 1] : t[0]);
        }
    }
    close(fd);
    MPI_Finalize();
    return 0;
}
