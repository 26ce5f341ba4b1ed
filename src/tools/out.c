/*
 * Standard output of the tools.
 */
#include "tools/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int dm_out_end(const char *program, int status)
{
    int has_failed = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !has_failed)
        return status;
    if (errno == 0 && putchar('\n') != EOF) /* nothing was left to write: once more, to learn why */
        (void)fflush(stdout);
    fprintf(stderr, "%s: standard output cannot be written: %s\n", program,
            errno != 0 ? strerror(errno) : "what came before got lost");
    return status != 0 ? status : 1;
}
