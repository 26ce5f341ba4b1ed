/*
 * Names. MPICH's hydra_nameserver takes a connection for each question: the number of words, then
 * each word with its length (with its NUL) in front, all numbers as ints of the host; it answers
 * with one such word.
 */
#include "tools/mpiexec/names.h"

#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/log.h"

enum { SERVER_S = 5, WORD_MAX = 4096 };

/* ---- the server ---- */

static int server_connect(const char *server)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct timeval limit = {.tv_sec = SERVER_S};
    const char *colon = strrchr(server, ':');
    struct addrinfo *list = NULL;
    char host[256];
    int fd = -1;

    if (colon == NULL || (size_t)(colon - server) >= sizeof(host))
        return -1;
    memcpy(host, server, (size_t)(colon - server));
    host[colon - server] = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &list) != 0)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static bool server_write(int fd, const void *bytes, size_t len)
{
    return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool server_write_word(int fd, const char *word)
{
    int len = (int)strlen(word) + 1;

    return server_write(fd, &len, sizeof(len)) && server_write(fd, word, (size_t)len);
}

static bool server_read_word(int fd, char *word, size_t max)
{
    int len = 0;

    if (recv(fd, &len, sizeof(len), MSG_WAITALL) != (ssize_t)sizeof(len) || len < 1 ||
        (size_t)len > max || recv(fd, word, (size_t)len, MSG_WAITALL) != len)
        return false;
    word[len - 1] = '\0';
    return true;
}

/* Asks with two or three words; false: no answer, or a failure. */
static bool server_ask(const char *server, const char *what, const char *service, const char *port,
                       char *answer, size_t len)
{
    int fd = server_connect(server);
    int n = port != NULL ? 3 : 2;
    bool is_good = fd >= 0 && server_write(fd, &n, sizeof(n)) && server_write_word(fd, what) &&
                   server_write_word(fd, service) &&
                   (port == NULL || server_write_word(fd, port)) &&
                   server_read_word(fd, answer, len);

    if (fd >= 0)
        close(fd);
    if (!is_good)
        dm_log_warn("mpiexec: the name server %s does not answer", server);
    return is_good && strcmp(answer, "FAILURE") != 0;
}

/* ---- names ---- */

static struct dm_launch_name *names_find(const struct dm_launch_names *names, const char *service)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->list[i].service, service) == 0)
            return &names->list[i];
    return NULL;
}

static void name_free(struct dm_launch_names *names, struct dm_launch_name *name)
{
    char answer[WORD_MAX];

    if (names->server != NULL)
        (void)server_ask(names->server, "UNPUBLISH", name->service, NULL, answer, sizeof(answer));
    free(name->service);
    free(name->port);
    *name = names->list[--names->n];
}

bool dm_launch_names_publish(struct dm_launch_names *names, const char *service, const char *port,
                             int serial)
{
    struct dm_launch_name *new;
    char answer[WORD_MAX];

    if (names_find(names, service) != NULL)
        return false;
    if (names->server != NULL &&
        !server_ask(names->server, "PUBLISH", service, port, answer, sizeof(answer)))
        return false;
    new = realloc(names->list, (names->n + 1) * sizeof(*new));
    if (new == NULL)
        return false;
    names->list = new;
    new += names->n++;
    *new = (struct dm_launch_name){strdup(service), strdup(port), serial};
    if (new->service != NULL &&new->port != NULL)
        return true;
    free(new->service);
    free(new->port);
    names->n--;
    return false;
}

bool dm_launch_names_unpublish(struct dm_launch_names *names, const char *service, int serial)
{
    struct dm_launch_name *name = names_find(names, service);

    if (name == NULL || name->serial != serial)
        return false;
    name_free(names, name);
    return true;
}

bool dm_launch_names_lookup(struct dm_launch_names *names, const char *service, char *port,
                            size_t len)
{
    const struct dm_launch_name *name = names_find(names, service);

    if (name == NULL)
        return names->server != NULL &&
               server_ask(names->server, "LOOKUP", service, NULL, port, len);
    if (strlen(name->port) >= len)
        return false;
    memcpy(port, name->port, strlen(name->port) + 1);
    return true;
}

void dm_launch_names_drop(struct dm_launch_names *names, int serial)
{
    for (size_t i = names->n; i > 0; i--)
        if (names->list[i - 1].serial == serial)
            name_free(names, &names->list[i - 1]);
}

void dm_launch_names_fini(struct dm_launch_names *names)
{
    while (names->n > 0)
        name_free(names, &names->list[names->n - 1]);
    free(names->list);
}
