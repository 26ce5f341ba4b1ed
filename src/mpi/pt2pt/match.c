/*
 * The table behind matching: buckets of keys, each the head of a queue.
 *
 * Invariants: a bucket chains the first nodes of different keys; n_keys of them are in the
 * table and n_buckets is a power of two. The table grows while it can: without memory chains
 * only get longer.
 */
#include "mpi/pt2pt/match.h"

#include <stdlib.h>

#include "mpi/pt2pt/match_inl.h"

/* Under keys of this kind unexpected messages of a context are in the order they came. */
#define ANYTHING (DM_MATCH_KINDS - 1)

static bool match_is_same(const struct dm_mkey *a, const struct dm_mkey *b)
{
    return a->ctx == b->ctx && a->source == b->source && a->tag == b->tag;
}

/* Tags that follow each other are often used in order: their buckets should be neighbours. */
static uint32_t match_hash(const struct dm_mkey *key)
{
    uint32_t tag = (uint32_t)key->tag;
    uint32_t h = (uint32_t)key->source * 0x9e3779b9u + key->ctx * 0x85ebca6bu;

    return (tag ^ tag >> 6 ^ tag >> 12 ^ tag >> 18 ^ tag >> 24) + (h ^ h >> 15);
}

static int match_kind(const struct dm_mkey *key)
{
    return (key->source == DM_MATCH_ANY_SOURCE) | (key->tag == DM_MATCH_ANY_TAG) << 1;
}

/* The key that leaves open what kind says. */
static struct dm_mkey match_open_key(const struct dm_mkey *key, int kind)
{
    struct dm_mkey k = *key;

    if (kind & 1)
        k.source = DM_MATCH_ANY_SOURCE;
    if (kind & 2)
        k.tag = DM_MATCH_ANY_TAG;
    return k;
}

static struct dm_mnode **match_bucket(struct dm_mtable *t, const struct dm_mkey *key)
{
    return &t->buckets[match_hash(key) & (t->n_buckets - 1)];
}

static void match_table_init(struct dm_mtable *t)
{
    *t = (struct dm_mtable){.n_buckets = DM_MATCH_SMALL};
    t->buckets = t->small;
}

static void match_grow(struct dm_mtable *t)
{
    uint32_t n = t->n_buckets * 4;
    struct dm_mtable bigger = {.n_buckets = n, .buckets = calloc(n, sizeof(*bigger.buckets))};

    if (bigger.buckets == NULL)
        return;
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        struct dm_mnode *node = t->buckets[i], *next;

        for (; node != NULL; node = next) {
            struct dm_mnode **b = match_bucket(&bigger, &node->key);

            next = node->chain;
            node->chain = *b;
            *b = node;
        }
    }
    if (t->buckets != t->small)
        free(t->buckets);
    t->buckets = bigger.buckets;
    t->n_buckets = n;
    t->last = NULL;
}

/*
 * Where the table points at the first node of a key, or would. Mostly it is the key asked for last.
 */
static inline struct dm_mnode **match_find(struct dm_mtable *t, const struct dm_mkey *key)
{
    struct dm_mnode **at = t->last;

    if (dm_likely(at != NULL && match_is_same(&(*at)->key, key)))
        return at;
    at = match_bucket(t, key);
    while (*at != NULL && !match_is_same(&(*at)->key, key))
        at = &(*at)->chain;
    if (*at != NULL)
        t->last = at;
    return at;
}

/* Into the table as it is. */
static void match_file(struct dm_mtable *t, struct dm_mnode *node)
{
    struct dm_mnode **at = match_find(t, &node->key), *first = *at;

    if (first != NULL) {
        node->is_first = false;
        node->prev = first->prev;
        node->next = first;
        first->prev->next = node;
        first->prev = node;
        return;
    }
    node->is_first = true;
    node->next = node;
    node->prev = node;
    node->chain = NULL;
    *at = node;
    t->last = at;
    t->n_keys++;
}

static void match_insert(struct dm_mtable *t, struct dm_mnode *node)
{
    if (t->n_keys >= t->n_buckets)
        match_grow(t);
    match_file(t, node);
}

static void match_take_out(struct dm_mtable *t, struct dm_mnode *node)
{
    if (node->is_first) {
        struct dm_mnode **at = match_find(t, &node->key);

        if (node->next != node) {
            node->next->is_first = true;
            node->next->chain = node->chain;
            *at = node->next;
        } else {
            *at = node->chain;
            t->n_keys--;
            t->last = NULL; /* it may be the chain of this node, too */
        }
    }
    node->prev->next = node->next;
    node->next->prev = node->prev;
}

