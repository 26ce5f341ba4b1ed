/* test: layers=util timeout=30 */
/* The tree against a plain array, with its invariants checked after each step. */
#include "util/rbtree.h"

#include <stdlib.h>

#include "test.h"
#include "util/list.h"

#define N_KEYS  200
#define N_STEPS 20000

struct item {
    int key;
    bool is_in;
    struct dm_rbnode node;
};

static struct item items[N_KEYS];

static int key_of(const struct dm_rbnode *node)
{
    return dm_container_of(node, const struct item, node)->key;
}

static int cmp_nodes(const struct dm_rbnode *a, const struct dm_rbnode *b)
{
    return (key_of(a) > key_of(b)) - (key_of(a) < key_of(b));
}

static int cmp_key(const void *key, const struct dm_rbnode *node)
{
    int k = *(const int *)key;

    return (k > key_of(node)) - (k < key_of(node));
}

/* Black height of a subtree; counts violations as failures. */
static int check_subtree(const struct dm_rbnode *node)
{
    int left;
    int right;

    if (node == NULL)
        return 1;
    for (int side = 0; side < 2; side++) {
        const struct dm_rbnode *child = node->child[side];

        if (child == NULL)
            continue;
        CHECK(child->parent == node);
        CHECK(!(node->is_red && child->is_red));
        CHECK(side == 0 ? key_of(child) < key_of(node) : key_of(child) > key_of(node));
    }
    left = check_subtree(node->child[0]);
    right = check_subtree(node->child[1]);
    CHECK_EQ(left, right);
    return left + !node->is_red;
}

static void check_tree(const struct dm_rbtree *tree)
{
    struct dm_rbnode *node = dm_rbtree_first(tree);
    size_t n = 0;

    CHECK(tree->root == NULL || !tree->root->is_red);
    check_subtree(tree->root);
    for (int i = 0; i < N_KEYS; i++) {
        if (!items[i].is_in)
            continue;
        CHECK(node == &items[i].node);
        node = dm_rbtree_next(node);
        n++;
    }
    CHECK(node == NULL);
    CHECK_EQ(tree->n_nodes, n);
    node = dm_rbtree_last(tree);
    for (int i = N_KEYS; i-- > 0;) {
        if (!items[i].is_in)
            continue;
        CHECK(node == &items[i].node);
        node = dm_rbtree_prev(node);
    }
}

static void check_finds(const struct dm_rbtree *tree, int key)
{
    struct dm_rbnode *le = NULL;
    struct dm_rbnode *ge = NULL;

    for (int i = 0; i < N_KEYS; i++) {
        if (items[i].is_in && items[i].key <= key)
            le = &items[i].node;
        if (items[i].is_in && items[i].key >= key && ge == NULL)
            ge = &items[i].node;
    }
    CHECK(dm_rbtree_find_le(tree, &key, cmp_key) == le);
    CHECK(dm_rbtree_find_ge(tree, &key, cmp_key) == ge);
    CHECK(dm_rbtree_find(tree, &key, cmp_key) == (le == ge ? le : NULL));
}

int main(void)
{
    struct dm_rbtree tree;

    srand(1);
    dm_rbtree_init(&tree, cmp_nodes);
    for (int i = 0; i < N_KEYS; i++)
        items[i].key = 2 * i;
    for (int step = 0; step < N_STEPS && test_n_failed == 0; step++) {
        struct item *item = &items[rand() % N_KEYS];
        /* Grows and shrinks in waves, to be empty and full now and then. */
        bool is_growing = rand() % 8 < (step / 2000 % 2 == 0 ? 7 : 1);

        if (is_growing) {
            CHECK_EQ(dm_rbtree_add(&tree, &item->node), !item->is_in);
            item->is_in = true;
        } else if (item->is_in) {
            dm_rbtree_del(&tree, &item->node);
            item->is_in = false;
        }
        check_finds(&tree, rand() % (2 * N_KEYS + 2) - 1);
        if (step % 16 == 0)
            check_tree(&tree);
    }
    for (int i = 0; i < N_KEYS; i++)
        if (items[i].is_in)
            dm_rbtree_del(&tree, &items[i].node);
    CHECK(tree.root == NULL && tree.n_nodes == 0);
    CHECK(dm_rbtree_first(&tree) == NULL && dm_rbtree_last(&tree) == NULL);
    return test_result();
}
