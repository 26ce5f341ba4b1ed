/*
 * What each layer of the library adds to a short message: the same ping-pong between two ranks at four heights, by turns, in
 * the same two processes and over the same endpoints and kind of memory.
 *
 *   mpiexec -n 2 layers [-q] [MIN:MAX]         sizes double (8:1024)
 *
 *   dat      dat_ep_post_rdma_write, polled in memory; one completion in sixteen, as the library has it
 *   adapter  a record of the pipe: reserved, written, committed; looked for and copied out
 *   channel  a packet: header, progress engine, handler
 *   mpi      MPI_Send and MPI_Recv
 *
 * Output lines "LAYER SIZE LEAST MEDIAN P10 P90": us one way, over the rounds. It is linked with the library's inside.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "dapl_adapt/progress/dispatch.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "mpi/core/core.h"

#define ROUNDS_MAX   200
#define SIZES_MAX    10 /* 8 to 4096 */
#define SIGNAL_EVERY 16
#define SPINS        2000 /* until the core is offered to others */
#define SPINS_DRIVEN 8    /* where each look is a system call */
#define OURS         UINT64_C(0xdadadadadadadadf)
#define PKT          (DM_PKT_N - 1)

static struct {
    int rank, n; /* ping-pongs in a round */
    size_t len;
    struct dm_chan *chan;
    struct dm_conn *conn;
    char buf[4096];
    /* dat */
    char *mem; /* what the peer writes, and behind it what we write from */
    struct dm_mr *mr;
    uint64_t remote;
    struct dm_rkey rkey;
    uint64_t turn;
    int n_unsignalled, n_due;
    /* channel */
    int n_arrived;
} me;

static void stop(const char *what)
{
    fprintf(stderr, "layers: rank %d: %s\n", me.rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void relax(int *spins)
{
    if (++*spins % (me.conn->ia->is_driven ? SPINS_DRIVEN : SPINS) == 0)
        sched_yield();
}

/* ---- dat ---- */

static struct dm_rdmaq *rdmaq(void)
{
    return &me.conn->links->rdmaq[0];
}

static void take_events(bool is_all)
{
    struct dm_ia *ia = rdmaq()->ia;
    DAT_EVENT event;
    int spins = 0;

    do {
        while (dat_evd_dequeue(ia->dto_evd, &event) == DAT_SUCCESS) {
            if (event.event_data.dto_completion_event_data.user_cookie.as_64 == OURS)
                me.n_due--;
            else
                dm_poll_event(ia, &event);
        }
        relax(&spins);
    } while (is_all && me.n_due > 0);
}

static void dat_send(void)
{
    struct dm_link *link = dm_link_of(me.conn, rdmaq());
    bool is_signalled = ++me.n_unsignalled >= SIGNAL_EVERY;
    DAT_DTO_COOKIE cookie = {.as_64 = OURS};
    char *from = me.mem + sizeof(me.buf);
    DAT_LMR_TRIPLET lmr = {
        .virtual_address = (DAT_VADDR)(uintptr_t)from,
        .segment_length = (DAT_SEG_LENGTH)me.len,
        .lmr_context = me.mr->lmr[rdmaq()->ia->index].lctx,
    };
    DAT_RMR_TRIPLET rmr = {
        .virtual_address = me.remote,
        .segment_length = (DAT_SEG_LENGTH)me.len,
        .rmr_context = me.rkey.ctx[rdmaq()->peer_rail],
    };

    me.turn++;
    memcpy(from + me.len - sizeof(me.turn), &me.turn, sizeof(me.turn));
    if (DAT_EP_POST_RDMA_WRITE(link->ep, 1, &lmr, cookie, &rmr,
                               is_signalled ? DAT_COMPLETION_DEFAULT_FLAG
                                            : DAT_COMPLETION_SUPPRESS_FLAG) != DAT_SUCCESS)
        stop("dat_ep_post_rdma_write failed");
    if (!is_signalled)
        return;
    me.n_unsignalled = 0;
    me.n_due++;
    take_events(me.n_due > 1);
}

static void dat_recv(void)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(me.mem + me.len - sizeof(me.turn));
    uint64_t want = me.rank == 0 ? me.turn : me.turn + 1;
    int spins = 0;

    while (atomic_load_explicit(word, memory_order_acquire) != want) {
        if (rdmaq()->ia->is_driven)
            take_events(false);
        relax(&spins);
    }
}

static void dat_end(void)
{
    if (me.n_due > 0)
        take_events(true);
}

/* Memory for it, and the endpoint beside the pipe, which the first write makes. */
static struct {
    struct dm_rdma rdma;
    int is_done;
} first;

static void first_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    if (err != DM_OK)
        stop("the first write failed");
    first.is_done = 1;
}

