/*
 * A wavefront sweep: transport of particles through a box, discrete ordinates on a grid of cells, as in Sweep3D and
 * (with one corner) LU of the NAS benchmarks.
 *
 *   mpiexec -n N sweep [-c S|W|A] [-k PLANES] [-r RUNS]
 *
 * Processes form a grid over y and z. For each of the 8 corners a wave crosses it: a process waits for what
 * comes in from two neighbours (MPI_Recv), computes a block of planes of x, and passes on what goes out
 * (MPI_Send): a pipeline of small messages, 4 directions x PLANES (-k, 2) x cells along the side x 8 bytes.
 * Checked: every cell is the same as in a sweep by one process.
 */
#include "apps.h"

#include <math.h>

#define N_ANGLES 4 /* of each corner */

static const struct size {
    int n, n_steps;
} sizes[] = {{24, 4}, {64, 6}, {128, 6}};

/* A direction: cosines, twice over the width of a cell, and its share. */
static const struct angle {
    double x, y, z, weight;
} angles[N_ANGLES] = {
    {0.25, 0.30, 0.92, 0.03},
    {0.60, 0.55, 0.58, 0.035},
    {0.92, 0.25, 0.30, 0.03},
    {0.35, 0.90, 0.26, 0.03},
};
#define SIGMA   1.0 /* what is hit on the way through a cell */
#define SCATTER 0.6 /* and goes on in any direction */

/* A box of cells that a grid of processes shares, or one process has for itself. */
struct box {
    MPI_Comm comm;
    int n;                                /* cells along each side of the whole */
    int begin[2], len[2];                 /* my cells along y, z */
    int n_procs[2], place[2], rank[2][2]; /* along y, z; rank[d][up] of neighbours */
    double *source, *flux;                /* [z][y][x] */
    double *in[3]; /* what comes along x [z][y], y [z][x], z [y][x]: N_ANGLES numbers each */
    double *face;  /* a message */
};

static struct app app = {
    .name = "sweep",
    .title = "wavefronts through a grid of processes",
    .classes = "SWA",
    .options = "k",
    .usage = "  -k PLANES planes in a message (2)\n",
};
static int n_planes = 2;

static size_t cell(const struct box *b, int x, int y, int z)
{
    return ((size_t)z * (size_t)b->len[0] + (size_t)y) * (size_t)b->n + (size_t)x;
}

static void box_open(struct box *b, MPI_Comm comm, int n)
{
    int size, rank;
    size_t total;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    b->comm = comm;
    b->n = n;
    b->n_procs[0] = b->n_procs[1] = 0;
    MPI_Dims_create(size, 2, b->n_procs);
    b->place[0] = rank % b->n_procs[0];
    b->place[1] = rank / b->n_procs[0];
    for (int d = 0; d < 2; d++) {
        int stride = d == 0 ? 1 : b->n_procs[0];

        b->begin[d] = app_part(n, b->place[d], b->n_procs[d]);
        b->len[d] = app_part(n, b->place[d] + 1, b->n_procs[d]) - b->begin[d];
        b->rank[d][0] = b->place[d] > 0 ? rank - stride : MPI_PROC_NULL;
        b->rank[d][1] = b->place[d] + 1 < b->n_procs[d] ? rank + stride : MPI_PROC_NULL;
    }
    total = cell(b, 0, 0, b->len[1]);
    b->source = app_alloc(total, sizeof(double));
    b->flux = app_alloc(total, sizeof(double));
    b->in[0] = app_alloc((size_t)b->len[1] * (size_t)b->len[0] * N_ANGLES, sizeof(double));
    b->in[1] = app_alloc((size_t)b->len[1] * (size_t)n * N_ANGLES, sizeof(double));
    b->in[2] = app_alloc((size_t)b->len[0] * (size_t)n * N_ANGLES, sizeof(double));
    b->face = app_alloc((size_t)n * (size_t)n * N_ANGLES, sizeof(double));
}

static void box_close(struct box *b)
{
    free(b->source);
    free(b->flux);
    for (int i = 0; i < 3; i++)
        free(b->in[i]);
    free(b->face);
}

/* What comes into a cell along each axis, one number for each angle. */
static double *inflow(const struct box *b, int axis, int x, int y, int z)
{
    size_t at = 0;

    switch (axis) {
    case 0:
        at = (size_t)z * (size_t)b->len[0] + (size_t)y;
        break;
    case 1:
        at = (size_t)z * (size_t)b->n + (size_t)x;
        break;
    default:
        at = (size_t)y * (size_t)b->n + (size_t)x;
    }
    return b->in[axis] + at * N_ANGLES;
}

/*
 * The message of axis y (1) or z (2) for the planes x[0] to x[1]: to or from the face array. How
 * many numbers it has.
 */
static int copy_face(struct box *b, int axis, const int *x, int is_in)
{
    int other = axis == 1 ? b->len[1] : b->len[0], n = 0, len = (x[1] - x[0]) * N_ANGLES;

    for (int i = 0; i < other; i++, n += len) {
        double *at = inflow(b, axis, x[0], i, i);

        memcpy(is_in ? at : b->face + n, is_in ? b->face + n : at, (size_t)len * sizeof(double));
    }
    return n;
}

static void receive(struct box *b, int axis, const int *x, int is_up)
{
    int other = axis == 1 ? b->len[1] : b->len[0], n = other * (x[1] - x[0]) * N_ANGLES;
    int from = b->rank[axis - 1][!is_up];

    if (from == MPI_PROC_NULL)
        memset(b->face, 0, (size_t)n * sizeof(double));
    else
        MPI_Recv(b->face, n, MPI_DOUBLE, from, axis, b->comm, MPI_STATUS_IGNORE);
    if (app_spoils(&app))
        b->face[0] += 1e-6;
    copy_face(b, axis, x, 1);
}

