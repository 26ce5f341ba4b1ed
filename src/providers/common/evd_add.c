/*
 * Events of this process: building them and adding them to a ring.
 */
#include "providers/common/provider.h"

#include <string.h>

_Static_assert(sizeof(DAT_EVENT_DATA) == sizeof(((struct dm_evd_item *)0)->data),
               "an item holds the data of any event");
_Static_assert(sizeof(struct dm_evd_slot) == DM_CACHE_LINE, "one event, one cache line");

void dm_evd_overflow(struct dm_evd *evd)
{
    struct dm_pia *ia = evd->obj.ia;

    if (evd->is_overflowed)
        return;
    evd->is_overflowed = true;
    /* When the asynchronous EVD itself overflows, there is none to report it to. */
    if (evd != ia->async_evd)
        dm_evd_add_async(ia->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW, (DAT_HANDLE)evd,
                         DAT_EVD_OVERFLOW_ERROR);
}

typedef enum dm_evd_added ring_adder(struct dm_evd_ring *ring, uint32_t owner,
                                     const struct dm_evd_item *item);

static inline bool evd_add(struct dm_evd *evd, const struct dm_evd_item *item, ring_adder *ring_add)
{
    enum dm_evd_added added;

    if (evd == NULL)
        return true;
    if (evd->obj.ia->is_threadsafe) {
        pthread_mutex_lock(&evd->lock);
        added = ring_add(evd->ring, DM_EVD_OWNER_LOCAL, item);
        pthread_mutex_unlock(&evd->lock);
    } else {
        added = ring_add(evd->ring, DM_EVD_OWNER_LOCAL, item);
    }
    if (dm_unlikely(added == DM_EVD_FULL))
        dm_evd_overflow(evd);
    else if (dm_unlikely(added == DM_EVD_ADDED_AGENT ||
                         atomic_load(&evd->obj.ia->led) == evd->ring)) /* asleep in the provider */
        evd->obj.ia->ops->ia.kick(evd->obj.ia);
    return added != DM_EVD_FULL;
}

bool dm_evd_add(struct dm_evd *evd, const struct dm_evd_item *item)
{
    return evd_add(evd, item, dm_evd_ring_add);
}

bool dm_evd_add_quiet(struct dm_evd *evd, const struct dm_evd_item *item)
{
    return evd_add(evd, item, dm_evd_ring_add_quiet);
}

struct dm_evd_item dm_evd_item_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t tag)
{
    struct dm_evd_item item = {.number = DAT_DTO_COMPLETION_EVENT, .tag = tag};

    memcpy(item.data, dto, sizeof(*dto));
    return item;
}

struct dm_evd_item dm_evd_item_conn(DAT_EVENT_NUMBER number, uint64_t ep, uint64_t data,
                                    DAT_COUNT len)
{
    struct dm_evd_item item = {.number = number};
    DAT_CONNECTION_EVENT_DATA conn = {.private_data_size = len};

    memcpy(&conn.ep_handle, &ep, sizeof(ep));
    memcpy(&conn.private_data, &data, sizeof(data));
    memcpy(item.data, &conn, sizeof(conn));
    return item;
}

void dm_evd_add_dto(struct dm_evd *evd, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t tag)
{
    struct dm_evd_item item = dm_evd_item_dto(dto, tag);

    dm_evd_add(evd, &item);
}

void dm_evd_add_conn(struct dm_evd *evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep, void *data,
                     DAT_COUNT len)
{
    struct dm_evd_item item = dm_evd_item_conn(number, (uint64_t)(uintptr_t)ep,
                                               (uint64_t)(uintptr_t)(len > 0 ? data : NULL), len);

    dm_evd_add(evd, &item);
}

bool dm_evd_add_cr(struct dm_evd *evd, const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
    struct dm_evd_item item = {.number = DAT_CONNECTION_REQUEST_EVENT};

    memcpy(item.data, cr, sizeof(*cr));
    return dm_evd_add(evd, &item);
}

void dm_evd_add_async(struct dm_evd *evd, DAT_EVENT_NUMBER number, DAT_HANDLE handle,
                      DAT_COUNT reason)
{
    struct dm_evd_item item = {.number = number};
    DAT_ASYNCH_ERROR_EVENT_DATA data = {.dat_handle = handle, .reason = reason};

    memcpy(item.data, &data, sizeof(data));
    dm_evd_add(evd, &item);
}
