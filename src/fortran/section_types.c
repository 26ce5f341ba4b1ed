/*
 * Sections that are described by a datatype: those of nonblocking point-to-point calls, one-sided ones and files.
 *
 * To the program the section is contiguous, and elements of its datatype lie in that. A datatype without holes whose
 * elements fill those of the array needs a few nested vectors; any other is taken apart into basic types, each of which
 * is found in the array.
 */
#include "fortran/section.h"

#include <string.h>

static const char no_memory[] = "there is no memory for a datatype that describes it";
static const char too_short[] = "it has fewer bytes than count and datatype describe";

static MPI_Count section_bytes(const CFI_cdesc_t *d)
{
    return (MPI_Count)(dm_f_n_elements(d, d->rank) * d->elem_len);
}

/* Where element i is, relative to the first one. */
static MPI_Aint element_place(const CFI_cdesc_t *d, MPI_Count i)
{
    MPI_Aint place = 0;

    for (int k = 0; k < d->rank; k++) {
        place += i % d->dim[k].extent * d->dim[k].sm;
        i /= d->dim[k].extent;
    }
    return place;
}

/* ---- few vectors ---- */

/* A type of the first n elements below dimension rank, in the order of the array. */
static bool first_elements(const CFI_cdesc_t *d, int rank, MPI_Count n, MPI_Datatype element,
                           MPI_Datatype *new)
{
    MPI_Datatype slice, parts[2];
    MPI_Count per_slice, n_slices, lengths[2] = {1, 1}, places[2] = {0};
    bool is_good;

    if (rank == 0)
        return PMPI_Type_dup(element, new) == MPI_SUCCESS;
    per_slice = (MPI_Count)dm_f_n_elements(d, rank - 1);
    n_slices = n / per_slice;
    if (!first_elements(d, rank - 1, n_slices > 0 ? per_slice : n, element, &slice))
        return false;
    is_good = PMPI_Type_create_hvector_c(n_slices > 0 ? n_slices : 1, 1, d->dim[rank - 1].sm, slice,
                                         &parts[0]) == MPI_SUCCESS;
    PMPI_Type_free(&slice);
    if (!is_good || n_slices == 0 || n % per_slice == 0) {
        *new = parts[0];
        return is_good;
    }
    places[1] = n_slices * d->dim[rank - 1].sm;
    is_good = first_elements(d, rank - 1, n % per_slice, element, &parts[1]);
    if (is_good) {
        is_good = PMPI_Type_create_struct_c(2, lengths, places, parts, new) == MPI_SUCCESS;
        PMPI_Type_free(&parts[1]);
    }
    PMPI_Type_free(&parts[0]);
    return is_good;
}

/* Has a type no holes? Its size in bytes. */
static bool is_without_holes(MPI_Datatype type, MPI_Count *size)
{
    MPI_Count lb, extent, true_lb, true_extent;

    return PMPI_Type_size_c(type, size) == MPI_SUCCESS &&
           PMPI_Type_get_extent_c(type, &lb, &extent) == MPI_SUCCESS &&
           PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent) == MPI_SUCCESS && lb == 0 &&
           true_lb == 0 && extent == *size && true_extent == *size;
}

/* Do whole elements of type make up those of the array, and count of them the first *n of these? */
static bool fills_elements(const CFI_cdesc_t *d, MPI_Count count, MPI_Datatype type, MPI_Count *n)
{
    MPI_Count size, len = (MPI_Count)d->elem_len;

    if (!is_without_holes(type, &size) || size == 0 || len % size != 0 || count * size % len != 0)
        return false;
    *n = count * size / len;
    return true;
}

static bool type_of_vectors(const CFI_cdesc_t *d, MPI_Count n, MPI_Datatype type, MPI_Datatype *new)
{
    MPI_Datatype element;
    MPI_Count size;
    bool is_good;

    if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS ||
        PMPI_Type_contiguous_c((MPI_Count)d->elem_len / size, type, &element) != MPI_SUCCESS)
        return false;
    is_good = first_elements(d, d->rank, n, element, new);
    PMPI_Type_free(&element);
    return is_good;
}

/* ---- basic types, one by one ---- */

struct piece {
    MPI_Count place;
    MPI_Count length; /* elements of type */
    MPI_Datatype type;
    MPI_Count extent;
};

struct pieces {
    const CFI_cdesc_t *section;
    struct piece *all;
    size_t n, space;
    const char *why; /* not NULL: it cannot be done */
};

static void pieces_add(struct pieces *p, struct piece piece)
{
    struct piece *last = p->n > 0 ? &p->all[p->n - 1] : NULL;

    if (last != NULL && last->type == piece.type &&
        piece.place == last->place + last->length * last->extent) {
        last->length += piece.length;
        return;
    }
    if (p->n == p->space) {
        size_t space = p->space > 0 ? 2 * p->space : 64;
        struct piece *more = realloc(p->all, space * sizeof(*more));

        if (more == NULL) {
            p->why = no_memory;
            return;
        }
        p->all = more;
        p->space = space;
    }
    p->all[p->n++] = piece;
}

/* Bytes that lie in several elements of the array. */
static void pieces_add_bytes(struct pieces *p, MPI_Count offset, MPI_Count n)
{
    MPI_Count len = (MPI_Count)p->section->elem_len;

    while (n > 0 && p->why == NULL) {
        MPI_Count within = offset % len, part = len - within < n ? len - within : n;

        pieces_add(p, (struct piece){.place = element_place(p->section, offset / len) + within,
                                     .length = part,
                                     .type = MPI_BYTE,
                                     .extent = 1});
        offset += part;
        n -= part;
    }
}

