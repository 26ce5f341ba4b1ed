/* test: np=0,1,2,4 timeout=30 */
/*
 * Init and Finalize, what may be asked before and after, versions, names, clock, attributes.
 */
#include "mp_test.h"

static int n_deleted;
static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int rank;

    (void)keyval;
    (void)value;
    (void)extra;
    CHECK(comm == MPI_COMM_SELF);
    CHECK_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS); /* MPI still works here */
    n_deleted++;
    return MPI_SUCCESS;
}

static void names(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    char cname[MPI_MAX_OBJECT_NAME];
    int a = 0, b = 0, len = 0;

    MUST(MPI_Get_version(&a, &b));
    CHECK_EQ(a, MPI_VERSION);
    CHECK_EQ(b, MPI_SUBVERSION);
    MUST(MPI_Get_library_version(text, &len));
    CHECK_EQ(len, strlen(text));
    CHECK(len > 0);
    MUST(MPI_Get_processor_name(name, &len));
    CHECK_EQ(len, strlen(name));
    CHECK(len > 0);
    MUST(MPI_Comm_get_name(MPI_COMM_WORLD, cname, &len));
    CHECK(strcmp(cname, "MPI_COMM_WORLD") == 0);
    MUST(MPI_Comm_get_name(MPI_COMM_SELF, cname, &len));
    CHECK(strcmp(cname, "MPI_COMM_SELF") == 0);
    MUST(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
    MUST(MPI_Comm_get_name(MPI_COMM_WORLD, cname, &len));
    CHECK(strcmp(cname, "everybody") == 0 && len == 9);
}

static void clocks(void)
{
    double t0 = MPI_Wtime(), t1, tick = MPI_Wtick();

    CHECK(tick > 0 && tick < 1e-3);
    do
        t1 = MPI_Wtime();
    while (t1 - t0 < 1e-3);
    CHECK(t1 - t0 < 10);
}

static void attributes(void)
{
    int *value = NULL, flag = 0;

    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    MUST(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(flag && *value == MPI_PROC_NULL);
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag);
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1);
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= mp_size);
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value == 0);
}

int main(int argc, char **argv)
{
    int flag = -1, key, level = -1, main_thread = 0;

    CHECK_EQ(MPI_Initialized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag, 0);
    CHECK_EQ(MPI_Finalized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag, 0);
    mp_start(&argc, &argv);
    MUST(MPI_Initialized(&flag));
    CHECK_EQ(flag, 1);
    MUST(MPI_Finalized(&flag));
    CHECK_EQ(flag, 0);
    MUST(MPI_Query_thread(&level));
    CHECK_EQ(level, MPI_THREAD_SINGLE);
    MUST(MPI_Is_thread_main(&main_thread));
    CHECK_EQ(main_thread, 1);
    MUST(MPI_Pcontrol(1));
    names();
    clocks();
    attributes();
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &key));
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Finalize());
    CHECK_EQ(n_deleted, 1);
    CHECK_EQ(MPI_Initialized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag, 1);
    CHECK_EQ(MPI_Finalized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag, 1);
    return mp_failures != 0;
}
