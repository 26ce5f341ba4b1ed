/*
 * Qualifiers that say where the segment of the one who listens is: its process and descriptor. Who may
 * open that, in the same pid namespace and of the same user, connects through inboxes (inbox.h);
 * others connect to the same qualifier by a socket.
 *
 * ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_NEAR_H
#define DM_PROVIDERS_SHM_TRANSPORT_NEAR_H

#include "providers/shm/ia.h"

struct dm_shm_peer;
struct dm_shm_who;
struct dm_shm_letter;

/* The n-th qualifier of this instance; 0: there are no more, or others cannot find it. */
DAT_CONN_QUAL dm_shm_near_qual(const struct dm_shm_ia *ia, unsigned n);
/* The peer that a qualifier names, mapped here, with a reference; NULL: a socket has to do. */
struct dm_shm_peer *dm_shm_near_find(struct dm_shm_ia *ia, DAT_CONN_QUAL qual);
/* The peer whose segment is in the arena, or behind that descriptor of its process. NULL and errno. */
struct dm_shm_peer *dm_shm_near_open(struct dm_shm_ia *ia, int fd, const struct dm_shm_who *who);
/* The segment of who asks cannot be opened here: tell it. False: not now. */
bool dm_shm_near_refuse(struct dm_shm_ia *ia, const struct dm_shm_letter *letter);

#endif
