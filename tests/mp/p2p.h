/*
 * For the point-to-point tests: checks that abort the job, and buffers with known content.
 */
#ifndef DM_TESTS_MP_P2P_H
#define DM_TESTS_MP_P2P_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, np;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, me, #cond);        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_) {                                                                            \
            fprintf(stderr, "%s:%d: rank %d: failed: %s == %s (%lld, %lld)\n", __FILE__, __LINE__, \
                    me, #a, #b, a_, b_);                                                           \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
}

static inline int end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* Does the library's version text begin so? For faults of others that a test knows of. */
static inline int is_library(const char *name)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;

    MPI_Get_library_version(text, &len);
    return strncmp(text, name, strlen(name)) == 0;
}

static inline unsigned char byte_of(int seed, size_t at)
{
    return (unsigned char)(seed * 37 + (int)(at * 11) + (int)(at >> 8) * 3);
}

/* len bytes (at least 1 allocated) of content that seed decides. */
static inline unsigned char *filled(int seed, size_t len)
{
    unsigned char *p = malloc(len + 1);

    for (size_t i = 0; i < len; i++)
        p[i] = byte_of(seed, i);
    return p;
}

/* Memory that no message has written yet. */
static inline unsigned char *blank(size_t len)
{
    unsigned char *p = malloc(len + 1);

    memset(p, 0xa5, len + 1);
    return p;
}

static inline int is_filled(const unsigned char *p, int seed, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i] != byte_of(seed, i))
            return 0;
    return 1;
}

static inline int count_of(const MPI_Status *status)
{
    int n;

    MPI_Get_count(status, MPI_BYTE, &n);
    return n;
}

/* Rank a tells rank b that it may go on; on a communicator of its own. */
static inline void signal_to(int from, int to, MPI_Comm comm)
{
    if (me == from)
        MPI_Send(NULL, 0, MPI_BYTE, to, 999, comm);
    if (me == to)
        MPI_Recv(NULL, 0, MPI_BYTE, from, 999, comm, MPI_STATUS_IGNORE);
}

#endif
