/*
 * The adaptation layer: the only code of the MPI that calls DAT.
 *
 * It gives every process of the job a connection (struct dm_conn) that carries
 * an ordered byte pipe in both directions (the eager path, with credits) and
 * RDMA to registered memory, over whichever DAT provider reaches it. It knows
 * processes by their number in the job ("proc"), not by rank in a communicator,
 * and nothing of MPI. Nothing above this header knows a provider's name or
 * includes a DAT header.
 *
 * Threads: every function is called under the global lock (util/glock.h), one
 * thread at a time. The connection server is the layer's own thread.
 *
 * Inside it is made of rooms, each of which calls and includes those before it only; what goes the
 * other way goes through the operations that are handed to connections at start (core/ops.h):
 *
 * public    what other layers see, by theme; this header includes all of it
 * provider  dat.conf, interface adapters (rails) and their choice, registration and its cache, the
 *           lock around providers, a connection to oneself, probes
 * core      the objects: dm_adapt, dm_conn, links, rings, RDMA queues; registration on all rails
 * conn      endpoint addresses, connecting (active, passive), pending events, failover, the end
 * eager     the ordered byte pipe: sending, receiving, credits, send/receive, replay, notifications
 * rma       RDMA queues, striping, immediate values, atomic operations, rendezvous selection
 * progress  completions, polling, waiting
 * (top)     adapt.c: start and stop; explain.c; stats.c
 */
#ifndef DM_DAPL_ADAPT_DAPL_ADAPT_H
#define DM_DAPL_ADAPT_DAPL_ADAPT_H

#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/peer.h"
#include "dapl_adapt/public/pipe.h"
#include "dapl_adapt/public/proc.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/public/start.h"
#include "dapl_adapt/public/stats.h"
#include "dapl_adapt/public/types.h"
#include "dapl_adapt/public/words.h"

#endif
