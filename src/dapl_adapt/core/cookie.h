/*
 * Cookies of requests: what completed, and whose it is.
 */
#ifndef DM_DAPL_ADAPT_CORE_COOKIE_H
#define DM_DAPL_ADAPT_CORE_COOKIE_H

#include <stdatomic.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/provider/dat.h"

/*
 * Cookies: the low three bits say what completed, then 21 bits of whom, 8 of the endpoint's gen, 32 of
 * a number. It says, too, where the triplets are, which belong to the provider until then.
 */
enum dm_cookie_kind {
    DM_COOKIE_TX,    /* post number; certain to come */
    DM_COOKIE_QUIET, /* the same, comes only on failure */
    DM_COOKIE_RECV,  /* slot */
    DM_COOKIE_FIRST, /* link << 16: its first message received; a value's: | DM_COOKIE_VALUE | place */
    DM_COOKIE_REQ,   /* link << 16 | place << DM_COOKIE_PLACE: a request that nobody waits for */
    DM_COOKIE_RDMA,  /* link << 16 | place in the parts of the RDMA queue */
    DM_COOKIE_PROBE, /* as REQ, | DM_COOKIE_READ: a measurement */
    DM_COOKIE_NOTIFY /* of the pipe: a record is in the ring */
};

/* Of a receive of a shared queue, which is nobody's: above its buffer's number. */
#define DM_COOKIE_NOBODY 0x1fffff
#define DM_COOKIE_SHARED ((uint64_t)DM_COOKIE_NOBODY << 3 | DM_COOKIE_RECV)

#define DM_COOKIE_READ  1          /* of REQ and PROBE */
#define DM_COOKIE_PLACE 1          /* shift */
#define DM_COOKIE_VALUE (1u << 15) /* of FIRST */

static inline uint32_t dm_cookie_base(const struct dm_link *link)
{
    uint32_t gen = atomic_load_explicit(&link->gen, memory_order_relaxed);

    return gen << 24 | (uint32_t)link->conn->proc << 3;
}

static inline DAT_DTO_COOKIE dm_cookie(enum dm_cookie_kind kind, const struct dm_link *link,
                                       uint32_t number)
{
    DAT_DTO_COOKIE c;

    c.as_64 = (uint64_t)number << 32 | dm_cookie_base(link) | (uint64_t)kind;
    return c;
}

#endif
