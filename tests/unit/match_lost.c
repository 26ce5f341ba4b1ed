/* test: timeout=20 layers=util,channel,mpi */
/* Point-to-point over a fake pipe: the loss of a peer ends everything that waits for it. */
#include "mpi/pt2pt/p2p.h"

#include "fake_adapt.h"
#include "test.h"
#include "util/cfg.h"

static struct dm_chan *peer; /* rank 1: a bare channel */
static int n_lost;

static const char *host_of(void *arg, int proc)
{
    (void)arg;
    return proc == 1 ? "elsewhere" : "here";
}

static void on_lost(void *arg, int proc, int err)
{
    (void)arg;
    (void)proc;
    (void)err;
    n_lost++;
}

static void start(void)
{
    struct dm_adapt_job job = {.rank = 0, .size = 2, .n_local = 2};

    FAKE_DEFAULTS;
    CHECK_EQ(dm_chan_start(&job, &dm_world.chan), DM_OK);
    dm_chan_on_lost(dm_world.chan, on_lost, NULL);
    job.rank = 1;
    CHECK_EQ(dm_chan_start(&job, &peer), DM_OK);
    dm_world.rank = 0;
    dm_world.size = 2;
    dm_world.host_of = host_of;
    CHECK_EQ(dm_core_start(), DM_OK);
    CHECK_EQ(dm_datatype_start(), DM_OK);
    CHECK_EQ(dm_pt2pt_start(), DM_OK);
    n_lost = 0;
}

static void stop(void)
{
    CHECK_EQ(dm_p2p.n_sends, 0);
    CHECK_EQ(dm_p2p.reqs.n_used, 0);
    dm_pt2pt_stop();
    CHECK_EQ(dm_p2p.unexps.n_used, 0);
    dm_datatype_stop();
    dm_core_stop();
    CHECK_EQ(dm_chan_stop(dm_world.chan), DM_OK);
    CHECK_EQ(dm_chan_stop(peer), DM_OK);
}

static void lose(void)
{
    fake_procs[0]->conns[1].is_lost = true;
    for (int i = 0; i < 3; i++)
        dm_chan_progress(dm_world.chan);
    CHECK_EQ(n_lost, 1);
}

/* The request has ended with the loss, and says whose. */
static void check_lost(struct dm_req *req)
{
    MPI_Request handle;
    int flag = 0;

    CHECK(dm_req_is_done(req));
    CHECK_EQ(dm_req_handle(req, &handle), DM_OK);
    CHECK_EQ(dm_test(&handle, &flag, MPI_STATUS_IGNORE), DM_EPEER);
    CHECK(flag);
    CHECK(handle == MPI_REQUEST_NULL);
    CHECK(strstr(dm_err_detail(), "rank 1") != NULL);
    CHECK(strstr(dm_err_detail(), "elsewhere") != NULL);
}

static void sends_end(void)
{
    static char big[100000];
    struct dm_comm *comm;
    struct dm_type *type;
    struct dm_req *reqs[5];

    start();
    comm = dm_world.comm_world;
    type = dm_type_get(MPI_BYTE);
    /* An RTS and a synchronous one on their way, then what is stuck in the queue. */
    dm_isend(big, sizeof(big), type, 1, 0, comm, &reqs[0]);
    dm_issend(big, 8, type, 1, 0, comm, &reqs[1]);
    fake.n_records = 0;
    dm_isend(big, 8, type, 1, 0, comm, &reqs[2]);
    dm_issend(big, 8, type, 1, 0, comm, &reqs[3]);
    dm_isend(big, sizeof(big), type, 1, 0, comm, &reqs[4]);
    for (int i = 0; i < 5; i++)
        CHECK(!dm_req_is_done(reqs[i]));
    lose();
    for (int i = 0; i < 5; i++)
        check_lost(reqs[i]);
    /* And those that come later. */
    CHECK_EQ(dm_send(big, 8, type, 1, 0, comm), DM_EPEER);
    CHECK_EQ(dm_ssend(big, 8, type, 1, 0, comm), DM_EPEER);
    CHECK_EQ(dm_send(big, sizeof(big), type, 1, 0, comm), DM_EPEER);
    dm_issend(big, 8, type, 1, 0, comm, &reqs[0]);
    check_lost(reqs[0]);
    CHECK_EQ(dm_send(big, 8, type, 0, 0, comm), DM_OK);
    stop();
}

