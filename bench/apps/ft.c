/*
 * FT of the NAS Parallel Benchmarks: a partial differential equation solved by three-dimensional Fourier
 * transforms.
 *
 *   mpiexec -n N ft [-c S|W|A] [-r RUNS]
 *
 * Each process has some planes of z; for the transform along z they are exchanged for some rows of y
 * (MPI_Alltoall of nx ny nz / N^2 complex numbers). A sum of one complex number by MPI_Allreduce
 * ends each of the 6 steps. N must divide ny and nz, which are powers of two.
 * Checked: the published sums of each step, to 1e-12 of them.
 */
#include "apps.h"

#include <math.h>

#define N_STEPS 6
#define N_LINES 16 /* transformed together, side by side */

struct complex {
    double re, im;
};

static const struct size {
    int nx, ny, nz;
    struct complex sums[N_STEPS];
} sizes[] = {
    {64,
     64,
     64,
     {{5.546087004964e+02, 4.845363331978e+02},
      {5.546385409189e+02, 4.865304269511e+02},
      {5.546148406171e+02, 4.883910722336e+02},
      {5.545423607415e+02, 4.901273169046e+02},
      {5.544255039624e+02, 4.917475857993e+02},
      {5.542683411902e+02, 4.932597244941e+02}}},
    {128,
     128,
     32,
     {{5.673612178944e+02, 5.293246849175e+02},
      {5.631436885271e+02, 5.282149986629e+02},
      {5.594024089970e+02, 5.270996558037e+02},
      {5.560698047020e+02, 5.260027904925e+02},
      {5.530898991250e+02, 5.249400845633e+02},
      {5.504159734538e+02, 5.239212247086e+02}}},
    {256,
     256,
     128,
     {{5.046735008193e+02, 5.114047905510e+02},
      {5.059412319734e+02, 5.098809666433e+02},
      {5.069376896287e+02, 5.098144042213e+02},
      {5.077892868474e+02, 5.101336130759e+02},
      {5.085233095391e+02, 5.104914655194e+02},
      {5.091487099959e+02, 5.107917842803e+02}}},
};

static struct app app = {
    .name = "ft",
    .title = "Fourier transforms in three dimensions, NAS",
    .classes = "SWA",
};
static const struct size *size;
static int nx, ny, nz, my_ny, my_nz; /* my_: of this process */

static struct complex *start;  /* [my_nz][ny][nx]: what it begins with */
static struct complex *planes; /* [my_nz][ny][nx] */
static struct complex *rows;   /* [nz][my_ny][nx] */
static struct complex *waves;  /* as rows: the transform of the state */
static struct complex *packed; /* for the exchange */
static double *roots[2];       /* cosines and sines of the longest line */
static double *factor[3];      /* of a step, for each wave number along x, y, z */
static int n_roots;

/* ---- lines ---- */

/* Transform N_LINES lines of n numbers that lie side by side in a; the result is in a. */
static void transform(int n, int sign, double (*a[2])[N_LINES], double (*b[2])[N_LINES])
{
    for (int l = n / 2, m = 1; l >= 1; l /= 2, m *= 2) {
        for (int j = 0; j < l; j++) {
            double c = roots[0][j * m * (n_roots / n)];
            double s = sign * roots[1][j * m * (n_roots / n)];

            for (int k = 0; k < m; k++) {
                double *x_re = a[0][k + j * m], *x_im = a[1][k + j * m];
                double *y_re = a[0][k + (j + l) * m], *y_im = a[1][k + (j + l) * m];
                double *u_re = b[0][k + 2 * j * m], *u_im = b[1][k + 2 * j * m];
                double *v_re = b[0][k + 2 * j * m + m], *v_im = b[1][k + 2 * j * m + m];

                for (int i = 0; i < N_LINES; i++) {
                    double re = x_re[i] - y_re[i], im = x_im[i] - y_im[i];

                    u_re[i] = x_re[i] + y_re[i];
                    u_im[i] = x_im[i] + y_im[i];
                    v_re[i] = c * re - s * im;
                    v_im[i] = c * im + s * re;
                }
            }
        }
        for (int i = 0; i < 2; i++) {
            double(*t)[N_LINES] = a[i];

            a[i] = b[i];
            b[i] = t;
        }
    }
}

