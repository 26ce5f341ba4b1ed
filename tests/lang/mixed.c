/*
 * C's half of mixed.f90 (MPI-4.0 section 19.3): what Fortran made, seen from here.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int fails;
static int n_handled;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED: mixed.c:%d: %s\n", __LINE__, #cond);                                   \
            fails++;                                                                               \
        }                                                                                          \
    } while (0)

static int take_fails(void)
{
    int n = fails;

    fails = 0;
    return n;
}

int c_look(MPI_Fint comm, MPI_Fint dtype, MPI_Fint group, MPI_Fint op, MPI_Fint info, MPI_Fint eh,
           MPI_Fint win, MPI_Fint key, const MPI_Fint *f_status)
{
    MPI_Comm c = MPI_Comm_f2c(comm);
    char text[MPI_MAX_OBJECT_NAME];
    int len, n, n2, flag, rank, size;
    MPI_Status status;
    MPI_F08_status status_f08;
    MPI_Fint again[MPI_F_STATUS_SIZE];
    MPI_Aint *value = NULL;
    MPI_Win w = MPI_Win_f2c(win);
    MPI_Group g = MPI_Group_f2c(group);

    CHECK(MPI_Comm_c2f(c) == comm);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_get_name(c, text, &len);
    CHECK(strcmp(text, "made in Fortran") == 0);
    MPI_Type_size(MPI_Type_f2c(dtype), &n);
    CHECK(n == 12 && MPI_Type_c2f(MPI_Type_f2c(dtype)) == dtype);
    MPI_Group_size(g, &n);
    MPI_Comm_size(c, &size);
    CHECK(n == size && MPI_Group_c2f(g) == group);
    MPI_Op_commutative(MPI_Op_f2c(op), &n);
    CHECK(n == 1 && MPI_Op_c2f(MPI_Op_f2c(op)) == op);
    MPI_Info_get(MPI_Info_f2c(info), "language", sizeof(text) - 1, text, &flag);
    CHECK(flag && strcmp(text, "Fortran") == 0);
    CHECK(MPI_Errhandler_c2f(MPI_Errhandler_f2c(eh)) == eh);
    MPI_Win_get_attr(w, MPI_WIN_SIZE, &value, &flag);
    CHECK(flag && *value == 16 && MPI_Win_c2f(w) == win);
    CHECK(MPI_File_c2f(MPI_FILE_NULL) == 0 && MPI_File_f2c(0) == MPI_FILE_NULL);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);

    /* An integer attribute of Fortran's is pointed to. */
    MPI_Comm_get_attr(c, key, &value, &flag);
    CHECK(flag && *value == -((MPI_Aint)1 << 33));

    MPI_Status_f2c(f_status, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 1 && status.MPI_TAG == 9 && status.MPI_SOURCE == (rank + size - 1) % size);
    MPI_Status_c2f(&status, again);
    CHECK(memcmp(again, f_status, sizeof(again)) == 0);
    CHECK(again[MPI_F_SOURCE] == status.MPI_SOURCE && again[MPI_F_TAG] == 9);
    MPI_Status_c2f08(&status, &status_f08);
    CHECK(status_f08.MPI_TAG == 9 && status_f08.MPI_SOURCE == status.MPI_SOURCE);
    memset(&status, 0, sizeof(status));
    MPI_Status_f082c(&status_f08, &status);
    MPI_Get_count(&status, MPI_INT, &n2);
    CHECK(n2 == n && status.MPI_TAG == 9);
    return take_fails();
}

/* Where a status of Fortran's is a constant that stands for none, there is nothing to convert. */
int c_no_status(const MPI_Fint *ignore, const MPI_Fint *ignore_all)
{
    MPI_Status status;

    CHECK(ignore == MPI_F_STATUS_IGNORE && ignore_all == MPI_F_STATUSES_IGNORE);
    CHECK(MPI_Status_f2c(ignore, &status) != MPI_SUCCESS);
    CHECK(MPI_Status_f2c(ignore_all, &status) != MPI_SUCCESS);
    return take_fails();
}

/* A copy callback sees an integer by its address. */
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    CHECK(extra == (void *)8192);
    if (in != (void *)4096)
        CHECK(*(MPI_Aint *)in == 12345678901);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int del(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    CHECK(extra == (void *)8192);
    CHECK(value == (void *)4096 || *(MPI_Aint *)value == 12345678901);
    return MPI_SUCCESS;
}

int c_key(void)
{
    int key;

    MPI_Comm_create_keyval(copy, del, &key, (void *)8192);
    return key;
}

int c_attributes(MPI_Fint comm, int key)
{
    MPI_Comm c = MPI_Comm_f2c(comm);
    MPI_Comm dup;
    void *value = NULL;
    int flag;

    MPI_Comm_set_attr(c, key, (void *)4096);
    MPI_Comm_dup(c, &dup);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == (void *)4096);
    MPI_Comm_free(&dup);
    return take_fails();
}

/* Of MPI_ATTR_PUT: an int, pointed to. */
int c_old_attribute(MPI_Fint comm, int key, int want)
{
    int *value = NULL;
    int flag;

    MPI_Comm_get_attr(MPI_Comm_f2c(comm), key, &value, &flag);
    CHECK(flag && *value == want);
    return take_fails();
}

int c_ops_and_handlers(MPI_Fint comm, MPI_Fint op, MPI_Fint eh)
{
    MPI_Comm c = MPI_Comm_f2c(comm);
    int rank, size, x, y, class, want = 1;

    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    x = rank + 1;
    MPI_Allreduce(&x, &y, 1, MPI_INTEGER, MPI_Op_f2c(op), c);
    for (int i = 2; i <= size + 1; i++)
        want *= i;
    CHECK(y == want - 1);
    MPI_Comm_set_errhandler(c, MPI_Errhandler_f2c(eh));
    MPI_Error_class(MPI_Send(&x, 1, MPI_INT, size, 0, c), &class);
    CHECK(class == MPI_ERR_RANK);
    return take_fails();
}

static void add_1000(void *in, void *inout, int *n, MPI_Datatype *dtype)
{
    (void)dtype;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i] + 1000;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    n_handled++;
}

void c_make(MPI_Fint *op, MPI_Fint *eh)
{
    MPI_Op o;
    MPI_Errhandler e;

    MPI_Op_create(add_1000, 1, &o);
    MPI_Comm_create_errhandler(on_error, &e);
    *op = MPI_Op_c2f(o);
    *eh = MPI_Errhandler_c2f(e);
}
