/*
 * Helpers for tests of extended operations and of the calls that libdat2 does
 * not export.
 */
#ifndef DM_TESTS_DAT_DAT_EXT_H
#define DM_TESTS_DAT_DAT_EXT_H

#include "dat_pair.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>

/* Straight through the provider's table. */
#define dt_provider(handle) (*(DAT_PROVIDER **)(handle))

static inline DAT_RETURN dt_fetch_add(DAT_EP_HANDLE ep, uint64_t add, DAT_LMR_TRIPLET *seg,
                                      uint64_t cookie, DAT_RMR_TRIPLET *to, int flags)
{
    return dat_ib_post_fetch_and_add(ep, add, seg, dt_cookie(cookie), to, flags);
}

static inline DAT_RETURN dt_cmp_swap(DAT_EP_HANDLE ep, uint64_t cmp, uint64_t swap,
                                     DAT_LMR_TRIPLET *seg, uint64_t cookie, DAT_RMR_TRIPLET *to,
                                     int flags)
{
    return dat_ib_post_cmp_and_swap(ep, cmp, swap, seg, dt_cookie(cookie), to, flags);
}

static inline DAT_RETURN dt_write_immed(DAT_EP_HANDLE ep, int n, DAT_LMR_TRIPLET *seg,
                                        uint64_t cookie, DAT_RMR_TRIPLET *to, uint32_t immed,
                                        int flags)
{
    return dat_ib_post_rdma_write_immed(ep, n, seg, dt_cookie(cookie), to, immed, flags);
}

static inline int dt_dto_of(DAT_IB_EXT_TYPE type)
{
    switch (type) {
    case DAT_IB_FETCH_AND_ADD:
        return DAT_IB_DTO_FETCH_ADD;
    case DAT_IB_CMP_AND_SWAP:
        return DAT_IB_DTO_CMP_SWAP;
    case DAT_IB_RDMA_WRITE_IMMED:
        return DAT_IB_DTO_RDMA_WRITE_IMMED;
    default:
        return DAT_IB_DTO_RECV_IMMED;
    }
}

/* An extended completion with everything that belongs to it; its immediate
 * data. */
#define dt_want_ext(event, ep, type, cookie, status, len)                                          \
    dt_want_ext_at(event, ep, type, cookie, status, len, __LINE__)

static inline uint32_t dt_want_ext_at(DAT_EVENT event, DAT_EP_HANDLE ep, DAT_IB_EXT_TYPE type,
                                      uint64_t cookie, DAT_DTO_COMPLETION_STATUS status, size_t len,
                                      int line)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    DAT_IB_EXTENSION_EVENT_DATA ext;

    memcpy(&ext, event.event_extension_data, sizeof(event.event_extension_data));
    if ((int)event.event_number != (int)DAT_IB_DTO_EVENT || ext.type != type ||
        dto->user_cookie.as_64 != cookie || dto->status != status)
        DT_FAIL("line %d: event 0x%x type %d cookie %llu status %d, not type %d, %llu, %d", line,
                (unsigned)event.event_number, (int)ext.type,
                (unsigned long long)dto->user_cookie.as_64, (int)dto->status, (int)type,
                (unsigned long long)cookie, (int)status);
    CHECK(dto->ep_handle == ep);
    CHECK_EQ(ext.status, status == DAT_DTO_SUCCESS ? DAT_OP_SUCCESS : DAT_IB_OP_ERR);
    CHECK_EQ(dto->operation, dt_dto_of(type));
    if (status == DAT_DTO_SUCCESS)
        CHECK_EQ(dto->transfered_length, len);
    return ext.val.immed.data;
}

#endif
