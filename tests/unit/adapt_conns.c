/* test: layers=util,dapl_adapt timeout=60 warn=it.goes.on.over */
/* Connections that fail and cross, providers that do not open, RDMA, loss, the registration cache. */
#include <sys/mman.h>

#include "adapt_two.h"

/* Both connect at once, refusals and time-outs on the way: one connection comes out. */
static void crossing(int n_not_listening, int n_lost, int n_unreachable)
{
    open_both();
    FAKE_CALL(fake.n_not_listening = n_not_listening);
    FAKE_CALL(fake.n_lost = n_lost);
    FAKE_CALL(fake.n_unreachable = n_unreachable);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    CHECK_EQ(dm_adapt_connect(conn_of(1)), DM_OK);
    stream(5000, 300);
    CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
    FAKE_CALL(fake.n_not_listening = fake.n_lost = fake.n_unreachable = 0);
    close_both();
}

/*
 * Answers that the connector never hears, while the acceptor takes the connection for made: it is made anew, and
 * an attempt takes a part of the time for all of them.
 */
static void unheard(void)
{
    for (int from = 0; from < 2; from++) {
        open_both();
        FAKE_CALL(fake.n_unheard = 2);
        FAKE_CALL(fake.longest = 0);
        CHECK_EQ(dm_adapt_connect(conn_of(from)), DM_OK);
        stream(5000, 300);
        CHECK_EQ(sides[0].n_failed + sides[1].n_failed, 0);
        CHECK(fake.longest > 0 && fake.longest <= dm_cfg()->timeout / 2);
        FAKE_CALL(fake.n_unheard = 0);
        close_both();
    }
}

/* The first rail never answers: the second one carries everything. */
static void second_rail(void)
{
    crossing(0, 0, 1000);
    CHECK(fake.n_connects < 1000);
}

static void nobody(void)
{
    uint64_t start = dm_clock_ns();

    open_both();
    FAKE_CALL(fake.n_not_listening = 1000000);
    CHECK_EQ(dm_adapt_connect(conn_of(0)), DM_OK);
    while (sides[0].n_failed == 0 && dm_clock_ns() - start < 10000000000u)
        dm_adapt_poll(sides[0].adapt);
    CHECK_EQ(sides[0].n_failed, 1);
    CHECK_EQ(sides[0].err, DM_ECONN);
    CHECK(strstr(dm_err_detail(), "rank 1 on host here") != NULL);
    FAKE_CALL(fake.n_not_listening = 0);
    close_both();
}

/* A queue that could be freed by half only: its instance stays, since closing it by force meets the rest. */
static void half_freed(void)
{
    open_both();
    stream(1000, 100);
    FAKE_CALL(fake.fails_evd_free = true);
    close_both();
    CHECK_EQ(fake.n_forced, 0);
    FAKE_CALL(fake.fails_evd_free = false);
}

/* Unknown peers connect: each is refused, nothing else happens. */
static void unknown_peers(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    struct dm_ia *ia;
    struct dm_conn_private priv;
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ep;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_EP_ATTR attr;

    open_both();
    ia = sides[0].adapt->rails.ias[0];
    memset(&attr, 0, sizeof(attr));
    memcpy(&addr, ia->net.addr, sizeof(addr));
    fake_evd_create(NULL, 8, NULL, DAT_EVD_CONNECTION_FLAG, &evd);
    CHECK_EQ(dm_conn_want_links(conn_of(0)), DM_OK);
    for (int i = 0; i < 7; i++) {
        dm_conn_prepare(conn_of(0), &conn_of(0)->links->at[DM_LINK_PIPE], ia);
        dm_conn_private_fill(conn_of(0), DM_LINK_PIPE, DM_PRIVATE_CONNECT, &priv);
        fake_ep_free(conn_of(0)->links->at[DM_LINK_PIPE].ep);
        conn_of(0)->links->at[DM_LINK_PIPE].ep = DAT_HANDLE_NULL;
        priv.rank = 1; /* right so far */
        priv.magic += i == 0;
        priv.job += i == 1;
        priv.rank += i == 2;
        priv.rank -= i == 3;
        priv.version += i == 4;
        priv.slot_size += i == 5 ? DM_RING_SIZE_LARGE : 0;
        fake_ep_create(NULL, NULL, evd, evd, evd, &attr, &ep);
        fake_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&addr, ia->cm.qual, 1000000,
                        i == 6 ? 8 : (int)sizeof(priv), &priv, DAT_QOS_BEST_EFFORT, 0);
        CHECK_EQ(fake_evd_wait(evd, 5000000, 1, &event, &n_more), DAT_SUCCESS);
        CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
        fake_ep_free(ep);
    }
    fake_evd_free(evd);
    stream(1000, 100);
    close_both();
}