/*
 * Lines of n numbers, stride apart from one to the next, begin at from + i * side for i below n_sides;
 * transform them in place. n_sides is a multiple of N_LINES.
 */
static void transform_lines(struct complex *from, int n, size_t stride, int n_sides, size_t side,
                            int sign)
{
    static double(*room)[N_LINES];
    double(*a[2])[N_LINES], (*b[2])[N_LINES];

    if (room == NULL)
        room = app_alloc(4 * (size_t)n_roots, sizeof(*room));
    for (int first = 0; first < n_sides; first += N_LINES) {
        struct complex *line = from + (size_t)first * side;

        for (int i = 0; i < 2; i++) {
            a[i] = room + i * n_roots;
            b[i] = room + (i + 2) * n_roots;
        }
        for (int k = 0; k < n; k++) {
            for (int i = 0; i < N_LINES; i++) {
                a[0][k][i] = line[(size_t)k * stride + (size_t)i * side].re;
                a[1][k][i] = line[(size_t)k * stride + (size_t)i * side].im;
            }
        }
        transform(n, sign, a, b);
        for (int k = 0; k < n; k++) {
            for (int i = 0; i < N_LINES; i++) {
                line[(size_t)k * stride + (size_t)i * side].re = a[0][k][i];
                line[(size_t)k * stride + (size_t)i * side].im = a[1][k][i];
            }
        }
    }
}

static void transform_planes(int sign)
{
    for (int z = 0; z < my_nz; z++) {
        struct complex *plane = planes + (size_t)z * (size_t)ny * (size_t)nx;

        transform_lines(plane, nx, 1, ny, (size_t)nx, sign);
        transform_lines(plane, ny, (size_t)nx, nx, 1, sign);
    }
}

/* ---- exchange ---- */

/* Copy between planes and packed, where the rows of each process are together: [process][my_nz][my_ny][nx]. */
static void pack(int is_back)
{
    size_t len = (size_t)my_ny * (size_t)nx;

    for (int to = 0; to < app.size; to++) {
        for (int z = 0; z < my_nz; z++) {
            struct complex *a = planes + ((size_t)z * (size_t)app.size + (size_t)to) * len;
            struct complex *b = packed + ((size_t)to * (size_t)my_nz + (size_t)z) * len;

            memcpy(is_back ? a : b, is_back ? b : a, len * sizeof(*a));
        }
    }
}

static int block(void)
{
    return 2 * my_nz * my_ny * nx;
}

static void planes_to_rows(void)
{
    pack(0);
    MPI_Alltoall(packed, block(), MPI_DOUBLE, rows, block(), MPI_DOUBLE, MPI_COMM_WORLD);
    if (app_spoils(&app))
        rows[0].re += 1;
}

static void rows_to_planes(void)
{
    MPI_Alltoall(rows, block(), MPI_DOUBLE, packed, block(), MPI_DOUBLE, MPI_COMM_WORLD);
    pack(1);
}

/* ---- the benchmark ---- */

