/* test: np=1,2 timeout=20 warn=said.once.for.each.function */
/*
 * What is not supported yet fails with the right class, a text with the function's name, and the
 * communicator's error handler. On other libraries, which have it, only the rest is tested: the
 * error handler of MPI_FILE_NULL, MPI_Comm_disconnect and the like.
 */
#include "mp_test.h"

static MPI_Comm seen_comm;
static int n_comm, n_file;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    seen_comm = *comm;
    n_comm++;
}

static void on_file(MPI_File *file, int *code, ...)
{
    (void)code;
    CHECK(*file == MPI_FILE_NULL);
    n_file++;
}

#define NOT_YET(name, call)                                                                        \
    do {                                                                                           \
        char text[MPI_MAX_ERROR_STRING];                                                           \
        int code = (call), class, len;                                                             \
        MPI_Error_class(code, &class);                                                             \
        CHECK_EQ(class, MPI_ERR_UNSUPPORTED_OPERATION);                                            \
        MPI_Error_string(code, text, &len);                                                        \
        CHECK(strstr(text, name) != NULL);                                                         \
    } while (0)

static void failures(MPI_Comm comm)
{
    MPI_Comm other;

    NOT_YET("MPIX_Comm_revoke", MPIX_Comm_revoke(comm));
    CHECK_EQ(n_comm, 1);
    CHECK(seen_comm == comm);
    NOT_YET("MPIX_Comm_shrink", MPIX_Comm_shrink(comm, &other));
    CHECK_EQ(n_comm, 2);
    FAILS(MPIX_Comm_shrink(MPI_COMM_NULL, &other), MPI_ERR_COMM);
}

/* Those of files, which are there without files. */
static void file_handlers(void)
{
    MPI_Errhandler eh, got;

    MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_File_create_errhandler(on_file, &eh));
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, eh));
    MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == eh);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK_EQ(n_file, 1);
    if (!mp_is_library("MPICH")) /* which takes any */
        FAILS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, eh), MPI_ERR_ARG);
    MUST(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK_EQ(n_file, 1);
    n_file = 0;
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

static void plus(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (MPI_Count i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void small(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, parent = MPI_COMM_WORLD;
    MPI_Info info;
    MPI_Op op;
    char text[MPI_MAX_INFO_VAL + 1];
    char *args[] = {"prog", "a", "b", NULL};
    int class, code, other, x = mp_rank, sum, flag;

    MUST(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Op_create_c(plus, 1, &op));
    MUST(MPI_Allreduce(&x, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2);
    MUST(MPI_Op_free(&op));
    MUST(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &flag));
    CHECK_EQ(flag, 0);
    CHECK_EQ(MPIX_Query_cuda_support(), 0);

    MUST(MPI_Info_create_env(3, args, &info));
    MUST(MPI_Info_get(info, "command", MPI_MAX_INFO_VAL, text, &flag));
    if (flag)
        CHECK(strcmp(text, "prog") == 0);
    MUST(MPI_Info_free(&info));
    MUST(MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL, text, &flag));
    if (flag)
        CHECK_EQ(atoi(text), mp_size);

    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Add_error_string(code, "my own"));
    MUST(MPIX_Delete_error_string(code));
    FAILS(MPIX_Delete_error_class(code == class ? code + 1 : code), MPI_ERR_ARG);
    MUST(MPIX_Delete_error_code(code));
    MUST(MPIX_Delete_error_class(class));
    MPI_Error_class(code, &other);
    CHECK_EQ(other, MPI_ERR_UNKNOWN);
}

int main(int argc, char **argv)
{
    MPI_Errhandler eh;
    MPI_Comm comm;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (mp_is_library("Datum")) {
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MUST(MPI_Comm_create_errhandler(on_comm, &eh));
        MUST(MPI_Comm_set_errhandler(comm, eh));
        failures(comm);
        MUST(MPI_Errhandler_free(&eh));
        MUST(MPI_Comm_free(&comm));
        small();
    }
    file_handlers();
    return mp_finish();
}
