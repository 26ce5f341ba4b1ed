/* test: kind=dat prov=datum-tcp,datum-ofi timeout=120 net="if=net0 timeout=4" */
/*
 * Cables: one that is pulled while nothing is under way, one that is pulled in
 * the middle of a transfer, one that comes back soon, which nobody may notice,
 * and one that is pulled before a call.
 */
#include "dat_net.h"

#include <arpa/inet.h>

enum { LEN = 8 << 20, SHORT_MS = 2000, BREAK_S = 15 };

/* The event that ends a connection, in time. */
static void want_broken(struct dt *t)
{
    double start = dt_now();
    DAT_COUNT n_more;
    DAT_EVENT event;

    OK(dat_evd_wait(t->conn_evd, BREAK_S * 1000000, 1, &event, &n_more));
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
    CHECK(dt_now() - start < BREAK_S);
    OK(dat_ep_reset(t->ep));
}

static void write_all(struct dt *t, const struct dt_mem *from, const struct dt_mem *to,
                      uint64_t cookie)
{
    DAT_LMR_TRIPLET seg = dt_seg(from, 0, LEN);
    DAT_RMR_TRIPLET remote = dt_remote(to, 0, LEN);

    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(cookie), &remote,
                              DAT_COMPLETION_DEFAULT_FLAG));
}

static ORDERED_BY_PEER void run(struct dt *t, const char *name, bool is_first)
{
    struct dt_mem mine;
    struct dt_mem theirs;
    DAT_DTO_COMPLETION_STATUS status;
    DAT_EVENT event;

    dn_host(t, is_first ? 1 : 2);
    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    dt_swap_mem(t, &mine, &theirs);

    /* Idle: the kernel's probes find out. */
    dn_join(t, is_first);
    dt_meet(t);
    if (is_first)
        dn_cable(false);
    want_broken(t);
    dt_meet(t);
    if (is_first)
        dn_cable(true);
    dt_meet(t);
    dn_until_up();
    dt_meet(t);

    /* Back soon: the transfer ends well. */
    dn_join(t, is_first);
    dt_meet(t);
    if (is_first) {
        memset(mine.buf, 'x', LEN);
        dn_cable(false);
        write_all(t, &mine, &theirs, 7);
        dt_sleep_ms(SHORT_MS);
        dn_cable(true);
        dt_want_dto(t->req_evd, 7, DAT_DTO_SUCCESS);
    }
    dt_meet(t);
    if (!is_first)
        CHECK_EQ(mine.buf[LEN - 1], 'x');
    dt_want_none(t->conn_evd, 100);

    /* In the middle of a transfer, for ever. */
    dt_meet(t);
    if (is_first) {
        dn_cable(false);
        write_all(t, &mine, &theirs, 8);
    }
    want_broken(t);
    if (is_first) {
        event = dt_wait(t->req_evd);
        status = event.event_data.dto_completion_event_data.status;
        CHECK(status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT);
    }
    dt_meet(t);

    /* Nobody answers a call. */
    if (is_first) {
        struct sockaddr_in far;

        memcpy(&far, &t->addr, sizeof(far));
        far.sin_addr.s_addr = htonl(0x0a4d0002u); /* the other side's */
        OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&far, 12345, 1000000, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        event = dt_wait(t->conn_evd);
        CHECK(event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    dt_meet(t);
    dt_close(t);
}

static int first(struct dt *t, const char *name)
{
    run(t, name, true);
    return 0;
}

static int second(struct dt *t, const char *name)
{
    run(t, name, false);
    return 0;
}

int main(int argc, char **argv)
{
    if (!dn_may())
        return 0;
    return dt_pair(dt_name(argc, argv), first, second, false);
}
