/*
 * Regions of peers that are mapped here. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_MAP_H
#define DM_PROVIDERS_SHM_TRANSPORT_MAP_H

#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

struct dm_shm_map {
    struct dm_shm_map *next;
    uint64_t serial;
    char *base;  /* NULL: cannot be mapped, use another way */
    size_t len;  /* of the mapping */
    char *data;  /* where the region begins */
    uint64_t va; /* and where in its owner */
    uint64_t region_len;
};

/* What is known of the region with this serial; NULL: it has not been asked for. */
struct dm_shm_map *dm_shm_map_find(struct dm_shm_peer *peer, uint64_t serial);
void dm_shm_map_del(struct dm_shm_peer *peer, uint64_t serial);
void dm_shm_maps_free(struct dm_shm_peer *peer);
/* Map a region by the descriptor that its owner shows; NULL: it shows none, or it is not to be had
 * so, and the peer has to be asked. Not with the endpoint's busy word odd. */
struct dm_shm_map *dm_shm_map_open(struct dm_shm_ep *ep, uint32_t key, uint64_t serial);
/* Ask the peer for the descriptor of a region: DM_CTRL_MAP. */
void dm_shm_map_request(struct dm_shm_ep *ep, uint32_t key, uint64_t serial);
/* The peer asks for one of ours: DM_CTRL_MAP. */
void dm_shm_map_execute(struct dm_shm_conn *conn, const struct dm_shm_ctrl *request);
/* The answer to our request: DM_CTRL_MAP_FD. */
void dm_shm_map_response(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);

#endif
