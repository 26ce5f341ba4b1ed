/*
 * MG of the NAS Parallel Benchmarks: Poisson's equation on a periodic grid by V-cycles of multigrid.
 *
 *   mpiexec -n N mg [-c S|W|A] [-r RUNS]
 *
 * The grid is cut in two along z, y and x as long as ranks are left (N is 1, 2, 4 or 8). After each
 * operation on a level the six faces go to the neighbours (MPI_Irecv, MPI_Isend, MPI_Waitall; one axis after
 * the other, so that edges and corners come along): from one number on the coarsest level to n^2 on the
 * finest. Norms are MPI_Allreduce of one number.
 * Checked: the published norm of the residual, to 1e-8 of it.
 */
#include "apps.h"

#include <math.h>

#define MAX_LEVELS 16
#define N_CHARGES  10 /* of each sign */

static const struct size {
    int log_n, n_steps;
    double norm;
} sizes[] = {
    {5, 4, 0.5307707005734e-04},
    {7, 4, 0.6467329375339e-05},
    {8, 4, 0.2433365309069e-05},
};

/* A level: n[0] planes of n[1] rows of n[2] numbers here, all with one ghost cell on each side. */
struct level {
    int n[3];
    double *u, *r;
};

static struct app app = {
    .name = "mg",
    .title = "multigrid, NAS",
    .classes = "SWA",
};
static const struct size *size;
static int n_procs[3], place[3];        /* processes along z, y, x, and where I am */
static int neighbours[3][2];            /* below and above along each axis */
static struct level levels[MAX_LEVELS]; /* 1: 2 cells along each axis in all */
static struct level *top;
static double *v; /* right-hand side, as the top level */
static double *buffers[4];

static const double coef_a[4] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
static const double coef_s[4] = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};

/* ---- places ---- */

static size_t row_of(const struct level *l, int z, int y)
{
    return ((size_t)z * (size_t)(l->n[1] + 2) + (size_t)y) * (size_t)(l->n[2] + 2);
}

static size_t cells(const struct level *l)
{
    return row_of(l, l->n[0] + 2, 0);
}

static int rank_at(int z, int y, int x)
{
    return (z * n_procs[1] + y) * n_procs[2] + x;
}

static void make_grid(void)
{
    int left = app.size, at[3];

    for (int d = 0; d < 3; d++) {
        n_procs[d] = left > 1 ? 2 : 1;
        left /= n_procs[d];
    }
    place[2] = app.rank % n_procs[2];
    place[1] = app.rank / n_procs[2] % n_procs[1];
    place[0] = app.rank / n_procs[2] / n_procs[1];
    for (int d = 0; d < 3; d++) {
        for (int up = 0; up < 2; up++) {
            memcpy(at, place, sizeof(at));
            at[d] = (at[d] + (up ? 1 : n_procs[d] - 1)) % n_procs[d];
            neighbours[d][up] = rank_at(at[0], at[1], at[2]);
        }
    }
}

/* ---- ghost cells ---- */

/* Between cells and a buffer: what lies at `at` along the axis; of lower axes the ghosts are left out. */
static int copy_face(const struct level *l, double *cell, int axis, int at, double *buf, int is_in)
{
    int from[3], to[3], n = 0;

    for (int d = 0; d < 3; d++) {
        from[d] = d < axis ? 1 : 0;
        to[d] = d < axis ? l->n[d] : l->n[d] + 1;
    }
    from[axis] = to[axis] = at;
    for (int z = from[0]; z <= to[0]; z++) {
        for (int y = from[1]; y <= to[1]; y++) {
            double *row = cell + row_of(l, z, y);

            for (int x = from[2]; x <= to[2]; x++, n++) {
                if (is_in)
                    row[x] = buf[n];
                else
                    buf[n] = row[x];
            }
        }
    }
    return n;
}

/* Fill the ghost cells from the neighbours; x first, so that y and z take its ghosts along. */
static void exchange(const struct level *l, double *cell)
{
    for (int axis = 2; axis >= 0; axis--) {
        const int *to = neighbours[axis];
        int n = copy_face(l, cell, axis, 1, buffers[0], 0);
        MPI_Request reqs[4];

        copy_face(l, cell, axis, l->n[axis], buffers[1], 0);
        if (to[0] == app.rank) {
            copy_face(l, cell, axis, l->n[axis] + 1, buffers[0], 1);
            copy_face(l, cell, axis, 0, buffers[1], 1);
            continue;
        }
        /* tags: 0 goes down, 1 goes up */
        MPI_Irecv(buffers[2], n, MPI_DOUBLE, to[1], 0, MPI_COMM_WORLD, &reqs[0]);
        MPI_Irecv(buffers[3], n, MPI_DOUBLE, to[0], 1, MPI_COMM_WORLD, &reqs[1]);
        MPI_Isend(buffers[0], n, MPI_DOUBLE, to[0], 0, MPI_COMM_WORLD, &reqs[2]);
        MPI_Isend(buffers[1], n, MPI_DOUBLE, to[1], 1, MPI_COMM_WORLD, &reqs[3]);
        MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE);
        copy_face(l, cell, axis, l->n[axis] + 1, buffers[2], 1);
        copy_face(l, cell, axis, 0, buffers[3], 1);
    }
    if (app_spoils(&app))
        cell[row_of(l, 0, 1) + 1] += 1e-3;
}

