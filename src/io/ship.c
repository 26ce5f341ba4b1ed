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
    char *own; /* this process' view as it is sent: a head and a flattened type */
    size_t own_len;
    bool is_done;           /* the aggregators have all */
    struct dm_view **views; /* of all ranks; NULL: no aggregator */
    int size;
    /* while it is shipped */
    const struct dm_plan_part *parts;
    const int *aggs;
    int n_agg;
    bool is_sent;
    struct dm_req **reqs; /* of sends to aggregators */
    struct dm_req *req;   /* of the receive that is under way */
    int n_taken;          /* at an aggregator: that have come */
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
    size_t len = 0;

    (void)dm_type_flatten(view->tile, NULL, &len);
    ship->own_len = sizeof(head) + len;
    ship->own = malloc(ship->own_len);
    if (ship->own == NULL)
        return DM_FAIL(DM_ENOMEM, "view of a file, %zu bytes", ship->own_len);
    memcpy(ship->own, &head, sizeof(head));
    return dm_type_flatten(view->tile, ship->own + sizeof(head), &len);
}

int dm_ship_measure(struct dm_file *f, uint64_t *len_p)
{
    int err = DM_OK;

    *len_p = 0;
    if (f->ship == NULL) {
        f->ship = calloc(1, sizeof(*f->ship));
        if (f->ship == NULL)
            return DM_FAIL(DM_ENOMEM, "view of a file");
        f->ship->size = f->size;
        err = ship_pack(f->ship, f->view);
    }
    if (err != DM_OK)
        dm_ship_forget(f);
    else
        *len_p = f->ship->own_len;
    return err;
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
    return f->ship->is_done;
}

/* ---- shipping ---- */

int dm_ship_alloc(struct dm_file *f, const struct dm_plan_part *parts, const int *aggs, int n_agg)
{
    struct dm_ship *ship = f->ship;
    uint64_t most = 1;
    bool is_agg = false;

    for (int a = 0; a < n_agg; a++)
        is_agg = is_agg || aggs[a] == f->rank;
    for (int r = 0; is_agg && r < f->size; r++)
        most = parts[r].view_bytes > most ? parts[r].view_bytes : most;
    ship->reqs = calloc((unsigned int)n_agg, sizeof(struct dm_req *));
    ship->data = malloc(most);
    ship->parts = parts;
    ship->aggs = aggs;
    ship->n_agg = n_agg;
    if (is_agg)
        ship->views = calloc((size_t)f->size, sizeof(struct dm_view *));
    if (ship->reqs == NULL || ship->data == NULL || (is_agg && ship->views == NULL))
        return DM_FAIL(DM_ENOMEM, "views of %d processes, %llu bytes at most", f->size,
                       (unsigned long long)most);
    return DM_OK;
}

static int ship_send(struct dm_file *f)
{
    struct dm_ship *ship = f->ship;
    int err = DM_OK, bad;

    for (int a = 0; a < ship->n_agg; a++) {
        bad = dm_isend(ship->own, ship->own_len, dm_type_get(MPI_BYTE), ship->aggs[a], SHIP_TAG,
                       f->comm, &ship->reqs[a]);
        err = err != DM_OK ? err : bad;
    }
    ship->is_sent = true;
    return err;
}

/* An aggregator: the view of the next process, one after the other. */
static int ship_take(struct dm_file *f, struct dm_req **req_p)
{
    struct dm_ship *ship = f->ship;
    int err = DM_OK, bad;

    while (ship->views != NULL && ship->n_taken < f->size) {
        int r = ship->n_taken;

        bad = DM_OK;
        if (ship->req == NULL)
            bad = dm_irecv(ship->data, ship->parts[r].view_bytes, dm_type_get(MPI_BYTE), r,
                           SHIP_TAG, f->comm, &ship->req);
        *req_p = ship->req;
        if (bad == DM_OK && !dm_req_is_done(ship->req))
            break;
        *req_p = NULL;
        if (bad == DM_OK)
            bad = dm_io_reap(&ship->req);
        if (bad == DM_OK)
            bad = ship_unpack(f, ship->data, ship->parts[r].view_bytes, &ship->views[r]);
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
    for (int a = 0; a < ship->n_agg && *req_p == NULL; a++) {
        if (ship->reqs[a] == NULL)
            continue;
        if (!dm_req_is_done(ship->reqs[a])) {
            *req_p = ship->reqs[a];
            break;
        }
        bad = dm_io_reap(&ship->reqs[a]);
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
    ship->reqs = NULL;
    ship->data = NULL;
}