/* Providers that do not open: an error that names them, never another one instead. */
static void closed(void)
{
    struct dm_adapt_events ev = {&sides[0], on_input, on_writable, on_failed, NULL, NULL, NULL};
    struct dm_adapt *adapt = NULL;
    struct dm_adapt_job job;

    FAKE_CALL(fake.fails_open = true);
    procs[0] = (struct job_proc){.space = &space, .rank = 0, .size = N};
    job_describe(&procs[0], NULL, &job);
    job.kv.fence = no_fence;
    CHECK_EQ(dm_adapt_open(&job, &ev, &adapt), DM_EPROVIDER);
    CHECK(adapt == NULL);
    CHECK(strstr(dm_err_detail(), "fake-a") != NULL);
    CHECK(strstr(dm_err_detail(), dm_cfg()->provider[0] != '\0' ? "DATUM_PROVIDER" : conf_path) !=
          NULL);
}

static int n_listed;

static void on_provider(void *arg, const struct dm_provider_info *info)
{
    (void)arg;
    if (info->is_builtin)
        return;
    n_listed++;
    CHECK_EQ(info->is_usable, !fake.fails_open);
    CHECK_EQ(strcmp(info->verdict, "ok") == 0, info->is_usable);
    CHECK_STR(info->library, "in-process");
}

static void listed(void)
{
    CHECK_EQ(dm_adapt_list_providers(on_provider, NULL), DM_OK);
    fake.fails_open = true; /* then jobs have none, unless the user has named some */
    CHECK_EQ(dm_adapt_list_providers(on_provider, NULL),
             dm_cfg()->provider[0] != '\0' ? DM_OK : DM_EPROVIDER);
    CHECK_EQ(n_listed, 4);
}

/* ---- RDMA ---- */

static int n_done;
static int n_bad;

static void on_done(struct dm_rdma *rdma, int err)
{
    (void)rdma;
    n_done++;
    n_bad += err != DM_OK;
}

/* Short ones, with a page's end in them at their source; src[at] is to be the first byte of a page. */
static void shorts(const unsigned char *src, struct dm_mr *mine, unsigned char *dst,
                   const struct dm_rkey *rkey, size_t at, bool is_read)
{
    static struct dm_rdma rdma[24];
    unsigned char back[24 * 24] = {0};
    int n_before = n_done;

    for (size_t n = 1; n <= 24; n++) {
        size_t from = at + (n - 1) * 4096 - n / 2;
        uint64_t there = (uint64_t)(uintptr_t)dst + from;

        rdma[n - 1].done = on_done;
        if (is_read)
            CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[n - 1], back + 24 * (n - 1), NULL, there,
                                        rkey, n),
                     DM_OK);
        else
            CHECK_EQ(
                dm_adapt_rdma_write(conn_of(0), &rdma[n - 1], src + from, mine, there, rkey, n),
                DM_OK);
    }
    while (n_done < n_before + 24)
        poll_both();
    for (size_t n = 1; n <= 24; n++) {
        size_t from = at + (n - 1) * 4096 - n / 2;

        CHECK(memcmp(is_read ? back + 24 * (n - 1) : dst + from, src + from, n) == 0);
    }
}

/* Larger than the provider moves at once, more than its queue takes, connected on demand. */
static void bulk(void)
{
    static struct dm_rdma rdma[100];
    size_t len = 300000;
    unsigned char *src = malloc(len);
    unsigned char *dst = calloc(1, len);
    unsigned char *back = calloc(1, len);
    struct dm_rkey rkey;
    struct dm_mr *mr;
    struct dm_mr *mine;

    for (unsigned round = 0; round < 4; round++) {
        unsigned delay = round % 2 * 4;

        open_both();
        FAKE_CALL(fake.delay = delay);
        FAKE_CALL(fake.is_late = round >= 2);
        n_done = n_bad = 0;
        for (size_t i = 0; i < len; i++)
            src[i] = pattern(2, i + round);
        CHECK_EQ(dm_adapt_reg(sides[1].adapt, dst, len, &mr), DM_OK);
        CHECK_EQ(dm_adapt_reg(sides[0].adapt, src, len, &mine), DM_OK);
        dm_adapt_rkey(mr, &rkey);
        for (size_t i = 0; i < 100; i++) {
            rdma[i].done = on_done;
            CHECK_EQ(dm_adapt_rdma_write(conn_of(0), &rdma[i], src + i * 3000, mine,
                                         (uint64_t)(uintptr_t)dst + i * 3000, &rkey, 3000),
                     DM_OK);
        }
        while (n_done < 100)
            poll_both();
        CHECK(memcmp(src, dst, len) == 0);
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], back, NULL, (uint64_t)(uintptr_t)dst,
                                    &rkey, len),
                 DM_OK);
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[1], back, NULL, (uint64_t)(uintptr_t)dst,
                                    &rkey, 0),
                 DM_OK);
        CHECK_EQ(n_done, 101);
        while (n_done < 102)
            poll_both();
        CHECK(memcmp(back, dst, len) == 0);
        shorts(src, mine, dst, &rkey, 4096 - (uintptr_t)dst % 4096, true);
        memset(dst, 0, len);
        shorts(src, mine, dst, &rkey, 4096 - (uintptr_t)src % 4096, false);
        CHECK_EQ(n_bad, 0);
        dm_adapt_unreg(sides[0].adapt, mine);
        dm_adapt_unreg(sides[1].adapt, mr);
        FAKE_CALL(fake.is_late = false);
        close_both();
    }
    free(src);
    free(dst);
    free(back);
}

