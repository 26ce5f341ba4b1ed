/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * A connection ends while large reads from its peer and from others are under way, because
 * the peer is killed or this side wants no more: its own reads are over in the order of
 * posting, each with all its data or not at all, the others' go on as if nothing had been,
 * and a new peer takes the place of the old one.
 */
#include "dat_crowd.h"

enum { N_PEERS = 3, DEPTH = 6, LEN = 1 << 20, ROUNDS = 12, MORE = 24 };

static unsigned char byte_of(int peer, size_t at)
{
    return (unsigned char)(at * 7 + at / 251 + (size_t)peer * 31 + 1);
}

static int sender(struct dt *t, const char *name, int me)
{
    struct dt_mem mem;
    char c;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, me != 1); /* one of them can be mapped by nobody */
    for (size_t i = 0; i < LEN; i++)
        mem.buf[i] = (char)byte_of(me, i);
    dt_crowd_connect(t);
    dt_tell(t, &mem, sizeof(mem));
    dt_hear(t, &c, 1); /* no calls while others read here */
    return 0;
}

struct reader {
    struct dt t;
    struct dt_crowd crowd;
    struct dt_mem mem; /* DEPTH pieces for each peer */
    struct dt_mem remote[N_PEERS];
    int n_posted[N_PEERS];
    int n_over[N_PEERS];
    bool is_cut;  /* peer 0 */
    bool is_dead; /* and a read from it was flushed */
};

static void post(struct reader *r, int peer)
{
    int slot = peer * DEPTH + r->n_posted[peer] % DEPTH;
    DAT_LMR_TRIPLET seg = dt_seg(&r->mem, (size_t)slot * LEN, LEN);
    DAT_RMR_TRIPLET from = dt_remote(&r->remote[peer], 0, LEN);

    memset(r->mem.buf + (size_t)slot * LEN, 0, LEN);
    OK(dat_ep_post_rdma_read(r->crowd.ep[peer], 1, &seg, dt_cookie((uint64_t)r->n_posted[peer]++),
                             &from, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Take one completion; whose read it was. */
static int reap(struct reader *r)
{
    DAT_EVENT event = dt_wait(r->t.req_evd);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    int peer = dt_crowd_find(&r->crowd, dto->ep_handle);
    int n = r->n_over[peer]++;
    const char *buf = r->mem.buf + (size_t)(peer * DEPTH + n % DEPTH) * LEN;

    CHECK_EQ(dto->user_cookie.as_64, n);
    if (dto->status != DAT_DTO_SUCCESS) {
        if (peer != 0 || !r->is_cut)
            DT_FAIL("a read from peer %d, which is well, has status %d", peer, (int)dto->status);
        r->is_dead = true;
        return peer;
    }
    if (peer == 0 && r->is_dead)
        DT_FAIL("read %d has succeeded after one that was flushed", n);
    for (size_t i = 0; i < LEN; i++)
        if ((unsigned char)buf[i] != byte_of(peer, i))
            DT_FAIL("read %d from peer %d: byte %zu is wrong", n, peer, i);
    return peer;
}

static void finish(struct reader *r, int n_left, DAT_EVENT_NUMBER end)
{
    char c = 'e';

    for (; n_left > 0; n_left--)
        (void)reap(r);
    dt_want_conn(r->t.conn_evd, end);
    for (int i = 1; i < N_PEERS; i++) { /* those who live still answer */
        post(r, i);
        CHECK_EQ(reap(r), i);
        OK(dat_ep_disconnect(r->crowd.ep[i], DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(r->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        CHECK_EQ(write(r->crowd.pipe[i], &c, 1), 1);
    }
}

static void cut(struct reader *r, bool is_killed)
{
    r->is_cut = true;
    if (!is_killed)
        OK(dat_ep_disconnect(r->crowd.ep[0], DAT_CLOSE_ABRUPT_FLAG));
    CHECK_EQ(kill(r->crowd.pid[0], SIGKILL), 0);
}

static void once(struct reader *r, const char *name, int round)
{
    bool is_killed = round % 2 == 0;
    int n_left = N_PEERS * DEPTH;

    r->is_cut = r->is_dead = false;
    dt_crowd_spawn(&r->crowd, N_PEERS, name);
    for (int i = 0; i < N_PEERS; i++) {
        r->t.pipe = r->crowd.pipe[i];
        r->crowd.ep[i] = dt_ep(&r->t);
        r->t.ep = r->crowd.ep[i];
        dt_join(&r->t, true);
        dt_hear(&r->t, &r->remote[i], sizeof(r->remote[i]));
        r->n_posted[i] = r->n_over[i] = 0;
    }
    for (int i = 0; i < N_PEERS * DEPTH; i++)
        post(r, i % N_PEERS);
    for (int i = 0; i < MORE; i++) {
        int peer;

        if (i == round)
            cut(r, is_killed);
        peer = reap(r);
        if (peer == 0 && r->is_cut)
            n_left--;
        else
            post(r, peer);
    }
    finish(r, n_left, is_killed ? DAT_CONNECTION_EVENT_BROKEN : DAT_CONNECTION_EVENT_DISCONNECTED);
    for (int i = 0; i < N_PEERS; i++)
        OK(dat_ep_free(r->crowd.ep[i]));
    dt_crowd_join(&r->crowd, true);
}

int main(int argc, char **argv)
{
    struct reader r;

    dt_crowd_sender(argc, argv, sender);
    memset(&r, 0, sizeof(r));
    dt_open(&r.t, dt_name(argc, argv));
    dt_alloc(&r.t, &r.mem, (size_t)N_PEERS * DEPTH * LEN, true);
    for (int i = 0; i < ROUNDS; i++)
        once(&r, dt_name(argc, argv), i);
    dt_close(&r.t);
    return 0;
}
