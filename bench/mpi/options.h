/*
 * The command line of datum-bench.
 */
#ifndef DATUM_BENCH_OPTIONS_H
#define DATUM_BENCH_OPTIONS_H

#include "bench.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

#define MAX_TESTS 64

struct options {
    const struct test *tests[MAX_TESTS]; /* in the order asked for */
    int n_tests;
    size_t least, most;
    int has_size;
    int n_ranks;    /* that the job must have; 0: any */
    size_t factor;  /* from one size to the next; 0: doubling, and not beyond the range */
    int window;     /* messages in flight */
    size_t memory;  /* that a buffer may take; 0: any */
    double seconds; /* for the samples of one size */
    int is_quick;
    int is_start;   /* nothing but MPI_Init, a barrier and MPI_Finalize */
    int is_created; /* windows over the program's memory */
    const char *json;
};

/*
 * Before MPI_Init. -1: go on; else the exit status, after a message of the first rank alone. --raw takes the
 * process over: datum-check answers.
 */
int options_parse(int argc, char **argv, struct options *opt);

#endif