/* Acceptors that have missed the first data are told again: of pipes, and of RDMA links. */
static void deaf_acceptors(void)
{
    static struct dm_rdma rdma;
    uint64_t from = 1, to = 0;
    struct dm_rkey rkey;
    struct dm_mr *mine, *mr;

    open_both();
    FAKE_CALL(fake.is_deaf = fake.is_late = true);
    connect_both();
    n_done = n_bad = 0;
    CHECK_EQ(dm_adapt_reg(sides[0].adapt, &to, sizeof(to), &mr), DM_OK);
    CHECK_EQ(dm_adapt_reg(sides[1].adapt, &from, sizeof(from), &mine), DM_OK);
    dm_adapt_rkey(mr, &rkey);
    rdma.done = on_done;
    CHECK_EQ(dm_adapt_rdma_write(conn_of(1), &rdma, &from, mine, (uint64_t)(uintptr_t)&to, &rkey,
                                 sizeof(from)),
             DM_OK);
    while (n_done < 1)
        poll_both();
    CHECK_EQ(to, from);
    CHECK_EQ(n_bad, 0);
    dm_adapt_unreg(sides[1].adapt, mine);
    dm_adapt_unreg(sides[0].adapt, mr);
    stream(5000, 300);
    FAKE_CALL(fake.is_deaf = fake.is_late = false);
    close_both();
}

/* A lost connection: transfers end with an error, once each; puts fail; told once. */
static void loss(void)
{
    static struct dm_rdma rdma[80];
    static unsigned char mem[4096];
    struct dm_rkey rkey;
    struct dm_mr *mr;
    char byte = 0;
    struct iovec iov = {&byte, 1};
    uint64_t until;
    size_t taken;

    open_both();
    dm_adapt_connect(conn_of(0));
    stream(1000, 100);
    CHECK_EQ(dm_adapt_reg(sides[1].adapt, mem, sizeof(mem), &mr), DM_OK);
    dm_adapt_rkey(mr, &rkey);
    n_done = n_bad = 0;
    rdma[0].done = on_done;
    CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], mem + 2048, NULL, (uint64_t)(uintptr_t)mem,
                                &rkey, 100),
             DM_OK);
    while (n_done < 1)
        poll_both();
    FAKE_CALL(fake.delay = 1000000); /* nothing moves from here on */
    for (int i = 0; i < 80; i++) {
        rdma[i].done = on_done;
        CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[i], mem + 2048, NULL,
                                    (uint64_t)(uintptr_t)mem, &rkey, 100),
                 DM_OK);
    }
    fake_ep_disconnect(conn_of(1)->links->at[DM_LINK_PIPE].ep, DAT_CLOSE_ABRUPT_FLAG);
    until = dm_clock_ns() + 10000000000u;
    while ((sides[0].n_failed == 0 || sides[1].n_failed == 0 || n_done < 81) &&
           dm_clock_ns() < until)
        poll_both();
    for (int i = 0; i < 5000; i++)
        poll_both();
    CHECK_EQ(n_done, 81);
    CHECK_EQ(n_bad, 80);
    CHECK_EQ(sides[0].n_failed, 1);
    CHECK_EQ(sides[1].n_failed, 1);
    CHECK_EQ(sides[0].err, DM_EPEER);
    CHECK_EQ(dm_adapt_eager_put(conn_of(0), &iov, 1, &taken), DM_EPEER);
    CHECK(dm_adapt_eager_reserve(conn_of(0), 1) == NULL);
    CHECK_EQ(dm_adapt_rdma_read(conn_of(0), &rdma[0], mem, NULL, 0, &rkey, 1), DM_EPEER);
    dm_adapt_unreg(sides[1].adapt, mr);
    close_both();
}