/* A run of basic types: pairs may have a gap inside. */
static int pieces_add_run(void *arg, MPI_Aint offset, MPI_Count n, MPI_Datatype basic,
                          MPI_Aint extent, MPI_Aint true_len)
{
    struct pieces *p = arg;
    MPI_Count len = (MPI_Count)p->section->elem_len;

    for (MPI_Count i = 0; i < n && p->why == NULL; i++, offset += extent) {
        MPI_Count within = offset % len;

        if (offset < 0 || offset + true_len > section_bytes(p->section))
            p->why = too_short;
        else if (within + true_len > len)
            pieces_add_bytes(p, offset, true_len);
        else
            pieces_add(p, (struct piece){.place = element_place(p->section, offset / len) + within,
                                         .length = 1,
                                         .type = basic,
                                         .extent = extent});
    }
    return p->why != NULL ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static bool type_of_pieces(struct pieces *p, MPI_Datatype *new)
{
    MPI_Count *lengths = malloc((p->n + 1) * sizeof(*lengths));
    MPI_Count *places = malloc((p->n + 1) * sizeof(*places));
    MPI_Datatype *types = malloc((p->n + 1) * sizeof(*types));
    bool is_good = lengths != NULL && places != NULL && types != NULL;
    bool is_one = true;

    for (size_t i = 0; i < p->n && is_good; i++) {
        lengths[i] = p->all[i].length;
        places[i] = p->all[i].place;
        types[i] = p->all[i].type;
        is_one = is_one && types[i] == types[0];
    }
    if (is_good && is_one)
        is_good = PMPI_Type_create_hindexed_c((MPI_Count)p->n, lengths, places,
                                              p->n > 0 ? types[0] : MPI_BYTE, new) == MPI_SUCCESS;
    else if (is_good)
        is_good =
            PMPI_Type_create_struct_c((MPI_Count)p->n, lengths, places, types, new) == MPI_SUCCESS;
    free(lengths);
    free(places);
    free(types);
    return is_good;
}

/* A type that is not committed is for the call to complain of: *is_left. */
static const char *type_taken_apart(const CFI_cdesc_t *section, MPI_Count count, MPI_Datatype type,
                                    MPI_Datatype *new, bool *is_left)
{
    struct pieces p = {.section = section};
    int err = MPII_Type_each_run(count, type, pieces_add_run, &p);

    *is_left = err == MPI_ERR_TYPE && p.why == NULL;
    if (!*is_left && p.why == NULL && !type_of_pieces(&p, new))
        p.why = no_memory;
    free(p.all);
    return p.why;
}

/* ---- sections ---- */

struct dm_f_section dm_f_section_type(const CFI_cdesc_t *section, MPI_Count count,
                                      MPI_Datatype type)
{
    struct dm_f_section s = {.address = section->base_addr, .type = type};
    MPI_Count n = 0;
    bool is_left = false;

    if (dm_likely(dm_f_is_contiguous(section)) || count <= 0 || type == MPI_DATATYPE_NULL)
        return s;
    if (!fills_elements(section, count, type, &n))
        s.why = type_taken_apart(section, count, type, &s.type, &is_left);
    else if (n * (MPI_Count)section->elem_len > section_bytes(section))
        s.why = too_short;
    else if (!type_of_vectors(section, n, type, &s.type))
        s.why = no_memory;
    s.is_type = s.why == NULL && !is_left;
    if (s.is_type)
        PMPI_Type_commit(&s.type);
    return s;
}

/* Does each partition, n elements of the array, lie like the first one, at *step from the one before it? */
static bool partitions_lie_alike(const CFI_cdesc_t *d, int partitions, MPI_Count n, MPI_Aint *step)
{
    *step = element_place(d, n);
    for (int k = 1; k < partitions; k++)
        for (MPI_Count i = 0; i < n; i++)
            if (element_place(d, k * n + i) != element_place(d, i) + k * *step)
                return false;
    return true;
}

struct dm_f_section dm_f_section_parts(const CFI_cdesc_t *section, int partitions, MPI_Count count,
                                       MPI_Datatype type)
{
    struct dm_f_section s = {.address = section->base_addr, .type = type};
    MPI_Datatype one;
    MPI_Aint step;
    MPI_Count n = 0;

    if (partitions < 2)
        return dm_f_section_type(section, count, type);
    if (dm_likely(dm_f_is_contiguous(section)) || count <= 0 || type == MPI_DATATYPE_NULL)
        return s;
    if (!fills_elements(section, count, type, &n))
        s.why = "partitions that do not fill elements of the array, or have holes, cannot be in it";
    else if (partitions * n * (MPI_Count)section->elem_len > section_bytes(section))
        s.why = too_short;
    else if (!partitions_lie_alike(section, partitions, n, &step))
        s.why = "its partitions do not lie alike in it";
    else if (!type_of_vectors(section, n, type, &one))
        s.why = no_memory;
    if (s.why != NULL)
        return s;
    s.is_type = PMPI_Type_create_resized_c(one, 0, step, &s.type) == MPI_SUCCESS;
    PMPI_Type_free(&one);
    if (s.is_type)
        PMPI_Type_commit(&s.type);
    else
        s.why = no_memory;
    return s;
}
