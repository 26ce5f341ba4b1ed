/*
 * Zeroed tables of which most may never be used: long ones have pages of their own, which come with
 * their first use.
 */
#ifndef DM_UTIL_SPARSE_H
#define DM_UTIL_SPARSE_H

#include <stddef.h>

/* As calloc(1, len). NULL: no memory. */
void *dm_sparse_new(size_t len);
/* With the same length; NULL does nothing. */
void dm_sparse_free(void *table, size_t len);

#endif
