/*
 * The inbox of an instance: handshakes between instances that can open each other's segments, without
 * a socket or a descriptor for each connection.
 *
 * Whoever has mapped the segment claims a slot, by a bit, fills it in and marks it full. The owner takes
 * all that are full at once, in any order: a handshake has one message under way at a time. Who
 * asks for a connection claims the slot for the answer in its own inbox before, so that the answer finds
 * space whatever else comes. The owner's doorbell is rung, unless its thread has been woken and has not
 * looked yet; again, where nobody looks for long. A consumer that polls reads the inbox meanwhile, so that
 * its thread has little to do.
 *
 * Invariant: a slot belongs to the instance in `from`, which marks it there before it writes. Until then the
 * owner may take it back: when that instance dies, or will not answer.
 *
 * ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_INBOX_H
#define DM_PROVIDERS_SHM_TRANSPORT_INBOX_H

#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

/* Is there space for the answer to one more request? Answers may not come for long, and half of the
 * slots are for others. */
bool dm_shm_inbox_has_space(const struct dm_shm_ia *ia);
/* Send a message of a handshake to the peer. 1: sent, or it cannot matter, 0: no space. */
int dm_shm_inbox_send(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);
/* We are connected: the peer's thread has to know. */
void dm_shm_inbox_confirm(struct dm_shm_conn *conn);
/* Ring the doorbells for which there was no space before, where nobody has looked. When again, as below. */
uint64_t dm_shm_inbox_ring_late(struct dm_shm_ia *ia);
/* Who was to ring may have died: those from whom an answer is to come are among them the next time. */
void dm_shm_inbox_doubt(struct dm_shm_ia *ia);
/* Read what has come. When to look again in any case, ns of CLOCK_MONOTONIC. */
uint64_t dm_shm_inbox_look(struct dm_shm_ia *ia);
/* The same by a consumer that has found a queue empty. Without the lock. */
void dm_shm_inbox_poll(struct dm_pia *pia);
/* The instance ends, and its doorbell has gone: answer what came before. */
void dm_shm_inbox_end(struct dm_shm_ia *ia);
/* That instance is gone: its slots are free. has_ended: and it is in the middle of none, its process has ended. */
void dm_shm_inbox_forget(struct dm_shm_ia *ia, uint64_t id, bool has_ended);
/* The same of the next few slots, if nobody guards their instances. */
void dm_shm_inbox_sweep(struct dm_shm_ia *ia);
/* Our request gets no answer by that way. */
void dm_shm_inbox_take_back(struct dm_shm_conn *conn);

#endif
