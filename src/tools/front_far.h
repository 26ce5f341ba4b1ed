/*
 * Where ranks on other hosts can reach mpiexec: a port that is open only for a job that may have such.
 */
#ifndef DM_TOOLS_FRONT_FAR_H
#define DM_TOOLS_FRONT_FAR_H

#include <stdbool.h>
#include <stddef.h>

enum { DM_FRONT_TOKEN_LEN = 17 };

/* What a rank has to say to be listened to, and where. */
struct dm_front_far {
    int fd; /* listening, -1: there is none */
    char token[DM_FRONT_TOKEN_LEN];
};

/* Do the arguments or the environment of mpiexec name other hosts, or a resource manager that may? */
bool dm_front_may_be_far(char *const *argv);
/*
 * Listen if ranks may be elsewhere. Writes what is to stand in DATUM_REPORT behind the socket of this host's ranks, an empty text if
 * there is no port: then deaths elsewhere are reported without a rank.
 */
void dm_front_far_open(struct dm_front_far *far, char *const *argv, char *text, size_t len);

#endif
