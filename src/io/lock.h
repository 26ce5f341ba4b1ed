/*
 * The lock of a file in atomic mode: its processes exclude each other, in order of arrival.
 */
#ifndef DM_IO_LOCK_H
#define DM_IO_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct dm_file; /* file.h */

/* A turn that somebody has asked for; stays where it is until it is given back, or has failed. */
struct dm_lock_turn {
    struct dm_lock_turn *next; /* of this process */
    uint32_t ticket;
    bool is_drawing;  /* a ticket, perhaps in another thread's call */
    bool is_waiting;  /* its process is entered beside the ticket */
    bool is_notified; /* that it has come, or that the lock is lost */
    bool is_ours;
    int err;
};

/* Handlers of packets. */
void dm_file_lock_start(void);
/* Take it; waits. DM_EPEER: it is lost, since a process or an operation on its words is. */
int dm_file_lock(struct dm_file *f, struct dm_lock_turn *turn);
/*
 * The same not waited for: ask, then look until it is ours or an error. A look that finds nothing new costs
 * nothing: whoever gives the lock back sends a packet.
 */
int dm_file_lock_ask(struct dm_file *f, struct dm_lock_turn *turn);
int dm_file_lock_look(struct dm_file *f, struct dm_lock_turn *turn, bool *is_ours_p);
/* Give it back. DM_EPEER as above. */
int dm_file_unlock(struct dm_file *f, struct dm_lock_turn *turn);
/* What this process has done with words of locks. */
uint64_t dm_file_lock_operations(void);

#endif
