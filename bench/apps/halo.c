/*
 * A stencil of five points on a periodic grid in two dimensions, its halo exchanged by one-sided calls.
 *
 *   mpiexec -n N halo [-c S|W|A] [-m MODE] [-w WINDOW] [-r RUNS]
 *
 * In each step the outer rows and columns go to the ghost cells of the four neighbours by MPI_Put: rows as
 * they lie, columns as a vector on both sides. -m says how origin and target agree:
 *   fence   MPI_Win_fence (the default)
 *   pscw    MPI_Win_post, _start, _complete, _wait among neighbours
 *   lock    MPI_Win_lock and _unlock for each put, then MPI_Barrier
 *   flush   one MPI_Win_lock_all; put, MPI_Win_flush, then a message without data to each neighbour
 *   flag    as flush, but a counter in the neighbour's window, by MPI_Accumulate, which it polls
 *   send    MPI_Isend and MPI_Irecv, to compare with
 * -w allocate: a window of MPI_Win_allocate (the default), create: over memory of malloc.
 * Checked: each cell. The grid begins with waves of which the stencil makes known multiples.
 */
#include "apps.h"

#include <math.h>
#include <sched.h>

enum { UP, DOWN, LEFT, RIGHT, N_SIDES }; /* UP and DOWN: the row before and behind */

static const struct size {
    int n, n_steps;
} sizes[] = {{128, 100}, {512, 300}, {2048, 100}};

static struct app app = {
    .name = "halo",
    .title = "a stencil with one-sided exchange of its halo",
    .classes = "SWA",
    .options = "mw",
    .usage = "  -m MODE   fence, pscw, lock, flush, flag or send\n"
             "  -w WINDOW allocate or create\n",
};
static const struct size *size;

static int n_procs[2], place[2], n[2], begin[2]; /* along y, x; n: my cells, without ghosts */
static int neighbours[N_SIDES];
static double *cells[2]; /* now and next: [n[0] + 2][n[1] + 2] */
static double *memory;   /* of the window: both, then a counter for each side */
static MPI_Win win;
static MPI_Group group; /* of all neighbours but myself */

/* What goes to a neighbour: from my cells to its ghosts, counted from the begin of the array. */
static struct side {
    MPI_Aint from, to, array; /* array: length of the neighbour's */
    MPI_Aint counter;         /* place of its counter for what comes from me */
    MPI_Aint ghosts;          /* mine, that it fills */
    int len;
    MPI_Datatype mine, its;
} sides[N_SIDES];

/* ---- the grid ---- */

static int opposite(int side)
{
    return side ^ 1;
}

/* Size of the part of the process at a place. */
static int part(int axis, int at)
{
    return app_part(size->n, at + 1, n_procs[axis]) - app_part(size->n, at, n_procs[axis]);
}

static MPI_Aint at(const int *len, int y, int x)
{
    return (MPI_Aint)y * (len[1] + 2) + x;
}

static void plan_side(int side)
{
    int axis = side == UP || side == DOWN ? 0 : 1, is_back = side == DOWN || side == RIGHT;
    int other[2] = {place[0], place[1]}, its[2];
    int first[2] = {1, 1}, ghost[2] = {1, 1}, mine[2] = {1, 1};
    struct side *s = &sides[side];

    other[axis] = (other[axis] + (is_back ? 1 : n_procs[axis] - 1)) % n_procs[axis];
    neighbours[side] = other[0] * n_procs[1] + other[1];
    its[0] = part(0, other[0]);
    its[1] = part(1, other[1]);
    first[axis] = is_back ? n[axis] : 1;
    ghost[axis] = is_back ? 0 : its[axis] + 1;
    mine[axis] = is_back ? n[axis] + 1 : 0;
    s->from = at(n, first[0], first[1]);
    s->to = at(its, ghost[0], ghost[1]);
    s->ghosts = at(n, mine[0], mine[1]);
    s->array = at(its, its[0] + 2, 0);
    s->counter = 2 * s->array + opposite(side);
    s->len = n[1 - axis];
    MPI_Type_vector(s->len, 1, axis == 0 ? 1 : n[1] + 2, MPI_DOUBLE, &s->mine);
    MPI_Type_vector(s->len, 1, axis == 0 ? 1 : its[1] + 2, MPI_DOUBLE, &s->its);
    MPI_Type_commit(&s->mine);
    MPI_Type_commit(&s->its);
}

/* The neighbours as a group, each once, without myself. */
static void make_group(void)
{
    int list[N_SIDES] = {0}, n_list = 0;
    MPI_Group world;

    for (int i = 0; i < N_SIDES; i++) {
        int is_new = neighbours[i] != app.rank;

        for (int k = 0; k < n_list; k++)
            is_new &= list[k] != neighbours[i];
        if (is_new)
            list[n_list++] = neighbours[i];
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n_list, list, &group);
    MPI_Group_free(&world);
}