static void receives_end(void)
{
    char buf[8];
    struct dm_comm *comm;
    struct dm_type *type;
    struct dm_req *reqs[4];
    MPI_Request own;

    start();
    comm = dm_world.comm_world;
    type = dm_type_get(MPI_BYTE);
    dm_irecv(buf, 8, type, 1, 0, comm, &reqs[0]);
    dm_irecv(buf, 8, type, MPI_ANY_SOURCE, 5, comm, &reqs[1]);
    dm_irecv(buf, 8, type, 0, 0, comm, &reqs[2]);
    dm_irecv(buf, 8, type, MPI_ANY_SOURCE, 0, dm_world.comm_self, &reqs[3]);
    lose();
    check_lost(reqs[0]);
    check_lost(reqs[1]);
    /* Nothing to do with rank 1. */
    CHECK(!dm_req_is_done(reqs[2]));
    CHECK(!dm_req_is_done(reqs[3]));
    CHECK_EQ(dm_send(buf, 8, type, 0, 0, comm), DM_OK);
    CHECK_EQ(dm_send(buf, 8, type, 0, 0, dm_world.comm_self), DM_OK);
    for (int i = 2; i < 4; i++) {
        dm_req_handle(reqs[i], &own);
        CHECK_EQ(dm_wait(&own, MPI_STATUS_IGNORE), DM_OK);
    }
    CHECK_EQ(dm_recv(buf, 8, type, 1, 0, comm, MPI_STATUS_IGNORE), DM_EPEER);
    CHECK_EQ(dm_recv(buf, 8, type, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE), DM_EPEER);
    CHECK_EQ(dm_probe(1, 0, comm, MPI_STATUS_IGNORE), DM_EPEER);
    stop();
}

static void put(const void *data, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};
    size_t n;

    CHECK_EQ(dm_adapt_eager_put(dm_adapt_conn(dm_chan_adapt(peer), 0), &iov, 1, &n), DM_OK);
    CHECK_EQ(n, len);
    dm_chan_progress(dm_world.chan);
}

static struct dm_pkt_sync packet(int type, int tag, size_t len)
{
    struct dm_pkt_sync h = {
        .pkt = {.type = (uint8_t)type,
                .version = DM_PKT_VERSION,
                .hdr_len =
                    type == DM_PKT_EAGER ? sizeof(struct dm_pkt_eager) : sizeof(struct dm_pkt_sync),
                .data_len = (uint32_t)len},
        .key = {.ctx = dm_world.comm_world->ctx, .source = 1, .tag = tag},
    };

    return h;
}

/* Messages that came in part: posted, unexpected, claimed, announced only. */
static void half_messages(void)
{
    static char half[500], bufs[4][1000];
    struct dm_p2p_rts rts = {.len = 100000};
    struct dm_comm *comm;
    struct dm_type *type;
    struct dm_req *reqs[2];
    struct dm_pkt_sync h;
    MPI_Status st;
    int flag;

    for (int how = 0; how < 3; how++) {
        start();
        comm = dm_world.comm_world;
        type = dm_type_get(MPI_BYTE);
        /* A rendezvous that was announced, and one that was asked for. */
        h = packet(DM_PKT_RTS, 50, sizeof(rts));
        put(&h, sizeof(h));
        put(&rts, sizeof(rts));
        h.key.tag = 51;
        put(&h, sizeof(h));
        put(&rts, sizeof(rts));
        dm_irecv(bufs[1], 1000, type, 1, 51, comm, &reqs[1]);
        CHECK(!dm_req_is_done(reqs[1]));
        h = packet(DM_PKT_EAGER, 7, 1000);
        if (how == 0)
            dm_irecv(bufs[0], 1000, type, 1, 7, comm, &reqs[0]);
        put(&h, h.pkt.hdr_len);
        put(half, sizeof(half));
        if (how == 1)
            dm_irecv(bufs[0], 1000, type, 1, 7, comm, &reqs[0]);
        CHECK_EQ(dm_iprobe(1, 7, comm, &flag, &st), DM_OK);
        CHECK_EQ(flag, how == 2);
        lose();
        if (how == 2)
            dm_irecv(bufs[0], 1000, type, 1, 7, comm, &reqs[0]);
        check_lost(reqs[0]);
        check_lost(reqs[1]);
        CHECK_EQ(dm_recv(bufs[0], 1000, type, 1, 50, comm, MPI_STATUS_IGNORE), DM_EPEER);
        stop();
    }
}

/* What had come whole stays good. */
static void whole_messages(void)
{
    char buf[16] = "";
    struct dm_pkt_sync h;
    struct dm_comm *comm;
    MPI_Status st;

    start();
    comm = dm_world.comm_world;
    h = packet(DM_PKT_EAGER, 7, 6);
    put(&h, h.pkt.hdr_len);
    put("hello", 6);
    lose();
    CHECK_EQ(dm_recv(buf, 16, dm_type_get(MPI_BYTE), MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &st),
             DM_OK);
    CHECK_STR(buf, "hello");
    CHECK_EQ(st.MPI_TAG, 7);
    CHECK_EQ(dm_status_bytes(&st), 6);
    stop();
}

int main(void)
{
    dm_cfg_load(true);
    sends_end();
    receives_end();
    half_messages();
    whole_messages();
    return test_result();
}
