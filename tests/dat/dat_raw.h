/*
 * Instances opened through the provider's table, for the calls on an instance
 * that libdat2 does not export and for handles that libdat2 would not let
 * through. Everything but the calls on the instance itself works as usual.
 */
#ifndef DM_TESTS_DAT_DAT_RAW_H
#define DM_TESTS_DAT_DAT_RAW_H

#include "dat_pair.h"

#include <dat2/dat_registry.h>

#define dt_table(handle) (*(DAT_PROVIDER **)(handle))

/* Like dt_open_as(); t->ia is the provider's own handle. */
static inline void dt_raw_open_as(struct dt *t, const char *name, DAT_BOOLEAN is_safe)
{
    DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
    DAT_PROVIDER *table;
    DAT_IA_ATTR attr;
    DAT_IA_HANDLE ia;

    OK(dat_ia_openv((DAT_NAME_PTR)name, 16, &async_evd, &ia, 2, 0, is_safe));
    table = dt_table(async_evd);
    t->async_evd = DAT_HANDLE_NULL;
    OK(table->ia_open_func((DAT_NAME_PTR)name, 16, &t->async_evd, &t->ia));
    OK(table->ia_query_func(t->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
    memcpy(&t->addr, attr.ia_address_ptr, sizeof(t->addr));
    OK(table->pz_create_func(t->ia, &t->pz));
    OK(table->evd_create_func(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &t->cr_evd));
    OK(table->evd_create_func(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
    OK(table->evd_create_func(t->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &t->recv_evd));
    OK(table->evd_create_func(t->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &t->req_evd));
}

static inline void dt_raw_open(struct dt *t, const char *name)
{
    dt_raw_open_as(t, name, DAT_FALSE);
}

static inline DAT_EP_HANDLE dt_raw_ep(struct dt *t)
{
    DAT_EP_HANDLE ep;

    OK(dt_table(t->pz)->ep_create_func(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, NULL,
                                       &ep));
    return ep;
}

static inline void dt_raw_close(struct dt *t)
{
    OK(dt_table(t->ia)->ia_close_func(t->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static inline int dt_ep_state(DAT_EP_HANDLE ep)
{
    DAT_EP_STATE state;
    DAT_BOOLEAN idle[2];

    OK(dat_ep_get_status(ep, &state, &idle[0], &idle[1]));
    return (int)state;
}

#endif
