/* test: np=2,4,5 timeout=60 */
/*
 * Ports within one world: its halves meet by accept and connect, at the port of any rank, several
 * pairs at once, from communicators of one and of many; what does not fit is an error of the same
 * class at all ranks.
 */
#include "mp_test.h"

/* The even ranks accept, the odd ones connect. */
static int accepts;
static MPI_Comm half;

/* Rank `from` of the world tells all the name of a port. */
static void tell_port(char *port, int from)
{
    MUST(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, from, MPI_COMM_WORLD));
}

static void check_name(const char *port)
{
    CHECK(strlen(port) > 0 && strlen(port) < MPI_MAX_PORT_NAME);
    for (const char *p = port; *p != '\0'; p++)
        CHECK(*p > ' ' && *p < 127);
}

/* All of both sides speak to all of the other one. */
static void check_inter(MPI_Comm inter)
{
    int flag, n, size, sum = 0, want, me, high = accepts;
    MPI_Comm both;

    MUST(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    MUST(MPI_Comm_remote_size(inter, &n));
    MUST(MPI_Comm_size(inter, &size));
    CHECK_EQ(n + size, mp_size);
    for (int i = 0; i < n; i++) {
        int got = -1;

        MUST(MPI_Sendrecv(&mp_rank, 1, MPI_INT, i, 3, &got, 1, MPI_INT, i, 3, inter,
                          MPI_STATUS_IGNORE));
        CHECK_EQ(got, 2 * i + accepts);
    }
    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    want = 0;
    for (int r = 0; r < mp_size; r++)
        want += r % 2 == accepts ? r : 0;
    CHECK_EQ(sum, want);
    MUST(MPI_Intercomm_merge(inter, high, &both));
    MUST(MPI_Comm_rank(both, &me));
    CHECK_EQ(me, accepts ? n + mp_rank / 2 : mp_rank / 2);
    MUST(MPI_Allreduce(&mp_rank, &sum, 1, MPI_INT, MPI_SUM, both));
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2);
    MUST(MPI_Comm_free(&both));
}

static void meet_as_halves(int acceptor, int connector)
{
    char port[MPI_MAX_PORT_NAME] = "unused", line[MPI_MAX_PORT_NAME + 2];
    MPI_Comm inter;

    if (mp_rank == acceptor)
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
    tell_port(port, acceptor);
    check_name(port);
    (void)snprintf(line, sizeof(line), "%s\r\n", port); /* as it is read from a file */
    if (accepts)
        MUST(MPI_Comm_accept(mp_rank == acceptor ? port : NULL, MPI_INFO_NULL, acceptor / 2, half,
                             &inter));
    else
        MUST(MPI_Comm_connect(mp_rank == connector ? line : NULL, MPI_INFO_NULL, connector / 2,
                              half, &inter));
    check_inter(inter);
    MUST(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
    if (mp_rank == acceptor)
        MUST(MPI_Close_port(port));
}

/* Everybody goes to rank 0, one after the other is served. */
static void many_come(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    int x, seen = 0;

    if (mp_rank == 0)
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
    tell_port(port, 0);
    for (int i = 1; i < mp_size; i++) {
        if (mp_rank == 0) {
            MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
            MUST(MPI_Recv(&x, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
            seen += x;
            MUST(MPI_Comm_disconnect(&inter));
        } else if (mp_rank == i) {
            MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
            MUST(MPI_Send(&mp_rank, 1, MPI_INT, 0, 0, inter));
            MUST(MPI_Comm_disconnect(&inter));
        }
    }
    if (mp_rank == 0) {
        CHECK_EQ(seen, mp_size * (mp_size - 1) / 2);
        MUST(MPI_Close_port(port));
    }
}

/* All others wait at once in the queue of one port. */
static void all_come(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter[8];
    int x, seen = 0;

    if (mp_rank == 0)
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
    tell_port(port, 0);
    if (mp_rank == 0) {
        for (int i = 1; i < mp_size; i++)
            MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter[i]));
        for (int i = 1; i < mp_size; i++) {
            MUST(MPI_Recv(&x, 1, MPI_INT, 0, 0, inter[i], MPI_STATUS_IGNORE));
            seen += x;
            MUST(MPI_Comm_disconnect(&inter[i]));
        }
        CHECK_EQ(seen, mp_size * (mp_size - 1) / 2);
        MUST(MPI_Close_port(port));
    } else {
        MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter[0]));
        MUST(MPI_Send(&mp_rank, 1, MPI_INT, 0, 0, inter[0]));
        MUST(MPI_Comm_disconnect(&inter[0]));
    }
}

static void errors(void)
{
    char port[MPI_MAX_PORT_NAME], changed[MPI_MAX_PORT_NAME + 2];
    MPI_Comm inter = MPI_COMM_WORLD, dup;
    MPI_Info info;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MUST(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "timeout", "1"));
    if (mp_rank == 0)
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
    tell_port(port, 0);

    /* no port at all, at all ranks alike */
    FAILS(MPI_Comm_connect("tag#0$description#host$port#1$", MPI_INFO_NULL, 0, dup, &inter),
          MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    FAILS(MPI_Comm_connect(NULL, MPI_INFO_NULL, mp_size - 1, dup, &inter), MPI_ERR_PORT);
    FAILS(MPI_Comm_connect("", MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    FAILS(MPI_Comm_connect("datum1:", MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    strcpy(changed, port);
    changed[strlen(changed) / 2] ^= 1;
    FAILS(MPI_Comm_connect(changed, MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    strcpy(changed, port);
    changed[strlen(changed) - 3] = '\0';
    FAILS(MPI_Comm_connect(changed, MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    (void)snprintf(changed, sizeof(changed), "%s x", port);
    FAILS(MPI_Comm_connect(changed, MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    /* an accept at a port of somebody else */
    FAILS(MPI_Comm_accept(port, MPI_INFO_NULL, mp_size - 1, dup, &inter), MPI_ERR_PORT);
    /* nobody comes, nobody accepts */
    FAILS(MPI_Comm_accept(port, info, 0, dup, &inter), MPI_ERR_PORT);
    FAILS(MPI_Comm_connect(port, info, mp_size - 1, dup, &inter), MPI_ERR_PORT);
    MUST(MPI_Info_set(info, "timeout", "soon"));
    FAILS(MPI_Comm_accept(port, info, 0, dup, &inter), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Comm_accept(port, info, mp_size, dup, &inter), MPI_ERR_ROOT);
    if (mp_rank == 0)
        MUST(MPI_Close_port(port));
    MUST(MPI_Barrier(dup));
    FAILS(MPI_Comm_connect(port, MPI_INFO_NULL, mp_size - 1, dup, &inter), MPI_ERR_PORT);
    FAILS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, dup, &inter), MPI_ERR_PORT);
    FAILS(MPI_Close_port(port), MPI_ERR_PORT);
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&dup));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    accepts = mp_rank % 2 == 0;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, accepts, 0, &half));
    meet_as_halves(0, 1);
    meet_as_halves(mp_size - 1 - (mp_size - 1) % 2, mp_size - 1 - mp_size % 2);
    many_come();
    all_come();
    errors();
    MUST(MPI_Comm_free(&half));
    return mp_finish();
}
