/* test: np=1,2 timeout=30 */
/*
 * Delete functions of MPI_COMM_SELF that fail in MPI_Finalize: all are called, the first error is returned, and MPI
 * has ended.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 3 };

static int n_called;

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    n_called++;
    return extra == NULL ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    int key, code, class, is_over = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < N; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_fn, &key, i == 1 ? &n_called : NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
    }
    code = MPI_Finalize();
    MPI_Error_class(code, &class);
    MPI_Finalized(&is_over);
    if (n_called == N && class == MPI_ERR_OTHER && is_over)
        return 0;
    fprintf(stderr, "%d called, class %d, finalized %d\n", n_called, class, is_over);
    return 1;
}
