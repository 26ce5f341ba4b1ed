/*
 * A modelled network in virtual time: requests take the time that its figures ask for (preset.h), and so
 * do registrations, and copies that the consumer tells of. Off unless ia_params have one of its keys.
 *
 * Before a consumer has begun virtual time (util/clock.h), and after it has ended it, nothing takes time. In
 * between a request is queued with the time when it is due. Its poster carries it out when all processes
 * have come to that time (world.h). The adapter, its links, the bus between adapter and memory, and the memory's
 * own are resources, which are booked when a request is posted.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_MODEL_H
#define DM_PROVIDERS_SHM_TRANSPORT_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "providers/shm/transport/preset.h"
#include "providers/shm/transport/world.h"

struct dm_shm_ia;
struct dm_shm_ep;
struct dm_shm_op;

struct dm_shm_model {
    bool is_on;
    struct dm_shm_figures figures;
    /* Between begin and end. */
    struct dm_world *world;
    uint32_t me;
    pthread_t owner;          /* the thread that has begun it */
    pthread_mutex_t turn;     /* one thread at a time lets time pass; before ia->lock */
    uint64_t now;             /* what is due until then is being carried out */
    uint32_t n_polls;         /* in a row that found nothing */
    uint64_t pause;           /* how far the next wait looks ahead */
    _Atomic uint32_t n_looks; /* at the clock, in a row */
};

static inline struct dm_world_host *dm_shm_model_host(struct dm_shm_model *model)
{
    return &model->world->host[model->me];
}

/* Is virtual time passing? */
static inline bool dm_shm_model_runs(const struct dm_shm_model *model)
{
    return model->world != NULL;
}

/* Read ia_params. False: a value makes no sense, which has been reported. */
bool dm_shm_model_open(struct dm_shm_ia *ia, const char *params);
/* Leave virtual time, if that was not done. Without ia->lock. */
void dm_shm_model_close(struct dm_shm_ia *ia);
/* Before a request is posted: wait until it is this process's turn. Without ia->lock. */
void dm_shm_model_enter(struct dm_shm_ia *ia);
/* Book what a request needs that is posted now; when it is over. ia->lock is held. */
uint64_t dm_shm_model_due(struct dm_shm_ep *ep, const struct dm_shm_op *op);
/* The endpoint's queue has a request that is due then. ia->lock is held. */
void dm_shm_model_expect(struct dm_shm_ia *ia, uint64_t due);
/* The peer has no receive for the message in front: when to try again. ia->lock is held. */
uint64_t dm_shm_model_retry(struct dm_shm_ia *ia);
/* A request has been carried out: both sides have something to look at. ia->lock is held. */
void dm_shm_model_arrived(struct dm_shm_ep *ep);
/* Let the time pass that registering len bytes takes. Without ia->lock. */
void dm_shm_model_lock(struct dm_shm_ia *ia, uint64_t len);
/* The same of the end of a registration. ia->lock is held. */
void dm_shm_model_unlock(struct dm_shm_ia *ia, uint64_t len);

#endif