static void set_up(int is_created)
{
    MPI_Aint bytes;

    MPI_Dims_create(app.size, 2, n_procs);
    if (n_procs[0] > size->n)
        app_refuse(&app, "%d x %d ranks for %d x %d cells", n_procs[0], n_procs[1], size->n,
                   size->n);
    place[0] = app.rank / n_procs[1];
    place[1] = app.rank % n_procs[1];
    for (int d = 0; d < 2; d++) {
        begin[d] = app_part(size->n, place[d], n_procs[d]);
        n[d] = part(d, place[d]);
    }
    for (int i = 0; i < N_SIDES; i++)
        plan_side(i);
    make_group();
    bytes = (2 * at(n, n[0] + 2, 0) + N_SIDES) * (MPI_Aint)sizeof(double);
    if (is_created) {
        memory = app_alloc((size_t)bytes, 1);
        MPI_Win_create(memory, bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        memset(memory, 0, (size_t)bytes);
    }
    cells[0] = memory;
    cells[1] = memory + at(n, n[0] + 2, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void tear_down(int is_created)
{
    MPI_Win_free(&win);
    if (is_created)
        free(memory);
    MPI_Group_free(&group);
    for (int i = 0; i < N_SIDES; i++) {
        MPI_Type_free(&sides[i].mine);
        MPI_Type_free(&sides[i].its);
    }
}

/* ---- the exchange ---- */

/* Send my outer cells of array `which` to the ghosts of a neighbour. */
static void put(int side, int which)
{
    const struct side *s = &sides[side];
    MPI_Aint to = which * s->array + s->to;

    if (neighbours[side] == app.rank) { /* my own, on the opposite side */
        MPI_Aint step = side == UP || side == DOWN ? 1 : n[1] + 2;

        for (int i = 0; i < s->len; i++)
            cells[which][s->to + i * step] = cells[which][s->from + i * step];
    } else if (side == UP || side == DOWN)
        MPI_Put(cells[which] + s->from, s->len, MPI_DOUBLE, neighbours[side], to, s->len,
                MPI_DOUBLE, win);
    else
        MPI_Put(cells[which] + s->from, 1, s->mine, neighbours[side], to, 1, s->its, win);
}

static void put_all(int which)
{
    for (int i = 0; i < N_SIDES; i++)
        put(i, which);
}

static void by_fence(int which, int step)
{
    (void)step;
    put_all(which);
    MPI_Win_fence(0, win);
}

static void by_pscw(int which, int step)
{
    (void)step;
    MPI_Win_post(group, 0, win);
    MPI_Win_start(group, 0, win);
    put_all(which);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
}

static void by_lock(int which, int step)
{
    (void)step;
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            MPI_Win_lock(MPI_LOCK_SHARED, neighbours[i], 0, win);
        put(i, which);
        if (neighbours[i] != app.rank)
            MPI_Win_unlock(neighbours[i], win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All puts, and they are in place at their targets. */
static void put_and_flush(int which)
{
    put_all(which);
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            MPI_Win_flush(neighbours[i], win);
    }
}

static void by_flush(int which, int step)
{
    MPI_Request reqs[2 * N_SIDES];
    int n_reqs = 0;

    (void)step;
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            MPI_Irecv(NULL, 0, MPI_BYTE, neighbours[i], opposite(i), MPI_COMM_WORLD,
                      &reqs[n_reqs++]);
    }
    put_and_flush(which);
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            MPI_Isend(NULL, 0, MPI_BYTE, neighbours[i], i, MPI_COMM_WORLD, &reqs[n_reqs++]);
    }
    MPI_Waitall(n_reqs, reqs, MPI_STATUSES_IGNORE);
    MPI_Win_sync(win);
}

/* Wait until the neighbour of a side has counted up to the step. */
static void await(int side, int step)
{
    const int64_t nothing = 0;
    MPI_Aint my_counter = 2 * at(n, n[0] + 2, 0) + side;
    int64_t now = 0;

    for (int n_looks = 0;; n_looks++) {
        MPI_Fetch_and_op(&nothing, &now, MPI_INT64_T, app.rank, my_counter, MPI_NO_OP, win);
        MPI_Win_flush(app.rank, win);
        if (now >= step)
            break;
        if (n_looks > 200) /* it may be waiting for this core */
            sched_yield();
    }
}

static void by_flag(int which, int step)
{
    const int64_t one = 1;

    put_and_flush(which);
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] == app.rank)
            continue;
        MPI_Accumulate(&one, 1, MPI_INT64_T, neighbours[i], sides[i].counter, 1, MPI_INT64_T,
                       MPI_SUM, win);
        MPI_Win_flush(neighbours[i], win);
    }
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            await(i, step);
    }
    MPI_Win_sync(win);
}

