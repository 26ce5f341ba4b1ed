/*
 * The DAT headers in the order they need, and small helpers on return codes.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_DAT_H
#define DM_DAPL_ADAPT_PROVIDER_DAT_H

#include <netinet/in.h> /* before the DAT headers, which use sockaddr_in6 */

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#include "dapl_adapt/provider/dat_calls.h"

/*
 * A descriptor: the triplets of a request. Until the request has completed a provider may read and
 * change them (DAT_IOV_OWNERSHIP): they lie in the object that its cookie names.
 */
struct dm_desc {
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;
};

/* "DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY (0x80030001)"; static per thread. */
const char *dm_dat_text(DAT_RETURN rc);

#endif
