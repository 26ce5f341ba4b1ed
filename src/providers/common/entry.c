/*
 * The two functions that libdat2 looks for.
 */
#include "providers/common/provider.h"

#include "providers/common/init.h"

extern void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
extern void dat_provider_fini(const DAT_PROVIDER_INFO *info);

DM_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
    dm_prov_init(info, params, dm_prov_ops_get());
}

DM_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
    dm_prov_fini(info);
}