void dm_match_init(struct dm_match *m)
{
    *m = (struct dm_match){.filed = 1u | 1u << ANYTHING};
    match_table_init(&m->posted);
    match_table_init(&m->unexp);
}

void dm_match_fini(struct dm_match *m)
{
    if (m->posted.buckets != m->posted.small)
        free(m->posted.buckets);
    if (m->unexp.buckets != m->unexp.small)
        free(m->unexp.buckets);
    dm_match_init(m);
}

/* ---- posted receives ---- */

static void match_post_in_table(struct dm_match *m, struct dm_mnode *node)
{
    match_insert(&m->posted, node);
    m->n_table++;
    m->n_kind[match_kind(&node->key)]++;
}

static void match_unpost_from_table(struct dm_match *m, struct dm_mnode *node)
{
    match_take_out(&m->posted, node);
    m->n_table--;
    m->n_kind[match_kind(&node->key)]--;
}

void dm_match_post_more(struct dm_match *m, struct dm_mnode *node)
{
    if (m->only != NULL) {
        match_post_in_table(m, m->only);
        m->only = NULL;
    }
    node->seq = m->seq++;
    match_post_in_table(m, node);
}

struct dm_mnode *dm_match_take_table(struct dm_match *m, const struct dm_mkey *key)
{
    struct dm_mnode *best = NULL;

    if (dm_likely(m->n_kind[0] == m->n_table)) {
        best = *match_find(&m->posted, key);
        if (best != NULL)
            match_unpost_from_table(m, best);
        return best;
    }
    for (int kind = 0; kind < DM_MATCH_KINDS; kind++) {
        struct dm_mkey k;
        struct dm_mnode *node;

        if (m->n_kind[kind] == 0)
            continue;
        k = match_open_key(key, kind);
        node = *match_find(&m->posted, &k);
        if (node != NULL && (best == NULL || node->seq < best->seq))
            best = node;
    }
    if (best != NULL)
        match_unpost_from_table(m, best);
    return best;
}

void dm_match_unpost(struct dm_match *m, struct dm_mnode *node)
{
    if (m->only == node)
        m->only = NULL;
    else
        match_unpost_from_table(m, node);
}

void dm_match_each_posted(struct dm_match *m, void (*fn)(void *arg, struct dm_mnode *node),
                          void *arg)
{
    if (m->only != NULL)
        fn(arg, m->only);
    for (uint32_t i = 0; i < m->posted.n_buckets; i++) {
        struct dm_mnode *first = m->posted.buckets[i], *next_first;

        for (; first != NULL; first = next_first) {
            struct dm_mnode *node = first, *last = first->prev, *next;

            next_first = first->chain;
            for (;; node = next) {
                bool is_last = node == last;

                next = node->next;
                fn(arg, node);
                if (is_last)
                    break;
            }
        }
    }
}

/* ---- unexpected messages ---- */

static bool match_is_filed(const struct dm_match *m, int kind)
{
    return m->filed >> kind & 1;
}

static void match_file_unexp(struct dm_match *m, struct dm_mnode nodes[DM_MATCH_KINDS])
{
    for (int kind = 0; kind < DM_MATCH_KINDS; kind++) {
        if (!match_is_filed(m, kind))
            continue;
        nodes[kind].key = match_open_key(&nodes[0].key, kind);
        match_insert(&m->unexp, &nodes[kind]);
    }
}

/* For who looks at all: the only one is in the table, too, from now on. */
static void match_file_only(struct dm_match *m)
{
    struct dm_mnode *nodes = m->only_unexp;

    m->only_unexp = NULL;
    if (nodes != NULL)
        match_file_unexp(m, nodes);
}

/* All that are queued, and from now on all that come, under this kind of key too. */
static void match_file_all(struct dm_match *m, int kind)
{
    struct dm_mtable *t = &m->unexp;

    m->filed |= 1u << kind;
    for (int i = 0; i < 16 && t->n_keys + m->n_unexp > t->n_buckets; i++)
        match_grow(t);
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        for (struct dm_mnode *first = t->buckets[i]; first != NULL; first = first->chain) {
            struct dm_mnode *node = first;

            if (match_kind(&first->key) != ANYTHING)
                continue;
            do {
                struct dm_mnode *nodes = node - ANYTHING;

                nodes[kind].key = match_open_key(&nodes[0].key, kind);
                match_file(t, &nodes[kind]);
                node = node->next;
            } while (node != first);
        }
    }
}

