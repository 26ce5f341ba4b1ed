/*
 * What a provider does that it says nothing about, found by writes of a process to itself.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_PROBE_LOOP_H
#define DM_DAPL_ADAPT_PROVIDER_PROBE_LOOP_H

#include "dapl_adapt/provider/ia.h"

/*
 * Does the last byte of a write appear last? A few milliseconds once a connection to oneself is
 * made, which may take up to 0.3 s; on a machine that is busy with other things limit_ns.
 * DM_LAST_UNKNOWN when no connection comes about or too little was seen in that time.
 */
enum dm_last_byte dm_probe_last_byte(struct dm_ia *ia, uint64_t limit_ns);
/*
 * Do the data and the value of an RDMA write with immediate value arrive? Up to a second; false
 * also when no connection comes about, or writes are done before they are placed.
 */
bool dm_probe_immediate(struct dm_ia *ia);

#endif
