/*
 * Descriptors of sections; those that are copied for the time of a call, and those that no call can take.
 */
#include "fortran/section.h"

#include <stdio.h>
#include <string.h>

/* The last dimension of an assumed-size array has no extent: it is contiguous. */
static bool is_assumed_size(const CFI_cdesc_t *d)
{
    return d->rank > 0 && d->dim[d->rank - 1].extent < 0;
}

bool dm_f_is_contiguous(const CFI_cdesc_t *d)
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

size_t dm_f_n_elements(const CFI_cdesc_t *d, int rank)
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

struct dm_f_section dm_f_section_memory(const CFI_cdesc_t *section)
{
    struct dm_f_section s = {.address = section->base_addr};

    if (!dm_f_is_contiguous(section))
        s.why = "memory that is given to MPI must be simply contiguous";
    return s;
}

struct dm_f_section dm_f_section_first(const CFI_cdesc_t *section, MPI_Datatype type)
{
    struct dm_f_section s = {.address = section->base_addr};
    MPI_Count size;

    if (!dm_f_is_contiguous(section) && PMPI_Type_size_c(type, &size) == MPI_SUCCESS &&
        size > (MPI_Count)section->elem_len)
        s.why = "the datatype is longer than an element of the array";
    return s;
}

/* ---- copies ---- */

void dm_f_copy_elements(const CFI_cdesc_t *d, int rank, char *memory, char **copy, bool is_back)
{
    CFI_index_t i;

    if (rank == 0) {
        memcpy(is_back ? memory : *copy, is_back ? *copy : memory, d->elem_len);
        *copy += d->elem_len;
        return;
    }
    for (i = 0; i < d->dim[rank - 1].extent; i++)
        dm_f_copy_elements(d, rank - 1, memory + i * d->dim[rank - 1].sm, copy, is_back);
}

struct dm_f_section dm_f_section_copy(const CFI_cdesc_t *section)
{
    struct dm_f_section s = {.address = section->base_addr};
    char *end;

    if (dm_likely(dm_f_is_contiguous(section)))
        return s;
    s.section = section;
    s.address = malloc(dm_f_n_elements(section, section->rank) * section->elem_len);
    end = s.address;
    if (end != NULL)
        dm_f_copy_elements(section, section->rank, section->base_addr, &end, false);
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
        dm_f_copy_elements(s->section, s->section->rank, s->section->base_addr, &copy, true);
    free(s->address);
}

/* Is it the first time that function says something? Names are those of the generated calls. */
static bool is_first(const char *function)
{
    static const char *said[32];
    size_t i = 0;

    while (i < sizeof(said) / sizeof(said[0]) && said[i] != NULL && said[i] != function)
        i++;
    if (i == sizeof(said) / sizeof(said[0]) || said[i] == function)
        return false;
    said[i] = function;
    return true;
}

void dm_f_refuse(const char *function, const char *why, MPI_Fint *ierror)
{
    char text[MPI_MAX_ERROR_STRING];
    int code = MPI_ERR_BUFFER;

    snprintf(text, sizeof(text),
             "%s: this section of an array is not contiguous, and %s; pass a contiguous array",
             function, why);
    if (PMPI_Add_error_code(MPI_ERR_BUFFER, &code) == MPI_SUCCESS)
        PMPI_Add_error_string(code, text);
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    /* Programs that look at no error code are to see it, too. */
    if (is_first(function))
        MPII_Warn(text);
    dm_f_return(ierror, code);
}
