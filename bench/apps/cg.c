/*
 * CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a sparse matrix by the inverse power method,
 * each step 25 iterations of conjugate gradients.
 *
 *   mpiexec -n N cg [-c S|W|A|B] [-r RUNS]
 *
 * The matrix lies on a grid of R x kR processes, R as large as N permits. A product is summed over a row of processes
 * (MPI_Allreduce of n/R doubles) and turned into the layout of columns (one MPI_Sendrecv); scalar
 * products are MPI_Allreduce of one or two doubles over a row.
 * Checked: zeta as published, to 1e-10, and the residual of the last solution.
 */
#include "apps.h"

#include <math.h>

#define N_ITER 25
#define RCOND  0.1

static const struct size {
    int n, n_nonzero, n_steps;
    double shift, zeta;
} sizes[] = {
    {1400, 7, 15, 10, 8.5971775078648},
    {7000, 8, 15, 12, 10.362595087124},
    {14000, 11, 15, 20, 17.130235054029},
    {75000, 13, 75, 60, 22.712745482631},
};

/* A sparse vector; the matrix is made of their outer products. */
struct sparse {
    int n, *at;
    double *value;
};

struct entry {
    int column;
    double value;
};

static struct app app = {
    .name = "cg",
    .title = "conjugate gradients, NAS",
    .classes = "SWAB",
};
static const struct size *size;

/* The grid of processes and this one's part: rows row[0] to row[1], columns column[0] to column[1]. */
static struct {
    MPI_Comm comm;      /* processes with the same rows */
    int n_rows, n_cols; /* of processes */
    int partner;        /* whom the layouts are swapped with */
    int row[2], col[2]; /* my part, the end not included */
    int swap_at;        /* where in my rows the part for the partner begins */
    int swap_len;
} grid;

/* My part of the matrix, row by row. */
static int *begins;
static struct entry *entries;

static double *x, *z, *p, *q, *r; /* of my columns */
static double *w;                 /* of my rows */

static void make_grid(void)
{
    int rows = 1, k, a, b;

    for (int i = 1; i * i <= app.size; i++) {
        if (app.size % (i * i) == 0)
            rows = i;
    }
    k = app.size / (rows * rows);
    grid.n_rows = rows;
    grid.n_cols = rows * k;
    a = app.rank / grid.n_cols;
    b = app.rank % grid.n_cols;
    MPI_Comm_split(MPI_COMM_WORLD, a, b, &grid.comm);
    /* Rows of processes hold as many rows of the matrix as k columns of processes hold columns. */
    grid.row[0] = app_part(size->n, a * k, grid.n_cols);
    grid.row[1] = app_part(size->n, (a + 1) * k, grid.n_cols);
    grid.col[0] = app_part(size->n, b, grid.n_cols);
    grid.col[1] = app_part(size->n, b + 1, grid.n_cols);
    grid.partner = b / k * grid.n_cols + a * k + b % k;
    grid.swap_at = app_part(size->n, a * k + b % k, grid.n_cols) - grid.row[0];
    grid.swap_len = app_part(size->n, a * k + b % k + 1, grid.n_cols) - grid.row[0] - grid.swap_at;
}

/* The next random vector: so many elements that are not zero, and 0.5 in place i. */
static void draw(struct sparse *v, int i, uint64_t *state, char *is_there)
{
    int n_places = 1;

    while (n_places < size->n)
        n_places *= 2;
    v->n = 0;
    while (v->n < size->n_nonzero) {
        double value = app_random(state);
        int at = (int)(n_places * app_random(state));

        if (at >= size->n || is_there[at])
            continue;
        is_there[at] = 1;
        v->at[v->n] = at;
        v->value[v->n++] = value;
    }
    for (int k = 0; k < v->n; k++) {
        is_there[v->at[k]] = 0;
        if (v->at[k] == i) {
            v->value[k] = 0.5;
            i = -1;
        }
    }
    if (i >= 0) {
        v->at[v->n] = i;
        v->value[v->n++] = 0.5;
    }
}

static int is_in(int i, const int *range)
{
    return i >= range[0] && i < range[1];
}

/* Put what v adds to my part of the matrix behind what its rows have; without entries only count. */
static void add_product(const struct sparse *v, double weight, int *ends)
{
    for (int a = 0; a < v->n; a++) {
        if (!is_in(v->at[a], grid.row))
            continue;
        for (int b = 0; b < v->n; b++) {
            int *end = &ends[v->at[a] - grid.row[0]];

            if (!is_in(v->at[b], grid.col))
                continue;
            if (entries != NULL)
                entries[*end] =
                    (struct entry){v->at[b] - grid.col[0], v->value[a] * v->value[b] * weight};
            ++*end;
        }
    }
}

static void add_all(const struct sparse *vectors, int *ends)
{
    double weight = 1, ratio = pow(RCOND, 1.0 / size->n);

    for (int i = 0; i < size->n; i++, weight *= ratio)
        add_product(&vectors[i], weight, ends);
    for (int i = grid.row[0]; i < grid.row[1]; i++) {
        if (!is_in(i, grid.col))
            continue;
        if (entries != NULL)
            entries[ends[i - grid.row[0]]] = (struct entry){i - grid.col[0], RCOND - size->shift};
        ends[i - grid.row[0]]++;
    }
}

static int by_column(const void *a, const void *b)
{
    return ((const struct entry *)a)->column - ((const struct entry *)b)->column;
}

