/*
 * Intrusive red-black tree: nodes are members of the caller's objects
 * (dm_container_of in util/list.h finds the object). No allocation, no lock.
 */
#ifndef DM_UTIL_RBTREE_H
#define DM_UTIL_RBTREE_H

#include <stdbool.h>
#include <stddef.h>

struct dm_rbnode {
    struct dm_rbnode *parent;
    struct dm_rbnode *child[2]; /* smaller, larger */
    bool is_red;
};

/* Negative, 0 or positive, as a is before, like or after b. */
typedef int dm_rbtree_cmp(const struct dm_rbnode *a, const struct dm_rbnode *b);
/* The same for a key against a node. */
typedef int dm_rbtree_cmp_key(const void *key, const struct dm_rbnode *node);

struct dm_rbtree {
    struct dm_rbnode *root;
    dm_rbtree_cmp *cmp;
    size_t n_nodes;
};

void dm_rbtree_init(struct dm_rbtree *tree, dm_rbtree_cmp *cmp);
/* Link a node in; false (and nothing done) when one like it is there already. */
bool dm_rbtree_add(struct dm_rbtree *tree, struct dm_rbnode *node);
/* Unlink a node that is in the tree. */
void dm_rbtree_del(struct dm_rbtree *tree, struct dm_rbnode *node);

/* The node equal to key, NULL when there is none. */
struct dm_rbnode *dm_rbtree_find(const struct dm_rbtree *tree, const void *key,
                                 dm_rbtree_cmp_key *cmp);
/* The last node that is not after key, NULL when all are. */
struct dm_rbnode *dm_rbtree_find_le(const struct dm_rbtree *tree, const void *key,
                                    dm_rbtree_cmp_key *cmp);
/* The first node that is not before key, NULL when all are. */
struct dm_rbnode *dm_rbtree_find_ge(const struct dm_rbtree *tree, const void *key,
                                    dm_rbtree_cmp_key *cmp);

/* In order; NULL at the end. Deleting the node invalidates its next only. */
struct dm_rbnode *dm_rbtree_first(const struct dm_rbtree *tree);
struct dm_rbnode *dm_rbtree_last(const struct dm_rbtree *tree);
struct dm_rbnode *dm_rbtree_next(const struct dm_rbnode *node);
struct dm_rbnode *dm_rbtree_prev(const struct dm_rbnode *node);

#endif
