/*
 * Moves with conversions.
 */
#include "io/convert.h"

#include <stdlib.h>
#include <string.h>

#define PART_LEN   ((size_t)4 << 20)    /* bytes of the file that are converted at a time */
#define STAGE_MOST ((uint64_t)64 << 20) /* and that are held for an exchange or a thread */

/* What is converted as one: n elements, each of len bytes in the file. */
struct convert {
    struct dm_type *type;
    size_t n, len;
};

/* Contiguous data of one basic type are taken by that, in parts of any length. */
static struct convert convert_by(const struct dm_move *m)
{
    struct convert c = {.type = m->type, .n = m->count};
    struct dm_type *basic = dm_type_get(m->type->basic);

    if (basic != NULL && m->type->is_contig && basic->is_contig && m->type->true_lb == 0 &&
        m->view->rep->kind == DM_REP_EXTERNAL32) {
        c.n = c.n * (size_t)(m->type->size / basic->size);
        c.type = basic;
    }
    c.len = m->len / c.n;
    return c;
}

/* The move of len bytes that are at mem as they are in the file. */
static struct dm_move convert_bytes(const struct dm_move *m, char *mem, size_t len)
{
    struct dm_move bytes = *m;

    bytes.buf = mem;
    bytes.type = dm_type_get(MPI_BYTE);
    bytes.count = bytes.len = len;
    return bytes;
}

/* ---- by parts ---- */

/* What the end of the file has left of element number `index`: bytes in memory. */
static uint64_t convert_rest(const struct dm_move *m, const struct convert *c, size_t index,
                             const char *stage, size_t len)
{
    if (m->is_write || len == 0 || m->view->rep->kind != DM_REP_EXTERNAL32)
        return 0;
    return dm_unpack_external_part(
        stage, len, (char *)((uintptr_t)m->buf + index * (size_t)c->type->extent), c->type);
}

/* n elements from number `first` on; *done_p: of them, and *rest_p bytes in memory of the next one. */
static int convert_some(struct dm_move *m, const struct convert *c, size_t first, size_t n,
                        char *stage, int (*move)(struct dm_move *part), size_t *done_p,
                        uint64_t *rest_p)
{
    struct dm_move part = convert_bytes(m, stage, n * c->len);
    int err = DM_OK;

    part.first = 0;
    part.pos = m->pos + first * c->len;
    if (m->is_write)
        err = dm_datarep_encode(m->view->rep, m->buf, c->type, first, n, stage, part.len);
    if (err == DM_OK)
        err = move(&part);
    *done_p = part.done / c->len;
    if (err == DM_OK && !m->is_write)
        err = dm_datarep_decode(m->view->rep, m->buf, c->type, first, *done_p, stage,
                                *done_p * c->len);
    if (err == DM_OK)
        *rest_p = convert_rest(m, c, first + *done_p, stage + *done_p * c->len,
                               part.done - *done_p * c->len);
    memcpy(m->n_way, part.n_way, sizeof(m->n_way));
    return err;
}

int dm_convert_run(struct dm_move *m, int (*move)(struct dm_move *part))
{
    size_t first = 0, at_once;
    uint64_t rest = 0;
    struct convert c;
    int err = DM_OK;
    char *stage;

    if (m->len == 0)
        return DM_OK;
    c = convert_by(m);
    at_once = c.len < PART_LEN ? PART_LEN / c.len : 1;
    if (at_once > c.n)
        at_once = c.n;
    stage = malloc(at_once * c.len);
    if (stage == NULL)
        return DM_FAIL(DM_ENOMEM, "buffer for conversion, %zu bytes", at_once * c.len);
    while (first < c.n && err == DM_OK) {
        size_t n = at_once < c.n - first ? at_once : c.n - first, done;

        err = convert_some(m, &c, first, n, stage, move, &done, &rest);
        first += done;
        if (done < n)
            break;
    }
    free(stage);
    m->done = first * (uint64_t)c.type->size + rest;
    return err;
}

/* ---- held as a whole ---- */

bool dm_convert_is_short(const struct dm_move *m)
{
    return m->len <= STAGE_MOST;
}

int dm_convert_stage(struct dm_move *m, struct dm_staged *s, bool must)
{
    struct convert c;
    int err = DM_OK;

    s->mem = NULL;
    s->own = *m;
    if (m->len == 0)
        return DM_OK;
    if (must || dm_convert_is_short(m))
        s->mem = malloc(m->len);
    m->is_refused = s->mem == NULL;
    if (s->mem == NULL && must)
        err = DM_FAIL(DM_ENOMEM, "buffer for conversion, %llu bytes", (unsigned long long)m->len);
    c = convert_by(m);
    if (s->mem != NULL && m->is_write)
        err = dm_datarep_encode(m->view->rep, m->buf, c.type, 0, c.n, s->mem, m->len);
    if (err != DM_OK) {
        free(s->mem);
        s->mem = NULL;
        m->len = 0;
    }
    if (s->mem != NULL)
        *m = convert_bytes(m, s->mem, m->len);
    return err;
}

int dm_convert_unstage(struct dm_move *m, struct dm_staged *s)
{
    struct convert c = convert_by(&s->own);
    size_t n = m->done / c.len;
    uint64_t rest = 0;
    int err = DM_OK;

    if (!m->is_write && n > 0)
        err = dm_datarep_decode(m->view->rep, s->own.buf, c.type, 0, n, s->mem, n * c.len);
    if (err == DM_OK)
        rest = convert_rest(&s->own, &c, n, s->mem + n * c.len, m->done - n * c.len);
    free(s->mem);
    s->mem = NULL;
    s->own.done = n * (uint64_t)c.type->size + rest;
    memcpy(s->own.n_way, m->n_way, sizeof(m->n_way));
    *m = s->own;
    return err;
}