/* ---- registration cache ---- */

/* Memory that nobody registers is memory all the same; peers get no keys. */
static void refused_memory(struct dm_adapt *adapt)
{
    struct dm_mr *a;
    struct dm_mr *b;
    void *ptr;

    while (dm_reg_cache_evict(&adapt->mem.cache))
        continue;
    FAKE_CALL(fake.max_lmrs = fake.n_lmrs);
    CHECK_EQ(dm_adapt_mem_alloc(adapt, 2 << 20, &ptr, &a), DM_OK); /* more than is there */
    CHECK(!dm_adapt_is_registered(a));
    memset(ptr, 1, 10000);
    CHECK_EQ(dm_adapt_reg(adapt, ptr, 100, &b), DM_EAGAIN);
    FAKE_CALL(fake.max_lmrs = 0);
    CHECK_EQ(dm_adapt_reg(adapt, ptr, 100, &b), DM_OK); /* there is room later */
    CHECK(b != a);
    dm_adapt_unreg(adapt, b);
    dm_adapt_mem_free(adapt, ptr);
}

static void reg_cache(void)
{
    struct dm_adapt *adapt;
    size_t page = 4096;
    char *mem = aligned_alloc(page, 64 * page);
    struct dm_mr *a;
    struct dm_mr *b;
    struct dm_mr *c;
    void *ptr;
    int base;

    FAKE_CALL(fake.refuses_shared = true);
    open_both();
    adapt = sides[0].adapt;
    base = fake.n_lmrs;
    CHECK_EQ(dm_adapt_reg(adapt, mem + 100, 200, &a), DM_OK);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 150, 10, &b), DM_OK);
    CHECK(a == b); /* a part of a known region */
    CHECK_EQ(dm_adapt_reg(adapt, mem + 4000, 200, &c), DM_OK);
    CHECK(c != a); /* grows over the next page; the old one lives while it is used */
    CHECK_EQ(fake.n_lmrs, base + 2 * adapt->rails.n_ias);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, b);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 2 * page, &a), DM_OK);
    CHECK(a == c);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, c);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias); /* kept */
    CHECK_EQ(dm_adapt_reg(adapt, mem + 1, 0, &a), DM_OK);
    dm_adapt_unreg(adapt, a);
    /* out of registrations: idle ones go, used ones do not */
    FAKE_CALL(fake.max_lmrs = base + 2 * adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 8 * page, page, &a), DM_OK);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 16 * page, page, &b), DM_OK);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 24 * page, page, &c), DM_EAGAIN);
    dm_adapt_unreg(adapt, a);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 24 * page, page, &c), DM_OK);
    dm_adapt_unreg(adapt, b);
    dm_adapt_unreg(adapt, c);
    FAKE_CALL(fake.max_lmrs = 0);
    /* the limit of what is kept unused: 20 pages by the settings of this test */
    for (int i = 0; i < 32; i++) {
        CHECK_EQ(dm_adapt_reg(adapt, mem + 2 * (size_t)i * page, page, &a), DM_OK);
        dm_adapt_unreg(adapt, a);
    }
    CHECK_EQ(fake.n_lmrs, base + 20 * adapt->rails.n_ias);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 64 * page, &a), DM_OK); /* takes all of them in */
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    dm_reg_cache_invalidate(&adapt->mem.cache, (uintptr_t)mem + 5, 1);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 10, &b), DM_OK);
    CHECK(a != b);
    dm_adapt_unreg(adapt, a);
    dm_adapt_unreg(adapt, b);
    CHECK_EQ(dm_adapt_mem_alloc(adapt, 100, &ptr, &a), DM_OK);
    CHECK_EQ((uintptr_t)ptr % 64, 0);
    CHECK_EQ(dm_adapt_reg(adapt, (char *)ptr + 8, 50, &b), DM_OK);
    CHECK(a == b);
    dm_adapt_unreg(adapt, b);
    CHECK(dm_adapt_is_registered(a));
    dm_adapt_mem_free(adapt, ptr);
    refused_memory(adapt);
    close_both();
    FAKE_CALL(fake.refuses_shared = false);
    free(mem);
}

/* Register and give back: is it found the next time? */
static bool is_kept(struct dm_adapt *adapt, char *mem, size_t len)
{
    uint64_t n_hits = adapt->mem.cache.n_hits;
    struct dm_mr *mr;

    for (int i = 0; i < 2; i++) {
        CHECK_EQ(dm_adapt_reg(adapt, mem, len, &mr), DM_OK);
        dm_adapt_unreg(adapt, mr);
    }
    return adapt->mem.cache.n_hits > n_hits;
}

