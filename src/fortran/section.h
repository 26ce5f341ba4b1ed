/*
 * Sections of arrays, the buffers of mpi_f08 (MPI-4.0 section 19.1.12): TYPE(*), DIMENSION(..) is a descriptor of C
 * and Fortran (Fortran 2018, 18.5). What is not contiguous is copied, or described by a datatype.
 */
#ifndef DM_FORTRAN_SECTION_H
#define DM_FORTRAN_SECTION_H

#include "fortran/fortran.h"

struct dm_f_held; /* a copy that lives as long as a request (section_held.c) */

struct dm_f_section {
    void *address;              /* for C */
    MPI_Datatype type;          /* if is_type: one element of it is the section, or partition */
    const CFI_cdesc_t *section; /* not NULL: address is a contiguous copy of it */
    struct dm_f_held *held;     /* not NULL: so it is, for a request */
    const char *why;            /* not NULL: the call cannot take it, and this is why */
    bool is_type;
};

/* ---- which way: the functions that the generated ones begin with ---- */

/* The address of the first element. */
struct dm_f_section dm_f_section_address(const CFI_cdesc_t *section);
/* Memory that others use later: refused when it is not contiguous (sections 3.6, 12.2.1, 12.2.4). */
struct dm_f_section dm_f_section_memory(const CFI_cdesc_t *section);
/* One element of type: the first one of the array. Refused when it does not fit into that. */
struct dm_f_section dm_f_section_first(const CFI_cdesc_t *section, MPI_Datatype type);
/* A copy when it is not contiguous; address is NULL when there is no memory for it. */
struct dm_f_section dm_f_section_copy(const CFI_cdesc_t *section);
/*
 * A copy that stays until a request is complete; address is NULL when there is no memory for it. has_result: what
 * the operation has changed in the copy is changed in the section then, and nothing else.
 */
struct dm_f_section dm_f_section_hold(const CFI_cdesc_t *section, bool has_result);
/*
 * A type of those bytes of the section that count elements of type are. Refused when the section has not so many, or
 * there is no memory.
 */
struct dm_f_section dm_f_section_type(const CFI_cdesc_t *section, MPI_Count count,
                                      MPI_Datatype type);
/* The same of one of several partitions. Refused when they do not lie alike in the section. */
struct dm_f_section dm_f_section_parts(const CFI_cdesc_t *section, int partitions, MPI_Count count,
                                       MPI_Datatype type);

/* ---- and the end ---- */

/* The call is over: free what was made for it; has_changed: copy the elements back first. */
void dm_f_section_end(struct dm_f_section *s, bool has_changed);
/* The same of one that is held: it belongs to the request from here on, unless err says that there is none. */
void dm_f_section_keep(struct dm_f_section *s, int err, MPI_Request request);
/* Call MPI_COMM_SELF's error handler for a section that the function cannot take. */
void dm_f_refuse(const char *function, const char *why, MPI_Fint *ierror);

/* ---- descriptors ---- */

bool dm_f_is_contiguous(const CFI_cdesc_t *d);
/* Elements of the first rank dimensions. */
size_t dm_f_n_elements(const CFI_cdesc_t *d, int rank);
/* Copy the dimensions below rank between memory and the place at *copy, which advances. */
void dm_f_copy_elements(const CFI_cdesc_t *d, int rank, char *memory, char **copy, bool is_back);

#endif
