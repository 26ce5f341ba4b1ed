/*
 * Extensions of DAT: InfiniBand's posts, virtual time, datagrams.
 */
#include "dapl_adapt/provider/ext.h"

#include <stdint.h>

#include <dat2/dat_ib_extensions.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "util/clock.h"
#include "util/datagram.h"

DAT_RETURN dm_ext_write_imm(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint32_t value)
{
    DAT_RETURN rc =
        dat_ib_post_rdma_write_immed(ep, 1, lmr, cookie, rmr, value, DAT_COMPLETION_DEFAULT_FLAG);

    ia->counts.n_imms += rc == DAT_SUCCESS;
    return rc;
}

DAT_RETURN dm_ext_fetch_add(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t add)
{
    DAT_RETURN rc = dat_ib_post_fetch_and_add(ep, (DAT_UINT64)add, lmr, cookie, rmr,
                                              DAT_COMPLETION_DEFAULT_FLAG);

    ia->counts.n_atomics += rc == DAT_SUCCESS;
    return rc;
}

DAT_RETURN dm_ext_compare_swap(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                               DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t compare,
                               uint64_t value)
{
    DAT_RETURN rc = dat_ib_post_cmp_and_swap(ep, (DAT_UINT64)compare, (DAT_UINT64)value, lmr,
                                             cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG);

    ia->counts.n_swaps += rc == DAT_SUCCESS;
    return rc;
}

DAT_RETURN dm_ext_clock(struct dm_ia *ia, struct dm_clock_source *source)
{
    return dat_extension_op(ia->ia, (DAT_EXTENDED_OP)DM_CLOCK_OP, source);
}

DAT_RETURN dm_ext_datagrams(struct dm_ia *ia, struct dm_datagrams *datagrams)
{
    return dat_extension_op(ia->ia, (DAT_EXTENDED_OP)DM_DATAGRAM_OP, datagrams);
}
