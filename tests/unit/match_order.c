/* test: timeout=60 layers=util,channel,mpi */
/* Matching: order with and without wildcards, against a model; cost with 100,000 entries. */
#include "mpi/pt2pt/match_inl.h"

#include <stdlib.h>
#include <time.h>

#include "test.h"

#define ANY_S DM_MATCH_ANY_SOURCE
#define ANY_T DM_MATCH_ANY_TAG

struct recv {
    struct dm_mnode node; /* first: nodes are cast */
    int id;
};

struct msg {
    struct dm_mnode nodes[DM_MATCH_KINDS];
    int id;
};

static struct dm_mkey key(uint32_t ctx, int source, int tag)
{
    return (struct dm_mkey){.ctx = ctx, .source = source, .tag = tag};
}

static int take(struct dm_match *m, struct dm_mkey k)
{
    struct dm_mnode *node = dm_match_take(m, &k);

    return node == NULL ? -1 : ((struct recv *)(void *)node)->id;
}

static int find(struct dm_match *m, struct dm_mkey k, bool takes)
{
    int kind;
    struct dm_mnode *node = dm_match_find_unexp(m, &k, &kind);
    struct msg *msg;

    if (node == NULL)
        return -1;
    msg = (struct msg *)(void *)(node - kind);
    if (takes)
        dm_match_del_unexp(m, msg->nodes);
    return msg->id;
}

static void one_receive(void)
{
    struct recv r = {.id = 1};
    struct dm_match m;

    dm_match_init(&m);
    CHECK_EQ(take(&m, key(2, 0, 5)), -1);
    r.node.key = key(2, 0, 5);
    dm_match_post(&m, &r.node);
    CHECK_EQ(take(&m, key(2, 0, 6)), -1);
    CHECK_EQ(take(&m, key(2, 1, 5)), -1);
    CHECK_EQ(take(&m, key(3, 0, 5)), -1);
    CHECK_EQ(take(&m, key(2, 0, 5)), 1);
    CHECK_EQ(take(&m, key(2, 0, 5)), -1);
    dm_match_post(&m, &r.node);
    dm_match_unpost(&m, &r.node);
    CHECK_EQ(take(&m, key(2, 0, 5)), -1);
    dm_match_fini(&m);
}

static void earliest_of_four_patterns(void)
{
    struct dm_match m;
    struct recv r[4] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}};
    struct dm_mkey patterns[4] = {key(2, 1, 7), key(2, ANY_S, 7), key(2, 1, ANY_T),
                                  key(2, ANY_S, ANY_T)};

    /* Every order of posting the four must be the order of taking. */
    for (int perm = 0; perm < 256; perm++) {
        int order[4] = {perm & 3, perm >> 2 & 3, perm >> 4 & 3, perm >> 6 & 3};

        if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15)
            continue;
        dm_match_init(&m);
        for (int i = 0; i < 4; i++) {
            r[order[i]].node.key = patterns[order[i]];
            dm_match_post(&m, &r[order[i]].node);
        }
        for (int i = 0; i < 4; i++)
            CHECK_EQ(take(&m, key(2, 1, 7)), order[i]);
        CHECK_EQ(take(&m, key(2, 1, 7)), -1);
        dm_match_fini(&m);
    }
}

/* The first receive with a wildcard comes when much is queued: it gets the earliest, too. */
static void late_wildcards(void)
{
    enum { N = 3000 };
    static struct msg msgs[N];
    struct dm_match m;

    for (int kind = 1; kind < DM_MATCH_KINDS; kind++) {
        struct dm_mkey k = key(2, kind & 1 ? ANY_S : 3, kind & 2 ? ANY_T : 4);

        dm_match_init(&m);
        for (int i = 0; i < N; i++) {
            struct dm_mkey of_msg = key(2 + i % 2, i % 5, i % 7);

            msgs[i].id = i;
            dm_match_add_unexp(&m, msgs[i].nodes, &of_msg);
        }
        for (int i = 0; i < N; i++)
            if (i % 2 == 0 && (kind & 1 || i % 5 == 3) && (kind & 2 || i % 7 == 4))
                CHECK_EQ(find(&m, k, true), i);
        CHECK_EQ(find(&m, k, true), -1);
        CHECK_EQ(find(&m, key(3, 1, 1), true), 1);
        dm_match_fini(&m);
    }
}

