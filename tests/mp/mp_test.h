/*
 * Checks for multi-process tests: a failed one prints rank, place and values and
 * makes the program's exit code 1. Nothing but mpi.h is needed, so that every test also
 * runs on other MPI libraries.
 */
#ifndef MP_TEST_H
#define MP_TEST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mp_failures, mp_rank, mp_size;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            mp_fail(__FILE__, __LINE__, #cond, 0, 0, 0);                                           \
    } while (0)
/* Integers of any type. */
#define CHECK_EQ(got, want)                                                                        \
    do {                                                                                           \
        long long mp_got = (long long)(got), mp_want = (long long)(want);                          \
        if (mp_got != mp_want)                                                                     \
            mp_fail(__FILE__, __LINE__, #got " == " #want, 1, mp_got, mp_want);                    \
    } while (0)
/* An MPI call that must succeed. */
#define MUST(call) CHECK_EQ((call), MPI_SUCCESS)
/* An MPI call that must fail with this class (an error handler that returns is set). */
#define FAILS(call, want_class)                                                                    \
    do {                                                                                           \
        int mp_class = -1, mp_code = (call);                                                       \
        MPI_Error_class(mp_code, &mp_class);                                                       \
        if (mp_class != (want_class))                                                              \
            mp_fail(__FILE__, __LINE__, #call " fails with " #want_class, 1, mp_class,             \
                    want_class);                                                                   \
    } while (0)

static void mp_fail(const char *file, int line, const char *text, int has_values, long long got,
                    long long want)
{
    /* the first few tell the story */
    if (++mp_failures > 10)
        return;
    if (has_values)
        fprintf(stderr, "%s:%d: rank %d: %s: got %lld, want %lld\n", file, line, mp_rank, text, got,
                want);
    else
        fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, mp_rank, text);
}

static inline void mp_start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
}

/* Does the library's version text begin so? For faults of others that a test knows of. */
static inline int mp_is_library(const char *name)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;

    MPI_Get_library_version(text, &len);
    return strncmp(text, name, strlen(name)) == 0;
}

/*
 * For a function that looks at memory until somebody else, in another thread perhaps, has written
 * it: sanitizers take that for an error.
 */
#if defined(__GNUC__)
#define MP_LOOKS __attribute__((no_sanitize("thread"), noinline))
#else
#define MP_LOOKS
#endif

/* Finalize; the exit code of the program. */
static int mp_finish(void)
{
    MPI_Finalize();
    return mp_failures != 0;
}

#endif
