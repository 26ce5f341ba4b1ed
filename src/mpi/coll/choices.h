/*
 * The rows that algorithms are chosen by: the user's (DATUM_COLL, then the file that
 * DATUM_COLL_FILE names, then the tuning file), then the library's own.
 */
#ifndef DM_MPI_COLL_CHOICES_H
#define DM_MPI_COLL_CHOICES_H

#include "mpi/coll/run.h"
#include "mpi/coll/select.h"

/* An algorithm of algs.h. */
struct dm_coll_algo {
    enum dm_coll_kind kind;
    const char *name;
    dm_coll_alg *fn;
    unsigned int needs; /* enum dm_coll_needs */
};

/* A row: the first one of a collective that fits wins. */
struct dm_coll_choice {
    const struct dm_coll_algo *algo;
    unsigned int needs; /* the algorithm's and more */
    int min_ranks, max_ranks;
    size_t min_bytes, max_bytes; /* what bytes means is the matter of each collective's body */
    int line;                    /* of the file; 0: the library's own, -1: from DATUM_COLL */
    bool is_tuned;               /* and of the tuning file */
    bool is_explained;           /* DATUM_EXPLAIN has printed it */
};

/*
 * Make the rows of all collectives: *first_p[kind] is the first one of that kind, the last one
 * always fits. One block of memory, *all_p; nothing is changed on an error. tuned may be NULL.
 * DM_ECONFIG with the place and what is wrong.
 */
int dm_coll_choices_make(const char *forced, const char *file, const struct dm_tune_rail *tuned,
                         struct dm_coll_choice **all_p, struct dm_coll_choice *first_p[DM_COLL_N]);
/* The name of a collective, for messages and files. */
const char *dm_coll_kind_name(enum dm_coll_kind kind);
/* A number that differs when the user's rows do. */
uint32_t dm_coll_choices_hash(const struct dm_coll_choice *const first[DM_COLL_N]);

#endif
