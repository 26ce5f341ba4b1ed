/*
 * The time slice of a thread.
 */
#ifndef DM_UTIL_SLICE_H
#define DM_UTIL_SLICE_H

#define DM_SLICE_NS 100000 /* the shortest slice */

/*
 * Ask for the shortest time slice for the calling thread, and those that it will start, if it has the
 * system's usual policy. It is what a yield gives away where others compute, and how soon a thread that
 * works little runs after it wakes. Who computes is preempted at ticks all the same. Priority and policy
 * stay. An older kernel ignores or refuses it.
 */
void dm_slice_shorten(void);

#endif
