/*
 * A memory barrier in all threads of the process at once, for those who share words with threads
 * that should not have to pay for one.
 */
#ifndef DM_UTIL_BARRIER_H
#define DM_UTIL_BARRIER_H

#include <stdbool.h>

/* Ask the kernel for it, once per process at least; false: it has none. */
bool dm_barrier_register(void);
/* The barrier: what this thread wrote before is seen by all, what they wrote by this one. */
void dm_barrier_all(void);

#endif
