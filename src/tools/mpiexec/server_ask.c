/*
 * The asking side. A host may have addresses that do not lead there from here: all are tried at once.
 */
#include "tools/mpiexec/server_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/log.h"

enum { SERVER_S = 5, ADDRS_MAX = 16 };

/* ---- connecting ---- */

struct attempts {
    struct pollfd at[ADDRS_MAX];
    int n;
};

static void attempts_add(struct attempts *attempts, const struct addrinfo *addr)
{
    int fd = socket(addr->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    if (connect(fd, addr->ai_addr, addr->ai_addrlen) != 0 && errno != EINPROGRESS) {
        close(fd);
        return;
    }
    attempts->at[attempts->n++] = (struct pollfd){.fd = fd, .events = POLLOUT};
}

static void attempts_add_host(struct attempts *attempts, const char *host, const char *port)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return;
    for (const struct addrinfo *at = list; at != NULL && attempts->n < ADDRS_MAX; at = at->ai_next)
        attempts_add(attempts, at);
    freeaddrinfo(list);
}

/* The first that is connected; what fails is closed. -1: none yet. */
static int attempts_look(struct attempts *attempts)
{
    for (int i = attempts->n - 1; i >= 0; i--) {
        int fd = attempts->at[i].fd;
        int error = 0;
        socklen_t len = sizeof(error);

        if (attempts->at[i].revents == 0)
            continue;
        attempts->at[i] = attempts->at[--attempts->n];
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0)
            return fd;
        close(fd);
    }
    return -1;
}

static int attempts_finish(struct attempts *attempts)
{
    uint64_t until = dm_clock_ns() + SERVER_S * UINT64_C(1000000000);
    int fd = -1;

    while (fd < 0 && attempts->n > 0 && dm_clock_ns() < until) {
        if (poll(attempts->at, (nfds_t)attempts->n, 100) > 0)
            fd = attempts_look(attempts);
    }
    while (attempts->n > 0)
        close(attempts->at[--attempts->n].fd);
    return fd;
}

/* "HOST[,HOST]...:PORT" */
static int client_connect(const char *hosts)
{
    struct timeval limit = {.tv_sec = SERVER_S};
    struct attempts attempts = {.n = 0};
    char *copy = strdup(hosts);
    char *port = copy != NULL ? strrchr(copy, ':') : NULL;
    char *rest = copy;
    char *host;
    int fd = -1;

    if (port != NULL) {
        *port++ = '\0';
        while ((host = strsep(&rest, ",")) != NULL)
            attempts_add_host(&attempts, host, port);
        fd = attempts_finish(&attempts);
    }
    free(copy);
    if (fd >= 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    return fd;
}

/* ---- words ---- */

static bool client_write(int fd, const void *bytes, size_t len)
{
    return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* One word, with a token before it and "/" between them (NULL: none). */
static bool client_write_word(int fd, const char *token, const char *word)
{
    char text[DM_LAUNCH_WORD_MAX];
    int len = snprintf(text, sizeof(text), "%s%s%s", token != NULL ? token : "",
                       token != NULL ? "/" : "", word) +
              1;

    return len <= DM_LAUNCH_WORD_MAX && client_write(fd, &len, sizeof(len)) &&
           client_write(fd, text, (size_t)len);
}

static bool client_read_word(int fd, char *word, size_t max)
{
    int len = 0;

    if (recv(fd, &len, sizeof(len), MSG_WAITALL) != (ssize_t)sizeof(len) || len < 1 ||
        (size_t)len > max || recv(fd, word, (size_t)len, MSG_WAITALL) != len)
        return false;
    word[len - 1] = '\0';
    return true;
}

bool dm_launch_ask(const char *server, const char *what, const char *subject, const char *text,
                   char *answer, size_t len)
{
    const char *hosts = strchr(server, '@');
    char *token = hosts != NULL ? strndup(server, (size_t)(hosts - server)) : NULL;
    int fd = client_connect(hosts != NULL ? hosts + 1 : server);
    int n = text != NULL ? 3 : 2;
    bool is_good = fd >= 0 && client_write(fd, &n, sizeof(n)) &&
                   client_write_word(fd, NULL, what) && client_write_word(fd, token, subject) &&
                   (text == NULL || client_write_word(fd, NULL, text)) &&
                   client_read_word(fd, answer, len);

    if (fd >= 0)
        close(fd);
    free(token);
    if (!is_good)
        dm_log_warn("mpiexec: the server at %s does not answer",
                    hosts != NULL ? hosts + 1 : server);
    /* hydra_nameserver says nothing for a name that is not there. */
    return is_good && answer[0] != '\0' && strcmp(answer, DM_LAUNCH_ANSWER_NO) != 0;
}
