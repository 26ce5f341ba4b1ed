/*
 * The ends of endpoints, which may not come.
 *
 * libdapl's dat_ep_disconnect and dat_ep_free wait until all receives of an endpoint have come out of their queue,
 * without limit. Soft-iWARP now and then keeps some, so that the call lasts for ever. Where a provider is called by one
 * thread at a time, as OFED's are, another thread makes these calls; it gets some seconds, then the endpoint, and that
 * thread, are left to the end of the process.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_EP_END_H
#define DM_DAPL_ADAPT_PROVIDER_EP_END_H

#include <stdbool.h>
#include <stdint.h>

#include <dat2/udat.h>

/* From now on these calls may last for ever. */
void dm_ep_end_guard(void);
/* dat_ep_disconnect, abruptly, and dat_ep_free. The serial lock is taken (provider/serial.h). */
void dm_ep_disconnect(DAT_EP_HANDLE ep);
void dm_ep_free(DAT_EP_HANDLE ep);
/*
 * Call end(ep) in another thread and wait for at most ns. False: it has not come back, and is left alone: of this
 * endpoint nothing more is to be called.
 */
bool dm_ep_end_call(DAT_RETURN (*end)(DAT_EP_HANDLE ep), DAT_EP_HANDLE ep, uint64_t ns);
/* Is this one of those? Are there any? Then their threads may read the queues of the adapter: none is to be freed. */
bool dm_ep_end_is_left(DAT_EP_HANDLE ep);
bool dm_ep_end_has_left(void);

#endif
