/*
 * What a connection keeps for failover (conn/failover.c).
 */
#ifndef DM_DAPL_ADAPT_CORE_CONN_FAILOVER_H
#define DM_DAPL_ADAPT_CORE_CONN_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/public/types.h"

struct dm_ia;

struct dm_conn_failover {
    uint16_t wanted;         /* the peer's epoch, when it is ahead, */
    struct dm_ia *wanted_ia; /* and where it asked; both shared with the server's thread */
    uint32_t n_moves;
    uint32_t n_flaps; /* since it was up for long */
    uint64_t up_since;
    uint64_t until;       /* then the loss is final */
    uint64_t close_until; /* then endpoints are freed without waiting for their end */
    uint64_t broke_at;
    const char *cause;          /* what broke, */
    const struct dm_ia *broken; /* where; NULL: the peer knows */
    bool is_back;               /* nothing broke: it moves to a better rail */
    uint32_t n_backs;           /* times that it has, since it was there for long */
    uint64_t back_at;           /* when a better rail is looked at again; 0: it is not */
    uint64_t starved_until;     /* transfers wait for a rail that reaches their memory; or 0 */
    int next_rail;              /* place in `rails`, tried first */
    const char *causes[DM_RAILS_MAX]; /* why each rail does not do, by place in `rails` */
    uint8_t n_refused[DM_RAILS_MAX];  /* times that nobody listened */
};

#endif