static void by_send(int which, int step)
{
    MPI_Request reqs[2 * N_SIDES];
    int n_reqs = 0;

    (void)step;
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] == app.rank)
            put(i, which);
        else
            MPI_Irecv(cells[which] + sides[i].ghosts, 1, sides[i].mine, neighbours[i], opposite(i),
                      MPI_COMM_WORLD, &reqs[n_reqs++]);
    }
    for (int i = 0; i < N_SIDES; i++) {
        if (neighbours[i] != app.rank)
            MPI_Isend(cells[which] + sides[i].from, 1, sides[i].mine, neighbours[i], i,
                      MPI_COMM_WORLD, &reqs[n_reqs++]);
    }
    MPI_Waitall(n_reqs, reqs, MPI_STATUSES_IGNORE);
}

static const char *const modes[] = {"fence", "pscw", "lock", "flush", "flag", "send", NULL};
static void (*const exchanges[])(int which, int step) = {by_fence, by_pscw, by_lock,
                                                         by_flush, by_flag, by_send};
static const char *const windows[] = {"allocate", "create", NULL};

/* ---- the stencil ---- */

/* Two waves, of which a step makes decay[0] and decay[1] times themselves. */
static double wave(int y, int x, const double *share)
{
    const double turn = 2 * acos(-1) / size->n;

    return share[0] * sin(turn * (y + 2 * x) + 0.3) + share[1] * cos(turn * (3 * y - x)) + 1;
}

static void fill(void)
{
    const double share[2] = {1, 0.5};

    for (int y = 0; y < n[0]; y++) {
        for (int x = 0; x < n[1]; x++)
            cells[0][at(n, y + 1, x + 1)] = wave(begin[0] + y, begin[1] + x, share);
    }
}

/* Each cell becomes the mean of itself, twice, and its neighbours, with more weight along x. */
static void compute(const double *from, double *to)
{
    int len = n[1] + 2;

    for (int y = 1; y <= n[0]; y++) {
        const double *row = from + at(n, y, 0);
        double *out = to + at(n, y, 0);

        for (int x = 1; x <= n[1]; x++)
            out[x] = 0.4 * row[x] + 0.1 * (row[x - len] + row[x + len]) +
                     0.2 * (row[x - 1] + row[x + 1]);
    }
}

/* The largest difference of a cell from what it must be. */
static double distance(const double *from)
{
    const double turn = 2 * acos(-1) / size->n;
    double decay[2] = {0.4 + 0.2 * cos(turn) + 0.4 * cos(2 * turn),
                       0.4 + 0.2 * cos(3 * turn) + 0.4 * cos(turn)};
    double share[2] = {pow(decay[0], size->n_steps), 0.5 * pow(decay[1], size->n_steps)};
    double worst = 0;

    for (int y = 0; y < n[0]; y++) {
        for (int x = 0; x < n[1]; x++) {
            double d = fabs(from[at(n, y + 1, x + 1)] - wave(begin[0] + y, begin[1] + x, share));

            if (!(d <= worst))
                worst = d;
        }
    }
    return worst;
}

/* The array with the result. */
static const double *solve(int mode)
{
    for (int step = 1; step <= size->n_steps; step++) {
        int now = (step - 1) % 2;

        exchanges[mode](now, app.run * size->n_steps + step);
        if (step == size->n_steps / 2 && app_spoils(&app))
            cells[now][at(n, 0, 1)] += 1e-3;
        compute(cells[now], cells[!now]);
    }
    return cells[size->n_steps % 2];
}

int main(int argc, char **argv)
{
    int mode = 0, is_created = 0, is_passive;
    char variant[32];

    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    if (app.value['m' - 'a'] != NULL)
        mode = app_choice(&app, 'm', app.value['m' - 'a'], modes);
    if (app.value['w' - 'a'] != NULL)
        is_created = app_choice(&app, 'w', app.value['w' - 'a'], windows);
    is_passive = exchanges[mode] == by_flush || exchanges[mode] == by_flag;
    set_up(is_created);
    if (exchanges[mode] == by_fence)
        MPI_Win_fence(0, win);
    if (is_passive)
        MPI_Win_lock_all(0, win);
    fill();
    while (app_run(&app)) {
        const double *last = solve(mode);
        double d;

        app_stop(&app);
        d = distance(last);
        MPI_Allreduce(MPI_IN_PLACE, &d, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        app_check(&app, d <= 1e-12, "cells differ by %.1e from what they must be", d);
        fill();
    }
    if (is_passive)
        MPI_Win_unlock_all(win);
    if (exchanges[mode] == by_fence)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tear_down(is_created);
    snprintf(variant, sizeof(variant), " %s%s", modes[mode], is_created ? " created" : "");
    return app_end(&app, variant);
}
