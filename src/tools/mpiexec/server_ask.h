/*
 * Questions to a mpiexec that serves others (server.h), or to MPICH's hydra_nameserver.
 *
 * Each question has a connection: the number of words, then each word with its length (with its NUL)
 * in front, all numbers as ints of the host. The answer is one such word.
 */
#ifndef DM_TOOLS_MPIEXEC_SERVER_ASK_H
#define DM_TOOLS_MPIEXEC_SERVER_ASK_H

#include <stdbool.h>
#include <stddef.h>

enum { DM_LAUNCH_WORD_MAX = 4096 }; /* bytes of a word with its NUL */

#define DM_LAUNCH_ANSWER_YES "SUCCESS"
#define DM_LAUNCH_ANSWER_NO  "FAILURE"

/*
 * Ask the server about a subject, with a text (NULL: none). The server is
 * "[TOKEN@]HOST[,HOST]...:PORT": whichever host answers first; the token stands before the subject.
 * False: it says no, or it does not answer within seconds, which is reported.
 */
bool dm_launch_ask(const char *server, const char *what, const char *subject, const char *text,
                   char *answer, size_t len);

#endif
