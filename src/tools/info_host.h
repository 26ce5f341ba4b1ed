/*
 * The part "host" of datum-info.
 */
#ifndef DM_TOOLS_INFO_HOST_H
#define DM_TOOLS_INFO_HOST_H

/* Prints it, in the form that info_print.h has. Starts a child for a moment, buffered output is written by this process
 * alone. */
void dm_info_show_host(void);

#endif
