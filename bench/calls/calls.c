/*
 * What calls cost between ranks that no other program here measures: nonblocking, vector and neighborhood collectives,
 * modes of sending, probes, persistent requests, communicators that are made, used and freed. Runs with any MPI.
 *
 *   mpiexec -n RANKS calls [PART]
 *
 * A line is "what us": the time of one turn of the calls that the row names, by the slowest rank, the least of many
 * short slices. Messages are between ranks 0 and 1; the others wait in a barrier. PART: only rows that begin so.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES     10
#define SLICE_S    2e-3
#define MOST_TURNS 4096
#define WINDOW     100 /* messages under way */
#define BLOCKS     512 /* of a datatype with holes */
#define LONGEST    (1 << 20)
#define SMALL      64 /* bytes of a vector collective's block */

static const int sizes[] = {8, 4096, 65536, LONGEST};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static MPI_Comm world = MPI_COMM_WORLD;
static int rank, n_ranks, left, right;
static const char *part = "";
static char *from, *to; /* LONGEST bytes for each rank */
static MPI_Request requests[WINDOW];

/* ---- the clock ---- */

struct slices {
    char what[64];
    int n;
    long turns;
    double start, best;
};

/* Does the row begin? bytes 0: its name has none. */
static int slices_begin(struct slices *s, const char *what, int bytes)
{
    *s = (struct slices){.turns = 1, .best = 1e9};
    if (bytes > 0)
        snprintf(s->what, sizeof(s->what), "%s_%d", what, bytes);
    else
        snprintf(s->what, sizeof(s->what), "%s", what);
    return strncmp(s->what, part, strlen(part)) == 0;
}

static int slices_next(struct slices *s)
{
    if (s->n == SLICES)
        return 0;
    MPI_Barrier(world);
    s->start = MPI_Wtime();
    return 1;
}

/* The turns of a slice are found first, which warms up, too. */
static void slices_add(struct slices *s)
{
    double own = MPI_Wtime() - s->start, most;

    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, world);
    if (s->n == 0 && most < SLICE_S / 2 && s->turns < MOST_TURNS) {
        s->turns *= 2;
        return;
    }
    s->n++;
    if (most / (double)s->turns < s->best)
        s->best = most / (double)s->turns;
}

static void slices_end(const struct slices *s)
{
    if (rank == 0)
        printf("%s %.5g\n", s->what, s->best * 1e6);
    fflush(stdout);
}

/* The statements come as the last arguments. */
#define TIME_SIZE(what, bytes, ...)                                                                \
    do {                                                                                           \
        struct slices slices;                                                                      \
                                                                                                   \
        if (!slices_begin(&slices, what, bytes))                                                   \
            break;                                                                                 \
        while (slices_next(&slices)) {                                                             \
            for (long turn = 0; turn < slices.turns; turn++) {                                     \
                __VA_ARGS__                                                                        \
            }                                                                                      \
            slices_add(&slices);                                                                   \
        }                                                                                          \
        slices_end(&slices);                                                                       \
    } while (0)
#define TIME(what, ...) TIME_SIZE(what, 0, __VA_ARGS__)

static void wait_one(void)
{
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* ---- nonblocking collectives ---- */

static void time_nonblocking(int bytes)
{
    MPI_Request *r = &requests[0];
    int n = bytes / (int)sizeof(double);

    TIME_SIZE("ibcast", bytes, MPI_Ibcast(from, bytes, MPI_BYTE, 0, world, r); wait_one(););
    TIME_SIZE("ireduce", bytes, MPI_Ireduce(from, to, n, MPI_DOUBLE, MPI_SUM, 0, world, r);
              wait_one(););
    TIME_SIZE("iallreduce", bytes, MPI_Iallreduce(from, to, n, MPI_DOUBLE, MPI_SUM, world, r);
              wait_one(););
    TIME_SIZE("igather", bytes,
              MPI_Igather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, world, r);
              wait_one(););
    TIME_SIZE("iscatter", bytes,
              MPI_Iscatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, world, r);
              wait_one(););
    TIME_SIZE("iallgather", bytes,
              MPI_Iallgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, world, r);
              wait_one(););
    TIME_SIZE("ialltoall", bytes,
              MPI_Ialltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, world, r);
              wait_one(););
    TIME_SIZE("ireduce_scatter_block", bytes,
              MPI_Ireduce_scatter_block(from, to, n, MPI_DOUBLE, MPI_SUM, world, r);
              wait_one(););
    TIME_SIZE("iscan", bytes, MPI_Iscan(from, to, n, MPI_DOUBLE, MPI_SUM, world, r); wait_one(););
}

