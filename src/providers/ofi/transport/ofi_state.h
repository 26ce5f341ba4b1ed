/*
 * The process-wide state of this provider: its open instances, for fork().
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_OFI_STATE_H
#define DM_PROVIDERS_OFI_TRANSPORT_OFI_STATE_H

#include "providers/ofi/ia.h"

struct dm_ofi_state {
    pthread_mutex_t lock; /* before those of the instances */
    struct dm_list ias;   /* struct dm_ofi_ia, link */
    bool is_ready;
};

extern struct dm_ofi_state dm_ofi_state;

#endif
