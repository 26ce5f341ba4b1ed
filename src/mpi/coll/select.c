/*
 * The choice of algorithms: one table, read from the top. Where few ranks may share cores it
 * prefers few messages to few rounds: a hand-over between processes costs more than the bytes.
 */
#include "mpi/coll/select.h"

#include <string.h>

#include "mpi/coll/alg/alg.h"
#include "mpi/coll/coll_state.h"
#include "mpi/coll/sched.h"
#include "mpi/coll/shm/board.h"
#include "util/log.h"
#include "util/strbuf.h"

#define ANY    INT32_MAX
#define ALL    SIZE_MAX
#define NEVER  0 /* only when the user names it */
#define KIB(n) ((size_t)(n) << 10)

/* clang-format off */
static const struct dm_coll_choice table[] = {
    /* kind                 name             algorithm                          needs       ranks  bytes */
    {DM_COLL_BARRIER,       "shm",           dm_coll_barrier_shm,               DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_BARRIER,       "nodes",         dm_coll_barrier_nodes,             DM_COLL_NODES, ANY, ALL},
    {DM_COLL_BARRIER,       "dissemination", dm_coll_barrier_dissemination,     DM_COLL_POW2,   4, ALL},
    {DM_COLL_BARRIER,       "tree",          dm_coll_barrier_tree,              0,             64, ALL},
    {DM_COLL_BARRIER,       "dissemination", dm_coll_barrier_dissemination,     0,            ANY, ALL},
    /* bytes of the buffer */
    {DM_COLL_BCAST,         "shm",           dm_coll_bcast_shm,                 DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_BCAST,         "nodes",         dm_coll_bcast_nodes,               DM_COLL_NODES, ANY, ALL},
    {DM_COLL_BCAST,         "binomial",      dm_coll_bcast_binomial,            0,             32, ALL},
    {DM_COLL_BCAST,         "binomial",      dm_coll_bcast_binomial,            0,            ANY, KIB(128)},
    {DM_COLL_BCAST,         "scatter",       dm_coll_bcast_scatter,             0,            ANY, ALL},
    /* bytes of one block */
    {DM_COLL_GATHER,        "shm",           dm_coll_gather_shm,                DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_GATHER,        "linear",        dm_coll_gather_linear,             0,             16, ALL},
    {DM_COLL_GATHER,        "binomial",      dm_coll_gather_binomial,           0,            ANY, KIB(4)},
    {DM_COLL_GATHER,        "linear",        dm_coll_gather_linear,             0,            ANY, ALL},
    {DM_COLL_GATHERV,       "linear",        dm_coll_gather_linear,             0,            ANY, ALL},
    {DM_COLL_SCATTER,       "shm",           dm_coll_scatter_shm,               DM_COLL_ONE_NODE, 256, ALL},
    {DM_COLL_SCATTER,       "linear",        dm_coll_scatter_linear,            0,             16, ALL},
    {DM_COLL_SCATTER,       "binomial",      dm_coll_scatter_binomial,          0,            ANY, KIB(4)},
    {DM_COLL_SCATTER,       "linear",        dm_coll_scatter_linear,            0,            ANY, ALL},
    {DM_COLL_SCATTERV,      "linear",        dm_coll_scatter_linear,            0,            ANY, ALL},
    /* bytes of all blocks together */
    {DM_COLL_ALLGATHER,     "shm",           dm_coll_allgather_shm,             DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_ALLGATHER,     "doubling",      dm_coll_allgather_doubling,        DM_COLL_POW2, ANY, KIB(256)},
    {DM_COLL_ALLGATHER,     "bruck",         dm_coll_allgather_bruck,           0,            ANY, KIB(64)},
    {DM_COLL_ALLGATHER,     "ring",          dm_coll_allgather_ring,            0,            ANY, ALL},
    {DM_COLL_ALLGATHERV,    "shm",           dm_coll_allgather_shm,             DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_ALLGATHERV,    "bruck",         dm_coll_allgather_bruck,           0,            ANY, KIB(64)},
    {DM_COLL_ALLGATHERV,    "ring",          dm_coll_allgather_ring,            0,            ANY, ALL},
    /* bytes of one block; unknown (0) with counts of its own for every rank */
    {DM_COLL_ALLTOALL,      "shm",           dm_coll_alltoall_shm,              DM_COLL_ONE_NODE, 256, ALL},
    {DM_COLL_ALLTOALL,      "linear",        dm_coll_alltoall_linear,           0,              4, KIB(256)},
    {DM_COLL_ALLTOALL,      "bruck",         dm_coll_alltoall_bruck,            0,            ANY, KIB(1)},
    {DM_COLL_ALLTOALL,      "linear",        dm_coll_alltoall_linear,           0,            ANY, KIB(256)},
    {DM_COLL_ALLTOALL,      "pairwise",      dm_coll_alltoall_pairwise,         0,            ANY, ALL},
    {DM_COLL_ALLTOALLV,     "linear",        dm_coll_alltoall_linear,           0,            ANY, ALL},
    {DM_COLL_ALLTOALLV,     "pairwise",      dm_coll_alltoall_pairwise,         0,          NEVER, ALL},
    /* bytes of the vector */
    {DM_COLL_REDUCE,        "shm",           dm_coll_reduce_shm,                DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_REDUCE,        "nodes",         dm_coll_reduce_nodes,              DM_COLL_NODES | DM_COLL_ORDERED, ANY, ALL},
    {DM_COLL_REDUCE,        "binomial",      dm_coll_reduce_binomial,           0,             16, KIB(512)},
    {DM_COLL_REDUCE,        "binomial",      dm_coll_reduce_binomial,           0,            ANY, KIB(64)},
    {DM_COLL_REDUCE,        "halving",       dm_coll_reduce_halving,            0,            ANY, ALL},
    {DM_COLL_ALLREDUCE,     "shm",           dm_coll_allreduce_shm,             DM_COLL_ONE_NODE, ANY, ALL},
    {DM_COLL_ALLREDUCE,     "nodes",         dm_coll_allreduce_nodes,           DM_COLL_NODES | DM_COLL_ORDERED, ANY, ALL},
    {DM_COLL_ALLREDUCE,     "doubling",      dm_coll_allreduce_doubling,        DM_COLL_POW2, ANY, KIB(4)},
    {DM_COLL_ALLREDUCE,     "tree",          dm_coll_allreduce_tree,            0,             32, KIB(32)},
    {DM_COLL_ALLREDUCE,     "doubling",      dm_coll_allreduce_doubling,        0,            ANY, KIB(8)},
    {DM_COLL_ALLREDUCE,     "halving",       dm_coll_allreduce_halving,         0,            ANY, ALL},
    {DM_COLL_REDUCE_SCATTER,"shm",           dm_coll_reduce_scatter_shm,        DM_COLL_ONE_NODE, 256, ALL},
    {DM_COLL_REDUCE_SCATTER,"allreduce",     dm_coll_reduce_scatter_allreduce,  0,            ANY, KIB(4)},
    {DM_COLL_REDUCE_SCATTER,"pairwise",      dm_coll_reduce_scatter_pairwise,   DM_COLL_COMMUTES, ANY, ALL},
    {DM_COLL_REDUCE_SCATTER,"ordered",       dm_coll_reduce_scatter_ordered,    0,            ANY, ALL},
    {DM_COLL_SCAN,          "shm",           dm_coll_scan_shm,                  DM_COLL_ONE_NODE, 32, KIB(64)},
    {DM_COLL_SCAN,          "doubling",      dm_coll_scan_doubling,             0,            ANY, ALL},
    {DM_COLL_EXSCAN,        "shm",           dm_coll_exscan_shm,                DM_COLL_ONE_NODE, 32, KIB(64)},
    {DM_COLL_EXSCAN,        "doubling",      dm_coll_exscan_doubling,           0,            ANY, ALL},
    /* no bytes: processes may have different ones */
    {DM_COLL_NEIGHBOR_ALLGATHER, "direct",   dm_coll_neighbor_allgather_direct, 0,            ANY, ALL},
    {DM_COLL_NEIGHBOR_ALLTOALL, "direct",    dm_coll_neighbor_alltoall_direct,  0,            ANY, ALL},
};