/* ---- other collectives ---- */

static void time_vectors(void)
{
    int *counts = malloc((size_t)n_ranks * sizeof(*counts));
    int *places = malloc((size_t)n_ranks * sizeof(*places));
    MPI_Datatype *types = malloc((size_t)n_ranks * sizeof(*types));

    for (int i = 0; i < n_ranks; i++) {
        counts[i] = SMALL;
        places[i] = SMALL * i;
        types[i] = MPI_BYTE;
    }
    TIME("gatherv", MPI_Gatherv(from, SMALL, MPI_BYTE, to, counts, places, MPI_BYTE, 0, world););
    TIME("scatterv", MPI_Scatterv(from, counts, places, MPI_BYTE, to, SMALL, MPI_BYTE, 0, world););
    TIME("allgatherv", MPI_Allgatherv(from, SMALL, MPI_BYTE, to, counts, places, MPI_BYTE, world););
    TIME("alltoallv",
         MPI_Alltoallv(from, counts, places, MPI_BYTE, to, counts, places, MPI_BYTE, world););
    TIME("alltoallw",
         MPI_Alltoallw(from, counts, places, types, to, counts, places, types, world););
    free(counts);
    free(places);
    free(types);
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const double *a = in;
    double *b = inout;

    (void)type;
    for (int i = 0; i < *len; i++)
        b[i] += a[i];
}

static void time_types_and_operations(void)
{
    MPI_Datatype holes;
    MPI_Op op;

    MPI_Op_create(add, 1, &op);
    MPI_Type_vector(BLOCKS, 1, 4, MPI_DOUBLE, &holes);
    MPI_Type_commit(&holes);
    TIME("ibarrier", MPI_Ibarrier(world, &requests[0]); wait_one(););
    TIME("allreduce_maxloc", MPI_Allreduce(from, to, 16, MPI_DOUBLE_INT, MPI_MAXLOC, world););
    TIME("allreduce_own_operation", MPI_Allreduce(from, to, 128, MPI_DOUBLE, op, world););
    TIME("bcast_holes", MPI_Bcast(from, 1, holes, 0, world););
    TIME("allgather_holes", MPI_Allgather(from, 1, holes, to, 1, holes, world););
    MPI_Type_free(&holes);
    MPI_Op_free(&op);
}

static void time_neighbors(void)
{
    int ring[1] = {n_ranks}, is_round[1] = {1};
    MPI_Comm cart, graph;

    MPI_Cart_create(world, 1, ring, is_round, 0, &cart);
    MPI_Dist_graph_create_adjacent(world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    for (int i = 0; i < N_SIZES; i++) {
        int n = sizes[i];

        TIME_SIZE("neighbor_allgather", n,
                  MPI_Neighbor_allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, cart););
        TIME_SIZE("neighbor_alltoall", n,
                  MPI_Neighbor_alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, cart););
        TIME_SIZE("ineighbor_alltoall", n,
                  MPI_Ineighbor_alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, cart, &requests[0]);
                  wait_one(););
        TIME_SIZE("neighbor_alltoall_graph", n,
                  MPI_Neighbor_alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, graph););
    }
    MPI_Comm_free(&cart);
    MPI_Comm_free(&graph);
}

/* ---- messages ---- */

/* To rank 1 and back; the statements are those of one side. */
#define TIME_PAIR(what, bytes, send, receive)                                                      \
    TIME_SIZE(                                                                                     \
        what, bytes,                                                                               \
        if (rank == 0) {                                                                           \
            send;                                                                                  \
            receive;                                                                               \
        } else if (rank == 1) {                                                                    \
            receive;                                                                               \
            send;                                                                                  \
        })

