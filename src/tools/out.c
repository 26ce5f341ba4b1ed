/*
 * Standard output of the tools.
 */
#include "tools/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void dm_out_json(FILE *out, const char *text, size_t max)
{
    fputc('"', out);
    for (size_t i = 0; i < max && text[i] != '\0'; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

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