/* Between two groups there is one way each; NULL: none. */
static dm_coll_alg *const inter[DM_COLL_N] = {
    [DM_COLL_BARRIER] = dm_coll_inter_barrier,     [DM_COLL_BCAST] = dm_coll_inter_bcast,
    [DM_COLL_GATHER] = dm_coll_inter_gather,       [DM_COLL_GATHERV] = dm_coll_inter_gather,
    [DM_COLL_SCATTER] = dm_coll_inter_scatter,     [DM_COLL_SCATTERV] = dm_coll_inter_scatter,
    [DM_COLL_ALLGATHER] = dm_coll_inter_allgather, [DM_COLL_ALLGATHERV] = dm_coll_inter_allgather,
    [DM_COLL_ALLTOALL] = dm_coll_inter_alltoall,   [DM_COLL_ALLTOALLV] = dm_coll_inter_alltoall,
    [DM_COLL_REDUCE] = dm_coll_inter_reduce,       [DM_COLL_ALLREDUCE] = dm_coll_inter_allreduce,
    [DM_COLL_REDUCE_SCATTER] = dm_coll_inter_reduce_scatter,
};

/* What one rank alone does; NULL: the table's algorithm can do it. */
static dm_coll_alg *const alone[DM_COLL_N] = {
    [DM_COLL_BARRIER] = dm_coll_alone_nothing, [DM_COLL_BCAST] = dm_coll_alone_nothing,
    [DM_COLL_GATHER] = dm_coll_alone_move,     [DM_COLL_GATHERV] = dm_coll_alone_move,
    [DM_COLL_SCATTER] = dm_coll_alone_move,    [DM_COLL_SCATTERV] = dm_coll_alone_move,
    [DM_COLL_ALLGATHER] = dm_coll_alone_move,  [DM_COLL_ALLGATHERV] = dm_coll_alone_move,
    [DM_COLL_ALLTOALL] = dm_coll_alone_move,   [DM_COLL_ALLTOALLV] = dm_coll_alone_move,
    [DM_COLL_REDUCE] = dm_coll_alone_reduce,   [DM_COLL_ALLREDUCE] = dm_coll_alone_reduce,
    [DM_COLL_REDUCE_SCATTER] = dm_coll_alone_reduce,
    [DM_COLL_SCAN] = dm_coll_alone_reduce,     [DM_COLL_EXSCAN] = dm_coll_alone_nothing,
};

