/*
 * Adapter instances: open, query, close.
 */
#include "providers/ofi/ia.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "providers/ofi/conn.h"
#include "providers/ofi/dto.h"

/* The interface and the fabric on it. */
static DAT_RETURN ia_open_network(struct dm_ofi_ia *ia, const char *params)
{
    static const char *const keys[] = {"if",   "family", "progress", "timeout",
                                       "prov", "strict", NULL};
    DAT_RETURN ret = dm_net_open(&ia->net, dm_net_ops_get(), params, keys);

    if (ret != DAT_SUCCESS)
        return ret;
    strcpy(ia->fabric.prov, "tcp");
    (void)dm_prov_param(params, "prov", ia->fabric.prov, sizeof(ia->fabric.prov));
    /* Without this address space no receive can be posted: fail now. */
    if (!dm_ofi_excess_map(ia))
        return DM_DAT_NOMEM;
    return dm_ofi_fabric_open(ia);
}

DAT_RETURN dm_ofi_ia_open(struct dm_pia *pia, const char *params)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    char fabric[48];
    DAT_RETURN ret;

    if (getrandom(&ia->secret, sizeof(ia->secret), 0) != (ssize_t)sizeof(ia->secret))
        ia->secret = dm_futex_now() * 0x9e3779b97f4a7c15u;
    ret = ia_open_network(ia, params);
    if (ret != DAT_SUCCESS) {
        dm_ofi_excess_unmap(ia);
        dm_net_close(&ia->net);
        return ret;
    }
    ia->net.fds[0] = ia->fabric.cq_fd;
    ia->net.fds[1] = ia->fabric.eq_fd;
    snprintf(fabric, sizeof(fabric), "libfabric %s", ia->fabric.prov);
    dm_net_show_attrs(&ia->net, fabric, ia->fabric.is_split);
    return ret;
}

void dm_ofi_ia_close(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    dm_ofi_fabric_close(ia);
    dm_ofi_excess_unmap(ia);
    free(ia->numbers.conns);
    ia->numbers = (struct dm_ofi_conn_numbers){0};
    dm_net_close(&ia->net);
}

static uint32_t token_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b * 0x9e3779b97f4a7c15u);

    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}

uint32_t dm_ofi_pz_token(const struct dm_ofi_ia *ia, const struct dm_pz *pz)
{
    return pz != NULL ? token_mix(ia->secret, pz->id) : 0;
}

uint32_t dm_ofi_ctrl_token(const struct dm_ofi_ia *ia)
{
    return token_mix(ia->secret, UINT64_MAX);
}

uint32_t dm_ofi_ep_token(const struct dm_ofi_ia *ia, const struct dm_ep *ep)
{
    return token_mix(ia->secret ^ UINT64_MAX,
                     (uint64_t)(uintptr_t)ep ^ (uint64_t)ep->obj.gen << 48);
}