static void pass_on(struct box *b, int axis, const int *x, int is_up)
{
    int to = b->rank[axis - 1][is_up];

    if (to != MPI_PROC_NULL)
        MPI_Send(b->face, copy_face(b, axis, x, 0), MPI_DOUBLE, to, axis, b->comm);
}

/* Diamond differences: in all directions of the corner, what goes in comes out changed. */
static void visit(struct box *b, int x, int y, int z)
{
    size_t at = cell(b, x, y, z);
    double *in[3] = {inflow(b, 0, x, y, z), inflow(b, 1, x, y, z), inflow(b, 2, x, y, z)};
    double sum = 0;

    for (int a = 0; a < N_ANGLES; a++) {
        const struct angle *d = &angles[a];
        double mid = (b->source[at] + d->x * in[0][a] + d->y * in[1][a] + d->z * in[2][a]) /
                     (SIGMA + d->x + d->y + d->z);

        sum += d->weight * mid;
        for (int i = 0; i < 3; i++)
            in[i][a] = 2 * mid - in[i][a];
    }
    b->flux[at] += sum;
}

/* From the corner whose bits say which axes go up, x, y, z from the lowest. */
static void sweep(struct box *b, int corner)
{
    int up[3] = {corner & 1, corner >> 1 & 1, corner >> 2 & 1};
    int y0 = up[1] ? 0 : b->len[0] - 1, z0 = up[2] ? 0 : b->len[1] - 1;

    memset(b->in[0], 0, (size_t)b->len[1] * (size_t)b->len[0] * N_ANGLES * sizeof(double));
    for (int done = 0; done < b->n; done += n_planes) {
        int n = n_planes < b->n - done ? n_planes : b->n - done;
        int first = up[0] ? done : b->n - done - n, x[2] = {first, first + n};

        receive(b, 1, x, up[1]);
        receive(b, 2, x, up[2]);
        for (int k = 0, z = z0; k < b->len[1]; k++, z += up[2] ? 1 : -1) {
            for (int j = 0, y = y0; j < b->len[0]; j++, y += up[1] ? 1 : -1) {
                for (int i = 0; i < n; i++)
                    visit(b, up[0] ? first + i : first + n - 1 - i, y, z);
            }
        }
        pass_on(b, 1, x, up[1]);
        pass_on(b, 2, x, up[2]);
    }
}

/* Particles come from a smaller box and from where others were scattered. */
static void set_source(struct box *b)
{
    for (int z = 0; z < b->len[1]; z++) {
        for (int y = 0; y < b->len[0]; y++) {
            for (int x = 0; x < b->n; x++) {
                int at[3] = {x, b->begin[0] + y, b->begin[1] + z}, is_inside = 1;

                for (int d = 0; d < 3; d++)
                    is_inside &= at[d] >= b->n / 4 && at[d] < b->n / 2 + d;
                b->source[cell(b, x, y, z)] = is_inside + SCATTER * b->flux[cell(b, x, y, z)];
            }
        }
    }
}

/* The sum of what is in all cells. */
static double solve(struct box *b, int n_steps)
{
    size_t total = cell(b, 0, 0, b->len[1]);
    double sum = 0;

    memset(b->flux, 0, total * sizeof(double));
    for (int step = 0; step < n_steps; step++) {
        set_source(b);
        memset(b->flux, 0, total * sizeof(double));
        for (int corner = 0; corner < 8; corner++)
            sweep(b, corner);
        sum = 0;
        for (size_t i = 0; i < total; i++)
            sum += b->flux[i];
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, b->comm);
    }
    return sum;
}

/* The largest relative difference between my cells and those of the whole. */
static double distance(const struct box *b, const struct box *whole)
{
    double worst = 0;

    for (int z = 0; z < b->len[1]; z++) {
        for (int y = 0; y < b->len[0]; y++) {
            for (int x = 0; x < b->n; x++) {
                double a = b->flux[cell(b, x, y, z)];
                double c = whole->flux[cell(whole, x, b->begin[0] + y, b->begin[1] + z)];
                double d = fabs(a - c) / fabs(c);

                if (!(d <= worst))
                    worst = d;
            }
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    const struct size *size;
    struct box box, whole;
    char variant[32] = "";

    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    if (app.value['k' - 'a'] != NULL)
        n_planes = app_number(&app, 'k', app.value['k' - 'a'], size->n);
    box_open(&box, MPI_COMM_WORLD, size->n);
    if (box.n_procs[0] > size->n)
        app_refuse(&app, "%d x %d ranks for %d x %d cells", box.n_procs[0], box.n_procs[1], size->n,
                   size->n);
    box_open(&whole, MPI_COMM_SELF, size->n);
    solve(&whole, size->n_steps);
    while (app_run(&app)) {
        double sum = solve(&box, size->n_steps), d;

        app_stop(&app);
        d = distance(&box, &whole);
        MPI_Allreduce(MPI_IN_PLACE, &d, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        app_check(&app, d <= 1e-13, "sum %.12f, cells differ by %.1e from those of one process",
                  sum, d);
    }
    box_close(&box);
    box_close(&whole);
    if (n_planes != 2)
        snprintf(variant, sizeof(variant), " -k %d", n_planes);
    return app_end(&app, variant);
}
