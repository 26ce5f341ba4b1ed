/*
 * Hydra's process mapping.
 */
#include "pmi/pmi_map.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

struct block {
    int first;
    int n_nodes;
    int per_node;
};

/* Reads a number in 0..max and the character after it. */
static const char *parse_number(const char *text, char after, int *num_p)
{
    char *end;
    long num;

    if (*text < '0' || *text > '9')
        return NULL;
    num = strtol(text, &end, 10);
    if (num > INT_MAX / 2 || *end != after)
        return NULL;
    *num_p = (int)num;
    return end + 1;
}

/* Reads "(a,b,c)" and what follows it, "," or ")"; NULL when it is none. */
static const char *parse_block(const char *text, struct block *block)
{
    if (*text != '(')
        return NULL;
    text = parse_number(text + 1, ',', &block->first);
    if (text != NULL)
        text = parse_number(text, ',', &block->n_nodes);
    if (text != NULL)
        text = parse_number(text, ')', &block->per_node);
    if (text == NULL || block->n_nodes < 1 || block->per_node < 1)
        return NULL;
    return text;
}

/* Places ranks from rank on; returns the first that is not placed. */
static int place_block(const struct block *block, int *node_of, int rank, int size)
{
    for (int node = 0; node < block->n_nodes && rank < size; node++)
        for (int i = 0; i < block->per_node && rank < size; i++)
            node_of[rank++] = block->first + node;
    return rank;
}

bool dm_pmi_map_parse(const char *text, int *node_of, int size)
{
    static const char head[] = "(vector,";
    const char *blocks = text + strlen(head);
    int rank = 0;

    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    while (rank < size) {
        const char *pos = blocks;

        for (;;) {
            struct block block;

            pos = parse_block(pos, &block);
            if (pos == NULL || (*pos != ',' && strcmp(pos, ")") != 0))
                return false;
            rank = place_block(&block, node_of, rank, size);
            if (*pos++ == ')')
                break;
        }
    }
    return dm_pmi_map_compact(node_of, size);
}

bool dm_pmi_map_compact(int *node_of, int size)
{
    struct dm_hash seen;
    bool is_good = true;
    int n_nodes = 0;

    dm_hash_init(&seen);
    for (int i = 0; i < size && is_good; i++) {
        uint64_t key = (uint64_t)node_of[i];
        void *val = dm_hash_get(&seen, key);

        /* The value is the new number plus one. */
        if (val == NULL) {
            val = (void *)(intptr_t)(++n_nodes);
            is_good = dm_hash_put(&seen, key, val) == 0;
        }
        node_of[i] = (int)(intptr_t)val - 1;
    }
    dm_hash_fini(&seen);
    return is_good;
}
