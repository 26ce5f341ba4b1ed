/*
 * Heat on a square that wraps around at its sides, divided among a grid of processes: after
 * every step each puts its outermost rows and columns (a vector type) into its neighbours'
 * halos. First by MPI_Win_fence, then by post, start, complete and wait among neighbours only;
 * both must give what one process alone computes.
 *
 *   mpiexec -n 4 halo [SIDE [STEPS]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static int grid[2], at[2];   /* rows and columns of processes; where this one is */
static int near[4];          /* ranks above, below, left, right */
static int side, rows, cols; /* the square; this process' block */
static MPI_Comm comm;

/* The part of n that the i-th of p has. */
static int part(int n, int p, int i)
{
    return n / p + (i < n % p);
}

static int first(int n, int p, int i)
{
    return i * (n / p) + (i < n % p ? i : n % p);
}

static double start_value(int row, int col)
{
    return (row * 31 + col * 17) % 100;
}

/* New values of a block of r x c inside a halo, from old to new. */
static void step(const double *old, double *new, int r, int c)
{
    int w = c + 2;

    for (int i = 1; i <= r; i++) {
        for (int j = 1; j <= c; j++)
            new[i * w + j] =
                0.5 * old[i * w + j] + 0.125 * (old[(i - 1) * w + j] + old[(i + 1) * w + j] +
                                                old[i * w + j - 1] + old[i * w + j + 1]);
    }
}

/* Put my border into the neighbours' halos; their blocks may have other numbers of rows, columns. */
static void put_border(const double *block, MPI_Win win)
{
    int w = cols + 2, above = part(side, grid[0], (at[0] + grid[0] - 1) % grid[0]);
    int left = part(side, grid[1], (at[1] + grid[1] - 1) % grid[1]);
    int right = part(side, grid[1], (at[1] + 1) % grid[1]);
    MPI_Datatype column, left_column, right_column;

    MPI_Type_vector(rows, 1, w, MPI_DOUBLE, &column);
    MPI_Type_vector(rows, 1, left + 2, MPI_DOUBLE, &left_column);
    MPI_Type_vector(rows, 1, right + 2, MPI_DOUBLE, &right_column);
    MPI_Type_commit(&column);
    MPI_Type_commit(&left_column);
    MPI_Type_commit(&right_column);
    /* my first row is below the last of the one above, and so on */
    MPI_Put(block + w + 1, cols, MPI_DOUBLE, near[0], (MPI_Aint)(above + 1) * w + 1, cols,
            MPI_DOUBLE, win);
    MPI_Put(block + rows * w + 1, cols, MPI_DOUBLE, near[1], 1, cols, MPI_DOUBLE, win);
    MPI_Put(block + w + 1, 1, column, near[2], (left + 2) + left + 1, 1, left_column, win);
    MPI_Put(block + w + cols, 1, column, near[3], right + 2, 1, right_column, win);
    MPI_Type_free(&column);
    MPI_Type_free(&left_column);
    MPI_Type_free(&right_column);
}

/* n steps; the block with its halo is in win[0]'s memory and win[1]'s in turn. */
static void run(int n, double *const mem[2], const MPI_Win win[2], MPI_Group neighbours)
{
    int w = cols + 2;

    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= cols; j++)
            mem[0][i * w + j] = start_value(first(side, grid[0], at[0]) + i - 1,
                                            first(side, grid[1], at[1]) + j - 1);
    }
    for (int t = 0; t < n; t++) {
        int now = t % 2;

        if (neighbours == MPI_GROUP_NULL) {
            MPI_Win_fence(0, win[now]);
            put_border(mem[now], win[now]);
            MPI_Win_fence(0, win[now]);
        } else {
            MPI_Win_post(neighbours, 0, win[now]);
            MPI_Win_start(neighbours, 0, win[now]);
            put_border(mem[now], win[now]);
            MPI_Win_complete(win[now]);
            MPI_Win_wait(win[now]);
        }
        step(mem[now], mem[1 - now], rows, cols);
    }
}

