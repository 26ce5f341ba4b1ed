/*
 * Standard output of the tools.
 */
#ifndef DM_TOOLS_OUT_H
#define DM_TOOLS_OUT_H

/* What a program ends with: its status, or 1 and a message when what it has printed could not be written. */
int dm_out_end(const char *program, int status);

#endif
