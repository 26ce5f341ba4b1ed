/*
 * Probes of connecting: how long, how much private data, who may send first.
 */
#include <stdio.h>
#include <string.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define N_CONNECTS  20
#define PRIVATE_MAX 1024

static const struct dm_probe_ep modest;

int dm_probe_run_connect(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    uint64_t best = UINT64_MAX;
    uint64_t sum = 0;
    uint64_t took;
    uint64_t start;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK)
        err = dm_probe_agree_address(&side);
    for (int i = 0; i < N_CONNECTS && err == DM_OK; i++) {
        err = dm_probe_ep_create(&side, &modest, &side.ep);
        if (err == DM_OK)
            err = dm_probe_barrier(&side);
        start = dm_clock_ns();
        if (err == DM_OK)
            err = dm_probe_connect(&side, side.ep);
        took = dm_clock_ns() - start;
        sum += took;
        if (took < best)
            best = took;
        if (err == DM_OK)
            err = dm_probe_barrier(&side);
        if (err == DM_OK)
            dm_probe_part(&side);
    }
    if (err == DM_OK)
        dm_probe_say_value(env, "connect_time", (double)best / 1000, "us",
                           "best of %d connections, mean %.0f us", N_CONNECTS,
                           (double)sum / 1000 / N_CONNECTS);
    dm_probe_close(&side);
    return err;
}

/* ---- private data ---- */

enum way { ON_REQUEST, ON_ACCEPT, ON_REJECT };

static const int sizes[] = {16,  32,  48,  56,  64,  68,  96,  108,
                            112, 128, 160, 196, 256, 384, 512, PRIVATE_MAX};
#define N_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static void private_fill(unsigned char *data, int len)
{
    for (int i = 0; i < len; i++)
        data[i] = (unsigned char)(i * 7 + len);
}

static bool is_filled(const void *data, int got, int len)
{
    unsigned char want[PRIVATE_MAX];

    private_fill(want, len);
    return data != NULL && got >= len && memcmp(data, want, (size_t)len) == 0;
}

/*
 * The passive half of one attempt. The active one has said whether its call was taken; what
 * came of it is told at the end: 1 it arrived, 0 it did not.
 */
static int private_answer(struct dm_probe_side *side, enum way way, int len)
{
    unsigned char data[PRIVATE_MAX];
    DAT_CR_PARAM param;
    DAT_CR_HANDLE cr;
    DAT_EVENT event;
    DAT_RETURN rc = DAT_SUCCESS;
    bool is_good = true;
    int err = dm_probe_next(side, side->cr_evd, DM_PROBE_WAIT_US, "connection request", &event);

    if (err != DM_OK)
        return err;
    cr = event.event_data.cr_arrival_event_data.cr_handle;
    private_fill(data, len);
    if (way == ON_REQUEST) {
        memset(&param, 0, sizeof(param));
        is_good = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS &&
                  is_filled(param.private_data, param.private_data_size, len);
        rc = dat_cr_accept(cr, side->ep, 0, NULL);
    } else if (way == ON_ACCEPT) {
        rc = dat_cr_accept(cr, side->ep, len, data);
        is_good = rc == DAT_SUCCESS;
    } else {
        rc = dat_cr_reject(cr, len, data);
        is_good = rc == DAT_SUCCESS;
    }
    if (rc != DAT_SUCCESS)
        dat_cr_reject(cr, 0, NULL);
    if (way != ON_REJECT && rc == DAT_SUCCESS)
        err = dm_probe_next(side, side->conn_evd, DM_PROBE_WAIT_US, "connection", &event);
    return err == DM_OK ? dm_probe_put(side, is_good) : err;
}

static int private_ask(struct dm_probe_side *side, enum way way, int len, bool *is_good_p)
{
    const DAT_CONNECTION_EVENT_DATA *conn;
    DAT_EVENT event;
    uint64_t value;
    int err = dm_probe_next(side, side->conn_evd, DM_PROBE_WAIT_US, "connection", &event);

    conn = &event.event_data.connect_event_data;
    if (err == DM_OK)
        err = dm_probe_get(side, &value);
    if (err != DM_OK)
        return err;
    *is_good_p = value != 0;
    if (way != ON_REQUEST)
        *is_good_p = *is_good_p && is_filled(conn->private_data, conn->private_data_size, len);
    return DM_OK;
}

