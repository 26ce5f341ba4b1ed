/*
 * How large a connection's rings are.
 */
#ifndef DM_DAPL_ADAPT_CONN_RING_H
#define DM_DAPL_ADAPT_CONN_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/ia.h"

struct dm_adapt;
struct dm_conn;

#define DM_RING_SLOTS_MIN 4 /* with fewer, messages about credits would ask for such messages */
#define DM_RING_SIZE_MIN  64

/* What "auto" means, and what it means where large slots pay. */
#define DM_RING_SIZE_AUTO 16384

#define DM_RING_SIZE_LARGE 65536
#define DM_RING_EVENTS     3  /* events in the queue that a slot may cause at once */
#define DM_RING_SHARES     16 /* connections on demand that the lockable memory is shared out to */

/* Find out how much memory may be locked for rings. Before the first connection. */
void dm_ring_plan(struct dm_adapt *adapt);
/*
 * Make conn->region with rings that fit, at most of the given size (0: the settings'); sets the
 * connection's n_slots, slot_size, stride and rq_size. DM_EPROVIDER, with the limits, when not even
 * the smallest can be registered. Lock held.
 */
int dm_ring_make(struct dm_conn *conn, struct dm_ia *ia, uint32_t most_slots, uint32_t most_size);
/* Make the event queue larger when it has no space for some more connections. Lock held. */
void dm_ring_grow(struct dm_ia *ia);
/* The calling thread is the connection server's: dm_ring_grow does nothing in it. */
void dm_ring_forbid_growth(void);
/* Would rings made by this thread be small, and those that the main thread makes not? Lock held. */
bool dm_ring_has_to_wait(const struct dm_ia *ia);
/* The peer has rings of this size: use the smaller ones. Before the pipe is set up. */
void dm_ring_agree(struct dm_conn *conn, uint32_t n_slots, uint32_t slot_size);
/* Can a peer with the same settings have rings of this size? */
bool dm_ring_is_sane(const struct dm_adapt *adapt, uint32_t n_slots, uint32_t slot_size);
/* The limit of locked memory in words. */
void dm_ring_lock_text(char *text, size_t len);
/* Bytes that should be lockable for this job's rings. */
size_t dm_ring_wanted(const struct dm_adapt *adapt);

#endif
