/* test: np=1,2 timeout=20 */
/*
 * What may be called at any time (MPI-4.0 section 11.4.1), with objects that live over MPI_Init and
 * MPI_Finalize. (Debian's MPICH refuses MPI_Session_create_errhandler before MPI_Init.)
 */
#include "mp_test.h"

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
}

static MPI_Info made;
static MPI_Errhandler eh;

static void make(void)
{
    MUST(MPI_Info_create(&made));
    MUST(MPI_Info_set(made, "a", "1"));
    MUST(MPI_Session_create_errhandler(on_error, &eh));
}

static void look(void)
{
    MPI_Info dup, env;
    char key[MPI_MAX_INFO_KEY + 1], value[16], text[MPI_MAX_ERROR_STRING];
    char *args[] = {"prog", NULL};
    int n, m, flag, class;

    MUST(MPI_Info_get(made, "a", 15, value, &flag));
    CHECK(flag && strcmp(value, "1") == 0);
    MUST(MPI_Info_dup(made, &dup));
    MUST(MPI_Info_set(dup, "b", "22"));
    MUST(MPI_Info_get_nkeys(dup, &n));
    CHECK_EQ(n, 2);
    MUST(MPI_Info_get_nthkey(dup, 1, key));
    CHECK(strcmp(key, "b") == 0);
    MUST(MPI_Info_get_valuelen(dup, "b", &n, &flag));
    CHECK(flag && n == 2);
    n = sizeof(value);
    MUST(MPI_Info_get_string(dup, "b", &n, value, &flag));
    CHECK(flag && n == 3);
    MUST(MPI_Info_delete(dup, "b"));
    MUST(MPI_Info_free(&dup));
    MUST(MPI_Info_create_env(1, args, &env));
    MUST(MPI_Info_free(&env));
    MUST(MPI_Get_version(&n, &m));
    CHECK(n >= 4);
    MUST(MPI_Error_class(MPI_ERR_RANK, &class));
    CHECK_EQ(class, MPI_ERR_RANK);
    MUST(MPI_Add_error_class(&n));
    MUST(MPI_Add_error_code(n, &m));
    MUST(MPI_Add_error_string(m, "early"));
    MUST(MPI_Error_class(m, &class));
    CHECK_EQ(class, n);
    MUST(MPI_Error_string(MPI_ERR_RANK, text, &n));
    CHECK(n > 0);
}

static void drop(void)
{
    MUST(MPI_Info_free(&made));
    CHECK(made == MPI_INFO_NULL);
    MUST(MPI_Errhandler_free(&eh));
    CHECK(eh == MPI_ERRHANDLER_NULL);
}

int main(int argc, char **argv)
{
    MPI_Info over;

    make();
    look();
    drop();
    make();
    over = made;
    mp_start(&argc, &argv);
    look();
    drop();
    make();
    CHECK(made != over); /* a stale handle is not another object's at once */
    MPI_Finalize();
    if (mp_is_library("Datum")) { /* which was closed, as no session was there */
        MPI_Session session;

        FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_ERR_OTHER);
    }
    look();
    drop();
    make();
    look();
    drop();
    return mp_failures != 0;
}
