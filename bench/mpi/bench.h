/*
 * datum-bench: what its files share. Nothing but mpi.h is needed, so that it can be built for every MPI
 * library.
 */
#ifndef DATUM_BENCH_H
#define DATUM_BENCH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_SAMPLES 1000
#define WINDOW_MAX  64 /* messages in flight where bandwidth is measured */

enum unit { UNIT_US, UNIT_MBS, UNIT_RATE, UNIT_PERCENT };

/* What a test works with at one size. */
struct bench {
    MPI_Comm comm;    /* of the ranks that take part */
    MPI_Comm reverse; /* all ranks, in the other order */
    int rank, size;
    int window; /* messages in flight */
    size_t len;
    char *sbuf, *rbuf; /* len bytes for each rank of comm and window place */
    MPI_Win win;       /* of one-sided tests: len bytes at least */
    double alone;      /* of overlap: seconds that the transfer alone takes, */
    double work;       /* and computing alone */
};

struct test {
    const char *name, *group, *title;
    enum unit unit;
    int n_ranks;        /* that take part; 0: all */
    size_t least, most; /* sizes that make sense; both 0: no size */
    size_t dflt_most;   /* without --size */
    /* Do it n times; the seconds that it took. */
    double (*run)(struct bench *b, int n);
    /* The figure, from what run returned for n; NULL: by the unit. */
    double (*figure)(struct bench *b, int n, double seconds);
    double per_run;  /* messages of len bytes, or operations, in one of the n, */
    int is_windowed; /* times the window */
    int is_onesided;
    int is_all_to_all; /* buffers grow with the ranks */
    int is_divided;    /* each rank gets a share: no less than a double for each */
};

extern const struct test pt2pt_tests[], onesided_tests[], coll_tests[], icoll_tests[],
    overlap_tests[];

/* Bytes that each of these ranks may take, the least of all of them (room.c). */
size_t room_for(MPI_Comm comm);
/* The proportional set size of the largest of these ranks, bytes; 0 where the system does not say. */
size_t memory_of(MPI_Comm comm);

/* ---- how far it is (bar.c); rank 0 only ---- */

void bar_begin(void);
/* The share that is done, and what is measured now. */
void bar_show(double share, const char *name, size_t len);
/* Before anything else is printed. */
void bar_clear(void);

/* ---- samples (report.c) ---- */

struct stats {
    int n, n_outliers;
    double median, least, most, p10, p90;
    double cpu; /* processor time of all ranks for a message or an operation, us */
};

/* What the samples (which it sorts) say. Outliers: three times the middle half's width beyond it. */
struct stats stats_of(double *samples, int n);

struct report {
    FILE *json;            /* or NULL */
    const char *json_name; /* "-": standard output, and no table */
    int is_silent;         /* no table */
    size_t memory;         /* of a rank */
    int table_err;         /* errno of the first line that could not be printed */
    int n_results;
};

/* Open the file and write its head, and the head of the table; 0, or -1 with errno. Rank 0 only. */
int report_begin(struct report *rep, const char *json_name, int n_ranks, int n_hosts);
void report_test(const struct report *rep, const struct test *t, int n_ranks, int window);
void report_result(struct report *rep, const struct test *t, size_t len, const struct stats *s,
                   int n);
/* A test that cannot be done here, and why. */
void report_skip(struct report *rep, const struct test *t, const char *why);
/* One of which sizes beyond this are left out, since there is no memory for them. */
void report_cut(struct report *rep, const struct test *t, size_t most);
/* 0, or -1 with errno: the file (json_name), or the table, could not be written. */
int report_end(struct report *rep);
const char *unit_name(enum unit unit);
const char *bench_version(void);

#endif
