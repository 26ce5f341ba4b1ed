/*
 * MPI_Dims_create: of all ways to write a number as a product of k factors the one with the
 * least difference between the largest and the smallest; of several such the one whose smallest
 * is greatest, then the one before it, and so on. These are MPICH's results.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/topo/topo.h"

struct search {
    int *divisors; /* ascending */
    int n_divisors;
    int k;
    int *now; /* factors, the largest first */
    int *best;
    int spread; /* of the best */
};

/* Is base^k <= limit? */
static bool dims_is_power_within(int64_t base, int k, int64_t limit)
{
    int64_t power = 1;

    if (base <= 1)
        return base <= limit;
    for (; k > 0 && power <= limit; k--)
        power *= base; /* both below 2^31 */
    return power <= limit;
}

/* All divisors of n; DM_ENOMEM. */
static int dims_list_divisors(struct search *s, int n)
{
    int n_small = 0;

    for (int d = 1; d <= n / d; d++)
        n_small += n % d == 0;
    s->divisors = malloc(2 * (size_t)n_small * sizeof(*s->divisors));
    if (s->divisors == NULL)
        return DM_FAIL(DM_ENOMEM, "%d divisors of %d", 2 * n_small, n);
    for (int d = 1; d <= n / d; d++)
        if (n % d == 0)
            s->divisors[s->n_divisors++] = d;
    for (int i = n_small - 1; i >= 0; i--)
        if (s->divisors[i] != n / s->divisors[i])
            s->divisors[s->n_divisors++] = n / s->divisors[i];
    return DM_OK;
}

static bool dims_is_better(const struct search *s)
{
    int spread = s->now[0] - s->now[s->k - 1];
    int i = s->k - 1;

    if (spread != s->spread)
        return spread < s->spread;
    while (i > 0 && s->now[i] == s->best[i])
        i--;
    return s->now[i] > s->best[i];
}

static void dims_take(struct search *s)
{
    s->spread = s->now[0] - s->now[s->k - 1];
    memcpy(s->best, s->now, (size_t)s->k * sizeof(*s->best));
}

/* Factors i and up, whose product is rest, in ascending order of factor i. */
static void dims_find(struct search *s, int i, int rest)
{
    int left = s->k - i - 1; /* to be found after this one */
    int top = i > 0 ? s->now[i - 1] : rest;

    if (left == 0) {
        s->now[i] = rest;
        if (rest <= top && dims_is_better(s))
            dims_take(s);
        return;
    }
    for (int j = 0; j < s->n_divisors && s->divisors[j] <= top; j++) {
        int d = s->divisors[j];

        /* Too small for the largest of those left, or no factor. */
        if (dims_is_power_within(d, left + 1, (int64_t)rest - 1) || rest % d != 0)
            continue;
        s->now[i] = d;
        /* Their smallest is too small for as good a result; it does not grow when d does. */
        if (!dims_is_power_within((int64_t)s->now[0] - s->spread, left, rest / d))
            break;
        dims_find(s, i + 1, rest / d);
    }
}

/* The best k factors of n, the largest first. */
static int dims_factorize(int n, int k, int factors[])
{
    struct search s = {.k = k, .spread = n, .best = factors};
    int err = dims_list_divisors(&s, n);

    if (err != DM_OK)
        return err;
    s.now = malloc((size_t)k * sizeof(*s.now));
    if (s.now == NULL)
        err = DM_FAIL(DM_ENOMEM, "%d dimensions", k);
    else
        dims_find(&s, 0, n);
    free(s.now);
    free(s.divisors);
    return err;
}

int dm_dims_create(int n_nodes, int n_dims, int dims[])
{
    int rest = n_nodes;
    int n_free = 0;
    int *factors;
    int err;

    if (n_nodes < 1)
        return DM_FAIL(DM_ERR_ARG, "%d nodes for a grid", n_nodes);
    if (n_dims == 0 && n_nodes > 1)
        return DM_FAIL(DM_ERR_ARG, "%d nodes for a grid without dimensions, which has one",
                       n_nodes);
    for (int i = 0; i < n_dims; i++) {
        if (dims[i] < 0)
            return DM_FAIL(DM_ERR_DIMS, "dims[%d] is %d, it must not be negative", i, dims[i]);
        n_free += dims[i] == 0;
        if (dims[i] > 0 && rest % dims[i] != 0)
            return DM_FAIL(DM_ERR_DIMS, "%d nodes cannot be divided by the given dimensions",
                           n_nodes);
        rest /= dims[i] > 0 ? dims[i] : 1;
    }
    /* That the given ones divide n_nodes is all that the standard asks. */
    if (n_free == 0)
        return DM_OK;
    factors = malloc((size_t)n_free * sizeof(*factors));
    if (factors == NULL)
        return DM_FAIL(DM_ENOMEM, "%d dimensions", n_free);
    err = dims_factorize(rest, n_free, factors);
    for (int i = 0, k = 0; i < n_dims && err == DM_OK; i++)
        if (dims[i] == 0)
            dims[i] = factors[k++];
    free(factors);
    return err;
}
