/* test: np=1,2,3 timeout=120 */
/*
 * The program spawns itself: arguments, info, error codes, several programs at once, the parent, and
 * everything on what comes of it: collectives, merged communicators, duplicates, windows, sessions'
 * groups.
 */
#include <unistd.h>

#include "mp_test.h"

static char *self;

/* ---- both sides ---- */

/* Whatever a communicator is good for; all of its processes are here. */
static void use_merged(MPI_Comm both)
{
    int rank, size, sum, *buf;
    MPI_Comm dup, part, host, again;
    MPI_Request req;
    MPI_Group group;
    MPI_Win win;

    MUST(MPI_Comm_rank(both, &rank));
    MUST(MPI_Comm_size(both, &size));
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both));
    CHECK_EQ(sum, size * (size - 1) / 2);
    MUST(MPI_Comm_idup(both, &dup, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_split(dup, rank % 2, -rank, &part));
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, part));
    CHECK_EQ(sum, size - 1 - (size - 1 - rank) % 2);
    MUST(MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    MUST(MPI_Barrier(host));

    MUST(MPI_Win_allocate((MPI_Aint)size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, dup,
                          &buf, &win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < size; i++)
        MUST(MPI_Put(&rank, 1, MPI_INT, i, rank, 1, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < size; i++)
        CHECK_EQ(buf[i], i);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(dup));
    if (rank == 0)
        CHECK_EQ(buf[0], size * (size - 1) / 2);
    MUST(MPI_Win_free(&win));

    MUST(MPI_Comm_group(dup, &group));
    MUST(MPI_Comm_create_from_group(group, "dyn", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &again));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_compare(dup, again, &sum));
    CHECK_EQ(sum, MPI_CONGRUENT);
    MUST(MPI_Bcast(&sum, 1, MPI_INT, size - 1, again));
    MUST(MPI_Comm_free(&again));
    MUST(MPI_Comm_free(&host));
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_free(&dup));
}

static void use(MPI_Comm inter, int is_child)
{
    int n_remote, rank, sum = -1, want;
    MPI_Comm both;

    MUST(MPI_Comm_remote_size(inter, &n_remote));
    MUST(MPI_Comm_rank(inter, &rank));
    for (int i = 0; i < n_remote; i++) {
        int out[2000] = {rank}, in[2000] = {-1};

        MUST(MPI_Sendrecv(out, 2000, MPI_INT, i, 1, in, 2000, MPI_INT, i, 1, inter,
                          MPI_STATUS_IGNORE));
        CHECK_EQ(in[0], i);
    }
    want = n_remote * (n_remote - 1) / 2;
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_EQ(sum, want);
    MUST(MPI_Intercomm_merge(inter, is_child, &both));
    use_merged(both);
    MUST(MPI_Comm_free(&both));
}

/* ---- children ---- */

static int attribute(int key)
{
    int flag, *value;

    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    return flag ? *value : -1;
}

/* The error handler that the info key mpi_initial_errhandler has asked for. */
static void check_returns(MPI_Comm parent)
{
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_SELF, parent};
    MPI_Errhandler handler;
    char value[64] = "";
    int flag;

    for (int i = 0; i < 3; i++) {
        MUST(MPI_Comm_get_errhandler(comms[i], &handler));
        CHECK(handler == MPI_ERRORS_RETURN);
        FAILS(MPI_Send(NULL, -1, MPI_INT, 0, 0, comms[i]), MPI_ERR_COUNT);
    }
    MUST(MPI_Info_get(MPI_INFO_ENV, "mpi_initial_errhandler", 63, value, &flag));
    CHECK(flag && strcmp(value, "mpi_errors_return") == 0);
}

