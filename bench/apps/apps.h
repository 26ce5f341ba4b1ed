/*
 * What the application kernels share: options, timing, the report, the random numbers of the NAS Parallel
 * Benchmarks. A kernel is one C file that needs this header and mpi.h, so that it can be built for
 * every MPI library.
 *
 * A kernel's main() is: app_start(); while (app_run()) { work; app_stop(); app_check(); }
 * return app_end(); The first run is not timed (connections and pages are made in it), but checked like all.
 */
#ifndef DATUM_BENCH_APPS_H
#define DATUM_BENCH_APPS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { APP_OK = 0, APP_WRONG = 1, APP_USAGE = 2 };

#define APP_MAX_RUNS 1000
#define APP_SEED     314159265u

struct app {
    const char *name, *title;
    const char *classes; /* letters that -c takes; the first is the default */
    const char *options; /* letters of further options, all with a value, or NULL */
    const char *usage;   /* lines about those, or NULL */
    /* Filled by app_start(). */
    int rank, size, n_class; /* n_class: place of the class in classes */
    int n_runs, is_spoiling;
    int seconds;           /* after which no run begins; 0: any number */
    const char *value[26]; /* of option 'a' + i, or NULL */
    /* The kernel's own state is elsewhere; this is of the runs. */
    int run, is_wrong;
    double begin, start, times[APP_MAX_RUNS];
    char said[256];
};

/* ---- ending early ---- */

/* A message of rank 0 and the end of all ranks with APP_USAGE; to be called by all. */
__attribute__((format(printf, 2, 3), noreturn)) static inline void
app_refuse(const struct app *app, const char *format, ...)
{
    va_list args;

    if (app->rank == 0) {
        fprintf(stderr, "%s: ", app->name);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    MPI_Finalize();
    exit(APP_USAGE);
}

/* Memory of so many elements, all zero; ends the job when there is none. */
static inline void *app_alloc(size_t n, size_t size)
{
    void *mem = calloc(n > 0 ? n : 1, size);

    if (mem == NULL) {
        fprintf(stderr, "no memory for %zu elements of %zu bytes\n", n, size);
        MPI_Abort(MPI_COMM_WORLD, APP_WRONG);
    }
    return mem;
}

/* ---- options ---- */

__attribute__((noreturn)) static inline void app_usage(const struct app *app, int is_error)
{
    if (app->rank == 0) {
        FILE *out = is_error ? stderr : stdout;

        fprintf(out, "%s: %s\n  -c CLASS  size, one of %s (%c)\n", app->name, app->title,
                app->classes, app->classes[0]);
        fprintf(out, "  -r RUNS   timed runs, after one that is not (3)\n");
        fprintf(out, "  -t SECONDS after which no other run begins\n");
        fprintf(out, "  -x        spoil a number in each run: the check must find it\n%s",
                app->usage != NULL ? app->usage : "");
    }
    MPI_Finalize();
    exit(is_error ? APP_USAGE : APP_OK);
}

/* The number from 1 to most that text is; refuses others. */
static inline int app_number(const struct app *app, char option, const char *text, int most)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n < 1 || n > most)
        app_refuse(app, "-%c wants a number from 1 to %d, not \"%s\"", option, most, text);
    return (int)n;
}

/* The place of text in a list that ends with NULL; refuses others. */
static inline int app_choice(const struct app *app, char option, const char *text,
                             const char *const *list)
{
    for (int i = 0; list[i] != NULL; i++) {
        if (strcmp(list[i], text) == 0)
            return i;
    }
    app_refuse(app, "-%c does not know \"%s\"", option, text);
}

