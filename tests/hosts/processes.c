/*
 * Jobs on one host each that come to know each other:
 *
 *   processes serve NAME        open a port, publish it, accept a job at it with all ranks
 *   processes connect NAME      look the name up, connect with all ranks
 *   processes serve-one, connect-one NAME: rank 0 alone; the others come by MPI_Intercomm_create
 *   processes spawn HOST        spawn as many processes on another host
 *   processes spawn-several HOST HOST HOST   three programs, each on its host: "place HOST is HOST"
 *   processes spawn-bad HOST    spawn what is not there, and go on: "refused CLASS"
 *
 * Everybody then talks to everybody, of both jobs, with memory from before: short and long messages,
 * puts and gets. One rank of each job prints "N processes". The exit status is 1 after a wrong byte.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE 300000
#define TRIES 600 /* of a name, a tenth of a second each */

static int rank, size, n_wrong;
static unsigned char plain[2 * LARGE]; /* plain memory that has been used before others come */
static unsigned char *owned;           /* the same of MPI_Alloc_mem */

static void check(int is_right, const char *what, int peer)
{
    if (is_right)
        return;
    fprintf(stderr, "rank %d: wrong %s from %d\n", rank, what, peer);
    n_wrong = 1;
}

static unsigned char byte_of(int from, int to, int round)
{
    return (unsigned char)(1 + from * 31 + to * 7 + round);
}

/* A long message to each and from each, from and to both kinds of memory. */
static void exchange(MPI_Comm comm, int round)
{
    int me, n;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int step = 0; step < n; step++) {
        int to = (me + step) % n, from = (me - step + n) % n;
        unsigned char *out = round % 2 ? plain : owned, *in = (round % 2 ? owned : plain) + LARGE;
        int word = me, got = -1;

        memset(out, byte_of(me, to, round), LARGE);
        memset(in, 0, LARGE);
        MPI_Sendrecv(&word, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
        check(got == from, "number", from);
        MPI_Sendrecv(out, LARGE, MPI_BYTE, to, 2, in, LARGE, MPI_BYTE, from, 2, comm,
                     MPI_STATUS_IGNORE);
        check(in[0] == byte_of(from, me, round) && in[LARGE - 1] == in[0], "bytes", from);
    }
}