/* ---- operators ---- */

/*
 * The neighbours of a row by their distance in z and y: near[x] of the four rows that share a face with it, far[x] of
 * the four that share an edge.
 */
static void sum_rows(const struct level *l, const double *cell, int z, int y, double *near,
                     double *far)
{
    const double *down = cell + row_of(l, z - 1, y), *up = cell + row_of(l, z + 1, y);
    const double *mid = cell + row_of(l, z, y);
    int len = l->n[2] + 2;

    for (int x = 0; x < len; x++) {
        near[x] = mid[x - len] + mid[x + len] + down[x] + up[x];
        far[x] = down[x - len] + down[x + len] + up[x - len] + up[x + len];
    }
}

/* r = rhs - A u; rhs may be r. */
static void residual(const struct level *l, const double *rhs)
{
    double near[l->n[2] + 2], far[l->n[2] + 2];

    for (int z = 1; z <= l->n[0]; z++) {
        for (int y = 1; y <= l->n[1]; y++) {
            size_t row = row_of(l, z, y);
            const double *u = l->u + row;

            sum_rows(l, l->u, z, y, near, far);
            for (int x = 1; x <= l->n[2]; x++)
                l->r[row + (size_t)x] = rhs[row + (size_t)x] - coef_a[0] * u[x] -
                                        coef_a[2] * (far[x] + near[x - 1] + near[x + 1]) -
                                        coef_a[3] * (far[x - 1] + far[x + 1]);
        }
    }
    exchange(l, l->r);
}

/* u += S r */
static void smooth(const struct level *l)
{
    double near[l->n[2] + 2], far[l->n[2] + 2];

    for (int z = 1; z <= l->n[0]; z++) {
        for (int y = 1; y <= l->n[1]; y++) {
            const double *r = l->r + row_of(l, z, y);
            double *u = l->u + row_of(l, z, y);

            sum_rows(l, l->r, z, y, near, far);
            for (int x = 1; x <= l->n[2]; x++)
                u[x] += coef_s[0] * r[x] + coef_s[1] * (r[x - 1] + r[x + 1] + near[x]) +
                        coef_s[2] * (far[x] + near[x - 1] + near[x + 1]);
        }
    }
    exchange(l, l->u);
}

/* r of the coarser level: means of the finer one around every second cell. */
static void restrict_to(const struct level *c, const struct level *f)
{
    double near[f->n[2] + 2], far[f->n[2] + 2];

    for (int z = 1; z <= c->n[0]; z++) {
        for (int y = 1; y <= c->n[1]; y++) {
            const double *r = f->r + row_of(f, 2 * z, 2 * y);
            double *to = c->r + row_of(c, z, y);

            sum_rows(f, f->r, 2 * z, 2 * y, near, far);
            for (int x = 1; x <= c->n[2]; x++) {
                int i = 2 * x;

                to[x] = 0.5 * r[i] + 0.25 * (r[i - 1] + r[i + 1] + near[i]) +
                        0.125 * (near[i - 1] + near[i + 1] + far[i]) +
                        0.0625 * (far[i - 1] + far[i + 1]);
            }
        }
    }
    exchange(c, c->r);
}

/* u of the finer level += the coarser one's, interpolated; ghosts too, so nothing need be exchanged. */
static void interpolate(const struct level *f, const struct level *c)
{
    double sum[c->n[2] + 2];

    for (int z = 0; z < 2 * c->n[0] + 2; z++) {
        for (int y = 0; y < 2 * c->n[1] + 2; y++) {
            /* The means of up to four rows: of two planes, two rows, where the cell is between. */
            const double *a = c->u + row_of(c, z / 2, y / 2);
            const double *b = c->u + row_of(c, (z + 1) / 2, y / 2);
            const double *d = c->u + row_of(c, z / 2, (y + 1) / 2);
            const double *e = c->u + row_of(c, (z + 1) / 2, (y + 1) / 2);
            double *u = f->u + row_of(f, z, y);

            for (int x = 0; x < c->n[2] + 2; x++)
                sum[x] = 0.25 * (a[x] + b[x] + d[x] + e[x]);
            for (int x = 0; x <= c->n[2]; x++) {
                u[2 * x] += sum[x];
                u[2 * x + 1] += 0.5 * (sum[x] + sum[x + 1]);
            }
        }
    }
}

