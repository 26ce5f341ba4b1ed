/*
 * One of several profiling libraries in a row: each passes its calls on to the next one, and counts
 * those that come while one is under way, which the MPI library would have made itself.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int depth, n_inner, n_calls;

typedef int any_fn(void);

/* The next library's function of a name. */
static any_fn *enter(const char *name)
{
    n_inner += depth > 0;
    n_calls++;
    depth++;
    return (any_fn *)dlsym(RTLD_NEXT, name);
}

#define PASS_ON(name, params, ...)                                                                 \
    int name params                                                                                \
    {                                                                                              \
        int(*next) params = (int(*) params)enter(#name);                                           \
        int err = next(__VA_ARGS__);                                                               \
                                                                                                   \
        depth--;                                                                                   \
        return err;                                                                                \
    }

PASS_ON(MPI_Init, (int *argc, char ***argv), argc, argv)
PASS_ON(MPI_Init_thread, (int *argc, char ***argv, int want, int *got), argc, argv, want, got)
PASS_ON(MPI_Send, (const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm), buf,
        n, type, to, tag, comm)
PASS_ON(MPI_Recv,
        (void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),
        buf, n, type, from, tag, comm, status)
PASS_ON(MPI_Wait, (MPI_Request * req, MPI_Status *status), req, status)
PASS_ON(MPI_Comm_rank, (MPI_Comm comm, int *rank), comm, rank)
PASS_ON(MPI_Bcast, (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm), buf, n, type,
        root, comm)
PASS_ON(MPI_Barrier, (MPI_Comm comm), comm)
PASS_ON(MPI_Allreduce,
        (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), in, out, n,
        type, op, comm)

double MPI_Wtime(void)
{
    double (*next)(void) = (double (*)(void))enter("MPI_Wtime");
    double now = next();

    depth--;
    return now;
}

int MPI_Finalize(void)
{
    any_fn *next = enter("MPI_Finalize");
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("chained: %d calls, %d inner\n", n_calls, n_inner);
    fflush(stdout);
    return next();
}
