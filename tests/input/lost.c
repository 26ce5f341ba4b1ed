/*
 * Rank 1 dies in the middle of an operation with rank 0, which is told by an error of the call that
 * needs it, and goes on. The arguments are the operation and a file for rank 0's last word; without
 * arguments it lists the operations.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me;
static const char *result;
static int out[4] = {1, 2, 3, 4}, in[4];

/* In a file: the launcher may drop what is printed after the death. */
static void say(const char *what, const char *how)
{
    FILE *file = fopen(result, "w");

    fprintf(file, "%s %s\n", what, how);
    fclose(file);
    _exit(0); /* MPI_Finalize would wait for rank 1 */
}

static void must_fail(int err, const char *call)
{
    if (err != MPI_SUCCESS)
        return;
    say(call, "succeeded");
}
#define MUST_FAIL(call) must_fail((call), #call)

static void must(int err, const char *call)
{
    if (err == MPI_SUCCESS)
        return;
    say(call, "failed");
}
#define MUST(call) must((call), #call)

/* Another program takes the place of this one: the launcher, which would end the job, is content. */
static void die(void)
{
    const char *fd = getenv("PMI_FD");

    if (me != 1)
        return;
    if (fd != NULL)
        fcntl(atoi(fd), F_SETFD, 0);
    execlp("sleep", "sleep", "10", (char *)NULL);
    _exit(1);
}

/* The rest of the partitions become ready after the round has ended. */
static void partitions(void)
{
    MPI_Request reqs[2];

    MPI_Psend_init(out, 4, 1, MPI_INT, !me, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]);
    MPI_Precv_init(in, 4, 1, MPI_INT, !me, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]);
    MUST(MPI_Startall(2, reqs));
    MUST(MPI_Pready_range(0, 3, reqs[0]));
    MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
    die();
    /* It fails when the loss is known already. */
    if (MPI_Startall(2, reqs) == MPI_SUCCESS) {
        MUST(MPI_Pready(0, reqs[0]));
        MUST_FAIL(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
        for (int i = 1; i < 4; i++)
            MUST(MPI_Pready(i, reqs[0]));
        MUST_FAIL(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
    }
    MUST_FAIL(MPI_Start(&reqs[0]));
    MUST(MPI_Request_free(&reqs[0]));
    MUST(MPI_Request_free(&reqs[1]));
}

static MPI_Win window(void)
{
    MPI_Win win;

    MPI_Win_create(in, sizeof(in), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

static MPI_Group other(void)
{
    MPI_Group all, group;
    int rank = !me;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &rank, &group);
    MPI_Group_free(&all);
    return group;
}

/* MPI_Win_test never says yes. */
static void test_epoch(void)
{
    MPI_Win win = window();
    MPI_Group group = other();
    int flag = 0, err = MPI_SUCCESS;

    if (me == 1)
        MPI_Recv(in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    die();
    MUST(MPI_Win_post(group, 0, win));
    MUST(MPI_Send(in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    while (err == MPI_SUCCESS && !flag)
        err = MPI_Win_test(win, &flag);
    must_fail(err, "MPI_Win_test");
}

static void start_epoch(void)
{
    MPI_Win win = window();

    die();
    MUST_FAIL(MPI_Win_start(other(), 0, win));
}

static void fence(void)
{
    MPI_Win win = window();

    die();
    MUST_FAIL(MPI_Win_fence(0, win));
}

/* A lock that nobody holds may be had until the loss is noticed. */
static void lock(void)
{
    MPI_Win win = window();
    int err;

    die();
    do {
        err = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        if (err == MPI_SUCCESS)
            MUST(MPI_Win_unlock(1, win));
    } while (err == MPI_SUCCESS);
    must_fail(err, "MPI_Win_lock");
}

/* The request of a fetch, and the flush behind it. Until the loss is noticed it may reach the memory. */
static void fetch(void)
{
    MPI_Win win = window();
    MPI_Request req;
    int err;

    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    die();
    do {
        err = MPI_Rget_accumulate(out, 1, MPI_INT, &out[1], 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM,
                                  win, &req);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&req, MPI_STATUS_IGNORE);
    } while (err == MPI_SUCCESS);
    must_fail(err, "MPI_Rget_accumulate or MPI_Wait");
    err = MPI_Accumulate(out, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    if (err == MPI_SUCCESS)
        err = MPI_Win_flush(1, win);
    must_fail(err, "MPI_Accumulate or MPI_Win_flush");
}

static void collective(void)
{
    MPI_Request reqs[2];

    MUST(MPI_Allreduce_init(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]));
    MUST(MPI_Start(&reqs[1]));
    MUST(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
    die();
    MUST(MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reqs[0]));
    MUST_FAIL(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
    if (MPI_Start(&reqs[1]) == MPI_SUCCESS)
        MUST_FAIL(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&reqs[1]));
}

static void idup(void)
{
    MPI_Request req;
    MPI_Comm comm;

    die();
    for (int i = 0; i < 3; i++) /* the later ones fail at once */
        if (MPI_Comm_idup(MPI_COMM_WORLD, &comm, &req) == MPI_SUCCESS)
            MUST_FAIL(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

/* Both halves, and a send that is cancelled: rank 1's thread may agree to that in its last moment. */
static void both(void)
{
    MPI_Request reqs[2];
    MPI_Status status;
    int is_cancelled = 0;

    die();
    MPI_Issend(out, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, &reqs[1]);
    MPI_Cancel(&reqs[1]);
    MUST(MPI_Isendrecv(out, 4, MPI_INT, 1, 0, in, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, &reqs[0]));
    MUST_FAIL(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
    if (MPI_Wait(&reqs[1], &status) == MPI_SUCCESS) {
        MUST(MPI_Test_cancelled(&status, &is_cancelled));
        if (!is_cancelled)
            say("the cancelled MPI_Issend", "succeeded");
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"partitions", partitions}, {"test", test_epoch}, {"start", start_epoch},
    {"fence", fence},           {"lock", lock},       {"fetch", fetch},
    {"collective", collective}, {"idup", idup},       {"both", both},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && argc == 1; i++)
        puts(cases[i].name);
    if (argc != 3)
        return argc == 1 ? 0 : 2;
    result = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    say(argv[1], "is fine");
}
