/*
 * Ports: strangers that know a token may come.
 */
#ifndef DM_DAPL_ADAPT_CONN_PORT_H
#define DM_DAPL_ADAPT_CONN_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct dm_adapt;

/* Is there a port with that token? Lock held. */
bool dm_port_is_open(const struct dm_adapt *adapt, uint64_t token);

#endif
