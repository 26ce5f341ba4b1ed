/*
 * Ports that service points listen on. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_LISTENER_H
#define DM_PROVIDERS_OFI_TRANSPORT_LISTENER_H

#include "providers/net/listener.h"
#include "providers/ofi/ia.h"

struct dm_ofi_listener {
    struct dm_net_listener base;
    struct fid_pep *pep;
};

/* The one that an event is of, which may be late: NULL then. */
struct dm_ofi_listener *dm_ofi_listener_of(struct dm_ofi_ia *ia, const struct fid *fid);

#endif
