/*
 * Red-black tree.
 * Invariants: a red node has no red child; every way from a node down to a
 * missing child has the same number of black nodes; the root is black.
 * Both directions share the code: side 0 is smaller, side 1 is larger.
 */
#include "util/rbtree.h"

void dm_rbtree_init(struct dm_rbtree *tree, dm_rbtree_cmp *cmp)
{
    tree->root = NULL;
    tree->cmp = cmp;
    tree->n_nodes = 0;
}

static bool tree_is_red(const struct dm_rbnode *node)
{
    return node != NULL && node->is_red;
}

static int tree_side(const struct dm_rbnode *node)
{
    return node->parent->child[1] == node;
}

/* Makes the parent of old point to new (which may be NULL). */
static void tree_replace_child(struct dm_rbtree *tree, struct dm_rbnode *old, struct dm_rbnode *new)
{
    if (old->parent == NULL)
        tree->root = new;
    else
        old->parent->child[tree_side(old)] = new;
    if (new != NULL)
        new->parent = old->parent;
}

/* Moves node down to the given side; its child on the other side takes its place. */
static void tree_rotate(struct dm_rbtree *tree, struct dm_rbnode *node, int side)
{
    struct dm_rbnode *up = node->child[!side];

    node->child[!side] = up->child[side];
    if (up->child[side] != NULL)
        up->child[side]->parent = node;
    tree_replace_child(tree, node, up);
    up->child[side] = node;
    node->parent = up;
}

static void tree_fix_after_add(struct dm_rbtree *tree, struct dm_rbnode *node)
{
    while (tree_is_red(node->parent)) {
        struct dm_rbnode *parent = node->parent;
        struct dm_rbnode *grand = parent->parent;
        int side = tree_side(parent);
        struct dm_rbnode *uncle = grand->child[!side];

        if (tree_is_red(uncle)) {
            parent->is_red = false;
            uncle->is_red = false;
            grand->is_red = true;
            node = grand;
            continue;
        }
        if (tree_side(node) != side) {
            tree_rotate(tree, parent, side);
            parent = node;
        }
        parent->is_red = false;
        grand->is_red = true;
        tree_rotate(tree, grand, !side);
        break;
    }
    tree->root->is_red = false;
}

bool dm_rbtree_add(struct dm_rbtree *tree, struct dm_rbnode *node)
{
    struct dm_rbnode *parent = NULL;
    struct dm_rbnode **link = &tree->root;

    while (*link != NULL) {
        int order = tree->cmp(node, *link);

        if (order == 0)
            return false;
        parent = *link;
        link = &parent->child[order > 0];
    }
    *node = (struct dm_rbnode){.parent = parent, .is_red = true};
    *link = node;
    tree->n_nodes++;
    tree_fix_after_add(tree, node);
    return true;
}

/* The ways through parent's child on this side lack one black node. */
static void tree_fix_after_del(struct dm_rbtree *tree, struct dm_rbnode *parent, int side)
{
    while (parent != NULL) {
        struct dm_rbnode *node = parent->child[side];
        struct dm_rbnode *sibling = parent->child[!side];

        if (tree_is_red(node)) {
            node->is_red = false;
            return;
        }
        if (tree_is_red(sibling)) {
            sibling->is_red = false;
            parent->is_red = true;
            tree_rotate(tree, parent, side);
            sibling = parent->child[!side];
        }
        if (tree_is_red(sibling->child[0]) || tree_is_red(sibling->child[1])) {
            if (!tree_is_red(sibling->child[!side])) {
                sibling->child[side]->is_red = false;
                sibling->is_red = true;
                tree_rotate(tree, sibling, !side);
                sibling = parent->child[!side];
            }
            sibling->is_red = parent->is_red;
            parent->is_red = false;
            sibling->child[!side]->is_red = false;
            tree_rotate(tree, parent, side);
            return;
        }
        sibling->is_red = true;
        node = parent;
        parent = node->parent;
        if (parent != NULL)
            side = tree_side(node);
        else
            node->is_red = false;
    }
    if (tree->root != NULL)
        tree->root->is_red = false;
}

/* Unlinks a node that has one child at most. */
static void tree_del_simple(struct dm_rbtree *tree, struct dm_rbnode *node)
{
    struct dm_rbnode *child = node->child[node->child[0] == NULL];
    struct dm_rbnode *parent = node->parent;
    int side = parent != NULL ? tree_side(node) : 0;

    tree_replace_child(tree, node, child);
    if (!node->is_red)
        tree_fix_after_del(tree, parent, side);
    if (tree->root != NULL)
        tree->root->is_red = false;
}

void dm_rbtree_del(struct dm_rbtree *tree, struct dm_rbnode *node)
{
    struct dm_rbnode *next;

    tree->n_nodes--;
    if (node->child[0] == NULL || node->child[1] == NULL) {
        tree_del_simple(tree, node);
        return;
    }
    /* The next node has no smaller child: take it out and put it in our place. */
    next = dm_rbtree_next(node);
    tree_del_simple(tree, next);
    tree_replace_child(tree, node, next);
    next->is_red = node->is_red;
    for (int side = 0; side < 2; side++) {
        next->child[side] = node->child[side];
        if (next->child[side] != NULL)
            next->child[side]->parent = next;
    }
}

struct dm_rbnode *dm_rbtree_find(const struct dm_rbtree *tree, const void *key,
                                 dm_rbtree_cmp_key *cmp)
{
    struct dm_rbnode *node = tree->root;

    while (node != NULL) {
        int order = cmp(key, node);

        if (order == 0)
            return node;
        node = node->child[order > 0];
    }
    return NULL;
}

struct dm_rbnode *dm_rbtree_find_le(const struct dm_rbtree *tree, const void *key,
                                    dm_rbtree_cmp_key *cmp)
{
    struct dm_rbnode *node = tree->root;
    struct dm_rbnode *best = NULL;

    while (node != NULL) {
        int order = cmp(key, node);

        if (order >= 0)
            best = node;
        node = node->child[order >= 0];
    }
    return best;
}

struct dm_rbnode *dm_rbtree_find_ge(const struct dm_rbtree *tree, const void *key,
                                    dm_rbtree_cmp_key *cmp)
{
    struct dm_rbnode *node = tree->root;
    struct dm_rbnode *best = NULL;

    while (node != NULL) {
        int order = cmp(key, node);

        if (order <= 0)
            best = node;
        node = node->child[order > 0];
    }
    return best;
}

/* The outermost node of a tree on one side. */
static struct dm_rbnode *tree_outermost(struct dm_rbnode *node, int side)
{
    while (node != NULL && node->child[side] != NULL)
        node = node->child[side];
    return node;
}

static struct dm_rbnode *tree_neighbour(const struct dm_rbnode *node, int side)
{
    if (node->child[side] != NULL)
        return tree_outermost(node->child[side], !side);
    while (node->parent != NULL && tree_side(node) == side)
        node = node->parent;
    return node->parent;
}

struct dm_rbnode *dm_rbtree_first(const struct dm_rbtree *tree)
{
    return tree_outermost(tree->root, 0);
}

struct dm_rbnode *dm_rbtree_last(const struct dm_rbtree *tree)
{
    return tree_outermost(tree->root, 1);
}

struct dm_rbnode *dm_rbtree_next(const struct dm_rbnode *node)
{
    return tree_neighbour(node, 1);
}

struct dm_rbnode *dm_rbtree_prev(const struct dm_rbnode *node)
{
    return tree_neighbour(node, 0);
}