static const char *const kind_names[DM_COLL_N] = {
    [DM_COLL_BARRIER] = "barrier",       [DM_COLL_BCAST] = "bcast",
    [DM_COLL_GATHER] = "gather",         [DM_COLL_GATHERV] = "gatherv",
    [DM_COLL_SCATTER] = "scatter",       [DM_COLL_SCATTERV] = "scatterv",
    [DM_COLL_ALLGATHER] = "allgather",   [DM_COLL_ALLGATHERV] = "allgatherv",
    [DM_COLL_ALLTOALL] = "alltoall",     [DM_COLL_ALLTOALLV] = "alltoallv",
    [DM_COLL_REDUCE] = "reduce",         [DM_COLL_ALLREDUCE] = "allreduce",
    [DM_COLL_REDUCE_SCATTER] = "reduce_scatter",
    [DM_COLL_SCAN] = "scan",             [DM_COLL_EXSCAN] = "exscan",
    [DM_COLL_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
    [DM_COLL_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
};
/* clang-format on */

#define N_ROWS (sizeof(table) / sizeof(table[0]))

#define OF_COMM (DM_COLL_ONE_NODE | DM_COLL_NODES)

/* fits: what the communicator has to offer for this call, of the needs. */
static bool is_able(const struct dm_coll_choice *row, const struct dm_coll_args *args, int size,
                    unsigned int fits)
{
    if ((row->needs & OF_COMM & ~fits) != 0)
        return false;
    if ((row->needs & DM_COLL_ORDERED & ~fits) != 0 && !args->op->is_commutative)
        return false;
    if ((row->needs & DM_COLL_COMMUTES) != 0 && !args->op->is_commutative)
        return false;
    return (row->needs & DM_COLL_POW2) == 0 || (size & (size - 1)) == 0;
}

static const struct dm_coll_choice *choose(enum dm_coll_kind kind, size_t bytes,
                                           const struct dm_coll_args *args, int size,
                                           unsigned int fits)
{
    const struct dm_coll_choice *row = dm_coll_state.forced[kind];

    if (dm_unlikely(row != NULL) && is_able(row, args, size, fits))
        return row;
    row = table;
    while (row->kind != kind || size > row->max_ranks || bytes > row->max_bytes ||
           !is_able(row, args, size, fits))
        row++;
    return row;
}

int dm_coll_run_alg(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                    struct dm_coll_how how)
{
    struct dm_run run;

    if (dm_unlikely(how.req_p != NULL))
        return dm_sched_make(alg, args, comm, how);
    dm_coll_run_open(&run, comm);
    alg(&run, args);
    return dm_coll_run_close(&run);
}

/* Where there is nothing to choose. */
static DM_NOINLINE int run_special(enum dm_coll_kind kind, const struct dm_coll_args *args,
                                   struct dm_comm *comm, struct dm_coll_how how)
{
    dm_coll_alg *alg = comm->remote != NULL ? inter[kind] : alone[kind];

    if (alg == NULL)
        return DM_FAIL(DM_ERR_COMM, "%s on an intercommunicator", kind_names[kind]);
    DM_TRACE(COLL, "%s %s, comm %u seq %u", kind_names[kind],
             comm->remote != NULL ? "between groups" : "alone", comm->ctx, comm->coll_seq);
    return dm_coll_run_alg(alg, args, comm, how);
}

int dm_coll_run(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                struct dm_comm *comm, struct dm_coll_how how)
{
    const struct dm_coll_choice *row;

    if (dm_unlikely(comm->remote != NULL || (comm->size == 1 && alone[kind] != NULL)))
        return run_special(kind, args, comm, how);
    row = choose(kind, bytes, args, comm->size, how.req_p == NULL ? dm_board_fits(comm) : 0);
    DM_TRACE(COLL, "%s %s, comm %u seq %u, %zu bytes", kind_names[kind], row->name, comm->ctx,
             comm->coll_seq, bytes);
    return dm_coll_run_alg(row->alg, args, comm, how);
}

int dm_coll_nothing(struct dm_comm *comm, struct dm_coll_how how)
{
    static const struct dm_coll_args none;

    return how.req_p == NULL ? DM_OK : dm_coll_run_alg(dm_coll_alone_nothing, &none, comm, how);
}

int dm_coll_run_some(enum dm_coll_kind kind, size_t bytes, const struct dm_coll_args *args,
                     struct dm_comm *comm, struct dm_coll_how how)
{
    if (bytes == 0 && comm->remote == NULL)
        return dm_coll_nothing(comm, how);
    return dm_coll_run(kind, bytes, args, comm, how);
}

/* ---- the user's choice ---- */

static int unknown(const char *word, size_t len, enum dm_coll_kind kind)
{
    char text[256];
    struct dm_strbuf sb;
    const char *last = "";

    dm_strbuf_init(&sb, text, sizeof(text));
    for (size_t i = 0; kind == DM_COLL_N && i < DM_COLL_N; i++)
        dm_strbuf_addf(&sb, "%s%s", i > 0 ? " " : "", kind_names[i]);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (table[i].kind != kind || strcmp(table[i].name, last) == 0)
            continue;
        last = table[i].name;
        dm_strbuf_addf(&sb, "%s%s", sb.len > 0 ? " " : "", last);
    }
    return DM_FAIL(DM_ECONFIG, "DATUM_COLL: there is no %s \"%.*s\"; there are: %s",
                   kind == DM_COLL_N ? "collective" : kind_names[kind], (int)len, word, text);
}

static int force_one(const char *word, size_t len)
{
    const char *eq = memchr(word, '=', len);
    size_t kind_len = eq != NULL ? (size_t)(eq - word) : len;
    const char *name = eq != NULL ? eq + 1 : word + len;
    size_t name_len = len - (size_t)(name - word);
    const struct dm_coll_choice *best = NULL;
    enum dm_coll_kind kind = DM_COLL_BARRIER;

    while (kind < DM_COLL_N &&
           (strlen(kind_names[kind]) != kind_len || memcmp(kind_names[kind], word, kind_len) != 0))
        kind++;
    if (kind == DM_COLL_N)
        return unknown(word, kind_len, DM_COLL_N);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (table[i].kind != kind || strlen(table[i].name) != name_len ||
            memcmp(table[i].name, name, name_len) != 0)
            continue;
        /* Some rows demand more than the algorithm does, as a preference. */
        if (best == NULL || table[i].needs < best->needs)
            best = &table[i];
    }
    if (best == NULL)
        return unknown(name, name_len, kind);
    dm_coll_state.forced[kind] = best;
    return DM_OK;
}

int dm_coll_force(const char *text)
{
    static const char separators[] = ",; ";

    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        size_t len = strcspn(text, separators);
        int err = force_one(text, len);

        if (err != DM_OK)
            return err;
        text += len;
    }
    return DM_OK;
}