static void dat_begin(void)
{
    struct {
        uint64_t addr;
        struct dm_rkey rkey;
    } mine, peers;
    void *mem;

    if (dm_adapt_mem_alloc(dm_chan_adapt(me.chan), 2 * sizeof(me.buf), &mem, &me.mr) != DM_OK ||
        !dm_adapt_is_registered(me.mr))
        stop("no registered memory");
    me.mem = mem;
    mine.addr = (uint64_t)(uintptr_t)mem;
    dm_adapt_rkey(me.mr, &mine.rkey);
    MPI_Sendrecv(&mine, sizeof(mine), MPI_BYTE, 1 - me.rank, 0, &peers, sizeof(peers), MPI_BYTE,
                 1 - me.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    me.remote = peers.addr;
    me.rkey = peers.rkey;
    first.rdma.done = first_done;
    if (dm_adapt_rdma_write(me.conn, &first.rdma, me.mem + sizeof(me.buf), me.mr, me.remote,
                            &me.rkey, 8) != DM_OK)
        stop("no RDMA write");
    while (!first.is_done)
        dm_chan_progress(me.chan);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- adapter ---- */

static void adapter_send(void)
{
    void *place;
    int spins = 0;

    while ((place = dm_adapt_eager_reserve(me.conn, me.len)) == NULL)
        relax(&spins);
    memcpy(place, me.buf, me.len);
    if (dm_adapt_eager_commit(me.conn, me.len) != DM_OK)
        stop("dm_adapt_eager_commit failed");
}

static void adapter_recv(void)
{
    const void *data;
    int spins = 0;

    while (dm_adapt_eager_peek(me.conn, &data) < me.len) {
        if (me.conn->rx.protocol == DM_RECORD_SEND || me.conn->ia->is_driven)
            dm_poll_drain(dm_chan_adapt(me.chan));
        relax(&spins);
    }
    memcpy(me.buf, data, me.len);
    dm_adapt_eager_consume(me.conn, me.len);
}

/* ---- channel ---- */

static void arrived(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    (void)arg;
    (void)proc;
    (void)sink;
    if (avail != pkt->data_len)
        stop("a packet came in pieces");
    memcpy(me.buf, data, avail);
    me.n_arrived++;
}

static void channel_send(void)
{
    struct dm_pkt pkt = {PKT, DM_PKT_VERSION, sizeof(pkt), 0, (uint32_t)me.len};

    while (dm_chan_send_now(me.chan, 1 - me.rank, &pkt, me.buf) == DM_EAGAIN)
        dm_chan_progress_wait(me.chan);
}

static void channel_recv(void)
{
    while (me.n_arrived == 0)
        dm_chan_progress_wait(me.chan);
    me.n_arrived--;
}

/* ---- mpi ---- */

static void mpi_send(void)
{
    MPI_Send(me.buf, (int)me.len, MPI_BYTE, 1 - me.rank, 0, MPI_COMM_WORLD);
}

static void mpi_recv(void)
{
    MPI_Recv(me.buf, (int)me.len, MPI_BYTE, 1 - me.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- rounds ---- */

static const struct layer {
    const char *name;
    void (*send)(void);
    void (*recv)(void);
    void (*end)(void);
} layers[] = {
    {"dat", dat_send, dat_recv, dat_end},
    {"adapter", adapter_send, adapter_recv, NULL},
    {"channel", channel_send, channel_recv, NULL},
    {"mpi", mpi_send, mpi_recv, NULL},
};
enum { N_LAYERS = sizeof(layers) / sizeof(layers[0]) };

static void exchange(const struct layer *layer, int n)
{
    for (int i = 0; i < n; i++) {
        if (me.rank == 0)
            layer->send();
        layer->recv();
        if (me.rank == 1)
            layer->send();
    }
}

/* us one way. Nothing of another layer is under way before and behind it. */
static double run_round(const struct layer *layer)
{
    double start, us;

    MPI_Barrier(MPI_COMM_WORLD);
    /* out of it, both: the channel must not meet with bytes that are no packets */
    exchange(&layers[0], 1);
    dat_end();
    start = MPI_Wtime();
    exchange(layer, me.n);
    us = (MPI_Wtime() - start) * 1e6 / 2 / me.n;
    if (layer->end != NULL)
        layer->end();
    return us;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double us[N_LAYERS][SIZES_MAX][ROUNDS_MAX];

/* Every size in every round: cores are not always as near to each other. */
static void measure(size_t least, size_t most, int n_rounds)
{
    for (int i = 0; i < n_rounds; i++) {
        int at = 0;

        for (me.len = least; me.len <= most; me.len *= 2, at++)
            for (int k = 0; k < N_LAYERS; k++)
                us[k][at][i] = run_round(&layers[k]);
    }
}

static void report(size_t least, size_t most, int n)
{
    int at = 0;

    for (size_t len = least; len <= most; len *= 2, at++) {
        for (int k = 0; k < N_LAYERS; k++) {
            double *all = us[k][at];

            qsort(all, (size_t)n, sizeof(all[0]), by_value);
            printf("%s %zu %.4f %.4f %.4f %.4f\n", layers[k].name, len, all[0], all[n / 2],
                   all[n / 10], all[n - 1 - n / 10]);
        }
    }
}

int main(int argc, char **argv)
{
    int is_quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    size_t least = 8, most = 1024;
    int size, n_rounds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 + is_quick && sscanf(argv[1 + is_quick], "%zu:%zu", &least, &most) != 2)
        least = 0;
    if (size != 2 || least < 8 || most < least || most > sizeof(me.buf)) {
        if (me.rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 layers [-q] [MIN:MAX]\n"
                            "sizes from 8 to 4096 bytes\n");
        MPI_Finalize();
        return 2;
    }
    me.chan = dm_world.chan;
    me.conn = dm_adapt_conn(dm_chan_adapt(me.chan), 1 - me.rank);
    me.n = is_quick ? 50 : 200;
    n_rounds = is_quick ? 40 : ROUNDS_MAX;
    dm_chan_on_packet(me.chan, PKT, arrived, NULL);
    dat_begin();
    measure(least, most, n_rounds);
    if (me.rank == 0)
        report(least, most, n_rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    dm_adapt_mem_free(dm_chan_adapt(me.chan), me.mem);
    MPI_Finalize();
    return 0;
}
