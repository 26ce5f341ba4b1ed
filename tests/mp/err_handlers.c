/* test: np=1,2 timeout=20 */
/*
 * Whose error handler runs: inheritance, user functions on communicators and windows, calls without
 * an object, completion calls, calls of MPI inside a handler.
 */
#include "mp_test.h"

static MPI_Comm seen_comm;
static MPI_Win seen_win;
static int n_comm, n_win, seen_class;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    int rank, len;
    char text[MPI_MAX_ERROR_STRING];

    seen_comm = *comm;
    n_comm++;
    MPI_Error_class(*code, &seen_class);
    MPI_Error_string(*code, text, &len);
    MUST(MPI_Comm_rank(*comm, &rank));
}

static void on_win(MPI_Win *win, int *code, ...)
{
    seen_win = *win;
    n_win++;
    MPI_Error_class(*code, &seen_class);
}

/* The last failure called on_comm once, with this communicator and class. */
#define CALLED(comm, cls)                                                                          \
    do {                                                                                           \
        CHECK_EQ(n_comm, 1);                                                                       \
        CHECK(seen_comm == (comm));                                                                \
        CHECK_EQ(seen_class, (cls));                                                               \
        n_comm = 0;                                                                                \
    } while (0)

static void communicators(MPI_Errhandler eh)
{
    MPI_Comm dup, plain;
    MPI_Errhandler got;
    int x = 0, n;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &plain));
    MUST(MPI_Comm_set_errhandler(plain, eh));
    FAILS(MPI_Send(&x, 1, MPI_INT, mp_size, 0, plain), MPI_ERR_RANK);
    CALLED(plain, MPI_ERR_RANK);
    MUST(MPI_Comm_dup(plain, &dup)); /* inherits */
    FAILS(MPI_Bcast(&x, 1, MPI_INT, -9, dup), MPI_ERR_ROOT);
    CALLED(dup, MPI_ERR_ROOT);
    MUST(MPI_Comm_get_errhandler(dup, &got));
    CHECK(got == eh);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(&x, 1, MPI_INT, mp_size, 0, dup), MPI_ERR_RANK);
    CHECK_EQ(n_comm, 0);
    MUST(MPI_Comm_get_errhandler(dup, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    /* MPI-1's names. */
    MUST(MPI_Errhandler_set(dup, eh));
    MUST(MPI_Errhandler_get(dup, &got));
    CHECK(got == eh);
    MUST(MPI_Errhandler_free(&got));
    FAILS(MPI_Comm_size(dup, NULL), MPI_ERR_ARG);
    CALLED(dup, MPI_ERR_ARG);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_free(&plain));

    /* No object, or one that is none: the world's, as its own was changed and the self's not. */
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    CALLED(MPI_COMM_WORLD, MPI_ERR_TYPE);
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    CALLED(MPI_COMM_WORLD, MPI_ERR_COMM);
}

static void completion(MPI_Errhandler eh)
{
    MPI_Comm comm;
    MPI_Request req[2];
    MPI_Status st[2];
    char small = 0, big[8] = "1234567";

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_set_errhandler(comm, eh));
    MUST(MPI_Irecv(&small, 1, MPI_CHAR, 0, 0, comm, &req[0]));
    MUST(MPI_Send(big, 8, MPI_CHAR, 0, 0, comm));
    FAILS(MPI_Wait(&req[0], &st[0]), MPI_ERR_TRUNCATE);
    CALLED(comm, MPI_ERR_TRUNCATE);
    MUST(MPI_Irecv(&small, 1, MPI_CHAR, 0, 0, comm, &req[0]));
    MUST(MPI_Isend(big, 8, MPI_CHAR, 0, 0, comm, &req[1]));
    FAILS(MPI_Waitall(2, req, st), MPI_ERR_IN_STATUS);
    CALLED(comm, MPI_ERR_IN_STATUS);
    MUST(MPI_Comm_free(&comm));
}

/* Where nobody has set a handler: MPI_COMM_WORLD's, also one that it gets later, as MPICH has it. */
static void unset(MPI_Errhandler eh)
{
    MPI_Comm dup;
    MPI_Errhandler got;
    MPI_Win win;
    int mem = 0;

    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, eh));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &dup));
    MUST(MPI_Comm_get_errhandler(dup, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    FAILS(MPI_Send(&mem, 1, MPI_INT, mp_size, 0, dup), MPI_ERR_RANK);
    CALLED(MPI_COMM_WORLD, MPI_ERR_RANK);
    MUST(MPI_Comm_call_errhandler(dup, MPI_ERR_TAG));
    CALLED(MPI_COMM_WORLD, MPI_ERR_TAG);
    MUST(MPI_Win_create(&mem, sizeof(mem), sizeof(mem), MPI_INFO_NULL, dup, &win));
    FAILS(MPI_Win_lock(3, 0, 0, win), MPI_ERR_LOCKTYPE);
    CALLED(MPI_COMM_WORLD, MPI_ERR_LOCKTYPE);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Comm_free(&dup));
}

static void accept(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    n_comm++;
    *code = MPI_SUCCESS;
}

/* A call returns the code as the handler leaves it. */
static void changed_code(void)
{
    MPI_Errhandler eh;
    MPI_Comm comm;
    int x = 0;

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_create_errhandler(accept, &eh));
    MUST(MPI_Comm_set_errhandler(comm, eh));
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_Send(&x, 1, MPI_INT, 7, 0, comm));
    CHECK_EQ(n_comm, 1);
    n_comm = 0;
    MUST(MPI_Comm_free(&comm));
}

static void windows(void)
{
    MPI_Errhandler eh, got;
    MPI_Win win;
    int mem = 0;

    MUST(MPI_Win_create(&mem, sizeof(mem), sizeof(mem), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_create_errhandler(on_win, &eh));
    MUST(MPI_Win_set_errhandler(win, eh));
    MUST(MPI_Errhandler_free(&eh));
    FAILS(MPI_Win_lock(3, 0, 0, win), MPI_ERR_LOCKTYPE);
    CHECK_EQ(n_win, 1);
    CHECK(seen_win == win);
    CHECK_EQ(seen_class, MPI_ERR_LOCKTYPE);
    CHECK_EQ(n_comm, 0);
    MUST(MPI_Win_call_errhandler(win, MPI_ERR_IO));
    CHECK_EQ(n_win, 2);
    MUST(MPI_Win_get_errhandler(win, &got));
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Errhandler eh, got;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Comm_create_errhandler(on_comm, &eh));
    unset(eh);
    communicators(eh);
    completion(eh);
    changed_code();
    windows();
    MUST(MPI_Errhandler_free(&eh));
    CHECK(eh == MPI_ERRHANDLER_NULL);
    /* It lives on where it is set. */
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CALLED(MPI_COMM_WORLD, MPI_ERR_COMM);
    return mp_finish();
}
