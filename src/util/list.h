/*
 * Intrusive doubly linked list with a head that is a node.
 */
#ifndef DM_UTIL_LIST_H
#define DM_UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct dm_list {
    struct dm_list *next;
    struct dm_list *prev;
};

#define dm_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void dm_list_init(struct dm_list *head)
{
    head->next = head;
    head->prev = head;
}

static inline bool dm_list_is_empty(const struct dm_list *head)
{
    return head->next == head;
}

/* Insert before the head: at the end of the list. */
static inline void dm_list_add_tail(struct dm_list *head, struct dm_list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void dm_list_add_head(struct dm_list *head, struct dm_list *node)
{
    node->next = head->next;
    node->prev = head;
    head->next->prev = node;
    head->next = node;
}

/* Unlink; the node is left as an empty list, so that deleting twice is safe. */
static inline void dm_list_del(struct dm_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node;
    node->prev = node;
}

#define dm_list_for_each(it, head)                                                                 \
    for (struct dm_list *it = (head)->next; it != (head); it = it->next)
#define dm_list_for_each_safe(it, tmp, head)                                                       \
    for (struct dm_list *it = (head)->next, *tmp = it->next; it != (head); it = tmp, tmp = it->next)

#endif