static void v_cycle(void)
{
    struct level *l;

    for (l = top; l > &levels[1]; l--)
        restrict_to(l - 1, l);
    memset(l->u, 0, cells(l) * sizeof(double));
    smooth(l);
    for (l++; l < top; l++) {
        memset(l->u, 0, cells(l) * sizeof(double));
        interpolate(l, l - 1);
        residual(l, l->r);
        smooth(l);
    }
    interpolate(top, top - 1);
    residual(top, v);
    smooth(top);
}

/* The root of the mean square of the residual. */
static double norm(void)
{
    double sum = 0, n = 1 << size->log_n;

    for (int z = 1; z <= top->n[0]; z++) {
        for (int y = 1; y <= top->n[1]; y++) {
            const double *r = top->r + row_of(top, z, y);

            for (int x = 1; x <= top->n[2]; x++)
                sum += r[x] * r[x];
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(sum / (n * n * n));
}

static double solve(void)
{
    memset(top->u, 0, cells(top) * sizeof(double));
    residual(top, v);
    norm();
    for (int step = 0; step < size->n_steps; step++) {
        v_cycle();
        residual(top, v);
    }
    return norm();
}

/* ---- charges ---- */

struct charge {
    double
        key; /* the random number of the cell; negative for the smallest ones, so that most wins */
    double at; /* cells before it in the whole grid */
};

/* Keep the N_CHARGES with the largest keys, the largest first. */
static void keep(struct charge *list, struct charge new)
{
    int i = N_CHARGES - 1;

    if (new.key <= list[i].key)
        return;
    for (; i > 0 && list[i - 1].key < new.key; i--)
        list[i] = list[i - 1];
    list[i] = new;
}

/* v is 1 where the random numbers are largest, -1 where they are smallest, else 0. */
static void set_charges(void)
{
    struct charge best[2][N_CHARGES], *all;
    int n = 1 << size->log_n, base[3];

    for (int i = 0; i < 2 * N_CHARGES; i++)
        best[i / N_CHARGES][i % N_CHARGES] = (struct charge){-2, 0};
    for (int d = 0; d < 3; d++)
        base[d] = place[d] * top->n[d];
    for (int z = 0; z < top->n[0]; z++) {
        for (int y = 0; y < top->n[1]; y++) {
            uint64_t at =
                ((uint64_t)(base[0] + z) * (uint64_t)n + (uint64_t)(base[1] + y)) * (uint64_t)n +
                (uint64_t)base[2];
            uint64_t state = app_random_at(APP_SEED, at);

            for (int x = 0; x < top->n[2]; x++, at++) {
                double key = app_random(&state);

                keep(best[0], (struct charge){key, (double)at});
                keep(best[1], (struct charge){-key, (double)at});
            }
        }
    }
    all = app_alloc((size_t)app.size, sizeof(best));
    MPI_Allgather(best, 4 * N_CHARGES, MPI_DOUBLE, all, 4 * N_CHARGES, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * N_CHARGES; i++)
        best[i / N_CHARGES][i % N_CHARGES].key = -2;
    for (int i = 0; i < 2 * N_CHARGES * app.size; i++)
        keep(best[i / N_CHARGES % 2], all[i]);
    free(all);
    for (int i = 0; i < 2 * N_CHARGES; i++) {
        int64_t at = (int64_t)best[i / N_CHARGES][i % N_CHARGES].at;
        int z = (int)(at / n / n) - base[0], y = (int)(at / n % n) - base[1];
        int x = (int)(at % n) - base[2];

        if (z >= 0 && z < top->n[0] && y >= 0 && y < top->n[1] && x >= 0 && x < top->n[2])
            v[row_of(top, z + 1, y + 1) + (size_t)x + 1] = i < N_CHARGES ? 1 : -1;
    }
}

static void set_up(void)
{
    size_t most;

    make_grid();
    for (int k = 1; k <= size->log_n; k++) {
        for (int d = 0; d < 3; d++)
            levels[k].n[d] = (1 << k) / n_procs[d];
        levels[k].u = app_alloc(cells(&levels[k]), sizeof(double));
        levels[k].r = app_alloc(cells(&levels[k]), sizeof(double));
    }
    top = &levels[size->log_n];
    v = app_alloc(cells(top), sizeof(double));
    most = (size_t)(1 << size->log_n) + 2;
    for (int i = 0; i < 4; i++)
        buffers[i] = app_alloc(most * most, sizeof(double));
    set_charges();
}

int main(int argc, char **argv)
{
    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    if (app.size > 8 || (app.size & (app.size - 1)) != 0)
        app_refuse(&app, "1, 2, 4 or 8 ranks, not %d", app.size);
    set_up();
    while (app_run(&app)) {
        double is = solve();

        app_stop(&app);
        app_check(&app, fabs(is - size->norm) <= 1e-8 * size->norm, "norm %.13e, known %.13e", is,
                  size->norm);
    }
    return app_end(&app, "");
}
