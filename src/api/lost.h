/*
 * The end that nobody wanted: lost peers, and the way to the launcher of what ends the job.
 */
#ifndef DM_API_LOST_H
#define DM_API_LOST_H

struct dm_pmi;

/* Fill in dm_world's host_of and abort, which ask this launcher; NULL: it is closed. */
void dm_lost_start(struct dm_pmi *pmi);
/* Hear of the channel's lost peers: one that the program cannot go on without ends the job. */
void dm_lost_listen(void);

#endif
