/* test: kind=dat timeout=60 params=copy=auto */
/*
 * dat_cr_handoff: the request goes to another service point, of this process,
 * of another one, or reserved for an endpoint; the requester sees one
 * connection only, with everything it and the last listener said. Nobody
 * there, circles, and a listener that goes away on the way.
 */
#include "dat_raw.h"

enum { PRIVATE = 512, MANY = 50, CIRCLE = 65 };

static DAT_CR_HANDLE next_cr(struct dt *t, DAT_CONN_QUAL qual)
{
    DAT_EVENT event = dt_wait(t->cr_evd);
    DAT_CR_ARRIVAL_EVENT_DATA *cr = &event.event_data.cr_arrival_event_data;
    DAT_CR_PARAM param;

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    CHECK_EQ(cr->conn_qual, qual);
    OK(dat_cr_query(cr->cr_handle, DAT_CR_FIELD_ALL, &param));
    CHECK_EQ(param.private_data_size, PRIVATE);
    for (int i = 0; i < PRIVATE; i++)
        CHECK_EQ(((unsigned char *)param.private_data)[i], i & 255);
    return cr->cr_handle;
}

static void ask(struct dt *t, DAT_CONN_QUAL qual)
{
    unsigned char data[PRIVATE];

    for (int i = 0; i < PRIVATE; i++)
        data[i] = (unsigned char)i;
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, PRIVATE, data,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The event, and an endpoint that can be used again. */
static void answered(struct dt *t, DAT_EVENT_NUMBER number)
{
    DAT_EVENT event = dt_want_conn(t->conn_evd, number);
    DAT_CONNECTION_EVENT_DATA *conn = &event.event_data.connect_event_data;

    if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
        CHECK_EQ(conn->private_data_size, 3);
        CHECK(memcmp(conn->private_data, "yes", 3) == 0);
        OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    } else if (number == DAT_CONNECTION_EVENT_PEER_REJECTED) {
        CHECK_EQ(conn->private_data_size, 2);
    }
    OK(dat_ep_reset(t->ep));
}

static void take(struct dt *t, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
    OK(dat_cr_accept(cr, ep, 3, "yes"));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
}

static int one(struct dt *t, const char *name)
{
    DAT_CONN_QUAL qual[4]; /* ours: 0, 1, 3; the other process's: 2 */
    DAT_PSP_HANDLE psp[3];
    DAT_RSP_HANDLE rsp;
    DAT_CR_HANDLE cr;

    dt_open(t, name);
    for (int i = 0; i < 3; i++)
        OK(dat_psp_create_any(t->ia, &qual[i == 2 ? 3 : i], t->cr_evd, DAT_PSP_CONSUMER_FLAG,
                              &psp[i]));
    dt_tell(t, qual, sizeof(qual));
    dt_hear(t, &qual[2], sizeof(qual[2]));
    for (int i = 0; i < MANY; i++) { /* within this process */
        cr = next_cr(t, qual[0]);
        OK(dat_cr_handoff(cr, qual[1]));
        CHECK_RC(dat_cr_handoff(cr, qual[1]), DAT_INVALID_HANDLE);
        CHECK_RC(dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE);
        take(t, next_cr(t, qual[1]), t->ep);
    }
    for (int i = 0; i < MANY; i++) /* to the other one, and back */
        OK(dat_cr_handoff(next_cr(t, qual[0]), qual[2]));
    for (int i = 0; i < MANY; i++) {
        OK(dat_cr_handoff(next_cr(t, qual[0]), qual[2]));
        OK(dat_cr_reject(next_cr(t, qual[1]), 2, "no"));
    }
    /* Nobody there: the request stays ours. */
    cr = next_cr(t, qual[0]);
    OK(dat_psp_free(psp[2]));
    CHECK_RC(dat_cr_handoff(cr, qual[3]), DAT_INVALID_PARAMETER);
    take(t, cr, t->ep);
    /* To an endpoint's own service point. */
    OK(dat_rsp_create(t->ia, qual[3], t->ep, t->cr_evd, &rsp));
    OK(dat_cr_handoff(next_cr(t, qual[0]), qual[3]));
    cr = next_cr(t, qual[3]);
    OK(dat_cr_handoff(cr, qual[1])); /* and on */
    CHECK_EQ(dt_ep_state(t->ep), DAT_EP_STATE_RESERVED);
    OK(dat_cr_handoff(next_cr(t, qual[1]), qual[3]));
    cr = next_cr(t, qual[3]);
    CHECK_EQ(dt_ep_state(t->ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    take(t, cr, DAT_HANDLE_NULL);
    OK(dat_rsp_free(rsp));
    /* In circles, until the requester has enough. */
    for (int i = 0; i < CIRCLE; i++)
        OK(dat_cr_handoff(next_cr(t, qual[0]), qual[0]));
    dt_want_none(t->cr_evd, 5);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    DAT_CONN_QUAL qual[4];
    DAT_CONN_QUAL mine;
    DAT_PSP_HANDLE psp;
    DAT_EP_HANDLE other;

    dt_open(t, name);
    OK(dat_psp_create_any(t->ia, &mine, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_hear(t, qual, sizeof(qual));
    dt_tell(t, &mine, sizeof(mine));
    for (int i = 0; i < MANY; i++) {
        ask(t, qual[0]);
        answered(t, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    other = dt_ep(t);
    for (int i = 0; i < MANY; i++) { /* and here we are the listener as well */
        ask(t, qual[0]);
        OK(dat_cr_accept(next_cr(t, mine), other, 3, "yes"));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        OK(dat_ep_disconnect(other, DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        OK(dat_ep_reset(other));
        OK(dat_ep_reset(t->ep));
    }
    for (int i = 0; i < MANY; i++) {
        ask(t, qual[0]);
        OK(dat_cr_handoff(next_cr(t, mine), qual[1]));
        answered(t, DAT_CONNECTION_EVENT_PEER_REJECTED);
    }
    for (int i = 0; i < 2; i++) {
        ask(t, qual[0]);
        answered(t, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    ask(t, qual[0]);
    answered(t, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    dt_want_none(t->conn_evd, 1);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
