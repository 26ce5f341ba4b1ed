/*
 * Copies of sections that stay until a request is complete: of nonblocking and persistent collectives, which may
 * divide their buffers in any way.
 *
 * While the operation is under way the program may use what is not the operation's. So elements come back that differ
 * from the state before, and no others.
 */
#include "fortran/section.h"

#include <string.h>

struct dm_f_held {
    struct dm_copies copies;
    CFI_cdesc_t *section;
    char *now;
    char *before; /* NULL: there are no results */
    bool is_over;
};

static size_t held_len(const CFI_cdesc_t *section)
{
    return dm_f_n_elements(section, section->rank) * section->elem_len;
}

static void held_start(struct dm_copies *copies)
{
    struct dm_f_held *h = (struct dm_f_held *)copies;
    char *end = h->now;

    dm_f_copy_elements(h->section, h->section->rank, h->section->base_addr, &end, false);
    if (h->before != NULL)
        memcpy(h->before, h->now, held_len(h->section));
    h->is_over = false;
}

/* The dimensions below rank; what lies at offset of the copies belongs to memory. */
static void held_give_back(const struct dm_f_held *h, int rank, char *memory, size_t *offset)
{
    const CFI_cdesc_t *d = h->section;
    CFI_index_t i;

    if (rank == 0) {
        if (memcmp(h->now + *offset, h->before + *offset, d->elem_len) != 0)
            memcpy(memory, h->now + *offset, d->elem_len);
        *offset += d->elem_len;
        return;
    }
    for (i = 0; i < d->dim[rank - 1].extent; i++)
        held_give_back(h, rank - 1, memory + i * d->dim[rank - 1].sm, offset);
}

static void held_end(struct dm_copies *copies)
{
    struct dm_f_held *h = (struct dm_f_held *)copies;
    size_t offset = 0;

    if (!h->is_over && h->before != NULL)
        held_give_back(h, h->section->rank, h->section->base_addr, &offset);
    h->is_over = true;
}

static void held_drop(struct dm_copies *copies)
{
    struct dm_f_held *h = (struct dm_f_held *)copies;

    free(h->section);
    free(h->now);
    free(h->before);
    free(h);
}

/* The program's descriptor may be gone before the request is complete. */
static CFI_cdesc_t *descriptor_copy(const CFI_cdesc_t *section)
{
    size_t len = sizeof(*section) + (size_t)section->rank * sizeof(section->dim[0]);
    CFI_cdesc_t *copy = malloc(len);

    if (copy != NULL)
        memcpy(copy, section, len);
    return copy;
}

struct dm_f_section dm_f_section_hold(const CFI_cdesc_t *section, bool has_result)
{
    struct dm_f_section s = {.address = section->base_addr};
    struct dm_f_held *h;

    if (dm_likely(dm_f_is_contiguous(section)))
        return s;
    s.address = NULL;
    h = calloc(1, sizeof(*h));
    if (h == NULL)
        return s;
    h->copies = (struct dm_copies){.start = held_start, .end = held_end, .drop = held_drop};
    h->section = descriptor_copy(section);
    h->now = malloc(held_len(section));
    if (has_result)
        h->before = malloc(held_len(section));
    if (h->section == NULL || h->now == NULL || (has_result && h->before == NULL)) {
        held_drop(&h->copies);
        return s;
    }
    held_start(&h->copies);
    s.held = h;
    s.address = h->now;
    return s;
}

void dm_f_section_keep(struct dm_f_section *s, int err, MPI_Request request)
{
    if (s->held == NULL)
        return;
    if (err == MPI_SUCCESS)
        MPII_Request_set_copies(request, &s->held->copies);
    else
        held_drop(&s->held->copies);
}
