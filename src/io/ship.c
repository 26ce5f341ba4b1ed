/*
 * Views by message.
 */
#include "io/ship.h"

#include <stdlib.h>
#include <string.h>

#include "io/agree.h"
#include "mpi/pt2pt/pt2pt.h"

#define SHIP_TAG 0

struct dm_ship {
    char *own; /* this process' view as it is sent: a head and a flattened type; NULL: not now */
    size_t own_len;
    bool is_done;           /* the aggregators have all */
    struct dm_view **views; /* of all ranks that it takes; NULL: none */
    int size;
    /* while it is shipped */
    const struct dm_plan *plan;
    bool is_agg;
    int leader; /* to which it goes, too; -1: it is an aggregator, or there is one host only */
    int n_to;   /* processes that it goes to: the aggregators, then the leader */
    bool is_sent;
    struct dm_req **reqs; /* of sends to them */
    struct dm_req *req;   /* of the receive that is under way */
    int n_taken;          /* that have come, or do not */
    char *data;           /* of one that comes */
};

struct ship_head {
    int64_t disp;
};

void dm_ship_forget(struct dm_file *f)
{
    struct dm_ship *ship = f->ship;

    if (ship == NULL)
        return;
    for (int i = 0; ship->views != NULL && i < ship->size; i++)
        dm_view_unref(ship->views[i]);
    free(ship->views);
    free(ship->reqs);
    free(ship->data);
    free(ship->own);
    free(ship);
    f->ship = NULL;
}

static int ship_pack(struct dm_ship *ship, const struct dm_view *view)
{
    struct ship_head head = {.disp = view->disp};
    size_t len = ship->own_len - sizeof(head);

    ship->own = malloc(ship->own_len);
    if (ship->own == NULL)
        return DM_FAIL(DM_ENOMEM, "view of a file, %zu bytes", ship->own_len);
    memcpy(ship->own, &head, sizeof(head));
    return dm_type_flatten(view->tile, ship->own + sizeof(head), &len);
}

int dm_ship_measure(struct dm_file *f, uint64_t *len_p)
{
    size_t len = 0;

    *len_p = 0;
    if (f->ship == NULL) {
        f->ship = calloc(1, sizeof(*f->ship));
        if (f->ship == NULL)
            return DM_FAIL(DM_ENOMEM, "view of a file");
        f->ship->size = f->size;
        (void)dm_type_flatten(f->view->tile, NULL, &len);
        f->ship->own_len = sizeof(struct ship_head) + len;
    }
    *len_p = f->ship->own_len;
    return DM_OK;
}

const struct dm_view *dm_ship_view(const struct dm_file *f, int rank)
{
    return f->ship->views[rank];
}

static int ship_unpack(const struct dm_file *f, const char *data, size_t len,
                       struct dm_view **view_p)
{
    struct ship_head head;
    struct dm_type *tile;
    int err;

    memcpy(&head, data, sizeof(head));
    err = dm_type_unflatten(data + sizeof(head), len - sizeof(head), &tile);
    if (err != DM_OK)
        return err;
    err = dm_view_new(head.disp, dm_type_get(MPI_BYTE), tile, &dm_datarep_native,
                      (f->amode & MPI_MODE_RDONLY) == 0, view_p);
    dm_type_unref(tile);
    return err;
}

bool dm_ship_is_done(const struct dm_file *f)
{
    return f->ship != NULL && f->ship->is_done;
}

/* ---- shipping ---- */

static bool ship_is_agg(const struct dm_plan *plan, int rank)
{
    for (int a = 0; a < plan->n_agg; a++)
        if (plan->aggs[a] == rank)
            return true;
    return false;
}

/* Does this process take the view of that one? */
static bool ship_takes(const struct dm_file *f, int rank)
{
    const struct dm_ship *ship = f->ship;
    const struct dm_node_map *nodes = ship->plan->nodes;

    return ship->is_agg || (ship->leader == f->rank && nodes->node_of[rank] == nodes->node);
}

