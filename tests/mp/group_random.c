/* test: np=1,5 timeout=60 */
/*
 * Group operations on random groups against plain lists, and their errors.
 */
#include "mp_test.h"

#define MAX_MEMBERS 64
#define N_ROUNDS    400

struct list {
    int n;
    int proc[MAX_MEMBERS];
};

static unsigned int seed = 12345;
static MPI_Group world;

static int draw(int n)
{
    seed = seed * 1103515245u + 12345u;
    return (int)((seed >> 8) % (unsigned)n);
}

static int find(const struct list *l, int proc)
{
    for (int i = 0; i < l->n; i++)
        if (l->proc[i] == proc)
            return i;
    return MPI_UNDEFINED;
}

/* A random group: some processes of the world in some order. */
static MPI_Group random_group(struct list *l)
{
    MPI_Group g;
    int order[MAX_MEMBERS];

    for (int i = 0; i < mp_size; i++) {
        int j = draw(i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    l->n = draw(mp_size + 1);
    memcpy(l->proc, order, sizeof(order));
    MUST(MPI_Group_incl(world, l->n, l->proc, &g));
    return g;
}

/* Is the group exactly this list? */
static void check_group(MPI_Group g, const struct list *l)
{
    int all[MAX_MEMBERS], ranks[MAX_MEMBERS], size, rank;

    MUST(MPI_Group_size(g, &size));
    CHECK_EQ(size, l->n);
    MUST(MPI_Group_rank(g, &rank));
    CHECK_EQ(rank, find(l, mp_rank));
    CHECK_EQ(g == MPI_GROUP_EMPTY, l->n == 0);
    for (int i = 0; i < l->n; i++)
        all[i] = i;
    MUST(MPI_Group_translate_ranks(g, l->n, all, world, ranks));
    for (int i = 0; i < l->n; i++)
        CHECK_EQ(ranks[i], l->proc[i]);
}

static void check_and_free(MPI_Group g, const struct list *l)
{
    check_group(g, l);
    MUST(MPI_Group_free(&g));
    CHECK(g == MPI_GROUP_NULL);
}

static void sets(void)
{
    struct list a, b, u, both, diff;
    MPI_Group ga = random_group(&a), gb = random_group(&b), g;
    int ranks[MAX_MEMBERS + 1], out[MAX_MEMBERS + 1], result, want;

    u = a;
    both.n = diff.n = 0;
    for (int i = 0; i < b.n; i++)
        if (find(&a, b.proc[i]) == MPI_UNDEFINED)
            u.proc[u.n++] = b.proc[i];
    for (int i = 0; i < a.n; i++) {
        if (find(&b, a.proc[i]) == MPI_UNDEFINED)
            diff.proc[diff.n++] = a.proc[i];
        else
            both.proc[both.n++] = a.proc[i];
        ranks[i] = i;
    }
    check_group(ga, &a);
    MUST(MPI_Group_union(ga, gb, &g));
    check_and_free(g, &u);
    MUST(MPI_Group_intersection(ga, gb, &g));
    check_and_free(g, &both);
    MUST(MPI_Group_difference(ga, gb, &g));
    check_and_free(g, &diff);

    ranks[a.n] = MPI_PROC_NULL;
    MUST(MPI_Group_translate_ranks(ga, a.n + 1, ranks, gb, out));
    for (int i = 0; i < a.n; i++)
        CHECK_EQ(out[i], find(&b, a.proc[i]));
    /* MPICH 4.0.2 forgets this for a group without members. */
    if (b.n > 0 || !mp_is_library("MPICH"))
        CHECK_EQ(out[a.n], MPI_PROC_NULL);

    want = MPI_UNEQUAL;
    if (a.n == b.n && both.n == a.n)
        want = memcmp(a.proc, b.proc, (size_t)a.n * sizeof(int)) == 0 ? MPI_IDENT : MPI_SIMILAR;
    MUST(MPI_Group_compare(ga, gb, &result));
    CHECK_EQ(result, want);
    MUST(MPI_Group_compare(ga, ga, &result));
    CHECK_EQ(result, MPI_IDENT);
    MUST(MPI_Group_free(&ga));
    MUST(MPI_Group_free(&gb));
}

/* Part of a group by ranks and by ranges, taken and left out. */
static void choices(void)
{
    struct list a, in, out;
    MPI_Group ga = random_group(&a), g;
    int is_named[MAX_MEMBERS] = {0}, ranks[MAX_MEMBERS], ranges[MAX_MEMBERS][3];
    int n = 0;

    in.n = out.n = 0;
    for (int i = 0; i < a.n; i++) {
        int r = draw(a.n);

        if (is_named[r])
            continue;
        is_named[r] = 1;
        in.proc[in.n++] = a.proc[r];
        ranks[n++] = r;
    }
    for (int i = 0; i < a.n; i++)
        if (!is_named[i])
            out.proc[out.n++] = a.proc[i];
    MUST(MPI_Group_incl(ga, n, ranks, &g));
    check_and_free(g, &in);
    MUST(MPI_Group_excl(ga, n, ranks, &g));
    check_and_free(g, &out);

    memset(is_named, 0, sizeof(is_named));
    in.n = out.n = n = 0;
    for (int i = 0; i < 3 && a.n > 0; i++) {
        int first = draw(a.n), last = draw(a.n);
        int stride = (1 + draw(3)) * (first <= last ? 1 : -1);
        int is_free = 1;

        for (int r = first; stride > 0 ? r <= last : r >= last; r += stride)
            is_free = is_free && !is_named[r];
        if (!is_free)
            continue;
        ranges[n][0] = first;
        ranges[n][1] = last;
        ranges[n++][2] = stride;
        for (int r = first; stride > 0 ? r <= last : r >= last; r += stride) {
            is_named[r] = 1;
            in.proc[in.n++] = a.proc[r];
        }
    }
    for (int i = 0; i < a.n; i++)
        if (!is_named[i])
            out.proc[out.n++] = a.proc[i];
    MUST(MPI_Group_range_incl(ga, n, ranges, &g));
    check_and_free(g, &in);
    MUST(MPI_Group_range_excl(ga, n, ranges, &g));
    check_and_free(g, &out);
    MUST(MPI_Group_free(&ga));
}

static void errors(void)
{
    int ranks[2] = {0, 0}, out[2];
    int range[1][3] = {{0, 0, 0}};
    int high[1] = {mp_size}, low[1] = {-5};
    MPI_Group g;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_Group_incl(world, 2, ranks, &g), MPI_ERR_RANK);
    FAILS(MPI_Group_excl(world, 2, ranks, &g), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(world, 1, high, &g), MPI_ERR_RANK);
    FAILS(MPI_Group_excl(world, 1, low, &g), MPI_ERR_RANK);
    FAILS(MPI_Group_range_incl(world, 1, range, &g), MPI_ERR_ARG);
    range[0][1] = mp_size;
    range[0][2] = 1;
    FAILS(MPI_Group_range_incl(world, 1, range, &g), MPI_ERR_RANK);
    FAILS(MPI_Group_translate_ranks(world, 1, high, world, out), MPI_ERR_RANK);
    FAILS(MPI_Group_size(MPI_GROUP_NULL, out), MPI_ERR_GROUP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    struct list empty = {0};
    MPI_Group self, again;
    int size, rank;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &again));
    MUST(MPI_Group_free(&again));
    MUST(MPI_Group_size(world, &size));
    CHECK_EQ(size, mp_size);
    MUST(MPI_Comm_group(MPI_COMM_SELF, &self));
    MUST(MPI_Group_rank(self, &rank));
    CHECK_EQ(rank, 0);
    MUST(MPI_Group_free(&self));
    check_group(MPI_GROUP_EMPTY, &empty);
    for (int i = 0; i < N_ROUNDS; i++) {
        sets();
        choices();
    }
    /* MPICH 4.0.2 as Debian builds it does not look for these errors. */
    if (!mp_is_library("MPICH"))
        errors();
    MUST(MPI_Group_free(&world));
    return mp_finish();
}
