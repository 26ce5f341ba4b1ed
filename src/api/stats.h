/*
 * DATUM_STATS: what starting and running the job cost.
 */
#ifndef DM_API_STATS_H
#define DM_API_STATS_H

#include "dapl_adapt/dapl_adapt.h"
#include "pmi/pmi.h"

/* MPI_Init begins. */
void dm_stats_begin(void);
/* MPI_Init is about to return: note what it took. */
void dm_stats_started(const struct dm_pmi *pmi);
enum { DM_STATS_MAX = 200 };
/* The counters of this process, at most DM_STATS_MAX; how many. */
int dm_stats_collect(struct dm_adapt *adapt, struct dm_adapt_stat *stats);
/* Gather the counters of all processes and print them on rank 0. Collective. */
int dm_stats_print(struct dm_adapt *adapt);

#endif
