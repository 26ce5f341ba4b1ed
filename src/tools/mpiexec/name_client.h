/*
 * Questions to whoever keeps names for several mpiexecs: MPICH's hydra_nameserver, or the first mpiexec
 * of jobs on several hosts (name_server.h).
 *
 * Each question has a connection: the number of words, then each word with its length (with its NUL)
 * in front, all numbers as ints of the host. The answer is one such word.
 */
#ifndef DM_TOOLS_MPIEXEC_NAME_CLIENT_H
#define DM_TOOLS_MPIEXEC_NAME_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

enum { DM_LAUNCH_WORD_MAX = 4096 }; /* bytes of a word with its NUL */

#define DM_LAUNCH_NAMES_YES "SUCCESS"
#define DM_LAUNCH_NAMES_NO  "FAILURE"

/*
 * Ask the server for "PUBLISH" (with a port), "UNPUBLISH" or "LOOKUP" (port NULL) of a service. The
 * server is "[TOKEN@]HOST[,HOST]...:PORT": whichever host answers first; the token stands before the
 * service. False: it says no, or it does not answer within seconds, which is told.
 */
bool dm_launch_names_ask(const char *server, const char *what, const char *service,
                         const char *port, char *answer, size_t len);

#endif
