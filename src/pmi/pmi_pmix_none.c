/*
 * In place of the PMIx client, where configure found no pmix.h.
 */
#include <stdio.h>

#include "pmi/pmi_impl.h"

const struct dm_pmi_proto *dm_pmi_pmix(void)
{
    return NULL;
}

bool dm_pmi_pmix_probe(char *why, size_t len)
{
    snprintf(why, len, "%s", "Datum was built without PMIx: configure found no pmix.h");
    return false;
}

const char *dm_pmi_pmix_built(void)
{
    return "PMI-1, PMI-2; no PMIx: configure found no pmix.h (Debian: libpmix-dev)";
}

void dm_pmi_pmix_fini(struct dm_pmi *pmi)
{
    (void)pmi;
}
