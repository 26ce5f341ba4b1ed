/*
 * RDMA writes that end with a value, which the receiver has made up. It tells the receiver that the
 * data are there, so that no packet has to. DATUM_RNDV=imm: it is the write's immediate value.
 * DATUM_FIN=chained: a message behind the write stands for it, since messages and receives of an
 * endpoint are in order.
 *
 * The receiver posts one receive on the RDMA endpoint for each value that it gives out, so that a
 * write or message finds one. A connection that uses them does not move to another rail: a write
 * that is repeated could come after the receiver has given its buffer back.
 */
#include "dapl_adapt/rma/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dat2/dat_ib_extensions.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "util/err.h"
#include "util/log.h"

#define PLACE_BITS 8

_Static_assert(DM_VALUES <= 1 << PLACE_BITS, "a place fits into a value");

static uint32_t value_make(const struct dm_values *values, int place)
{
    return (uint32_t)values->turn[place] << PLACE_BITS | (uint32_t)place;
}

/* It has come, or will not. */
static void value_end(struct dm_adapt *adapt, int place, int err)
{
    struct dm_rdma *rdma = adapt->values.rdma[place];

    adapt->values.rdma[place] = NULL;
    rdma->conn->links->rdmaq[0].ia->n_signalled--;
    rdma->err = err;
    dm_rdma_finish(adapt, rdma);
}

int dm_adapt_expect_value(struct dm_conn *conn, struct dm_rdma *rdma, uint32_t *value_p)
{
    struct dm_link *link = &conn->links->at[DM_LINK_RDMA];
    struct dm_values *values = &conn->adapt->values;
    struct dm_rdmaq_posted *posted;
    DAT_RETURN rc;
    uint32_t at;
    int place = 0;

    if (!conn->was_up || dm_conn_is_lost(conn))
        return DM_EAGAIN;
    if (!link->may_post) { /* on demand: there by the next one */
        dm_conn_start(conn, DM_LINK_RDMA);
        return DM_EAGAIN;
    }
    while (place < DM_VALUES && values->rdma[place] != NULL)
        place++;
    if (place == DM_VALUES)
        return DM_EAGAIN;
    posted = conn->links->rdmaq[0].posted;
    at =
        posted->n_values % DM_VALUES; /* receives complete in turn, no more than there are values */
    dm_link_first(link, &posted->values[at]); /* nothing is written there */
    dm_serial_enter(conn->ia->is_serial);
    rc = DAT_EP_POST_RECV(link->ep, 1, &posted->values[at],
                          dm_cookie(DM_COOKIE_FIRST, link,
                                    (uint32_t)link->kind << 16 | DM_COOKIE_VALUE | (uint32_t)place),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(conn->ia->is_serial);
    if (rc != DAT_SUCCESS) {
        DM_TRACE(DAT, "%s: receive for a value: %s", conn->ia->name, dm_dat_text(rc));
        return DM_EAGAIN;
    }
    *rdma = (struct dm_rdma){.done = rdma->done, .conn = conn};
    values->rdma[place] = rdma;
    values->turn[place]++;
    posted->n_values++;
    conn->links->rdmaq[0].ia->n_signalled++;
    *value_p = value_make(values, place);
    return DM_OK;
}

bool dm_value_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    struct dm_values *values = &ia->adapt->values;
    DAT_IB_EXTENSION_EVENT_DATA ext;
    uint32_t place;

    if (event->event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
        return true; /* nothing that anybody asked for */
    memcpy(&ext, event->event_extension_data, sizeof(ext));
    if (ext.type != DAT_IB_RDMA_WRITE_IMMED_DATA || dto->status != DAT_DTO_SUCCESS)
        return false;
    place = ext.val.immed.data & ((1 << PLACE_BITS) - 1);
    if (place < DM_VALUES && values->rdma[place] != NULL &&
        value_make(values, (int)place) == ext.val.immed.data)
        value_end(ia->adapt, (int)place, DM_OK);
    else
        DM_TRACE(RNDV, "value 0x%x that nobody expects", ext.val.immed.data);
    return true;
}

void dm_value_message(struct dm_adapt *adapt, uint32_t place, bool is_ok)
{
    if (is_ok && place < DM_VALUES && adapt->values.rdma[place] != NULL)
        value_end(adapt, (int)place, DM_OK);
}

bool dm_value_is_expected(const struct dm_conn *conn)
{
    for (int i = 0; i < DM_VALUES; i++) {
        if (conn->adapt->values.rdma[i] != NULL && conn->adapt->values.rdma[i]->conn == conn)
            return true;
    }
    return false;
}

void dm_value_fail(struct dm_conn *conn)
{
    for (int i = 0; i < DM_VALUES; i++) {
        if (conn->adapt->values.rdma[i] != NULL && conn->adapt->values.rdma[i]->conn == conn)
            value_end(conn->adapt, i, conn->loss.err);
    }
}

bool dm_rdma_is_idle(const struct dm_conn *conn)
{
    bool is_so = !dm_value_is_expected(conn);

    for (int k = 0; k < DM_RDMAQS; k++)
        is_so = is_so && conn->links->rdmaq[k].queue_head == NULL &&
                conn->links->rdmaq[k].head == conn->links->rdmaq[k].tail;
    return is_so;
}
