/*
 * Ports: processes that are not known, but know a token, may connect.
 */
#ifndef DM_DAPL_ADAPT_CONN_PORT_H
#define DM_DAPL_ADAPT_CONN_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct dm_adapt;

/* Is there a port with that token? Lock held. */
bool dm_port_is_open(const struct dm_adapt *adapt, uint64_t token);

#endif
