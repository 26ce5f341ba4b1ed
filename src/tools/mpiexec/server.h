/*
 * Answers to those that this mpiexec has started on other hosts: questions of two or three words over
 * TCP (server_ask.h), by whoever has the server's random token.
 */
#ifndef DM_TOOLS_MPIEXEC_SERVER_H
#define DM_TOOLS_MPIEXEC_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/mpiexec/loop.h"

enum {
    DM_LAUNCH_CLIENTS = 256,      /* that ask at one time */
    DM_LAUNCH_SERVER_NAME = 1536, /* bytes of what dm_launch_ask takes for a server */
};

/*
 * What is asked, about what, and a text (NULL: none). False: the answer is no; reply, of
 * DM_LAUNCH_WORD_MAX bytes, holds the answer otherwise, and holds DM_LAUNCH_ANSWER_YES before.
 */
typedef bool dm_launch_answer(void *arg, const char *what, const char *subject, const char *text,
                              char *reply);

struct dm_launch_client;

struct dm_launch_server {
    struct dm_launch_loop *loop;
    struct dm_launch_watch watch; /* of the socket */
    dm_launch_answer *answer;
    void *arg;
    int fd;
    char token[33];
    struct dm_launch_client *clients[DM_LAUNCH_CLIENTS]; /* NULL: not needed yet */
};

/*
 * Serve at any port of all addresses of this host; name, of len bytes, gets what dm_launch_ask takes.
 * The server stays as long as the process. False: errno.
 */
bool dm_launch_server_open(struct dm_launch_server *server, struct dm_launch_loop *loop,
                           dm_launch_answer *answer, void *arg, char *name, size_t len);

#endif
