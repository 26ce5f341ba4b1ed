/*
 * Bindings for Fortran on top of the public interface, a library of their own (libdatum_mpifort.so.0):
 * what the generated functions (c.awk) and those that are written by hand share. Handles are the same
 * integers in both languages, logicals are 0 and 1, texts have their length behind all arguments and are
 * padded with blanks (MPI-4.0 chapter 19).
 */
#ifndef DM_FORTRAN_FORTRAN_H
#define DM_FORTRAN_FORTRAN_H

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/hooks.h"
#include "mpi.h"
#include "util/copies.h"
#include "util/port.h"

/* Longer than every text of MPI. */
#define DM_F_TEXT (MPI_MAX_LIBRARY_VERSION_STRING + 1)

/* The other names of a function that is written by hand: all interfaces have it. */
#define DM_F_NAMES(name)                                                                           \
    DM_ALSO_AS(pmpi_##name##_, mpi_##name##_);                                                     \
    DM_ALSO_AS(pmpi_##name##_, mpi_##name##_f08_);                                                 \
    DM_ALSO_AS(pmpi_##name##_, pmpi_##name##_f08_)

/* ---- arguments (arguments.c) ---- */

/*
 * The constants that are addresses: common blocks of mpif.h and the modules, which the linker joins with
 * these. They have MPICH's names, so that libraries that were compiled with its modules can be called.
 */
struct dm_f_priv1 {
    MPI_Fint bottom;
    MPI_Fint in_place;
    MPI_Fint status_ignore[MPI_F_STATUS_SIZE];
};
struct dm_f_priv2 {
    MPI_Fint statuses_ignore[MPI_F_STATUS_SIZE];
    MPI_Fint errcodes_ignore;
};
struct dm_f_privc {
    char argvs_null;
    char argv_null;
};
extern struct dm_f_priv1 mpipriv1_;
extern struct dm_f_priv2 mpipriv2_;
extern struct dm_f_privc mpiprivc_;
extern MPI_Fint mpifcmb5_;  /* MPI_UNWEIGHTED */
extern MPI_Fint mpifcmb9_;  /* MPI_WEIGHTS_EMPTY */
extern MPI_Fint datumpriv_; /* MPI_BUFFER_AUTOMATIC */

/*
 * The address that C knows: of a buffer, MPI_BUFFER_AUTOMATIC, MPI_BOTTOM, MPI_IN_PLACE. The last ones, here and below, are constants of
 * MPICH's mpi_f08, whose procedures have the same names for the linker.
 */
static inline void *dm_f_address(const void *buf)
{
    if (dm_unlikely(buf == &mpipriv1_.bottom || buf == &MPIR_F08_MPI_BOTTOM))
        return MPI_BOTTOM;
    if (dm_unlikely(buf == &mpipriv1_.in_place || buf == &MPIR_F08_MPI_IN_PLACE))
        return MPI_IN_PLACE;
    if (dm_unlikely(buf == &datumpriv_))
        return MPI_BUFFER_AUTOMATIC;
    return (void *)(uintptr_t)buf;
}

static inline MPI_Status *dm_f_status(MPI_Status *status)
{
    const void *p = status;

    return p == mpipriv1_.status_ignore || p == &MPIR_F08_MPI_STATUS_IGNORE_OBJ ? MPI_STATUS_IGNORE
                                                                                : status;
}

static inline MPI_Status *dm_f_statuses(MPI_Status *statuses)
{
    const void *p = statuses;

    return p == mpipriv2_.statuses_ignore || p == MPIR_F08_MPI_STATUSES_IGNORE_OBJ
               ? MPI_STATUSES_IGNORE
               : statuses;
}

/* mpi_f08 lets the error code be left out. */
static inline void dm_f_return(MPI_Fint *ierror, int err)
{
    if (ierror != NULL)
        *ierror = err;
}

/* An index of C as one of Fortran; MPI_UNDEFINED stays. */
static inline MPI_Fint dm_f_index(int index)
{
    return index >= 0 ? index + 1 : index;
}

/* The same of n indices that a call has filled in, if err says that it has. */
void dm_f_indices(int err, int n, MPI_Fint *indices);
/* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY of C for those of Fortran. */
int *dm_f_weights(const int *weights);
/* MPI_ERRCODES_IGNORE of C for that of Fortran. */
int *dm_f_errcodes(int *errcodes);
/* Are they MPI_ARGV_NULL and MPI_ARGVS_NULL of Fortran? */
bool dm_f_is_argv_null(const void *argv);
bool dm_f_is_argvs_null(const void *argvs);
/*
 * A copy of a text without the blanks at its end, and at its start if is_both. The caller frees it; NULL,
 * which calls complain of, when there is no memory.
 */
char *dm_f_text(const char *text, size_t len, bool is_both);
/* Copy a text to len characters padded with blanks; *shown_len (may be NULL) is at most len then. */
void dm_f_put_text(char *to, size_t len, const char *text, MPI_Fint *shown_len);

#endif
