/*
 * Where ranks on other hosts can reach mpiexec: a port that is open only for a job that may have such.
 */
#ifndef DM_TOOLS_MPIEXEC_REMOTE_H
#define DM_TOOLS_MPIEXEC_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

enum { DM_MPIEXEC_TOKEN_LEN = 17 };

/* What a rank has to say to be listened to, and where. */
struct dm_mpiexec_remote {
    int fd; /* listening, -1: there is none */
    char token[DM_MPIEXEC_TOKEN_LEN];
};

/* Do the arguments or the environment of mpiexec name other hosts, or a resource manager that may? */
bool dm_mpiexec_may_be_remote(char *const *argv);
/*
 * Listen if ranks may be elsewhere. Writes what is to stand in DATUM_REPORT behind the socket of this host's ranks, an empty text if
 * there is no port: then deaths elsewhere are reported without a rank.
 */
void dm_mpiexec_remote_open(struct dm_mpiexec_remote *remote, char *const *argv, char *text,
                            size_t len);

#endif
