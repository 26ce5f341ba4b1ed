/* test: np=1,2,4 timeout=30 */
/*
 * Short functions of MPI-4.1: fields of statuses, pairs by their parts, error classes that are removed,
 * what the process is restricted to, splitting by that or by sets of processes, and kinds of memory.
 */
#include "mp_test.h"

static void fields(void)
{
    MPI_Status status;
    MPI_Count x = -1, big = 5000000000ll;
    int value = -1, n = -1, flag;

    memset(&status, 0, sizeof(status));
    MUST(MPI_Status_set_source(&status, 3));
    MUST(MPI_Status_set_tag(&status, 4));
    MUST(MPI_Status_set_error(&status, MPI_ERR_IO));
    MUST(MPI_Status_set_elements_c(&status, MPI_INT, big));
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_IO);
    MUST(MPI_Status_get_source(&status, &value));
    CHECK_EQ(value, 3);
    MUST(MPI_Status_get_tag(&status, &value));
    CHECK_EQ(value, 4);
    MUST(MPI_Status_get_error(&status, &value));
    CHECK_EQ(value, MPI_ERR_IO);
    MUST(MPI_Get_elements_c(&status, MPI_INT, &x));
    CHECK_EQ(x, big);
    MUST(MPI_Get_elements(&status, MPI_INT, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(flag, 0);
    FAILS(MPI_Status_get_tag(&status, NULL), MPI_ERR_ARG);
    FAILS(MPI_Status_set_tag(NULL, 1), MPI_ERR_ARG);
    FAILS(MPI_Status_set_tag(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
    FAILS(MPI_Status_set_elements_c(&status, MPI_INT, -1), MPI_ERR_COUNT);
}

static void pairs(void)
{
    struct {
        double value;
        int rank;
    } mine = {(double)(mp_rank * 7 % 5), mp_rank}, most;
    MPI_Datatype pair, dup;
    int where = 0;

    MUST(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT);
    MUST(MPI_Allreduce(&mine, &most, 1, pair, MPI_MAXLOC, MPI_COMM_WORLD));
    for (int i = 0; i < mp_size; i++)
        if (i * 7 % 5 > where * 7 % 5)
            where = i;
    CHECK_EQ(most.rank, where);
    MUST(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
    CHECK(pair == MPI_2INT);
    MUST(MPI_Type_get_value_index(MPI_LONG_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_LONG_DOUBLE_INT);
    MUST(MPI_Type_get_value_index(MPI_DOUBLE, MPI_DOUBLE, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    MUST(MPI_Type_dup(MPI_DOUBLE, &dup));
    MUST(MPI_Type_get_value_index(dup, MPI_INT, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    MUST(MPI_Type_free(&dup));
    FAILS(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair), MPI_ERR_TYPE);
}

static void removed(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, code, len;

    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Add_error_string(code, "of the test"));
    FAILS(MPI_Remove_error_class(class), MPI_ERR_ARG);
    MUST(MPI_Error_string(code, text, &len));
    CHECK(strcmp(text, "of the test") == 0);
    MUST(MPI_Remove_error_string(code));
    MUST(MPI_Error_string(code, text, &len));
    CHECK_EQ(len, 0);
    MUST(MPI_Remove_error_code(code));
    FAILS(MPI_Remove_error_code(code), MPI_ERR_ARG);
    MUST(MPI_Remove_error_class(class));
    FAILS(MPI_Remove_error_class(MPI_ERR_IO), MPI_ERR_ARG);
}

/* How many of comm are together by this key and value; 0: the process is in no part. */
static int together(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Comm part;
    int size = 0;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    if (part != MPI_COMM_NULL) {
        MUST(MPI_Comm_size(part, &size));
        MUST(MPI_Comm_free(&part));
    }
    MUST(MPI_Info_free(&info));
    return size;
}

static void guided(void)
{
    MPI_Comm shared, part;
    int size;

    CHECK_EQ(together("mpi_pset_name", "mpi://WORLD"), mp_size);
    CHECK_EQ(together("mpi_pset_name", "mpi://self"), 1);
    CHECK_EQ(together("mpi_pset_name", "mpi://nothing"), 0);
    CHECK_EQ(together("mpi_hw_resource_type", "no-such"), 0);
    CHECK_EQ(together("no-such-key", "x"), 0);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    MUST(MPI_Comm_size(shared, &size));
    CHECK_EQ(together("mpi_hw_resource_type", "mpi_shared_memory"), size);
    MUST(MPI_Comm_free(&shared));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, MPI_INFO_NULL,
                             &part));
    CHECK(part == MPI_COMM_NULL);
}

/* Each kind of resource is true or false, and can be asked for. */
static void resources(void)
{
    char key[MPI_MAX_INFO_KEY + 1], value[8];
    MPI_Info info;
    int n, flag, len;

    MUST(MPI_Get_hw_resource_info(&info));
    MUST(MPI_Info_get_nkeys(info, &n));
    CHECK(n > 1);
    for (int i = 0; i < n; i++) {
        MUST(MPI_Info_get_nthkey(info, i, key));
        len = sizeof(value);
        MUST(MPI_Info_get_string(info, key, &len, value, &flag));
        CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
        CHECK_EQ(together(key, "x"), 0);
        if (strcmp(value, "true") == 0)
            CHECK(together("mpi_hw_resource_type", key) > 0);
        else
            CHECK_EQ(together("mpi_hw_resource_type", key), 0);
    }
    MUST(MPI_Info_free(&info));
}

/* What a session grants of the kinds of memory that it is asked for. */
static void kinds(void)
{
    char value[MPI_MAX_INFO_VAL];
    MPI_Session session;
    MPI_Info info, used;
    int flag, len = sizeof(value);

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(
        info, "mpi_memory_alloc_kinds",
        "cuda,mpi:alloc_mem,mpi:alloc_mem:no_such,system:x,mpi:win_allocate:alloc_mem"));
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Session_get_info(session, &used));
    MUST(MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &len, value, &flag));
    CHECK(flag && strcmp(value, "mpi,system,mpi:alloc_mem,mpi:win_allocate:alloc_mem") == 0);
    MUST(MPI_Info_free(&used));
    MUST(MPI_Session_finalize(&session));
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int version, subversion;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Get_version(&version, &subversion));
    CHECK(version == 4 && subversion == 1);
    fields();
    pairs();
    removed();
    guided();
    resources();
    kinds();
    return mp_finish();
}
