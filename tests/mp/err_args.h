/*
 * For the tests of wrong arguments: an error class and a text are expected of every one.
 */
#ifndef ERR_ARGS_H
#define ERR_ARGS_H

#include "mp_test.h"

/* The call fails with this class, and MPI_Error_string says something about it. */
#define BAD(call, want_class)                                                                      \
    do {                                                                                           \
        int bad_class = -1, bad_len = 0, bad_code = (call);                                        \
        char bad_text[MPI_MAX_ERROR_STRING] = "";                                                  \
        MPI_Error_class(bad_code, &bad_class);                                                     \
        if (bad_class != (want_class))                                                             \
            mp_fail(__FILE__, __LINE__, #call " fails with " #want_class, 1, bad_class,            \
                    want_class);                                                                   \
        MPI_Error_string(bad_code, bad_text, &bad_len);                                            \
        if (bad_len < 5 || bad_len != (int)strlen(bad_text))                                       \
            mp_fail(__FILE__, __LINE__, #call " has a text", 1, bad_len, 5);                       \
    } while (0)

/* Numbers that are no handle: never given out, of another kind, predefined but unused, garbage. */
static const int no_handles[] = {
    0, 1, -1, 0x7fffffff, (int)0x84ffffff, (int)0xa4000040, 0x44000007, 0x4c0000ff};
enum { N_NO_HANDLES = sizeof(no_handles) / sizeof(no_handles[0]) };

/* Errors come back as codes. */
static void errors_return(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* A communicator whose handle was freed. */
static MPI_Comm freed_comm(void)
{
    MPI_Comm comm, copy;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    copy = comm;
    MPI_Comm_free(&comm);
    return copy;
}

static MPI_Datatype freed_type(void)
{
    MPI_Datatype type, copy;

    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    copy = type;
    MPI_Type_free(&type);
    return copy;
}

static void add_user(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

#endif
