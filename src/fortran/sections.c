/*
 * Sections of arrays as buffers of mpi_f08 (MPI-4.0 section 19.1.12): TYPE(*), DIMENSION(..) is a
 * descriptor of C and Fortran (Fortran 2018, 18.5).
 */
#include "fortran/fortran.h"

#include <stdio.h>
#include <string.h>

/* The last dimension of an assumed-size array has no extent: it is contiguous. */
static bool is_assumed_size(const CFI_cdesc_t *d)
{
    return d->rank > 0 && d->dim[d->rank - 1].extent < 0;
}

static bool section_is_contiguous(const CFI_cdesc_t *d)
{
    CFI_index_t step = (CFI_index_t)d->elem_len;
    bool is_dense = true;
    int i;

    if (is_assumed_size(d))
        return true;
    for (i = 0; i < d->rank; i++) {
        if (d->dim[i].extent == 0)
            return true;
        if (d->dim[i].extent > 1 && d->dim[i].sm != step)
            is_dense = false;
        step *= d->dim[i].extent;
    }
    return is_dense;
}

static size_t n_elements(const CFI_cdesc_t *d, int rank)
{
    size_t n = 1;
    int i;

    for (i = 0; i < rank; i++)
        n *= (size_t)d->dim[i].extent;
    return n;
}

struct dm_f_section dm_f_section_address(const CFI_cdesc_t *section)
{
    return (struct dm_f_section){.address = section->base_addr};
}

struct dm_f_section dm_f_section_refuse(const CFI_cdesc_t *section)
{
    return (struct dm_f_section){.address = section->base_addr,
                                 .is_refused = !section_is_contiguous(section)};
}

/* ---- copies ---- */

/* Copy the dimensions below rank between memory and the place at *copy, which advances. */
static void copy_elements(const CFI_cdesc_t *d, int rank, char *memory, char **copy, bool is_back)
{
    CFI_index_t i;

    if (rank == 0) {
        memcpy(is_back ? memory : *copy, is_back ? *copy : memory, d->elem_len);
        *copy += d->elem_len;
        return;
    }
    for (i = 0; i < d->dim[rank - 1].extent; i++)
        copy_elements(d, rank - 1, memory + i * d->dim[rank - 1].sm, copy, is_back);
}

struct dm_f_section dm_f_section_copy(const CFI_cdesc_t *section)
{
    struct dm_f_section s = {.address = section->base_addr};
    char *end;

    if (dm_likely(section_is_contiguous(section)))
        return s;
    s.section = section;
    s.address = malloc(n_elements(section, section->rank) * section->elem_len);
    end = s.address;
    if (end != NULL)
        copy_elements(section, section->rank, section->base_addr, &end, false);
    return s;
}

/* ---- datatypes ---- */

/* Element type of the section: of the program's type, or bytes. False when elements cannot be filled. */
static bool element_type(const CFI_cdesc_t *d, MPI_Datatype type, MPI_Count size, MPI_Datatype *new)
{
    MPI_Count len = (MPI_Count)d->elem_len;

    if (size > 0 && len % size == 0)
        return PMPI_Type_contiguous_c(len / size, type, new) == MPI_SUCCESS;
    return PMPI_Type_contiguous_c(len, MPI_BYTE, new) == MPI_SUCCESS;
}

/* A type of the first n elements below dimension rank, in the order of the array. */
static bool first_elements(const CFI_cdesc_t *d, int rank, MPI_Count n, MPI_Datatype element,
                           MPI_Datatype *new)
{
    MPI_Datatype slice, parts[2];
    MPI_Count per_slice, n_slices, lengths[2] = {1, 1}, places[2] = {0};
    bool is_good;

    if (rank == 0)
        return PMPI_Type_dup(element, new) == MPI_SUCCESS;
    per_slice = (MPI_Count)n_elements(d, rank - 1);
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

/* Room for a section of n elements: more than it has is the program's mistake. */
static bool fills_elements(const CFI_cdesc_t *d, MPI_Count bytes)
{
    MPI_Count len = (MPI_Count)d->elem_len;

    return bytes % len == 0 && bytes / len <= (MPI_Count)n_elements(d, d->rank);
}

struct dm_f_section dm_f_section_type(const CFI_cdesc_t *section, MPI_Count count,
                                      MPI_Datatype type)
{
    struct dm_f_section s = {.address = section->base_addr, .type = type};
    MPI_Datatype element;
    MPI_Count size;

    if (dm_likely(section_is_contiguous(section)) || count <= 0 || type == MPI_DATATYPE_NULL)
        return s;
    s.is_refused = true;
    if (!is_without_holes(type, &size) || size == 0 || !fills_elements(section, count * size) ||
        !element_type(section, type, size, &element))
        return s;
    if (first_elements(section, section->rank, count * size / (MPI_Count)section->elem_len, element,
                       &s.type)) {
        s.is_refused = false;
        s.is_type = true;
        PMPI_Type_commit(&s.type);
    }
    PMPI_Type_free(&element);
    return s;
}

/* ---- the end ---- */

void dm_f_section_end(struct dm_f_section *s, bool has_changed)
{
    char *copy = s->address;

    if (s->is_type)
        PMPI_Type_free(&s->type);
    if (s->section == NULL)
        return;
    if (has_changed && copy != NULL)
        copy_elements(s->section, s->section->rank, s->section->base_addr, &copy, true);
    free(s->address);
}

void dm_f_refuse(const char *function, MPI_Fint *ierror)
{
    char text[MPI_MAX_ERROR_STRING];
    int code = MPI_ERR_BUFFER;

    snprintf(text, sizeof(text),
             "%s: this section of an array is not contiguous, and its elements cannot be described "
             "for a call that goes on after its return; pass a contiguous array",
             function);
    if (PMPI_Add_error_code(MPI_ERR_BUFFER, &code) == MPI_SUCCESS)
        PMPI_Add_error_string(code, text);
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    dm_f_return(ierror, code);
}