/* ---- random traffic against a list ---- */

#define N_OPS  60000
#define N_LIVE 4096

struct model {
    struct dm_mkey keys[N_LIVE];
    int ids[N_LIVE];
    int n;
};

static void model_add(struct model *mod, struct dm_mkey k, int id)
{
    mod->keys[mod->n] = k;
    mod->ids[mod->n++] = id;
}

static int model_take(struct model *mod, int at)
{
    int id = mod->ids[at];

    mod->n--;
    memmove(&mod->keys[at], &mod->keys[at + 1], (size_t)(mod->n - at) * sizeof(mod->keys[0]));
    memmove(&mod->ids[at], &mod->ids[at + 1], (size_t)(mod->n - at) * sizeof(mod->ids[0]));
    return id;
}

static int model_match(struct model *mod, struct dm_mkey k, bool k_is_recv)
{
    for (int i = 0; i < mod->n; i++)
        if (k_is_recv ? dm_mkey_takes(&k, &mod->keys[i]) : dm_mkey_takes(&mod->keys[i], &k))
            return i;
    return -1;
}

/* How many of a context there are. */
static int model_n(const struct model *mod, uint32_t ctx)
{
    int n = 0;

    for (int i = 0; i < mod->n; i++)
        n += mod->keys[i].ctx == ctx;
    return n;
}

/* A level is what the model counts, and its most what that ever was. */
static void check_level(struct dm_match *m, struct dm_match_level *level, const struct model *unexp,
                        int *most)
{
    int n = model_n(unexp, level->ctx);

    if (n > *most)
        *most = n;
    CHECK_EQ(level->n, n);
    CHECK_EQ(level->n_most, *most);
    CHECK_EQ(dm_match_n_unexp(m, level->ctx), n);
}

static uint32_t rnd_state = 12345;

static int rnd(int n)
{
    rnd_state = rnd_state * 1664525u + 1013904223u;
    return (int)((rnd_state >> 8) % (uint32_t)n);
}

static void like_a_list(int n_sources, int n_tags)
{
    static struct model posted, unexp;
    struct recv *recvs = calloc(N_OPS, sizeof(*recvs));
    struct msg *msgs = calloc(N_OPS, sizeof(*msgs));
    struct dm_match_level levels[2] = {{.ctx = 0}, {.ctx = 2}};
    struct dm_match m;
    int most[2] = {0, 0};

    posted.n = unexp.n = 0;
    dm_match_init(&m);
    dm_match_add_level(&m, &levels[0]);
    for (int i = 0; i < N_OPS && test_n_failed < 10; i++) {
        struct dm_mkey k = key((uint32_t)rnd(2) * 2, rnd(n_sources), rnd(n_tags));
        int what = rnd(21), at;

        if (what < 10) { /* a message */
            at = model_match(&posted, k, false);
            CHECK_EQ(take(&m, k), at < 0 ? -1 : posted.ids[at]);
            if (at >= 0) {
                model_take(&posted, at);
            } else if (unexp.n < N_LIVE) {
                msgs[i].id = i;
                dm_match_add_unexp(&m, msgs[i].nodes, &k);
                model_add(&unexp, k, i);
            }
        } else if (what < 20) { /* a receive */
            if (rnd(4) == 0)
                k.source = ANY_S;
            if (rnd(4) == 0)
                k.tag = ANY_T;
            at = model_match(&unexp, k, true);
            CHECK_EQ(find(&m, k, true), at < 0 ? -1 : unexp.ids[at]);
            if (at >= 0) {
                model_take(&unexp, at);
            } else if (posted.n < N_LIVE) {
                recvs[i].id = i;
                recvs[i].node.key = k;
                dm_match_post(&m, &recvs[i].node);
                model_add(&posted, k, i);
            }
        } else if (posted.n > 0) { /* a cancel */
            int id = model_take(&posted, rnd(posted.n));

            dm_match_unpost(&m, &recvs[id].node);
        }
        CHECK_EQ(m.n_unexp, unexp.n);
        CHECK_EQ(m.n_table + (m.only != NULL), posted.n);
        if (i % (N_OPS / 3) == N_OPS / 3 - 1) { /* in the midst: the other one */
            most[1] = model_n(&unexp, 2);
            dm_match_del_level(&m, &levels[1]);
            dm_match_add_level(&m, &levels[1]);
            CHECK_EQ(levels[1].n_most, most[1]);
        }
        if (i % 16 == 0)
            check_level(&m, &levels[0], &unexp, &most[0]);
        else
            most[0] = levels[0].n_most > (size_t)most[0] ? (int)levels[0].n_most : most[0];
        if (i > N_OPS / 3 && i % 16 == 0)
            check_level(&m, &levels[1], &unexp, &most[1]);
        else if (i > N_OPS / 3)
            most[1] = levels[1].n_most > (size_t)most[1] ? (int)levels[1].n_most : most[1];
    }
    dm_match_fini(&m);
    free(recvs);
    free(msgs);
}

