/*
 * Arguments of Fortran for C: constants that are addresses, texts, indices.
 */
#include "fortran/fortran.h"

#include <string.h>

/* Aligned as gfortran aligns them. */
DM_EXPORT DM_ALIGNED(16) struct dm_f_priv1 mpipriv1_;
DM_EXPORT DM_ALIGNED(16) struct dm_f_priv2 mpipriv2_;
DM_EXPORT DM_ALIGNED(16) struct dm_f_privc mpiprivc_;
DM_EXPORT DM_ALIGNED(16) MPI_Fint mpifcmb5_;
DM_EXPORT DM_ALIGNED(16) MPI_Fint mpifcmb9_;
DM_EXPORT DM_ALIGNED(16) MPI_Fint datumpriv_;

/* Those of MPICH's mpi_f08, variables of a module, where a library that was compiled with it is there. */
extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_unweighted DM_WEAK;
extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_weights_empty DM_WEAK;
extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_errcodes_ignore DM_WEAK;
extern char __mpi_f08_link_constants_MOD_mpi_argv_null DM_WEAK;
extern char __mpi_f08_link_constants_MOD_mpi_argvs_null DM_WEAK;
#define IS_MPICHS(p, name)                                                                         \
    ((p) != NULL && (const void *)(p) == &__mpi_f08_link_constants_MOD_##name)

/* Tell libmpi.so where Fortran's constants are, for conversions of statuses (MPI-4.0 section 19.3.5). */
static DM_CONSTRUCTOR void set_constants(void)
{
    MPI_F_STATUS_IGNORE = mpipriv1_.status_ignore;
    MPI_F_STATUSES_IGNORE = mpipriv2_.statuses_ignore;
    MPI_F08_STATUS_IGNORE = (MPI_F08_status *)mpipriv1_.status_ignore;
    MPI_F08_STATUSES_IGNORE = (MPI_F08_status *)mpipriv2_.statuses_ignore;
}

void dm_f_indices(int err, int n, MPI_Fint *indices)
{
    int class = err, i;

    if (err != MPI_SUCCESS)
        MPI_Error_class(err, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_IN_STATUS)
        return;
    for (i = 0; i < n; i++)
        indices[i] = dm_f_index(indices[i]);
}

int *dm_f_weights(const int *weights)
{
    if (weights == &mpifcmb5_ || IS_MPICHS(weights, mpi_unweighted))
        return MPI_UNWEIGHTED;
    if (weights == &mpifcmb9_ || IS_MPICHS(weights, mpi_weights_empty))
        return MPI_WEIGHTS_EMPTY;
    return (int *)(uintptr_t)weights;
}

int *dm_f_errcodes(int *errcodes)
{
    bool is_ignored =
        errcodes == &mpipriv2_.errcodes_ignore || IS_MPICHS(errcodes, mpi_errcodes_ignore);

    return is_ignored ? MPI_ERRCODES_IGNORE : errcodes;
}

bool dm_f_is_argv_null(const void *argv)
{
    return argv == &mpiprivc_.argv_null || IS_MPICHS(argv, mpi_argv_null);
}

bool dm_f_is_argvs_null(const void *argvs)
{
    return argvs == &mpiprivc_.argvs_null || IS_MPICHS(argvs, mpi_argvs_null);
}

char *dm_f_text(const char *text, size_t len, bool is_both)
{
    char *copy;

    while (len > 0 && text[len - 1] == ' ')
        len--;
    while (is_both && len > 0 && *text == ' ') {
        text++;
        len--;
    }
    copy = malloc(len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void dm_f_put_text(char *to, size_t len, const char *text, MPI_Fint *shown_len)
{
    size_t n = strlen(text);

    if (n > len)
        n = len;
    memcpy(to, text, n);
    memset(to + n, ' ', len - n);
    if (shown_len != NULL)
        *shown_len = (MPI_Fint)n;
}