int dm_ship_alloc(struct dm_file *f, const struct dm_plan *plan)
{
    struct dm_ship *ship = f->ship;
    uint64_t most = 1;
    bool takes = false;

    if (ship == NULL)
        return DM_FAIL(DM_ENOMEM, "view of a file");
    ship->plan = plan;
    ship->is_agg = ship_is_agg(plan, f->rank);
    ship->leader = plan->nodes->leaders[plan->nodes->node];
    if (plan->nodes->n_nodes == 1 || ship_is_agg(plan, ship->leader))
        ship->leader = -1;
    ship->n_to = plan->n_agg + (ship->leader >= 0);
    for (int r = 0; r < f->size; r++) {
        if (!ship_takes(f, r))
            continue;
        takes = true;
        most = plan->parts[r].view_bytes > most ? plan->parts[r].view_bytes : most;
    }
    ship->reqs = calloc((unsigned int)ship->n_to, sizeof(struct dm_req *));
    ship->data = malloc(most);
    if (takes)
        ship->views = calloc((size_t)f->size, sizeof(struct dm_view *));
    if (ship_pack(ship, f->view) != DM_OK)
        return DM_ENOMEM;
    if (ship->reqs == NULL || ship->data == NULL || (takes && ship->views == NULL))
        return DM_FAIL(DM_ENOMEM, "views of %d processes, %llu bytes at most", f->size,
                       (unsigned long long)most);
    return DM_OK;
}

static int ship_send(struct dm_file *f)
{
    struct dm_ship *ship = f->ship;
    int err = DM_OK, bad;

    for (int i = 0; i < ship->n_to; i++) {
        int to = i < ship->plan->n_agg ? ship->plan->aggs[i] : ship->leader;

        bad = dm_isend(ship->own, ship->own_len, dm_type_get(MPI_BYTE), to, SHIP_TAG, f->comm,
                       &ship->reqs[i]);
        err = err != DM_OK ? err : bad;
    }
    ship->is_sent = true;
    return err;
}

/* The view of the next process, one after the other. */
static int ship_take(struct dm_file *f, struct dm_req **req_p)
{
    struct dm_ship *ship = f->ship;
    int err = DM_OK, bad;

    while (ship->views != NULL && ship->n_taken < f->size) {
        int r = ship->n_taken;
        uint64_t len = ship->plan->parts[r].view_bytes;

        bad = DM_OK;
        if (!ship_takes(f, r)) {
            ship->n_taken++;
            continue;
        }
        if (ship->req == NULL)
            bad =
                dm_irecv(ship->data, len, dm_type_get(MPI_BYTE), r, SHIP_TAG, f->comm, &ship->req);
        *req_p = ship->req;
        if (bad == DM_OK && !dm_req_is_done(ship->req))
            break;
        *req_p = NULL;
        if (bad == DM_OK)
            bad = dm_io_reap(&ship->req);
        if (bad == DM_OK)
            bad = ship_unpack(f, ship->data, len, &ship->views[r]);
        err = err != DM_OK ? err : bad;
        ship->n_taken++;
    }
    return err;
}

int dm_ship_step(struct dm_file *f, struct dm_req **req_p)
{
    struct dm_ship *ship = f->ship;
    int err = ship->is_sent ? DM_OK : ship_send(f), bad;

    *req_p = NULL;
    bad = ship_take(f, req_p);
    err = err != DM_OK ? err : bad;
    for (int i = 0; i < ship->n_to && *req_p == NULL; i++) {
        if (ship->reqs[i] == NULL)
            continue;
        if (!dm_req_is_done(ship->reqs[i])) {
            *req_p = ship->reqs[i];
            break;
        }
        bad = dm_io_reap(&ship->reqs[i]);
        err = err != DM_OK ? err : bad;
    }
    return err;
}

void dm_ship_end(struct dm_file *f, bool is_done)
{
    struct dm_ship *ship = f->ship;

    if (!is_done) {
        dm_ship_forget(f);
        return;
    }
    ship->is_done = true;
    free(ship->reqs);
    free(ship->data);
    free(ship->own);
    ship->reqs = NULL;
    ship->data = NULL;
    ship->own = NULL;
}
