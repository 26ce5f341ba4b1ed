/*
 * A modelled network: requests take the time that a stated latency, bandwidth and cost of
 * registration ask for, in the place of none. For experiments on one host; off unless
 * ia_params name one of its keys.
 *
 * Every request is queued with the time when it is due. Whoever polls or waits for events of this
 * instance carries out what is due; when nobody does, the progress thread, up to some milliseconds late.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_MODEL_H
#define DM_PROVIDERS_SHM_TRANSPORT_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dm_shm_ia;
struct dm_shm_op;

/* Of one adapter instance; times are ns, of CLOCK_MONOTONIC where they are points. */
struct dm_shm_model {
    bool is_on;
    uint64_t latency;       /* one way */
    uint64_t request;       /* the adapter's time for a request, besides its bytes */
    uint64_t register_once; /* a registration, */
    uint64_t register_page; /* and each page of it */
    double byte;            /* 1 / bandwidth */
    uint64_t out_free;      /* when the link out is free again */
    uint64_t in_free;       /* and the link in */
    _Atomic uint64_t next;  /* when the next request is due; DM_FUTEX_FOREVER: none is queued */
    uint64_t last;          /* when the last one was queued */
    bool is_ticking;        /* the progress thread looks every now and then */
};

/* Read the keys of ia_params. False: one has no value that makes sense. */
bool dm_shm_model_read(struct dm_shm_model *model, const char *params);
/* When a request that is posted now is over. ia->lock is held. */
uint64_t dm_shm_model_due(struct dm_shm_ia *ia, const struct dm_shm_op *op);
/* The endpoint's queue has a request that is due then: let somebody look at that time. ia->lock is held. */
void dm_shm_model_expect(struct dm_shm_ia *ia, uint64_t due);
/* The progress thread's look: carry out what is due; when it has to look again. ia->lock is held. */
uint64_t dm_shm_model_tick(struct dm_shm_ia *ia);
/* Let the time pass that registering len bytes takes. */
void dm_shm_model_register(const struct dm_shm_model *model, uint64_t len);

#endif
