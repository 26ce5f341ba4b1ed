/*
 * What a modelled network is like: its figures, from ia_params. docs/PROVIDER.md explains the keys.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_PRESET_H
#define DM_PROVIDERS_SHM_TRANSPORT_PRESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times in ns, rates in bytes per ns; 0: it takes no time. */
struct dm_shm_figures {
    uint64_t latency;   /* of a write of no bytes: from posting it to its arrival */
    uint64_t request;   /* before the adapter begins the next request */
    double bandwidth;   /* of writes and sends, each way */
    double read;        /* of the answers to reads */
    double bus;         /* of the bus between adapter and memory, both ways together */
    double copy;        /* of the processor's copies, while the memory does nothing else */
    uint64_t lock;      /* a registration, */
    uint64_t lock_page; /* and each page of it */
    uint64_t unlock;    /* the end of a registration, */
    uint64_t unlock_page;
};

/* The keys of ia_params that are read here, the last one NULL. */
const char *const *dm_shm_preset_keys(void);

/*
 * Read them: a preset first, then what is said beside it. *is_on_p: there is any. False: a value
 * makes no sense, which has been reported for the provider of this name.
 */
bool dm_shm_preset_read(const char *name, const char *params, struct dm_shm_figures *figures,
                        bool *is_on_p);

#endif