/* One attempt of both; *is_good_p is the same in both afterwards. */
static int attempt(struct dm_probe_side *side, enum way way, int len, bool *is_good_p)
{
    unsigned char data[PRIVATE_MAX];
    uint64_t value = 0;
    DAT_RETURN rc;
    int err = dm_probe_ep_create(side, &modest, &side->ep);

    if (err != DM_OK)
        return err;
    private_fill(data, len);
    if (side->env->is_passive) {
        err = dm_probe_get(side, &value);
        if (err == DM_OK && value != 0)
            err = private_answer(side, way, len);
        if (err == DM_OK)
            err = dm_probe_get(side, &value);
        *is_good_p = value != 0;
    } else {
        rc = dat_ep_connect(side->ep, (DAT_IA_ADDRESS_PTR)(void *)side->peer_addr, side->qual,
                            DM_PROBE_WAIT_US, way == ON_REQUEST ? len : 0, data,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
        *is_good_p = rc == DAT_SUCCESS;
        err = dm_probe_put(side, *is_good_p);
        if (err == DM_OK && *is_good_p)
            err = private_ask(side, way, len, is_good_p);
        if (err == DM_OK)
            err = dm_probe_put(side, *is_good_p);
    }
    dat_ep_free(side->ep);
    side->ep = DAT_HANDLE_NULL;
    return err;
}

/* Events of the attempt before, such as the end of its connection, are no news. */
static void forget(struct dm_probe_side *side)
{
    DAT_EVENT event;

    while (dm_probe_next(side, side->conn_evd, 20000, "event", &event) == DM_OK)
        ;
    while (dat_evd_dequeue(side->cr_evd, &event) == DAT_SUCCESS)
        ;
}

int dm_probe_run_private(struct dm_probe_env *env)
{
    static const char *const keys[] = {"private_request", "private_accept", "private_reject"};
    struct dm_probe_side side;
    bool is_good;
    int best;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK)
        err = dm_probe_agree_address(&side);
    for (int way = ON_REQUEST; way <= ON_REJECT && err == DM_OK; way++) {
        best = 0;
        is_good = true;
        for (int i = 0; i < N_SIZES && err == DM_OK && is_good; i++) {
            err = attempt(&side, (enum way)way, sizes[i], &is_good);
            if (err == DM_OK && is_good)
                best = sizes[i];
            forget(&side);
            if (err == DM_OK)
                err = dm_probe_barrier(&side);
        }
        if (err == DM_OK)
            dm_probe_say_value(env, keys[way], best, "bytes", "%s",
                               best == PRIVATE_MAX ? "no more was tried" : "");
    }
    dm_probe_close(&side);
    return err;
}

/* ---- who sends first ---- */

/* The passive process sends as soon as it is told of the connection; the active one only waits. */
int dm_probe_run_first(struct dm_probe_env *env)
{
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK)
        err = dm_probe_ep_create(&side, &modest, &side.ep);
    if (err == DM_OK)
        err = dm_probe_alloc(&side, 4096, false, &mem);
    if (err == DM_OK && !env->is_passive)
        err = dm_probe_recv(&side, &mem, 0, 64);
    if (err == DM_OK)
        err = dm_probe_agree_address(&side);
    if (err == DM_OK)
        err = dm_probe_connect(&side, side.ep);
    if (err == DM_OK && env->is_passive) {
        memset(mem.buf, 'p', 64);
        err = dm_probe_send(&side, &mem, 0, 64);
    } else if (err == DM_OK) {
        err = dm_probe_done(&side, side.recv_evd, 1, "first receive");
        if (err == DM_OK)
            dm_probe_say(env, "passive_first", mem.buf[63] == 'p',
                         "the accepting side's message came before any other");
        else
            dm_probe_say(env, "passive_first", false, "%s", dm_err_detail());
        err = DM_OK;
    }
    if (err == DM_OK)
        err = dm_probe_barrier(&side);
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