/* Everybody puts into everybody's window and gets it back; memory of the program and of MPI. */
static void windows(MPI_Comm comm, unsigned char *base)
{
    int me, n, part;
    MPI_Win win;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    part = LARGE / n;
    MPI_Win_create(base, LARGE, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    memset(base + LARGE, byte_of(me, 0, 9), (size_t)part);
    for (int i = 0; i < n; i++)
        MPI_Put(base + LARGE, part, MPI_BYTE, i, (MPI_Aint)me * part, part, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; i++)
        check(base[i * part] == byte_of(i, 0, 9) && base[(i + 1) * part - 1] == base[i * part],
              "put", i);
    for (int i = 0; i < n; i++) {
        MPI_Get(base + LARGE, part, MPI_BYTE, i, (MPI_Aint)me * part, part, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        check(base[LARGE] == byte_of(me, 0, 9) && base[LARGE + part - 1] == base[LARGE], "get", i);
    }
    MPI_Win_free(&win);
}

/* A name that one side publishes is known to the other one, on another host. */
static void names(MPI_Comm both, int is_publisher, const char *name)
{
    char port[MPI_MAX_PORT_NAME] = "", got[MPI_MAX_PORT_NAME] = "";

    if (is_publisher && rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    MPI_Barrier(both);
    MPI_Lookup_name(name, MPI_INFO_NULL, got);
    check(strncmp(got, "datum", 5) == 0, name, 0);
    MPI_Barrier(both);
    if (is_publisher && rank == 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

static void use(MPI_Comm inter, int is_high)
{
    MPI_Comm both;
    int n;

    MPI_Intercomm_merge(inter, is_high, &both);
    for (int round = 0; round < 4; round++)
        exchange(both, round);
    windows(both, plain);
    windows(both, owned);
    names(both, !is_high, "of the low");
    names(both, is_high, "of the high");
    MPI_Comm_size(both, &n);
    if (rank == 0)
        printf("%d processes\n", n);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&inter);
}

/* Over there or from there, with all ranks, or with rank 0 alone and the others behind it. */
static void join(const char *port, int accepts, int is_alone)
{
    int (*go)(const char *, MPI_Info, int, MPI_Comm, MPI_Comm *) =
        accepts ? MPI_Comm_accept : MPI_Comm_connect;
    MPI_Comm inter, bridge = MPI_COMM_NULL;

    if (is_alone && rank == 0)
        go(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &bridge);
    if (is_alone)
        MPI_Intercomm_create(MPI_COMM_WORLD, 0, bridge, 0, 7, &inter);
    else
        go(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    use(inter, !accepts);
    if (bridge != MPI_COMM_NULL)
        MPI_Comm_disconnect(&bridge);
}

static void serve(const char *name, int is_alone)
{
    char port[MPI_MAX_PORT_NAME];

    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    join(port, 1, is_alone);
    if (rank == 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

/* The other job may not have published it yet. */
static void lookup(const char *name, char *port)
{
    int err = MPI_ERR_NAME;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < TRIES && err != MPI_SUCCESS; i++) {
        err = MPI_Lookup_name(name, MPI_INFO_NULL, port);
        if (err != MPI_SUCCESS)
            usleep(100000);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void reach(const char *name, int is_alone)
{
    char port[MPI_MAX_PORT_NAME] = "";

    if (rank == 0)
        lookup(name, port);
    join(port, 0, is_alone);
}

static void spawn(char *self, const char *host)
{
    MPI_Comm inter;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "host", host);
    MPI_Comm_spawn(self, MPI_ARGV_NULL, size, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    use(inter, 0);
}

static void spawn_several(char *self, char **hosts)
{
    char *commands[] = {self, self, self}, *args[3][3] = {{NULL}}, **argvs[3];
    int n[] = {1, 1, 1};
    MPI_Info infos[3];
    MPI_Comm inter;

    for (int i = 0; i < 3; i++) {
        args[i][0] = "place";
        args[i][1] = hosts[i];
        argvs[i] = args[i];
        MPI_Info_create(&infos[i]);
        MPI_Info_set(infos[i], "host", hosts[i]);
    }
    MPI_Comm_spawn_multiple(3, commands, argvs, n, infos, 0, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Info_free(&infos[i]);
    use(inter, 0);
}

static void say_place(const char *wanted)
{
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    printf("place %s is %s\n", wanted, name);
}

static void spawn_bad(const char *host)
{
    int codes[2] = {0, 0}, class = 0;
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "host", host);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(
        MPI_Comm_spawn("./not-there", MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter, codes),
        &class);
    MPI_Info_free(&info);
    check(inter == MPI_COMM_NULL && codes[0] != 0 && codes[1] != 0, "codes", 0);
    if (rank == 0)
        printf("refused %s\n", class == MPI_ERR_SPAWN ? "as MPI_ERR_SPAWN" : "as something else");
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Alloc_mem(2 * LARGE, MPI_INFO_NULL, &owned);
    exchange(MPI_COMM_WORLD, 0);
    exchange(MPI_COMM_WORLD, 1);
    MPI_Comm_get_parent(&parent);
    if (argc == 3 && strcmp(argv[1], "place") == 0)
        say_place(argv[2]);
    if (parent != MPI_COMM_NULL)
        use(parent, 1);
    else if (argc == 3 && strcmp(argv[1], "spawn") == 0)
        spawn(argv[0], argv[2]);
    else if (argc == 5 && strcmp(argv[1], "spawn-several") == 0)
        spawn_several(argv[0], argv + 2);
    else if (argc == 3 && strcmp(argv[1], "spawn-bad") == 0)
        spawn_bad(argv[2]);
    else if (argc == 3 && strncmp(argv[1], "serve", 5) == 0)
        serve(argv[2], strcmp(argv[1], "serve-one") == 0);
    else if (argc == 3)
        reach(argv[2], strcmp(argv[1], "connect-one") == 0);
    exchange(MPI_COMM_WORLD, 2);
    MPI_Free_mem(owned);
    MPI_Finalize();
    return n_wrong;
}