static int child(MPI_Comm parent, int argc, char **argv)
{
    char text[4096];
    int n;

    MUST(MPI_Comm_get_name(parent, text, &n));
    CHECK(strcmp(text, "MPI_COMM_PARENT") == 0);
    if (argc > 1 && strcmp(argv[1], "args") == 0) {
        CHECK_EQ(argc, 6);
        CHECK(strcmp(argv[2], "two words") == 0);
        CHECK(strcmp(argv[3], "") == 0);
        CHECK(strcmp(argv[4], "\"quoted\" = '\\';") == 0);
        CHECK(strcmp(argv[5], "a\nline") == 0);
    } else if (argc > 1 && strcmp(argv[1], "wdir") == 0) {
        CHECK(getcwd(text, sizeof(text)) != NULL && strcmp(text, "/") == 0);
    } else if (argc > 1 && strcmp(argv[1], "file") == 0) {
        CHECK(getcwd(text, sizeof(text)) != NULL && strcmp(text, "/") == 0);
        CHECK(strcmp(getenv("A"), "b") == 0 && strcmp(getenv("C"), "d") == 0);
    } else if (argc > 1 && strcmp(argv[1], "returns") == 0) {
        check_returns(parent);
    } else if (argc > 1 && strcmp(argv[1], "app") == 0) {
        CHECK_EQ(attribute(MPI_APPNUM), atoi(argv[2]));
    } else {
        CHECK_EQ(argc, 1);
    }
    use(parent, 1);
    /* The parent hears how it went. */
    MUST(MPI_Reduce(&mp_failures, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
    MUST(MPI_Comm_disconnect(&parent));
    MUST(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    return mp_finish();
}

/* ---- parents ---- */

static void talk(MPI_Comm *inter)
{
    int failures = 0, rank;

    use(*inter, 0);
    MUST(MPI_Comm_rank(*inter, &rank));
    MUST(MPI_Reduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                    rank == 0 ? MPI_ROOT : MPI_PROC_NULL, *inter));
    CHECK_EQ(failures, 0);
    MUST(MPI_Comm_disconnect(inter));
    CHECK(*inter == MPI_COMM_NULL);
}

static void spawn(int n, char **args, MPI_Info info, MPI_Comm comm, int root)
{
    int codes[8], n_remote;
    MPI_Comm inter;
    int rank;

    for (int i = 0; i < n; i++)
        codes[i] = -1;
    MUST(MPI_Comm_rank(comm, &rank));
    /* Only the root's arguments count. */
    if (rank == root)
        MUST(MPI_Comm_spawn(self, args, n, info, root, comm, &inter, codes));
    else
        MUST(MPI_Comm_spawn(NULL, NULL, -7, MPI_INFO_NULL, root, comm, &inter, codes));
    for (int i = 0; i < n; i++)
        CHECK_EQ(codes[i], MPI_SUCCESS);
    MUST(MPI_Comm_remote_size(inter, &n_remote));
    CHECK_EQ(n_remote, n);
    talk(&inter);
}

static void spawn_several(void)
{
    char *none[] = {"app", "0", NULL}, *one[] = {"app", "1", NULL};
    char *commands[] = {self, self}, **args[] = {none, one};
    int n[] = {1, 2}, n_remote;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;

    MUST(MPI_Comm_spawn_multiple(2, commands, args, n, infos, 0, MPI_COMM_WORLD, &inter,
                                 MPI_ERRCODES_IGNORE));
    MUST(MPI_Comm_remote_size(inter, &n_remote));
    CHECK_EQ(n_remote, 3);
    talk(&inter);
}

/* The info key soft: the largest of its numbers, and codes for those that are too many. */
static void spawn_soft(const char *soft, int max, int n)
{
    int codes[8], n_remote;
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "soft", soft));
    MUST(MPI_Comm_spawn(self, MPI_ARGV_NULL, max, info, 0, MPI_COMM_WORLD, &inter, codes));
    MUST(MPI_Info_free(&info));
    for (int i = 0; i < max; i++)
        CHECK_EQ(codes[i], i < n ? MPI_SUCCESS : MPI_ERR_SPAWN);
    if (n == 0) {
        CHECK(inter == MPI_COMM_NULL);
        return;
    }
    MUST(MPI_Comm_remote_size(inter, &n_remote));
    CHECK_EQ(n_remote, n);
    talk(&inter);
}

/* The info key file: lines of other keys, behind which those of the info itself come first. */
static void spawn_file(void)
{
    char path[] = "/tmp/dyn_spawn.XXXXXX";
    const char *text = "# keys\nwdir = /\nsoft 3\nenv A=b\nenv C=d\n";
    char *args[] = {"file", NULL};
    int codes[4], n_remote, fd = -1;
    MPI_Comm inter;
    MPI_Info info;

    if (mp_rank == 0) {
        fd = mkstemp(path);
        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    }
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "soft", "0:2"));
    MUST(MPI_Info_set(info, "file", path));
    MUST(MPI_Comm_spawn(self, args, 4, info, 0, MPI_COMM_WORLD, &inter, codes));
    MUST(MPI_Comm_remote_size(inter, &n_remote));
    CHECK_EQ(n_remote, 2);
    talk(&inter);
    MUST(MPI_Info_free(&info));
    if (mp_rank == 0) {
        close(fd);
        unlink(path);
    }
}

