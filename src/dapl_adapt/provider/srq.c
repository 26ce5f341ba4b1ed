/*
 * Shared receive queues. No attribute tells whether a provider has them, or how long: they are tried.
 */
#include "dapl_adapt/provider/srq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"
#include "util/log.h"

static void srq_free(struct dm_rail_srq *srq)
{
    DAT_RETURN rc = DAT_SUCCESS;

    dm_serial_lock();
    if (srq->handle != DAT_HANDLE_NULL)
        rc = dat_srq_free(srq->handle);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS)
        DM_TRACE(DAT, "dat_srq_free: %s", dm_dat_text(rc));
    dm_region_free(&srq->region, true);
    free(srq->free);
    free(srq->iov);
    free(srq);
}

static DAT_RETURN srq_create(struct dm_ia *ia, struct dm_rail_srq *srq)
{
    DAT_SRQ_ATTR attr;
    DAT_RETURN rc;

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = (DAT_COUNT)srq->n;
    attr.max_recv_iov = 1;
    attr.low_watermark = DAT_SRQ_LW_DEFAULT;
    dm_serial_lock();
    rc = dat_srq_create(ia->ia, ia->pz, &attr, &srq->handle);
    dm_serial_unlock();
    return rc;
}

static DAT_RETURN srq_post_place(struct dm_ia *ia, struct dm_rail_srq *srq, uint32_t place)
{
    DAT_LMR_TRIPLET *lmr = &srq->iov[place];
    DAT_DTO_COOKIE cookie;
    DAT_RETURN rc;

    lmr->virtual_address = (DAT_VADDR)(uintptr_t)dm_rail_srq_buffer(srq, place);
    lmr->segment_length = srq->stride;
    lmr->lmr_context = srq->region.lmr.lctx;
    cookie.as_64 = (uint64_t)place << 32 | srq->cookie;
    dm_serial_enter(ia->is_serial);
    rc = DAT_SRQ_POST_RECV(srq->handle, 1, lmr, cookie);
    dm_serial_leave(ia->is_serial);
    return rc;
}

/* With n receives; the provider's answer, or that of registering. */
static DAT_RETURN srq_try(struct dm_ia *ia, const struct dm_srq_want *want, uint32_t n)
{
    struct dm_rail_srq *srq = calloc(1, sizeof(*srq));
    DAT_RETURN rc = (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES);

    if (srq == NULL)
        return rc;
    *srq = (struct dm_rail_srq){.n = n, .stride = want->stride, .cookie = want->cookie};
    srq->iov = calloc(n, sizeof(*srq->iov));
    srq->free = calloc(n, sizeof(*srq->free));
    if (srq->iov != NULL && srq->free != NULL && n <= (uint32_t)ia->depth.space &&
        dm_region_alloc(ia, NULL, (size_t)2 * n * want->stride, 0, &srq->region) == DM_OK)
        rc = srq_create(ia, srq);
    for (uint32_t i = 0; i < n && rc == DAT_SUCCESS; i++)
        rc = srq_post_place(ia, srq, i);
    if (rc != DAT_SUCCESS) {
        srq_free(srq);
        return rc;
    }
    srq->n_spare = srq->least_spare = srq->n_common = n - want->least;
    while (srq->n_free < n) {
        srq->free[srq->n_free] = 2 * n - 1 - srq->n_free;
        srq->n_free++;
    }
    ia->depth.space -= (int)n;
    ia->memory.srq = srq;
    return rc;
}

int dm_rail_srq_make(struct dm_ia *ia, const struct dm_srq_want *want)
{
    DAT_RETURN rc;
    uint32_t n = want->n;

    for (;;) {
        rc = srq_try(ia, want, n);
        if (rc == DAT_SUCCESS)
            break;
        if (DAT_GET_TYPE(rc) != DAT_INSUFFICIENT_RESOURCES || n == want->least)
            break;
        n = n / 2 > want->least ? n / 2 : want->least;
    }
    DM_TRACE(DAT, "%s: shared receive queue of %u: %s", ia->name, n, dm_dat_text(rc));
    if (rc == DAT_SUCCESS)
        return DM_OK;
    snprintf(ia->memory.no_srq, sizeof(ia->memory.no_srq),
             "dat_srq_create for %u receives of %u bytes: %s", n, want->stride, dm_dat_text(rc));
    return DM_FAIL(DM_EPROVIDER, "%s: %s", ia->name, ia->memory.no_srq);
}

DAT_RETURN dm_rail_srq_post(struct dm_ia *ia, uint32_t place)
{
    return srq_post_place(ia, ia->memory.srq, place);
}

void dm_rail_srq_free(struct dm_ia *ia)
{
    if (ia->memory.srq != NULL)
        srq_free(ia->memory.srq);
    ia->memory.srq = NULL;
}