/* The whole square on one process. */
static double *run_alone(int n)
{
    int w = side + 2;
    double *mem[2];

    for (int i = 0; i < 2; i++)
        mem[i] = calloc((size_t)w * (size_t)w, sizeof(double));
    for (int i = 0; i < side * side; i++)
        mem[0][(i / side + 1) * w + i % side + 1] = start_value(i / side, i % side);
    for (int t = 0; t < n; t++) {
        double *now = mem[t % 2];

        for (int i = 1; i <= side; i++) {
            now[i] = now[side * w + i];
            now[(side + 1) * w + i] = now[w + i];
            now[i * w] = now[i * w + side];
            now[i * w + side + 1] = now[i * w + 1];
        }
        step(now, mem[1 - t % 2], side, side);
    }
    free(mem[1 - n % 2]);
    return mem[n % 2];
}

static long compare(const double *block, const double *whole)
{
    int row = first(side, grid[0], at[0]), col = first(side, grid[1], at[1]);
    long bad = 0, all;

    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= cols; j++)
            bad += block[i * (cols + 2) + j] != whole[(row + i) * (side + 2) + col + j];
    }
    MPI_Allreduce(&bad, &all, 1, MPI_LONG, MPI_SUM, comm);
    return all;
}

/* The neighbours without repeats: on small grids one is on several sides, or is this process. */
static MPI_Group group_of_neighbours(void)
{
    int ranks[4] = {0}, n = 0;
    MPI_Group all, some;

    for (int i = 0; i < 4; i++) {
        int have = 0;

        for (int j = 0; j < n; j++)
            have = have || ranks[j] == near[i];
        if (!have)
            ranks[n++] = near[i];
    }
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, n, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

int main(int argc, char **argv)
{
    int periods[2] = {1, 1}, n;
    long bad = 0;
    double *mem[2], *whole;
    MPI_Group groups[2];
    MPI_Win win[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    side = argc > 1 ? atoi(argv[1]) : 60;
    n = argc > 2 ? atoi(argv[2]) : 50;
    MPI_Dims_create(size, 2, grid);
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 1, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, 2, at);
    MPI_Cart_shift(comm, 0, 1, &near[0], &near[1]);
    MPI_Cart_shift(comm, 1, 1, &near[2], &near[3]);
    rows = part(side, grid[0], at[0]);
    cols = part(side, grid[1], at[1]);
    if (side < grid[0])
        MPI_Abort(comm, 2);
    for (int i = 0; i < 2; i++)
        MPI_Win_allocate((MPI_Aint)((size_t)(rows + 2) * (size_t)(cols + 2) * sizeof(double)),
                         sizeof(double), MPI_INFO_NULL, comm, &mem[i], &win[i]);
    groups[0] = MPI_GROUP_NULL;
    groups[1] = group_of_neighbours();
    whole = run_alone(n);
    for (int way = 0; way < 2; way++) {
        double start = MPI_Wtime(), time;

        run(n, mem, win, groups[way]);
        time = MPI_Wtime() - start;
        if (way == 0)
            for (int i = 0; i < 2; i++)
                MPI_Win_fence(MPI_MODE_NOSUCCEED, win[i]);
        bad += compare(mem[n % 2], whole);
        if (rank == 0)
            printf("%d x %d in %d x %d blocks, %d steps, %s: %.1f us a step\n", side, side, grid[0],
                   grid[1], n, way == 0 ? "fence" : "post and start", time * 1e6 / n);
    }
    if (rank == 0)
        printf("%s\n", bad == 0 ? "as one process alone" : "WRONG");
    MPI_Group_free(&groups[1]);
    free(whole);
    for (int i = 0; i < 2; i++)
        MPI_Win_free(&win[i]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return bad != 0;
}
