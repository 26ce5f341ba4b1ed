/*
 * RDMA writes with an immediate value (DATUM_RNDV=imm): the value, which the receiver has made up,
 * tells it that the data are there, so that no packet has to.
 *
 * The receiver posts one receive on the RDMA endpoint for each value that it gives out, so that a
 * write finds one. A connection that uses them does not move to another rail: a write that is
 * repeated could come after the receiver has given its buffer back.
 */
#include "dapl_adapt/rma/imm.h"

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

_Static_assert(DM_IMMS <= 1 << PLACE_BITS, "a place fits into a value");

static uint32_t imm_value(const struct dm_imms *imms, int place)
{
    return (uint32_t)imms->turn[place] << PLACE_BITS | (uint32_t)place;
}

/* It has come, or will not. */
static void imm_end(struct dm_adapt *adapt, int place, int err)
{
    struct dm_rdma *rdma = adapt->imms.rdma[place];

    adapt->imms.rdma[place] = NULL;
    rdma->conn->rdmaq[0].ia->n_signalled--;
    rdma->err = err;
    dm_rdma_finish(adapt, rdma);
}

int dm_adapt_expect_imm(struct dm_conn *conn, struct dm_rdma *rdma, uint32_t *value_p)
{
    struct dm_link *link = &conn->link[DM_LINK_RDMA];
    struct dm_imms *imms = &conn->adapt->imms;
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
    while (place < DM_IMMS && imms->rdma[place] != NULL)
        place++;
    if (place == DM_IMMS)
        return DM_EAGAIN;
    posted = conn->rdmaq[0].posted;
    at = posted->n_imms % DM_IMMS; /* receives complete in turn, no more than there are values */
    dm_link_first(link, &posted->imms[at]); /* nothing is written there */
    dm_serial_enter(conn->ia->is_serial);
    rc = DAT_EP_POST_RECV(link->ep, 1, &posted->imms[at],
                          dm_cookie(DM_COOKIE_FIRST, link, (uint32_t)link->kind << 16 | at),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(conn->ia->is_serial);
    if (rc != DAT_SUCCESS) {
        DM_TRACE(DAT, "%s: receive for a value: %s", conn->ia->name, dm_dat_text(rc));
        return DM_EAGAIN;
    }
    *rdma = (struct dm_rdma){.done = rdma->done, .conn = conn};
    imms->rdma[place] = rdma;
    imms->turn[place]++;
    posted->n_imms++;
    conn->rdmaq[0].ia->n_signalled++;
    *value_p = imm_value(imms, place);
    return DM_OK;
}

bool dm_imm_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    struct dm_imms *imms = &ia->adapt->imms;
    DAT_IB_EXTENSION_EVENT_DATA ext;
    uint32_t place;

    if (event->event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
        return true; /* nothing that anybody asked for */
    memcpy(&ext, event->event_extension_data, sizeof(ext));
    if (ext.type != DAT_IB_RDMA_WRITE_IMMED_DATA || dto->status != DAT_DTO_SUCCESS)
        return false;
    place = ext.val.immed.data & ((1 << PLACE_BITS) - 1);
    if (place < DM_IMMS && imms->rdma[place] != NULL &&
        imm_value(imms, (int)place) == ext.val.immed.data)
        imm_end(ia->adapt, (int)place, DM_OK);
    else
        DM_TRACE(RNDV, "value 0x%x that nobody expects", ext.val.immed.data);
    return true;
}

bool dm_imm_is_expected(const struct dm_conn *conn)
{
    for (int i = 0; i < DM_IMMS; i++) {
        if (conn->adapt->imms.rdma[i] != NULL && conn->adapt->imms.rdma[i]->conn == conn)
            return true;
    }
    return false;
}

void dm_imm_fail(struct dm_conn *conn)
{
    for (int i = 0; i < DM_IMMS; i++) {
        if (conn->adapt->imms.rdma[i] != NULL && conn->adapt->imms.rdma[i]->conn == conn)
            imm_end(conn->adapt, i, conn->loss.err);
    }
}

bool dm_rdma_is_idle(const struct dm_conn *conn)
{
    bool is_so = !dm_imm_is_expected(conn);

    for (int k = 0; k < DM_RDMAQS; k++)
        is_so = is_so && conn->rdmaq[k].queue_head == NULL &&
                conn->rdmaq[k].head == conn->rdmaq[k].tail;
    return is_so;
}