/* Pages that go while a registration is idle, and while it is in use. */
static void pinned_changes(struct dm_adapt *adapt, char *mem, size_t len, int base)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, both = PROT_READ | PROT_WRITE;
    struct dm_mr *old, *new;

    CHECK(mmap(mem + 4096, 4096, both, flags, -1, 0) == mem + 4096);
    CHECK_EQ(dm_adapt_reg(adapt, mem, len, &old), DM_OK);
    CHECK_EQ(adapt->mem.cache.n_changed, 1);
    CHECK_EQ(dm_adapt_reg(adapt, mem + 100, 9, &new), DM_OK);
    CHECK(new == old);
    dm_adapt_unreg(adapt, new);
    CHECK(mmap(mem + 4096, 4096, both, flags, -1, 0) == mem + 4096);
    CHECK_EQ(dm_adapt_reg(adapt, mem, 4096, &new), DM_OK);
    CHECK(new != old);
    CHECK_EQ(fake.n_lmrs, base + 2 * adapt->rails.n_ias);
    dm_adapt_unreg(adapt, old); /* nobody finds it any more */
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
    dm_adapt_unreg(adapt, new);
    CHECK_EQ(fake.n_lmrs, base + adapt->rails.n_ias);
}

/* A provider that refuses the trial registration counts as one that pins. */
static void pinned(void)
{
    const int both = PROT_READ | PROT_WRITE;
    size_t len = 8 * 4096;
    char *mem = mmap(NULL, len, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, len, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool wants = dm_cfg()->reg_cache != DM_REG_CACHE_NO;
    struct dm_adapt *adapt;
    int base;

    memset(mem, 1, len);
    memset(shared, 1, len);
    FAKE_CALL(fake.max_locked = 200000);
    open_both();
    FAKE_CALL(fake.max_locked = 0);
    adapt = sides[0].adapt;
    base = fake.n_lmrs;
    CHECK(adapt->mem.is_pinning);
    CHECK_EQ(adapt->mem.keeps_regs, adapt->mem.watch != NULL);
    CHECK(wants ? adapt->mem.keeps_regs || adapt->mem.no_watch[0] != '\0'
                : adapt->mem.watch == NULL);
    CHECK_EQ(is_kept(adapt, mem, len), adapt->mem.keeps_regs);
    if (adapt->mem.keeps_regs)
        pinned_changes(adapt, mem, len, base);
    base = fake.n_lmrs;
    CHECK(!is_kept(adapt, shared, len));
    CHECK_EQ(fake.n_lmrs, base);
    CHECK(adapt->mem.n_single >= 2);
    close_both();
    munmap(mem, len);
    munmap(shared, len);
}

static void connections(void)
{
    crossing(0, 0, 0);
    crossing(3, 0, 0);
    crossing(0, 3, 0);
    crossing(2, 2, 1);
    second_rail();
}

int main(void)
{
    if (!two_begin())
        return 1;
    run("DATUM_EAGER=rdma", connections);
    run("DATUM_EAGER=sendrecv", connections);
    run("DATUM_EAGER=basic", connections);
    run("DATUM_EAGER=rdma", unheard);
    run("DATUM_EAGER=sendrecv", unheard);
    run("DATUM_EAGER=rdma DATUM_PROVIDER=fake-a", unheard);
    run("DATUM_EAGER=rdma DATUM_TIMEOUT=300ms", nobody);
    run("DATUM_EAGER=rdma", unknown_peers);
    run("DATUM_EAGER=rdma", half_freed);
    run("DATUM_PROVIDER=fake-a", closed);
    run("DATUM_PROVIDER=", closed);
    run("DATUM_PROVIDER=", listed);
    run("DATUM_EAGER=rdma", bulk);
    run("DATUM_EAGER=sendrecv", bulk);
    run("DATUM_EAGER=rdma", deaf_acceptors);
    run("DATUM_EAGER=sendrecv", deaf_acceptors);
    run("DATUM_EAGER=rdma DATUM_RECONNECT=0", loss);
    run("DATUM_EAGER=sendrecv DATUM_RECONNECT=0", loss);
    run("DATUM_EAGER=basic DATUM_RECONNECT=0", loss);
    run("DATUM_REG_CACHE_SIZE=81920", reg_cache);
    run("DATUM_REG_CACHE=interval", pinned);
    run("DATUM_REG_CACHE=no", pinned);
    return two_end();
}