static void receive_probed(int source, int tag)
{
    MPI_Status status;
    int n;

    MPI_Probe(source, tag, world, &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    MPI_Recv(to, n, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world, &status);
}

static void receive_mprobed(void)
{
    MPI_Message message;
    MPI_Status status;
    int n;

    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    MPI_Mrecv(to, n, MPI_BYTE, &message, &status);
}

static void receive_iprobed(int n)
{
    int is_there = 0;

    while (!is_there)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &is_there, MPI_STATUS_IGNORE);
    MPI_Recv(to, n, MPI_BYTE, 1 - rank, 0, world, MPI_STATUS_IGNORE);
}

static void exchange_tested(int n)
{
    int is_over = 0;

    MPI_Irecv(to, n, MPI_BYTE, 1 - rank, 0, world, &requests[0]);
    MPI_Isend(from, n, MPI_BYTE, 1 - rank, 0, world, &requests[1]);
    while (!is_over)
        MPI_Testall(2, requests, &is_over, MPI_STATUSES_IGNORE);
}

static void time_messages(int n)
{
    int peer = 1 - rank;

    TIME_PAIR("send_any", n, MPI_Send(from, n, MPI_BYTE, peer, 0, world),
              MPI_Recv(to, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE));
    TIME_PAIR("ssend", n, MPI_Ssend(from, n, MPI_BYTE, peer, 0, world),
              MPI_Recv(to, n, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE));
    TIME_PAIR("bsend", n, MPI_Bsend(from, n, MPI_BYTE, peer, 0, world),
              MPI_Recv(to, n, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE));
    TIME_PAIR("probe", n, MPI_Send(from, n, MPI_BYTE, peer, 0, world), receive_probed(peer, 0));
    TIME_PAIR("mprobe", n, MPI_Send(from, n, MPI_BYTE, peer, 0, world), receive_mprobed());
    TIME_PAIR("iprobe", n, MPI_Send(from, n, MPI_BYTE, peer, 0, world), receive_iprobed(n));
    TIME_SIZE("testall", n, if (rank < 2) exchange_tested(n););
    TIME_SIZE("sendrecv_ring", n,
              MPI_Sendrecv(from, n, MPI_BYTE, right, 0, to, n, MPI_BYTE, left, 0, world,
                           MPI_STATUS_IGNORE););
    TIME_SIZE(
        "sendrecv_replace_ring", n,
        MPI_Sendrecv_replace(from, n, MPI_BYTE, right, 0, left, 0, world, MPI_STATUS_IGNORE););
    TIME_SIZE("to_all_from_all", n, MPI_Request * all;
              all = malloc(2 * (size_t)n_ranks * sizeof(*all)); for (int i = 0; i < n_ranks; i++)
                  MPI_Irecv(to + (size_t)i * LONGEST, n, MPI_BYTE, i, 0, world, &all[i]);
              for (int i = 0, to_whom = rank; i < n_ranks; i++, to_whom = (to_whom + 1) % n_ranks)
                  MPI_Isend(from + (size_t)to_whom * LONGEST, n, MPI_BYTE, to_whom, 0, world,
                            &all[n_ranks + i]);
              MPI_Waitall(2 * n_ranks, all, MPI_STATUSES_IGNORE); free(all););
}

/* The last word from the receiver: all have come. */
static void send_window(int n)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(from, n, MPI_BYTE, 1, i, world, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(to, 0, MPI_BYTE, 1, WINDOW, world, MPI_STATUS_IGNORE);
}

static void receive_window(int n, int is_backwards)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(to, n, MPI_BYTE, 0, is_backwards ? WINDOW - 1 - i : i, world, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    MPI_Send(to, 0, MPI_BYTE, 0, WINDOW, world);
}

static void time_windows(void)
{
    for (int i = 0; i < N_SIZES - 1; i++)
        TIME_SIZE("window_100", sizes[i], if (rank == 0) send_window(sizes[i]);
                  else if (rank == 1) receive_window(sizes[i], 0););
    TIME("window_100_backwards", if (rank == 0) send_window(8);
         else if (rank == 1) receive_window(8, 1););
}

static void time_persistent(int n)
{
    if (rank < 2) {
        MPI_Recv_init(to, n, MPI_BYTE, 1 - rank, 0, world, &requests[0]);
        MPI_Send_init(from, n, MPI_BYTE, 1 - rank, 0, world, &requests[1]);
    }
    TIME_SIZE(
        "persistent", n, if (rank < 2) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        });
    for (int i = 0; rank < 2 && i < 2; i++)
        MPI_Request_free(&requests[i]);
}

