/*
 * The fabric's registrations of memory.
 */
#include "providers/ofi/key.h"

bool dm_ofi_region_open(struct dm_net *net, struct dm_net_region *region)
{
    const struct dm_ofi_ia *ia = (const struct dm_ofi_ia *)net;
    struct fid_mr *mr;
    uint64_t access = 0;
    uint64_t token;

    if ((region->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) != 0)
        access |= FI_REMOTE_READ;
    if ((region->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) != 0)
        access |= FI_REMOTE_WRITE;
    if (access == 0)
        return true;
    /* Only who is reported can know it. */
    token =
        region->only != NULL ? dm_ofi_ep_token(ia, region->only) : dm_ofi_pz_token(ia, region->pz);
    if (fi_mr_reg(ia->fabric.domain, dm_net_region_at(region, region->va), region->len, access, 0,
                  token << 32 | region->key, 0, &mr, NULL) != 0)
        return false;
    region->mr = mr;
    return true;
}

void dm_ofi_region_close(struct dm_net_region *region)
{
    fi_close(&((struct fid_mr *)region->mr)->fid);
}
