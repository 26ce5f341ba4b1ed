/* test: np=1,2,3,4,7 timeout=60 */
/*
 * Distributed graphs: from both sides of each edge, from anybody; weights, none, multiple and self
 * edges, processes without edges, arrays that are too short, duplicates.
 */
#include "mp_test.h"

#define MAX 256

/* An edge of the graph, and who names it in MPI_Dist_graph_create. */
struct edge {
    int from, to, weight, by;
};

static struct edge edges[MAX];
static int n_edges;
static unsigned int seed = 5; /* the same in all ranks */

static int draw(int n)
{
    seed = seed * 1103515245u + 12345u;
    return (int)((seed >> 8) % (unsigned int)n);
}

static void draw_graph(int n)
{
    n_edges = n;
    for (int i = 0; i < n; i++)
        edges[i] = (struct edge){draw(mp_size), draw(mp_size), draw(100), draw(mp_size)};
}

/* The edges that begin (end) here, in the order given. */
static int mine(int is_in, int ranks[], int weights[])
{
    int n = 0;

    for (int i = 0; i < n_edges; i++) {
        if ((is_in ? edges[i].to : edges[i].from) != mp_rank)
            continue;
        ranks[n] = is_in ? edges[i].from : edges[i].to;
        weights[n++] = edges[i].weight;
    }
    return n;
}

/* A list of edges is the expected one, in any order. */
static void check_set(int n, const int ranks[], const int weights[], int want_n, const int want[],
                      const int want_weights[], int is_weighted)
{
    char used[MAX] = {0};

    CHECK_EQ(n, want_n);
    for (int i = 0; i < n; i++) {
        int k = 0;

        while (k < want_n &&
               (used[k] || want[k] != ranks[i] || (is_weighted && want_weights[k] != weights[i])))
            k++;
        CHECK(k < want_n);
        if (k < want_n)
            used[k] = 1;
    }
}

static void check_graph(MPI_Comm comm, int is_weighted, int is_ordered)
{
    int in[MAX], in_w[MAX], out[MAX], out_w[MAX], want[MAX], want_w[MAX];
    int n_in = -1, n_out = -1, weighted = -1, kind, n;

    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_DIST_GRAPH);
    MUST(MPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &weighted));
    CHECK_EQ(!weighted, !is_weighted);
    memset(in_w, 0xff, sizeof(in_w));
    memset(out_w, 0xff, sizeof(out_w));
    in[n_in] = out[n_out] = -7;
    if (is_weighted)
        MUST(MPI_Dist_graph_neighbors(comm, n_in, in, in_w, n_out, out, out_w));
    else
        MUST(MPI_Dist_graph_neighbors(comm, n_in, in, MPI_UNWEIGHTED, n_out, out, MPI_UNWEIGHTED));
    CHECK_EQ(in[n_in], -7);
    CHECK_EQ(out[n_out], -7);
    n = mine(1, want, want_w);
    check_set(n_in, in, in_w, n, want, want_w, is_weighted);
    if (is_ordered)
        CHECK(memcmp(in, want, (size_t)n * sizeof(int)) == 0);
    n = mine(0, want, want_w);
    check_set(n_out, out, out_w, n, want, want_w, is_weighted);
    if (is_ordered)
        CHECK(memcmp(out, want, (size_t)n * sizeof(int)) == 0);
    /* MPICH 4.0.2 takes arrays that are too short for an error. */
    if (n_in < 2 || mp_is_library("MPICH"))
        return;
    want[0] = want[1] = -7;
    MUST(MPI_Dist_graph_neighbors(comm, 1, want, want_w, 0, NULL, want_w + 1));
    CHECK_EQ(want[0], in[0]);
    CHECK_EQ(want[1], -7);
}

static void adjacent(int is_weighted)
{
    int in[MAX], in_w[MAX], out[MAX], out_w[MAX];
    int n_in = mine(1, in, in_w), n_out = mine(0, out, out_w);
    MPI_Comm comm, dup;

    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, in,
                                        !is_weighted ? MPI_UNWEIGHTED
                                        : n_in > 0   ? in_w
                                                     : MPI_WEIGHTS_EMPTY,
                                        n_out, out,
                                        !is_weighted ? MPI_UNWEIGHTED
                                        : n_out > 0  ? out_w
                                                     : MPI_WEIGHTS_EMPTY,
                                        MPI_INFO_NULL, 0, &comm));
    check_graph(comm, is_weighted, 1);
    MUST(MPI_Comm_dup(comm, &dup));
    MPI_Comm_free(&comm);
    check_graph(dup, is_weighted, 1);
    MPI_Comm_free(&dup);
}

/* Each process names what is its task: an entry for each edge, or those of a source together. */
static void by_anybody(int is_weighted, int is_grouped)
{
    int sources[MAX], degrees[MAX], dests[MAX], weights[MAX], n = 0, n_named = 0;
    MPI_Comm comm;
    MPI_Info info;

    for (int from = 0; from < (is_grouped ? mp_size : 1); from++) {
        if (is_grouped) {
            sources[n] = from;
            degrees[n++] = 0;
        }
        for (int i = 0; i < n_edges; i++) {
            if (edges[i].by != mp_rank || (is_grouped && edges[i].from != from))
                continue;
            if (is_grouped) {
                degrees[n - 1]++;
            } else {
                sources[n] = edges[i].from;
                degrees[n++] = 1;
            }
            dests[n_named] = edges[i].to;
            weights[n_named++] = edges[i].weight;
        }
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "whatever", "this means");
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, dests,
                               !is_weighted  ? MPI_UNWEIGHTED
                               : n_named > 0 ? weights
                                             : MPI_WEIGHTS_EMPTY,
                               info, 0, &comm));
    MPI_Info_free(&info);
    check_graph(comm, is_weighted, 0);
    MPI_Comm_free(&comm);
}

/* What the lists look like must be the same each time. */
static void is_repeatable(void)
{
    int got[2][2 * MAX], n_in, n_out, weighted;

    for (int round = 0; round < 2; round++) {
        int source[2] = {mp_rank, (mp_rank + 1) % mp_size}, degree[2] = {1, 2};
        int dest[3] = {(mp_rank + 1) % mp_size, mp_rank, 0};
        MPI_Comm comm;

        MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 2, source, degree, dest, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm));
        memset(got[round], 0, sizeof(got[round]));
        MUST(MPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &weighted));
        CHECK_EQ(n_out, 3);
        MUST(MPI_Dist_graph_neighbors(comm, n_in, got[round], MPI_UNWEIGHTED, n_out,
                                      got[round] + MAX, MPI_UNWEIGHTED));
        MPI_Comm_free(&comm);
    }
    /* MPICH takes the edges as they arrive. */
    if (!mp_is_library("MPICH"))
        CHECK(memcmp(got[0], got[1], sizeof(got[0])) == 0);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 3, 10, 60};

    mp_start(&argc, &argv);
    for (int i = 0; i < 5; i++)
        for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
            draw_graph(sizes[i]);
            adjacent(is_weighted);
            by_anybody(is_weighted, 0);
            by_anybody(is_weighted, 1);
        }
    is_repeatable();
    return mp_finish();
}