/* Starts MPI and reads the command line. */
static inline void app_start(struct app *app, int *argc, char ***argv)
{
    char letters[64] = "hxc:r:t:";
    const char *at;
    int c;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &app->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &app->size);
    app->n_runs = 3;
    for (at = app->options; at != NULL && *at != '\0'; at++) {
        strncat(letters, at, 1);
        strcat(letters, ":");
    }
    opterr = 0;
    while ((c = getopt(*argc, *argv, letters)) != -1) {
        if (c == '?')
            app_usage(app, 1);
        if (c == 'h')
            app_usage(app, 0);
        if (c == 'x')
            app->is_spoiling = 1;
        else if (c == 'r')
            app->n_runs = app_number(app, 'r', optarg, APP_MAX_RUNS);
        else if (c == 't')
            app->seconds = app_number(app, 't', optarg, 86400);
        else if (c == 'c') {
            at = optarg[0] != '\0' && optarg[1] == '\0' ? strchr(app->classes, optarg[0]) : NULL;
            if (at == NULL)
                app_refuse(app, "no class \"%s\"; there are %s", optarg, app->classes);
            app->n_class = (int)(at - app->classes);
        } else
            app->value[c - 'a'] = optarg;
    }
    if (optind < *argc)
        app_usage(app, 1);
}

/* ---- runs ---- */

/* Whether there is another run to do; starts its clock, all ranks at once. */
static inline int app_run(struct app *app)
{
    int is_over = app->run > app->n_runs;

    if (app->run == 0)
        app->begin = MPI_Wtime();
    if (app->run > 1 && !is_over && app->seconds > 0) {
        is_over = MPI_Wtime() - app->begin > app->seconds;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (is_over)
        return 0;
    MPI_Barrier(MPI_COMM_WORLD);
    app->start = MPI_Wtime();
    return 1;
}

/* Stops the clock: the slowest rank counts. */
static inline void app_stop(struct app *app)
{
    double time = MPI_Wtime() - app->start, most;

    MPI_Reduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (app->run > 0)
        app->times[app->run - 1] = most;
    app->run++;
}

/* With -x, true on the last rank: then the kernel changes something that has come. Each time, as iterations heal. */
static inline int app_spoils(const struct app *app)
{
    return app->is_spoiling && app->rank == app->size - 1;
}

/* The verdict about a run, of all ranks together, and what was compared (rank 0 tells). */
__attribute__((format(printf, 3, 4))) static inline void app_check(struct app *app, int is_right,
                                                                   const char *format, ...)
{
    int all = 0;
    va_list args;

    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (app->is_wrong)
        return;
    app->is_wrong = !all;
    va_start(args, format);
    vsnprintf(app->said, sizeof(app->said), format, args);
    va_end(args);
}

static inline int app_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Tells the result and ends MPI; the exit status. variant: more about what was run, or "". */
static inline int app_end(struct app *app, const char *variant)
{
    double *t = app->times;
    int n = app->run - 1; /* timed */

    if (app->rank == 0 && app->is_wrong) {
        fprintf(stderr, "%s%s class %c, %d ranks: WRONG: %s\n", app->name, variant,
                app->classes[app->n_class], app->size, app->said);
    } else if (app->rank == 0) {
        qsort(t, (size_t)n, sizeof(t[0]), app_by_value);
        printf("%s%s class %c, %d ranks: median %.6f least %.6f most %.6f s of %d; verified: %s\n",
               app->name, variant, app->classes[app->n_class], app->size,
               (t[n / 2] + t[(n - 1) / 2]) / 2, t[0], t[n - 1], n, app->said);
    }
    MPI_Finalize();
    return app->is_wrong ? APP_WRONG : APP_OK;
}

/* ---- numbers ---- */

/* The generator of the NAS benchmarks: x = 5^13 x mod 2^46, as a fraction of 2^46. */
static inline double app_random(uint64_t *x)
{
    *x = *x * 1220703125u & ((UINT64_C(1) << 46) - 1);
    return (double)*x * 0x1p-46;
}

/* The state from which the numbers behind the next n come. */
static inline uint64_t app_random_at(uint64_t x, uint64_t n)
{
    for (uint64_t a = 1220703125u; n > 0; n /= 2, a *= a) {
        if (n % 2 == 1)
            x *= a;
    }
    return x & ((UINT64_C(1) << 46) - 1);
}

/* Where part i of n parts of a whole begins. */
static inline int app_part(int whole, int i, int n)
{
    return (int)((int64_t)whole * i / n);
}

#endif
