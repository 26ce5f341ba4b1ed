/*
 * The numbers of processes that will do (MPI-4.0 sections 11.5 and 11.8.4).
 */
#ifndef DM_UTIL_SOFT_H
#define DM_UTIL_SOFT_H

/*
 * The largest number from 0 to max in a list of triplets: "a", "a:b", "a:b:step", separated by commas.
 * *n_p is -1 when there is none. DM_ERR_INFO_VALUE: it is no such list.
 */
int dm_soft_largest(const char *soft, int max, int *n_p);

#endif