/* ---- many ---- */

#define N_MANY 100000

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Last come, first asked for: what a list cannot do. */
static void many_in_reverse(void)
{
    struct recv *recvs = calloc(N_MANY, sizeof(*recvs));
    struct msg *msgs = calloc(N_MANY, sizeof(*msgs));
    struct dm_match m;
    double start = seconds();
    int bad = 0;

    dm_match_init(&m);
    for (int i = 0; i < N_MANY; i++) {
        struct dm_mkey k = key(2, i % 7, i);

        msgs[i].id = i;
        dm_match_add_unexp(&m, msgs[i].nodes, &k);
    }
    for (int i = N_MANY - 1; i >= 0; i--)
        bad += find(&m, key(2, i % 2 == 0 ? ANY_S : i % 7, i), true) != i;
    for (int i = 0; i < N_MANY; i++) {
        recvs[i].id = i;
        recvs[i].node.key = key(2, i % 7, i);
        dm_match_post(&m, &recvs[i].node);
    }
    for (int i = N_MANY - 1; i >= 0; i--)
        bad += take(&m, key(2, i % 7, i)) != i;
    /* One key, in order. */
    for (int i = 0; i < N_MANY; i++) {
        recvs[i].node.key = key(2, ANY_S, 3);
        dm_match_post(&m, &recvs[i].node);
    }
    for (int i = 0; i < N_MANY; i++)
        bad += take(&m, key(2, i % 5, 3)) != i;
    CHECK_EQ(bad, 0);
    /* 0.1 s here; a list would need minutes. */
    CHECK(seconds() - start < 10);
    dm_match_fini(&m);
    free(recvs);
    free(msgs);
}

static void unpost(void *arg, struct dm_mnode *node)
{
    dm_match_unpost(arg, node);
    ((struct recv *)(void *)node)->id++;
}

static void each_may_unpost(void)
{
    static struct recv r[1000];
    struct dm_match m;

    for (int n = 0; n <= 1000; n = n < 3 ? n + 1 : n * 3) {
        dm_match_init(&m);
        for (int i = 0; i < n; i++) {
            r[i].id = 0;
            r[i].node.key = key(2, i % 3, i % 17);
            dm_match_post(&m, &r[i].node);
        }
        dm_match_each_posted(&m, unpost, &m);
        for (int i = 0; i < n; i++)
            CHECK_EQ(r[i].id, 1);
        CHECK_EQ(m.n_table, 0);
        CHECK(m.only == NULL);
        dm_match_fini(&m);
    }
}

int main(void)
{
    one_receive();
    earliest_of_four_patterns();
    late_wildcards();
    like_a_list(2, 2);
    like_a_list(5, 40);
    like_a_list(100, 1000);
    many_in_reverse();
    each_may_unpost();
    return test_result();
}
