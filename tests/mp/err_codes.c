/* test: np=1 timeout=20 */
/*
 * Error codes, classes and texts; those that a program adds.
 */
#include "mp_test.h"

static int class_of(int code)
{
    int c = -1;

    MUST(MPI_Error_class(code, &c));
    return c;
}

static const char *text_of(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int len = -1;

    memset(text, 'x', sizeof(text));
    MUST(MPI_Error_string(code, text, &len));
    CHECK(len >= 0 && len < MPI_MAX_ERROR_STRING);
    CHECK_EQ(text[len], 0);
    CHECK_EQ(strlen(text), len);
    return text;
}

static void classes(void)
{
    /* Gaps in MPICH's numbers. */
    for (int c = 0; c <= MPICH_ERR_LAST_CLASS; c++) {
        if (c == 54)
            continue;
        CHECK_EQ(class_of(c), c);
        CHECK(strlen(text_of(c)) > 5);
    }
    CHECK_EQ(class_of(MPI_SUCCESS), MPI_SUCCESS);
    CHECK(strstr(text_of(MPI_ERR_TRUNCATE), "truncated") != NULL);
    CHECK(strlen(text_of(-17)) > 0);
    CHECK(strlen(text_of(0x7fffffff)) > 0);
}

static void codes(void)
{
    int first, code = 0, x;

    first = MPI_Send(&x, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
    CHECK_EQ(class_of(first), MPI_ERR_RANK);
    CHECK(strstr(text_of(first), "12345") != NULL);
    for (int i = 0; i < 5000; i++) {
        code = MPI_Send(&x, -1 - i, MPI_INT, 0, 0, MPI_COMM_WORLD);
        CHECK(code > 0 && code <= MPI_ERR_LASTCODE);
        CHECK_EQ(class_of(code), MPI_ERR_COUNT);
    }
    CHECK(strstr(text_of(code), "-5000") != NULL);
    /* The text of an old one is forgotten, its class is not. */
    CHECK_EQ(class_of(first), MPI_ERR_RANK);
    CHECK(strstr(text_of(first), "12345") == NULL && strlen(text_of(first)) > 5);
}

static int last_used(void)
{
    int *value = NULL, flag = 0;

    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag);
    return *value;
}

static int n_called, seen_code;
static void on_error(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF);
    seen_code = *code;
    n_called++;
}

static void added(void)
{
    int cls, code, code2;
    MPI_Errhandler eh;

    CHECK(last_used() >= MPI_ERR_LASTCODE);
    MUST(MPI_Add_error_class(&cls));
    CHECK(cls > MPI_ERR_LASTCODE);
    CHECK_EQ(last_used(), cls);
    MUST(MPI_Add_error_code(cls, &code));
    MUST(MPI_Add_error_code(MPI_ERR_IO, &code2));
    CHECK_EQ(last_used(), code2);
    CHECK_EQ(class_of(cls), cls);
    CHECK_EQ(class_of(code), cls);
    CHECK_EQ(class_of(code2), MPI_ERR_IO);
    CHECK_EQ(strlen(text_of(code)), 0);
    MUST(MPI_Add_error_string(code, "first"));
    MUST(MPI_Add_error_string(code, "the cup is empty"));
    CHECK(strcmp(text_of(code), "the cup is empty") == 0);

    MUST(MPI_Comm_create_errhandler(on_error, &eh));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, eh));
    MUST(MPI_Comm_call_errhandler(MPI_COMM_SELF, code));
    CHECK_EQ(n_called, 1);
    CHECK_EQ(seen_code, code);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_call_errhandler(MPI_COMM_SELF, code));
    CHECK_EQ(n_called, 1);
    MUST(MPI_Errhandler_free(&eh));
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, cls = -1;

    /* These may be called before MPI_Init. */
    CHECK_EQ(MPI_Error_string(MPI_ERR_COMM, text, &len), MPI_SUCCESS);
    CHECK_EQ(MPI_Error_class(MPI_ERR_COMM, &cls), MPI_SUCCESS);
    CHECK_EQ(cls, MPI_ERR_COMM);
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    classes();
    codes();
    added();
    MPI_Finalize();
    CHECK_EQ(MPI_Error_string(MPI_ERR_COMM, text, &len), MPI_SUCCESS);
    return mp_failures != 0;
}