static void spawn_none(void)
{
    char *commands[] = {self, self};
    int n[] = {0, 0};
    MPI_Comm inter = MPI_COMM_WORLD;

    MUST(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                        MPI_ERRCODES_IGNORE));
    CHECK(inter == MPI_COMM_NULL);
    MUST(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, n, NULL, 0, MPI_COMM_WORLD, &inter,
                                 n));
    CHECK(inter == MPI_COMM_NULL);
}

static void wrong_info(const char *key, const char *value, int class)
{
    MPI_Comm inter = MPI_COMM_WORLD, comm;
    MPI_Info info;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    FAILS(MPI_Comm_spawn(self, MPI_ARGV_NULL, 3, info, 0, comm, &inter, MPI_ERRCODES_IGNORE),
          class);
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&comm));
}

static void errors(void)
{
    char *commands[] = {self, "/nowhere/program"};
    int codes[3] = {0, 0, 0}, n[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter = MPI_COMM_WORLD, comm, other;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(
        MPI_Comm_spawn("/nowhere/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, comm, &inter, codes),
        MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(codes[i], MPI_ERR_SPAWN);
    FAILS(MPI_Comm_spawn("/", MPI_ARGV_NULL, 1, MPI_INFO_NULL, mp_size - 1, comm, &inter, codes),
          MPI_ERR_SPAWN);
    memset(codes, 0xff, sizeof(codes));
    FAILS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, n, infos, 0, comm, &inter, codes),
          MPI_ERR_SPAWN);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(codes[i], MPI_ERR_SPAWN);
    FAILS(MPI_Comm_spawn(self, MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, comm, &inter,
                         MPI_ERRCODES_IGNORE),
          MPI_ERR_ARG);
    FAILS(
        MPI_Comm_spawn(NULL, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE),
        MPI_ERR_ARG);
    FAILS(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, (MPI_Info)12345, 0, comm, &inter,
                         MPI_ERRCODES_IGNORE),
          MPI_ERR_INFO);
    FAILS(MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, n, infos, 0, comm, &inter,
                                  MPI_ERRCODES_IGNORE),
          MPI_ERR_ARG);
    if (mp_size > 1) {
        MPI_Comm half;

        MUST(MPI_Comm_split(comm, mp_rank == 0, 0, &half));
        MUST(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
        MUST(MPI_Intercomm_create(half, 0, comm, mp_rank == 0, 5, &other));
        FAILS(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, other, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_COMM);
        MUST(MPI_Comm_free(&other));
        MUST(MPI_Comm_free(&half));
    }
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    char *args[] = {"args", "two words", "", "\"quoted\" = '\\';", "a\nline", NULL};
    char *wdir[] = {"wdir", NULL};
    char *returns[] = {"returns", NULL};
    const char *wrong[] = {"", "two", "1:2:3:4", "1,", "1:3:0", "99999999999"};
    MPI_Comm parent;
    MPI_Info info;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL)
        return child(parent, argc, argv);
    self = realpath(argv[0], NULL); /* it is started in other directories, too */
    MUST(MPI_Info_create(&info));
    spawn(1, MPI_ARGV_NULL, MPI_INFO_NULL, MPI_COMM_WORLD, 0);
    spawn(2, args, info, MPI_COMM_WORLD, mp_size - 1);
    MUST(MPI_Info_set(info, "wdir", "/"));
    MUST(MPI_Info_set(info, "no_such_key", "value"));
    spawn(2, wdir, info, MPI_COMM_WORLD, 0);
    MUST(MPI_Info_set(info, "mpi_initial_errhandler", "MPI_Errors_Return"));
    spawn(2, returns, info, MPI_COMM_WORLD, 0);
    MUST(MPI_Info_delete(info, "mpi_initial_errhandler"));
    if (mp_rank == mp_size - 1)
        spawn(1, MPI_ARGV_NULL, MPI_INFO_NULL, MPI_COMM_SELF, 0);
    spawn_several();
    spawn_file();
    spawn_soft("1,7,2:0:-2", 4, 2);
    spawn_soft("0, 8:16", 3, 0);
    spawn_none();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        wrong_info("soft", wrong[i], MPI_ERR_INFO_VALUE);
    wrong_info("soft", "4:9", MPI_ERR_SPAWN);
    wrong_info("arch", "pdp11", MPI_ERR_SPAWN);
    wrong_info("file", "/nowhere/at/all", MPI_ERR_INFO_VALUE);
    wrong_info("mpi_initial_errhandler", "mpi_errors_ignored", MPI_ERR_INFO_VALUE);
    errors();
    spawn(1, MPI_ARGV_NULL, MPI_INFO_NULL, MPI_COMM_WORLD, 0);
    MUST(MPI_Info_free(&info));
    free(self);
    return mp_finish();
}