/* ---- communicators ---- */

static void use_and_free(MPI_Comm *comm, int n_uses)
{
    int one = 1, sum;

    for (int i = 0; i < n_uses; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm);
    MPI_Comm_free(comm);
}

static void make_of_group(MPI_Comm *comm, int is_of_all)
{
    MPI_Group group;

    MPI_Comm_group(world, &group);
    if (is_of_all)
        MPI_Comm_create(world, group, comm);
    else
        MPI_Comm_create_group(world, group, 0, comm);
    MPI_Group_free(&group);
}

static void make_cart(MPI_Comm *comm)
{
    int dims[2] = {0, 0}, is_round[2] = {1, 1};

    MPI_Dims_create(n_ranks, 2, dims);
    MPI_Cart_create(world, 2, dims, is_round, 1, comm);
}

static void make_graph(MPI_Comm *comm)
{
    int degree = 1;

    MPI_Dist_graph_create(world, 1, &rank, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, comm);
}

static void make_inter(MPI_Comm *half, MPI_Comm *inter)
{
    MPI_Comm_split(world, rank % 2, rank, half);
    MPI_Intercomm_create(*half, 0, world, 1 - rank % 2, 0, inter);
}

static void time_communicators(void)
{
    MPI_Comm comm, half, inter;

    TIME("comm_dup", MPI_Comm_dup(world, &comm); use_and_free(&comm, 0););
    TIME("comm_dup_2_allreduces", MPI_Comm_dup(world, &comm); use_and_free(&comm, 2););
    TIME("comm_dup_8_allreduces", MPI_Comm_dup(world, &comm); use_and_free(&comm, 8););
    TIME("comm_split_halves_2_allreduces", MPI_Comm_split(world, rank % 2, rank, &comm);
         use_and_free(&comm, 2););
    TIME("comm_split_type",
         MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
         use_and_free(&comm, 0););
    TIME("comm_idup", MPI_Comm_idup(world, &comm, &requests[0]); wait_one();
         use_and_free(&comm, 0););
    TIME("comm_create", make_of_group(&comm, 1); use_and_free(&comm, 0););
    TIME("comm_create_group", make_of_group(&comm, 0); use_and_free(&comm, 0););
    TIME("cart_create", make_cart(&comm); use_and_free(&comm, 0););
    TIME("dist_graph_create", make_graph(&comm); use_and_free(&comm, 0););
    TIME("intercomm_create_merge", make_inter(&half, &inter);
         MPI_Intercomm_merge(inter, rank % 2, &comm); use_and_free(&comm, 0);
         use_and_free(&inter, 0); use_and_free(&half, 0););
    make_inter(&half, &inter);
    TIME("intercomm_barrier", MPI_Barrier(inter););
    TIME("intercomm_allreduce", MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, inter););
    use_and_free(&inter, 0);
    use_and_free(&half, 0);
}

int main(int argc, char **argv)
{
    size_t len;
    void *buffer;
    int buffer_len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &n_ranks);
    part = argc > 1 ? argv[1] : "";
    left = (rank + n_ranks - 1) % n_ranks;
    right = (rank + 1) % n_ranks;
    len = (size_t)LONGEST * (size_t)(n_ranks + 1);
    from = calloc(1, len);
    to = calloc(1, len);
    buffer = malloc(8 * LONGEST);
    if (n_ranks < 2 || from == NULL || to == NULL || buffer == NULL) {
        fprintf(stderr, "calls: two ranks or more, and memory of %zu bytes for each\n", 2 * len);
        MPI_Abort(world, 2);
    }
    memset(from, 0, len);
    memset(to, 0, len);
    MPI_Buffer_attach(buffer, 8 * LONGEST);
    time_communicators();
    for (int i = 0; i < N_SIZES; i++) {
        time_messages(sizes[i]);
        time_persistent(sizes[i]);
    }
    time_windows();
    time_types_and_operations();
    time_vectors();
    time_neighbors();
    for (int i = 0; i < N_SIZES; i++)
        time_nonblocking(sizes[i]);
    MPI_Buffer_detach(&buffer, &buffer_len);
    free(buffer);
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
