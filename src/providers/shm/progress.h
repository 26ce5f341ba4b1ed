/*
 * The progress thread, and the sources that it polls. All but start, stop and kick want ia->lock
 * held.
 */
#ifndef DM_PROVIDERS_SHM_PROGRESS_H
#define DM_PROVIDERS_SHM_PROGRESS_H

#include "providers/common/common.h"

struct dm_shm_ia;

/* Anything the progress thread polls; first member. */
enum dm_shm_src_kind { DM_SRC_KICK, DM_SRC_LISTEN, DM_SRC_CONN, DM_SRC_DOORBELL, DM_SRC_GUARDED };
struct dm_shm_src {
    enum dm_shm_src_kind kind;
    int fd; /* -1: none (any more) */
    bool is_dead;
    struct dm_list link; /* in ia->srcs, ia->quiet_srcs or ia->deferred_free */
};

bool dm_shm_progress_start(struct dm_shm_ia *ia);
void dm_shm_progress_stop(struct dm_shm_ia *ia);
/* Poll it for input from now on. False: the kernel refuses. */
bool dm_shm_src_add(struct dm_shm_ia *ia, struct dm_shm_src *src);
/* Give it another descriptor, which is not polled; the old one is closed. */
void dm_shm_src_replace(struct dm_shm_ia *ia, struct dm_shm_src *src, int fd);
/* Poll a source for these events from now on. */
void dm_shm_src_poll(struct dm_shm_ia *ia, struct dm_shm_src *src, uint32_t events);
/* It may be due some time: the next round of the thread asks it. */
void dm_shm_src_watch(struct dm_shm_ia *ia, struct dm_shm_src *src);
/* Stop polling it, and close its descriptor. */
void dm_shm_src_close(struct dm_shm_ia *ia, struct dm_shm_src *src);
/* The same; its memory is freed later. */
void dm_shm_src_defer_free(struct dm_shm_ia *ia, struct dm_shm_src *src);
/* A consumer has found a queue empty: read the inbox, or let virtual time go by. */
void dm_shm_poll(struct dm_pia *pia);
/* Close the sockets of all in a forked child. */
void dm_shm_srcs_forked(struct dm_shm_ia *ia);

#endif
