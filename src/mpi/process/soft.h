/*
 * The info key "soft" of a spawn (MPI-4.0 section 11.8.4).
 */
#ifndef DM_MPI_PROCESS_SOFT_H
#define DM_MPI_PROCESS_SOFT_H

/*
 * The largest number from 0 to max in a list of triplets: "a", "a:b", "a:b:step", separated by commas.
 * *n_p is -1 when there is none. DM_ERR_INFO_VALUE: it is no such list.
 */
int dm_soft_largest(const char *soft, int max, int *n_p);

#endif
