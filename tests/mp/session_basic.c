/* test: np=1,2,3,4 timeout=30 */
/*
 * Sessions without MPI_Init: process sets, groups, communicators from groups (several at once, by their
 * tags), inter-communicators, info, error handlers, a second session after the last one. (Debian's
 * MPICH does not know the error handlers of sessions, and crashes with groups of others.)
 */
#include "mp_test.h"

static MPI_Session seen;
static int n_handled;

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)code;
    seen = *session;
    n_handled++;
}

static void sets(MPI_Session session)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    char small[4];
    MPI_Group group, self;
    MPI_Info info;
    int n, len, flag, n_found = 0;

    MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        len = 0;
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, NULL));
        CHECK(len > 1 && len <= MPI_MAX_PSET_NAME_LEN);
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name));
        CHECK_EQ(strlen(name) + 1, len);
        n_found += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
        MUST(MPI_Session_get_pset_info(session, name, &info));
        MUST(MPI_Info_get(info, "mpi_size", sizeof(name) - 1, name, &flag));
        CHECK(flag && atoi(name) >= 1);
        MUST(MPI_Info_free(&info));
        len = sizeof(small);
        MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, small));
        CHECK(strcmp(small, "mpi") == 0);
    }
    CHECK_EQ(n_found, 2);
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Group_from_session_pset(session, "MPI://self", &self));
    MUST(MPI_Group_rank(group, &mp_rank));
    MUST(MPI_Group_size(group, &mp_size));
    MUST(MPI_Group_size(self, &n));
    CHECK_EQ(n, 1);
    MUST(MPI_Group_translate_ranks(self, 1, &(int){0}, group, &n));
    CHECK_EQ(n, mp_rank);
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&self));
}

static void wrong(MPI_Session session)
{
    MPI_Group group;
    MPI_Errhandler eh, got;
    MPI_Info info;
    int len = 0;

    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &len, NULL), MPI_ERR_ARG);
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &len, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_from_session_pset(session, "mpi://nobody", &group), MPI_ERR_ARG);
    MUST(MPI_Session_create_errhandler(on_error, &eh));
    MUST(MPI_Session_set_errhandler(session, eh));
    MUST(MPI_Session_get_errhandler(session, &got));
    CHECK(got == eh);
    MUST(MPI_Errhandler_free(&got));
    MUST(MPI_Errhandler_free(&eh));
    n_handled = 0;
    FAILS(MPI_Session_get_pset_info(session, "mpi://nobody", &info), MPI_ERR_ARG);
    CHECK_EQ(n_handled, 1);
    CHECK(seen == session);
    MUST(MPI_Session_call_errhandler(session, MPI_ERR_IO));
    CHECK_EQ(n_handled, 2);
    MUST(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
}

static void use(MPI_Comm comm, int size)
{
    MPI_Errhandler eh;
    int n, sum, rank;

    MUST(MPI_Comm_size(comm, &n));
    CHECK_EQ(n, size);
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, n * (n - 1) / 2);
    MUST(MPI_Comm_get_errhandler(comm, &eh));
    CHECK(eh == MPI_ERRORS_RETURN);
    FAILS(MPI_Send(&rank, 1, MPI_INT, n, 0, comm), MPI_ERR_RANK);
}

static void communicators(MPI_Session session)
{
    MPI_Group world, self, half;
    MPI_Comm comm[3], dup;
    int mine[4], n_mine = 0;

    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    MUST(MPI_Comm_create_from_group(world, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm[0]));
    MUST(MPI_Comm_create_from_group(world, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm[1]));
    MUST(MPI_Comm_create_from_group(self, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm[2]));
    use(comm[0], mp_size);
    use(comm[1], mp_size);
    use(comm[2], 1);
    MUST(MPI_Comm_dup(comm[0], &dup));
    use(dup, mp_size);
    MUST(MPI_Comm_free(&dup));
    for (int i = 0; i < 3; i++)
        MUST(MPI_Comm_free(&comm[i]));
    /* Even and odd ranks, at the same time and by the same tag. */
    for (int i = mp_rank % 2; i < mp_size; i += 2)
        mine[n_mine++] = i;
    MUST(MPI_Group_incl(world, n_mine, mine, &half));
    MUST(MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm[0]));
    use(comm[0], n_mine);
    MUST(MPI_Comm_disconnect(&comm[0]));
    CHECK(comm[0] == MPI_COMM_NULL);
    MUST(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                    &comm[0]));
    CHECK(comm[0] == MPI_COMM_NULL);
    if (mp_size > 1) {
        MPI_Group other;

        MUST(MPI_Group_difference(world, half, &other));
        FAILS(MPI_Comm_create_from_group(other, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm[0]),
              MPI_ERR_GROUP);
        MUST(MPI_Group_free(&other));
    }
    MUST(MPI_Group_free(&half));
    MUST(MPI_Group_free(&world));
    MUST(MPI_Group_free(&self));
}

/* Rank 0 on one side, the others on the other. */
static void intercommunicator(MPI_Session session)
{
    MPI_Group world, first, rest;
    MPI_Comm inter;
    int n, x = mp_rank, y = -1, zero = 0;

    if (mp_size < 2)
        return;
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    MUST(MPI_Group_incl(world, 1, &zero, &first));
    MUST(MPI_Group_excl(world, 1, &zero, &rest));
    MUST(MPI_Intercomm_create_from_groups(mp_rank == 0 ? first : rest, 0,
                                          mp_rank == 0 ? rest : first, 0, "inter", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &inter));
    MUST(MPI_Comm_remote_size(inter, &n));
    CHECK_EQ(n, mp_rank == 0 ? mp_size - 1 : 1);
    if (mp_rank == 0)
        for (int i = 0; i < n; i++)
            MUST(MPI_Send(&x, 1, MPI_INT, i, 0, inter));
    else
        MUST(MPI_Recv(&y, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(y, mp_rank == 0 ? -1 : 0);
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Group_free(&first));
    MUST(MPI_Group_free(&rest));
    MUST(MPI_Group_free(&world));
}

int main(void)
{
    MPI_Session session, other;
    MPI_Info info, used;
    char level[64];
    int flag;

    MUST(MPI_Info_create(&info)); /* before anything */
    MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    for (int round = 0; round < 2; round++) {
        MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
        MUST(MPI_Initialized(&flag));
        CHECK_EQ(flag, 0); /* asks for the world model */
        MUST(MPI_Session_get_info(session, &used));
        MUST(MPI_Info_get(used, "thread_level", sizeof(level) - 1, level, &flag));
        CHECK(flag && strcmp(level, "MPI_THREAD_MULTIPLE") == 0);
        MUST(MPI_Info_free(&used));
        sets(session);
        if (!mp_is_library("MPICH"))
            wrong(session);
        communicators(session);
        MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
        CHECK(other != session);
        MUST(MPI_Session_finalize(&session));
        CHECK(session == MPI_SESSION_NULL);
        intercommunicator(other);
        MUST(MPI_Session_finalize(&other));
    }
    MUST(MPI_Info_free(&info));
    MUST(MPI_Finalized(&flag));
    CHECK_EQ(flag, 0);
    return mp_failures != 0;
}
