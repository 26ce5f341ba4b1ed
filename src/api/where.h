/*
 * Where this process is: what others on this host can read of it (util/where.h), and what a wait does that has become long.
 */
#ifndef DM_API_WHERE_H
#define DM_API_WHERE_H

/* When the channel is open. job: its name. dm_where_close ends it. */
void dm_where_start(const char *job);

#endif
