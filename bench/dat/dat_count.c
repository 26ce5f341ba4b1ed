/*
 * One operation many times within one process, for counting instructions:
 *
 *   dat_count OPERATION N [PROVIDER]
 *
 * Two adapter instances, two connected endpoints. bench/dat/count runs it
 * under callgrind with two N, so that the difference is that of the operation.
 */
#include "../../tests/dat/dat_test.h"

#include <dat2/dat_ib_extensions.h>

enum { WARM_UP = 20, WARM_UP_MS = 20 };

struct pair {
    struct dt a, b;
    struct dt_mem src, dst;
};

static void join(struct pair *p)
{
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_EVENT event;

    OK(dat_psp_create_any(p->b.ia, &qual, p->b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    OK(dat_ep_connect(p->a.ep, (DAT_IA_ADDRESS_PTR)&p->b.addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    event = dt_wait(p->b.cr_evd);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p->b.ep, 0, NULL));
    dt_want_conn(p->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    dt_want_conn(p->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void reap(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
        continue;
    CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void write_with(struct pair *p, DAT_COMPLETION_FLAGS flags, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&p->src, 0, size);
    DAT_RMR_TRIPLET to = dt_remote(&p->dst, 0, size);

    OK(dat_ep_post_rdma_write(p->a.ep, 1, &seg, dt_cookie(0), &to, flags));
}

static void do_write(struct pair *p)
{
    write_with(p, DAT_COMPLETION_SUPPRESS_FLAG, 8);
}

static void do_write_256(struct pair *p)
{
    write_with(p, DAT_COMPLETION_SUPPRESS_FLAG, 256);
}

static void do_write_dequeue(struct pair *p)
{
    write_with(p, DAT_COMPLETION_DEFAULT_FLAG, 8);
    reap(p->a.req_evd);
}

static void do_read_dequeue(struct pair *p)
{
    DAT_LMR_TRIPLET seg = dt_seg(&p->src, 0, 8);
    DAT_RMR_TRIPLET from = dt_remote(&p->dst, 0, 8);

    OK(dat_ep_post_rdma_read(p->a.ep, 1, &seg, dt_cookie(0), &from, DAT_COMPLETION_DEFAULT_FLAG));
    reap(p->a.req_evd);
}

static void do_recv_send_dequeue(struct pair *p)
{
    DAT_LMR_TRIPLET seg = dt_seg(&p->src, 0, 8);
    DAT_LMR_TRIPLET recv = dt_seg(&p->dst, 0, 64);

    OK(dat_ep_post_recv(p->b.ep, 1, &recv, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(p->a.ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_SUPPRESS_FLAG));
    reap(p->b.recv_evd);
}

static void do_fetch_add_dequeue(struct pair *p)
{
    DAT_LMR_TRIPLET seg = dt_seg(&p->src, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&p->dst, 0, 8);

    OK(dat_ib_post_fetch_and_add(p->a.ep, 1, &seg, dt_cookie(0), &to, DAT_COMPLETION_DEFAULT_FLAG));
    reap(p->a.req_evd);
}

static void do_fetch_add(struct pair *p)
{
    DAT_LMR_TRIPLET seg = dt_seg(&p->src, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&p->dst, 0, 8);

    OK(dat_ib_post_fetch_and_add(p->a.ep, 1, &seg, dt_cookie(0), &to,
                                 DAT_COMPLETION_SUPPRESS_FLAG));
}

static void do_dequeue_empty(struct pair *p)
{
    DAT_EVENT event;

    CHECK(dat_evd_dequeue(p->a.req_evd, &event) != DAT_SUCCESS);
}

static const struct {
    const char *name;
    void (*fn)(struct pair *p);
} operations[] = {
    {"write", do_write},
    {"write_256", do_write_256},
    {"write+dequeue", do_write_dequeue},
    {"read+dequeue", do_read_dequeue},
    {"post_recv+send+dequeue", do_recv_send_dequeue},
    {"fetch_add", do_fetch_add},
    {"fetch_add+dequeue", do_fetch_add_dequeue},
    {"dequeue_empty", do_dequeue_empty},
};

int main(int argc, char **argv)
{
    const char *provider = argc > 3 ? argv[3] : "datum-shm";
    struct pair p;
    DAT_IA_ATTR attr;

    memset(&p, 0, sizeof(p));
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (argc <= 2) {
            printf("%s\n", operations[i].name);
            continue;
        }
        if (strcmp(operations[i].name, argv[1]) != 0)
            continue;
        dt_open(&p.a, provider);
        dt_open(&p.b, provider);
        OK(dat_ia_query(p.a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
        if (strncmp(argv[1], "fetch_add", 9) == 0 && attr.extension_supported != DAT_EXTENSION_IB)
            return 77;
        dt_alloc(&p.a, &p.src, 4096, false);
        dt_alloc(&p.b, &p.dst, 4096, true);
        join(&p);
        for (int n = 0; n < WARM_UP; n++) { /* lets the providers' threads run */
            operations[i].fn(&p);
            dt_sleep_ms(WARM_UP_MS);
        }
        for (int n = atoi(argv[2]); n > 0; n--)
            operations[i].fn(&p);
        dt_close(&p.a);
        dt_close(&p.b);
        return 0;
    }
    if (argc <= 2)
        return 0;
    DT_FAIL("no operation \"%s\"; without arguments all are listed", argv[1]);
}
