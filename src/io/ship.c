/*
 * Views by message.
 */
#include "io/ship.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/pt2pt.h"

#define SHIP_TAG 0

struct dm_ship {
    char *own; /* this process' view as it is sent: a head and a flattened type */
    size_t own_len;
    bool is_done;           /* the aggregators have all */
    struct dm_view **views; /* of all ranks; NULL: no aggregator */
    int size;
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

/* What an aggregator needs; all have it, or nobody begins. */
static int ship_alloc(struct dm_file *f, const struct dm_plan_part *parts, bool is_agg, int n_agg,
                      struct dm_req ***reqs_p, char **data_p)
{
    uint64_t most = 1;

    *reqs_p = calloc((unsigned int)n_agg, sizeof(struct dm_req *));
    for (int r = 0; is_agg && r < f->size; r++)
        most = parts[r].view_bytes > most ? parts[r].view_bytes : most;
    *data_p = malloc(most);
    if (is_agg)
        f->ship->views = calloc((size_t)f->size, sizeof(struct dm_view *));
    if (*reqs_p == NULL || *data_p == NULL || (is_agg && f->ship->views == NULL))
        return DM_FAIL(DM_ENOMEM, "views of %d processes, %llu bytes at most", f->size,
                       (unsigned long long)most);
    return DM_OK;
}

/* An aggregator: receive from all, also after an error. */
static int ship_take(struct dm_file *f, const struct dm_plan_part *parts, char *data)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int err = DM_OK, bad;

    for (int r = 0; r < f->size; r++) {
        bad = dm_recv(data, parts[r].view_bytes, byte, r, SHIP_TAG, f->comm, MPI_STATUS_IGNORE);
        if (bad == DM_OK)
            bad = ship_unpack(f, data, parts[r].view_bytes, &f->ship->views[r]);
        err = err != DM_OK ? err : bad;
    }
    return err;
}

int dm_ship_views(struct dm_file *f, const struct dm_plan_part *parts, const int *aggs, int n_agg)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_ship *ship = f->ship;
    struct dm_req **reqs;
    bool is_agg = false;
    char *data;
    int err, bad;

    if (ship->is_done)
        return DM_OK;
    for (int a = 0; a < n_agg; a++)
        is_agg = is_agg || aggs[a] == f->rank;
    err = dm_file_agree(f, ship_alloc(f, parts, is_agg, n_agg, &reqs, &data));
    if (err == DM_OK) {
        for (int a = 0; a < n_agg; a++) {
            bad = dm_isend(ship->own, ship->own_len, byte, aggs[a], SHIP_TAG, f->comm, &reqs[a]);
            err = err != DM_OK ? err : bad;
        }
        if (is_agg) {
            bad = ship_take(f, parts, data);
            err = err != DM_OK ? err : bad;
        }
        for (int a = 0; a < n_agg; a++) {
            if (reqs[a] == NULL)
                continue;
            bad = dm_req_wait(reqs[a]);
            err = err != DM_OK ? err : bad;
            dm_req_unref(reqs[a]);
        }
        err = dm_file_agree(f, err);
    }
    free(reqs);
    free(data);
    ship->is_done = err == DM_OK;
    if (err != DM_OK)
        dm_ship_forget(f);
    return err;
}
