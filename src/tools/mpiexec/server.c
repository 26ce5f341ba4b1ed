/*
 * A connection ends with its answer, or after a time without a question. Answers are short, so that they
 * fit into the socket.
 */
#include "tools/mpiexec/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/mpiexec/server_ask.h"

/* How long a question may take. */
#define CLIENT_NS UINT64_C(5000000000)

enum {
    BACKLOG = 256,
    WORDS = 3,
    QUESTION_MAX = WORDS * ((int)sizeof(int) + DM_LAUNCH_WORD_MAX) + (int)sizeof(int),
    ADDRS_LEN = 1024,
};

struct dm_launch_client {
    struct dm_launch_server *server;
    struct dm_launch_watch watch;
    struct dm_launch_timer limit;
    int fd;
    size_t len;
    char bytes[QUESTION_MAX];
};

/* Its memory serves the next one. */
static void client_end(struct dm_launch_client *client)
{
    dm_launch_loop_remove(client->server->loop, &client->watch);
    client->limit.at = 0;
    close(client->fd);
    client->fd = -1;
}

static void on_late(void *arg)
{
    client_end(arg);
}

/* The words of a question; how many, 0: not all are there yet, -1: it is none. */
static int client_words(struct dm_launch_client *client, char *words[WORDS])
{
    size_t at = sizeof(int);
    int n = 0;
    int len;

    if (client->len < sizeof(int))
        return 0;
    memcpy(&n, client->bytes, sizeof(n));
    if (n < 2 || n > WORDS)
        return -1;
    for (int i = 0; i < n; i++) {
        if (client->len - at < sizeof(len))
            return 0;
        memcpy(&len, client->bytes + at, sizeof(len));
        if (len < 1 || len > DM_LAUNCH_WORD_MAX)
            return -1;
        at += sizeof(len);
        if (client->len - at < (size_t)len)
            return 0;
        words[i] = client->bytes + at;
        at += (size_t)len;
        if (client->bytes[at - 1] != '\0')
            return -1;
    }
    return n;
}

static void client_answer(const struct dm_launch_client *client, const char *word)
{
    char bytes[sizeof(int) + DM_LAUNCH_WORD_MAX];
    int len = (int)strlen(word) + 1;

    memcpy(bytes, &len, sizeof(len));
    memcpy(bytes + sizeof(len), word, (size_t)len);
    (void)send(client->fd, bytes, sizeof(len) + (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Who lacks the token is told no, whatever it asks. */
static void client_serve(struct dm_launch_client *client, char **words, int n)
{
    const struct dm_launch_server *server = client->server;
    size_t token_len = strlen(server->token);
    char reply[DM_LAUNCH_WORD_MAX] = DM_LAUNCH_ANSWER_YES;
    bool is_good = strncmp(words[1], server->token, token_len) == 0 && words[1][token_len] == '/' &&
                   server->answer(server->arg, words[0], words[1] + token_len + 1,
                                  n == WORDS ? words[2] : NULL, reply);

    client_answer(client, is_good ? reply : DM_LAUNCH_ANSWER_NO);
}

static void on_question(void *arg)
{
    struct dm_launch_client *client = arg;
    ssize_t got =
        recv(client->fd, client->bytes + client->len, sizeof(client->bytes) - client->len, 0);
    char *words[WORDS];
    int n;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->len += got > 0 ? (size_t)got : 0;
    n = got > 0 ? client_words(client, words) : -1;
    if (n > 0)
        client_serve(client, words, n);
    if (n != 0)
        client_end(client);
}

/* One that nobody uses. NULL: too many ask, or no memory. */
static struct dm_launch_client *server_client(struct dm_launch_server *server)
{
    int i = 0;

    while (i < DM_LAUNCH_CLIENTS && server->clients[i] != NULL && server->clients[i]->fd >= 0)
        i++;
    if (i == DM_LAUNCH_CLIENTS)
        return NULL;
    if (server->clients[i] == NULL)
        server->clients[i] = calloc(1, sizeof(struct dm_launch_client));
    return server->clients[i];
}

static void on_client(void *arg)
{
    struct dm_launch_server *server = arg;
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct dm_launch_client *client = fd >= 0 ? server_client(server) : NULL;

    if (client == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    client->server = server;
    client->fd = fd;
    client->len = 0;
    dm_launch_loop_after(server->loop, &client->limit, CLIENT_NS, on_late, client);
    if (!dm_launch_loop_add(server->loop, &client->watch, fd, false, on_question, client))
        client_end(client);
}

/* ---- the socket ---- */

/* On all addresses of this host, at any port, which it returns; 0: errno. */
static int server_listen(struct dm_launch_server *server)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in in = {.sin_family = AF_INET};
    const int no = 0;
    socklen_t len = sizeof(in6);

    server->fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->fd >= 0) {
        setsockopt(server->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
        if (bind(server->fd, (struct sockaddr *)&in6, sizeof(in6)) != 0) {
            close(server->fd);
            server->fd = -1;
        }
    }
    if (server->fd < 0) { /* a host without IPv6 */
        server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&in, sizeof(in)) != 0)
            return 0;
    }
    if (listen(server->fd, BACKLOG) != 0 ||
        getsockname(server->fd, (struct sockaddr *)&in6, &len) != 0)
        return 0;
    memcpy(&in, &in6, sizeof(in));
    return ntohs(in.sin_family == AF_INET6 ? in6.sin6_port : in.sin_port);
}

/* This host's addresses with commas between, those of the host alone last; false: none fits. */
static bool server_addresses(char *text, size_t len)
{
    struct ifaddrs *list;
    char host[INET6_ADDRSTRLEN];
    size_t at = 0;

    if (getifaddrs(&list) != 0)
        return false;
    for (int is_loopback = 0; is_loopback < 2; is_loopback++) {
        for (const struct ifaddrs *one = list; one != NULL; one = one->ifa_next) {
            bool is_six = one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET6;
            const struct sockaddr_in6 *in6 = (const void *)one->ifa_addr;
            const struct sockaddr_in *in = (const void *)one->ifa_addr;

            if (one->ifa_addr == NULL || !(one->ifa_flags & IFF_UP) ||
                ((one->ifa_flags & IFF_LOOPBACK) != 0) != is_loopback ||
                (!is_six && one->ifa_addr->sa_family != AF_INET) ||
                (is_six && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) ||
                inet_ntop(one->ifa_addr->sa_family,
                          is_six ? (const void *)&in6->sin6_addr : (const void *)&in->sin_addr,
                          host, sizeof(host)) == NULL ||
                at + strlen(host) + 2 > len)
                continue;
            at += (size_t)snprintf(text + at, len - at, "%s%s", at > 0 ? "," : "", host);
        }
    }
    freeifaddrs(list);
    return at > 0;
}

static bool server_make_token(struct dm_launch_server *server)
{
    uint64_t random[2];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    snprintf(server->token, sizeof(server->token), "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    return true;
}

bool dm_launch_server_open(struct dm_launch_server *server, struct dm_launch_loop *loop,
                           dm_launch_answer *answer, void *arg, char *name, size_t len)
{
    char addresses[ADDRS_LEN];
    int port;

    server->loop = loop;
    server->answer = answer;
    server->arg = arg;
    port = server_listen(server);
    if (port == 0 || !server_make_token(server) ||
        !server_addresses(addresses, sizeof(addresses)) ||
        !dm_launch_loop_add(loop, &server->watch, server->fd, false, on_client, server))
        return false;
    return snprintf(name, len, "%s@%s:%d", server->token, addresses, port) < (int)len;
}
