/*
 * Matching of messages with receives by (context, source, tag), in order.
 *
 * Entries of one key form a queue whose first entry sits in a hash table. A posted
 * receive has one node, under its own key, wildcards included; a message looks under
 * the four keys that may take it and the earliest wins. An unexpected message has four nodes, one
 * under each key that a receive for it may have; a receive looks under its own. So
 * every step costs the same whatever is queued. Those with one wildcard are filed from
 * the first receive on that looks for such a key. A receive that is the only one posted is in
 * `only` instead of the table, and a message that is the only one unexpected in `only_unexp`: the
 * common case is one comparison.
 */
#ifndef DM_MPI_PT2PT_MATCH_H
#define DM_MPI_PT2PT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DM_MATCH_ANY_SOURCE (-2)
#define DM_MATCH_ANY_TAG    (-1)
#define DM_MATCH_SMALL      64 /* buckets that need no memory */

struct dm_mkey {
    uint32_t ctx;
    int32_t source; /* or DM_MATCH_ANY_SOURCE */
    int32_t tag;    /* or DM_MATCH_ANY_TAG */
};

struct dm_mnode {
    struct dm_mnode *chain; /* next key in the bucket; of first nodes only */
    struct dm_mnode *next;  /* same key, in a circle */
    struct dm_mnode *prev;
    uint64_t seq; /* when it came */
    struct dm_mkey key;
    bool is_first; /* of its key: in the bucket */
};

/* Key to queue. */
struct dm_mtable {
    struct dm_mnode **buckets;
    struct dm_mnode **last; /* the place of the key found last; NULL: look */
    uint32_t n_buckets;
    uint32_t n_keys;
    struct dm_mnode *small[DM_MATCH_SMALL];
};

/* How many unexpected messages of a context there are, and were at most; while somebody asks. */
struct dm_match_level {
    struct dm_match_level *next;
    uint32_t ctx;
    size_t n;
    size_t n_most;
};

/* Which of source and tag a key leaves open: bit 0 source, bit 1 tag. */
#define DM_MATCH_KINDS 4

struct dm_match {
    struct dm_mnode *only;       /* the one posted receive; then the table is empty */
    struct dm_mnode *only_unexp; /* the four of the one unexpected message; the same */
    uint64_t seq;
    size_t n_unexp;
    unsigned filed; /* kinds of keys that unexpected messages are filed under, by bit */
    size_t n_table; /* posted receives in the table */
    size_t n_kind[DM_MATCH_KINDS]; /* of each kind */
    struct dm_match_level *levels;
    struct dm_mtable posted;
    struct dm_mtable unexp;
};

void dm_match_init(struct dm_match *m);
/* Free the tables, not what is in them. */
void dm_match_fini(struct dm_match *m);

/* For dm_match_post: when something is posted already. */
void dm_match_post_more(struct dm_match *m, struct dm_mnode *node);
/* For dm_match_take: when more than one is posted. */
struct dm_mnode *dm_match_take_table(struct dm_match *m, const struct dm_mkey *key);
/* Withdraw a posted receive. */
void dm_match_unpost(struct dm_match *m, struct dm_mnode *node);
/* The posted receives in any order, for looking at all: fn may unpost the one it gets. */
void dm_match_each_posted(struct dm_match *m, void (*fn)(void *arg, struct dm_mnode *node),
                          void *arg);

/* Queue a message under key: nodes are its four. */
void dm_match_add_unexp(struct dm_match *m, struct dm_mnode nodes[DM_MATCH_KINDS],
                        const struct dm_mkey *key);
/*
 * The earliest message that a receive with this key takes, as its node number i, where
 * i is *kind_p; NULL when there is none. It stays queued.
 */
struct dm_mnode *dm_match_find_unexp(struct dm_match *m, const struct dm_mkey *key, int *kind_p);
void dm_match_del_unexp(struct dm_match *m, struct dm_mnode nodes[DM_MATCH_KINDS]);
/* Some queued message, as its node number 0; NULL when there is none. For the end. */
struct dm_mnode *dm_match_some_unexp(struct dm_match *m);
/* The same of those that is_it says yes to. */
struct dm_mnode *dm_match_some_unexp_of(struct dm_match *m,
                                        bool (*is_it)(const struct dm_mnode *node, void *arg),
                                        void *arg);
/* Keep the level of level->ctx from now on, which is counted first; and no longer. */
void dm_match_add_level(struct dm_match *m, struct dm_match_level *level);
void dm_match_del_level(struct dm_match *m, struct dm_match_level *level);
/* Count the queued messages of a context, one by one. */
size_t dm_match_n_unexp(struct dm_match *m, uint32_t ctx);

#endif
