/*
 * Standard output of the tools.
 */
#ifndef DM_TOOLS_OUT_H
#define DM_TOOLS_OUT_H

#include <stddef.h>
#include <stdio.h>

/* What a program ends with: its status, or 1 and a message when what it has printed could not be written. */
int dm_out_end(const char *program, int status);

/*
 * A string of JSON: the text up to its end or `max` bytes. Bytes beyond ASCII are written as code points of their
 * value, so that whatever a program or a provider says, the file is one of JSON.
 */
void dm_out_json(FILE *out, const char *text, size_t max);

#endif
