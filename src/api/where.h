/*
 * Where this process is: what others on this host can read of it (util/where.h), and what a wait does that has become long.
 */
#ifndef DM_API_WHERE_H
#define DM_API_WHERE_H

/* When the channel is open. */
void dm_where_start(void);

#endif