/* Sort each row and add up what is in the same column. */
static void tidy(const int *ends)
{
    int n = 0, rows = grid.row[1] - grid.row[0];

    for (int i = 0; i < rows; i++) {
        int begin = begins[i], end = ends[i], first = n;

        begins[i] = first;
        qsort(entries + begin, (size_t)(end - begin), sizeof(entries[0]), by_column);
        for (int k = begin; k < end; k++) {
            if (n > first && entries[n - 1].column == entries[k].column)
                entries[n - 1].value += entries[k].value;
            else
                entries[n++] = entries[k];
        }
    }
    begins[rows] = n;
}

static void make_matrix(void)
{
    int rows = grid.row[1] - grid.row[0], most = size->n_nonzero + 1, n = 0;
    struct sparse *vectors = app_alloc((size_t)size->n, sizeof(*vectors));
    int *places = app_alloc((size_t)size->n * (size_t)most, sizeof(*places));
    double *values = app_alloc((size_t)size->n * (size_t)most, sizeof(*values));
    int *ends = app_alloc((size_t)rows + 1, sizeof(*ends));
    char *is_there = app_alloc((size_t)size->n, 1);
    uint64_t state = app_random_at(APP_SEED, 1); /* the first number is not used */

    for (int i = 0; i < size->n; i++) {
        vectors[i].at = places + (size_t)i * (size_t)most;
        vectors[i].value = values + (size_t)i * (size_t)most;
        draw(&vectors[i], i, &state, is_there);
    }
    begins = app_alloc((size_t)rows + 1, sizeof(*begins));
    add_all(vectors, ends);
    for (int i = 0; i < rows; i++) {
        begins[i] = n;
        n += ends[i];
        ends[i] = begins[i];
    }
    entries = app_alloc((size_t)n, sizeof(*entries));
    add_all(vectors, ends);
    tidy(ends);
    free(vectors);
    free(places);
    free(values);
    free(ends);
    free(is_there);
}

/* to = matrix * from, both in the layout of columns. */
static void multiply(const double *from, double *to)
{
    int rows = grid.row[1] - grid.row[0], n = grid.col[1] - grid.col[0];

    for (int i = 0; i < rows; i++) {
        double sum = 0;

        for (int k = begins[i]; k < begins[i + 1]; k++)
            sum += entries[k].value * from[entries[k].column];
        w[i] = sum;
    }
    if (grid.n_cols > 1)
        MPI_Allreduce(MPI_IN_PLACE, w, rows, MPI_DOUBLE, MPI_SUM, grid.comm);
    if (grid.partner == app.rank)
        memcpy(to, w + grid.swap_at, (size_t)n * sizeof(to[0]));
    else
        MPI_Sendrecv(w + grid.swap_at, grid.swap_len, MPI_DOUBLE, grid.partner, 0, to, n,
                     MPI_DOUBLE, grid.partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (app_spoils(&app))
        to[0] *= 1.001;
}

static double product(const double *a, const double *b)
{
    double sum = 0, all = 0;

    for (int i = 0; i < grid.col[1] - grid.col[0]; i++)
        sum += a[i] * b[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    return all;
}

/* z such that matrix * z is about x; the norm of what is left. */
static double solve(void)
{
    int n = grid.col[1] - grid.col[0];
    double rho, old, alpha, beta;

    memset(z, 0, (size_t)n * sizeof(z[0]));
    memcpy(r, x, (size_t)n * sizeof(r[0]));
    memcpy(p, x, (size_t)n * sizeof(p[0]));
    rho = product(r, r);
    for (int k = 0; k < N_ITER; k++) {
        multiply(p, q);
        alpha = rho / product(p, q);
        for (int i = 0; i < n; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        old = rho;
        rho = product(r, r);
        beta = rho / old;
        for (int i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
    }
    multiply(z, q);
    for (int i = 0; i < n; i++)
        r[i] = x[i] - q[i];
    return sqrt(product(r, r));
}

/* The whole of it; zeta, and the last residual. */
static double power_method(double *residual)
{
    int n = grid.col[1] - grid.col[0];
    double zeta = 0;

    for (int i = 0; i < n; i++)
        x[i] = 1;
    for (int step = 0; step < size->n_steps; step++) {
        double sums[2] = {0, 0};

        *residual = solve();
        for (int i = 0; i < n; i++) {
            sums[0] += x[i] * z[i];
            sums[1] += z[i] * z[i];
        }
        MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, grid.comm);
        zeta = size->shift + 1 / sums[0];
        for (int i = 0; i < n; i++)
            x[i] = z[i] / sqrt(sums[1]);
    }
    return zeta;
}

int main(int argc, char **argv)
{
    double zeta, residual = 0, *all;
    size_t n;

    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    if (app.size > 256)
        app_refuse(&app, "at most 256 ranks");
    make_grid();
    make_matrix();
    n = (size_t)(grid.col[1] - grid.col[0]);
    all = app_alloc(5 * n + (size_t)(grid.row[1] - grid.row[0]), sizeof(*all));
    x = all;
    z = x + n;
    p = z + n;
    q = p + n;
    r = q + n;
    w = r + n;
    while (app_run(&app)) {
        zeta = power_method(&residual);
        app_stop(&app);
        app_check(&app, fabs(zeta - size->zeta) <= 1e-10 && residual < 1e-10,
                  "zeta %.13f, known %.13f; residual %.1e", zeta, size->zeta, residual);
    }
    MPI_Comm_free(&grid.comm);
    free(all);
    free(begins);
    free(entries);
    return app_end(&app, "");
}