size_t dm_match_n_unexp(struct dm_match *m, uint32_t ctx)
{
    struct dm_mkey key = {
        .ctx = ctx, .source = DM_MATCH_ANY_SOURCE, .tag = DM_MATCH_ANY_TAG}; /* ANYTHING */
    struct dm_mnode *first = *match_find(&m->unexp, &key), *node = first;
    size_t n = 0;

    if (m->only_unexp != NULL)
        return m->only_unexp->key.ctx == ctx;
    while (node != NULL) {
        n++;
        node = node->next != first ? node->next : NULL;
    }
    return n;
}

void dm_match_add_level(struct dm_match *m, struct dm_match_level *level)
{
    level->n = dm_match_n_unexp(m, level->ctx);
    level->n_most = level->n;
    level->next = m->levels;
    m->levels = level;
}

void dm_match_del_level(struct dm_match *m, struct dm_match_level *level)
{
    struct dm_match_level **at = &m->levels;

    while (*at != NULL && *at != level)
        at = &(*at)->next;
    if (*at != NULL)
        *at = level->next;
}

static void match_raise_levels(struct dm_match *m, uint32_t ctx)
{
    for (struct dm_match_level *level = m->levels; level != NULL; level = level->next)
        if (level->ctx == ctx && ++level->n > level->n_most)
            level->n_most = level->n;
}

static void match_lower_levels(struct dm_match *m, uint32_t ctx)
{
    for (struct dm_match_level *level = m->levels; level != NULL; level = level->next)
        level->n -= level->ctx == ctx;
}

void dm_match_add_unexp(struct dm_match *m, struct dm_mnode nodes[DM_MATCH_KINDS],
                        const struct dm_mkey *key)
{
    match_raise_levels(m, key->ctx);
    nodes[0].key = *key;
    if (m->n_unexp++ == 0) {
        m->only_unexp = nodes;
        return;
    }
    match_file_only(m);
    match_file_unexp(m, nodes);
}

/* The only one as that node, if a receive with this key takes it. */
static struct dm_mnode *match_find_only(struct dm_mnode *nodes, const struct dm_mkey *key, int kind)
{
    if (!dm_mkey_takes(key, &nodes[0].key))
        return NULL;
    nodes[kind].next = &nodes[kind]; /* a circle, as in the table */
    return &nodes[kind];
}

struct dm_mnode *dm_match_find_unexp(struct dm_match *m, const struct dm_mkey *key, int *kind_p)
{
    if (m->n_unexp == 0)
        return NULL;
    *kind_p = match_kind(key);
    if (m->only_unexp != NULL)
        return match_find_only(m->only_unexp, key, *kind_p);
    if (!match_is_filed(m, *kind_p))
        match_file_all(m, *kind_p);
    return *match_find(&m->unexp, key);
}

void dm_match_del_unexp(struct dm_match *m, struct dm_mnode nodes[DM_MATCH_KINDS])
{
    m->n_unexp--;
    match_lower_levels(m, nodes[0].key.ctx);
    if (m->only_unexp == nodes) {
        m->only_unexp = NULL;
        return;
    }
    for (int kind = 0; kind < DM_MATCH_KINDS; kind++)
        if (match_is_filed(m, kind))
            match_take_out(&m->unexp, &nodes[kind]);
}

struct dm_mnode *dm_match_some_unexp_of(struct dm_match *m,
                                        bool (*is_it)(const struct dm_mnode *node, void *arg),
                                        void *arg)
{
    match_file_only(m);
    for (uint32_t i = 0; i < m->unexp.n_buckets; i++)
        for (struct dm_mnode *first = m->unexp.buckets[i]; first != NULL; first = first->chain) {
            struct dm_mnode *node = first;

            if (match_kind(&first->key) != 0)
                continue;
            do {
                if (is_it(node, arg))
                    return node;
                node = node->next;
            } while (node != first);
        }
    return NULL;
}

static bool match_any(const struct dm_mnode *node, void *arg)
{
    (void)node, (void)arg;
    return true;
}

struct dm_mnode *dm_match_some_unexp(struct dm_match *m)
{
    return dm_match_some_unexp_of(m, match_any, NULL);
}