static void set_up(void)
{
    const int n[3] = {nx, ny, nz};
    const double pi = acos(-1);
    size_t total = (size_t)nx * (size_t)ny * (size_t)my_nz;
    uint64_t state = app_random_at(APP_SEED, 2 * total * (uint64_t)app.rank);

    start = app_alloc(total, sizeof(*start));
    planes = app_alloc(total, sizeof(*planes));
    rows = app_alloc(total, sizeof(*rows));
    waves = app_alloc(total, sizeof(*waves));
    packed = app_alloc(total, sizeof(*packed));
    for (size_t i = 0; i < total; i++) {
        start[i].re = app_random(&state);
        start[i].im = app_random(&state);
    }
    n_roots = nx;
    for (int i = 1; i < 3; i++) {
        if (n[i] > n_roots)
            n_roots = n[i];
    }
    for (int i = 0; i < 2; i++)
        roots[i] = app_alloc((size_t)n_roots, sizeof(double));
    for (int i = 0; i < n_roots; i++) {
        roots[0][i] = cos(2 * pi * i / n_roots);
        roots[1][i] = sin(2 * pi * i / n_roots);
    }
    for (int d = 0; d < 3; d++) {
        factor[d] = app_alloc((size_t)n[d], sizeof(double));
        for (int i = 0; i < n[d]; i++) {
            double k = i < n[d] / 2 ? i : i - n[d];

            factor[d][i] = exp(-4e-6 * pi * pi * k * k);
        }
    }
}

/* One step of time: waves decay; rows becomes a copy. */
static void evolve(void)
{
    int first_y = my_ny * app.rank;
    size_t at = 0;

    for (int z = 0; z < nz; z++) {
        for (int y = 0; y < my_ny; y++) {
            double f = factor[2][z] * factor[1][first_y + y];

            for (int x = 0; x < nx; x++, at++) {
                waves[at].re *= f * factor[0][x];
                waves[at].im *= f * factor[0][x];
                rows[at] = waves[at];
            }
        }
    }
}

/* The sum of 1024 chosen numbers of the state. */
static struct complex checksum(void)
{
    struct complex sum = {0, 0};
    double total = (double)nx * ny * nz;

    for (int j = 1; j <= 1024; j++) {
        int x = j % nx, y = 3 * j % ny, z = 5 * j % nz - my_nz * app.rank;

        if (z >= 0 && z < my_nz) {
            const struct complex *u =
                &planes[((size_t)z * (size_t)ny + (size_t)y) * (size_t)nx + (size_t)x];

            sum.re += u->re / total;
            sum.im += u->im / total;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void solve(struct complex *sums)
{
    int n_sides = my_ny * nx;

    memcpy(planes, start, (size_t)my_nz * (size_t)ny * (size_t)nx * sizeof(*planes));
    transform_planes(-1);
    planes_to_rows();
    transform_lines(rows, nz, (size_t)n_sides, n_sides, 1, -1);
    memcpy(waves, rows, (size_t)nz * (size_t)n_sides * sizeof(*waves));
    for (int step = 0; step < N_STEPS; step++) {
        evolve();
        transform_lines(rows, nz, (size_t)n_sides, n_sides, 1, 1);
        rows_to_planes();
        transform_planes(1);
        sums[step] = checksum();
    }
}

/* How far the sums are from the published ones at most, relatively. */
static double distance(const struct complex *sums)
{
    double worst = 0;

    for (int i = 0; i < N_STEPS; i++) {
        const struct complex *known = &size->sums[i];
        double d =
            hypot(sums[i].re - known->re, sums[i].im - known->im) / hypot(known->re, known->im);

        if (!(d <= worst))
            worst = d;
    }
    return worst;
}

int main(int argc, char **argv)
{
    struct complex sums[N_STEPS];

    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    nx = size->nx;
    ny = size->ny;
    nz = size->nz;
    if (ny % app.size != 0 || nz % app.size != 0)
        app_refuse(&app, "the number of ranks must divide %d and %d, %d does not", ny, nz,
                   app.size);
    my_ny = ny / app.size;
    my_nz = nz / app.size;
    set_up();
    while (app_run(&app)) {
        solve(sums);
        app_stop(&app);
        app_check(&app, distance(sums) <= 1e-12, "last sum %.10f %.10f, %.1e from the known ones",
                  sums[N_STEPS - 1].re, sums[N_STEPS - 1].im, distance(sums));
    }
    return app_end(&app, "");
}
