/*
 * Functions whose arguments in Fortran are others than in C: info values, lists of texts, buffers that
 * come back, values of functions, sizes of variables, functions that MPI-3.0 removed.
 */
#include "fortran/fortran.h"

#include <string.h>

static char *new_text(MPI_Fint len)
{
    return calloc((size_t)(len > 0 ? len : 0) + 1, 1);
}

/* ---- texts whose room is told apart from their variable (MPI-4.0 section 10) ---- */

DM_EXPORT void pmpi_info_get_(const MPI_Fint *info, const char *key, const MPI_Fint *valuelen,
                              char *value, MPI_Fint *flag, MPI_Fint *ierror, size_t key_len,
                              size_t value_len)
{
    char *key_c = dm_f_text(key, key_len, true), *value_c = new_text(*valuelen);
    int err = MPI_Info_get(*info, key_c, *valuelen, value_c, flag);

    if (err == MPI_SUCCESS && *flag)
        dm_f_put_text(value, value_len, value_c, NULL);
    free(key_c);
    free(value_c);
    dm_f_return(ierror, err);
}
DM_F_NAMES(info_get);

/* The lengths of C have one more for the null character. */
DM_EXPORT void pmpi_info_get_string_(const MPI_Fint *info, const char *key, MPI_Fint *buflen,
                                     char *value, MPI_Fint *flag, MPI_Fint *ierror, size_t key_len,
                                     size_t value_len)
{
    char *key_c = dm_f_text(key, key_len, true), *value_c = new_text(*buflen);
    int len = *buflen > 0 ? *buflen + 1 : 0;
    int err = MPI_Info_get_string(*info, key_c, &len, value_c, flag);

    if (err == MPI_SUCCESS && *flag) {
        if (*buflen > 0)
            dm_f_put_text(value, value_len, value_c, NULL);
        *buflen = len > 0 ? len - 1 : 0;
    }
    free(key_c);
    free(value_c);
    dm_f_return(ierror, err);
}
DM_F_NAMES(info_get_string);

DM_EXPORT void pmpi_session_get_nth_pset_(const MPI_Fint *session, const MPI_Fint *info,
                                          const MPI_Fint *n, MPI_Fint *pset_len, char *pset_name,
                                          MPI_Fint *ierror, size_t name_len)
{
    char *name_c = new_text(*pset_len);
    int len = *pset_len > 0 ? *pset_len + 1 : 0;
    int err = MPI_Session_get_nth_pset(*session, *info, *n, &len, name_c);

    if (err == MPI_SUCCESS) {
        if (*pset_len > 0)
            dm_f_put_text(pset_name, name_len, name_c, NULL);
        *pset_len = len > 0 ? len - 1 : 0;
    }
    free(name_c);
    dm_f_return(ierror, err);
}
DM_F_NAMES(session_get_nth_pset);

/* ---- processes: arguments are an array of texts that ends with a blank one ---- */

static bool text_is_blank(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == ' ')
        len--;
    return len == 0;
}

static void text_list_free(char **texts)
{
    size_t i;

    for (i = 0; texts != NULL && texts[i] != NULL; i++)
        free(texts[i]);
    free(texts);
}

/* A list of C. Each text has len characters and begins step behind the one before; NULL without memory. */
static char **text_list_new(const char *texts, size_t len, size_t step)
{
    size_t n = 0, i;
    char **list;

    while (!text_is_blank(texts + n * step, len))
        n++;
    list = calloc(n + 1, sizeof(*list));
    for (i = 0; list != NULL && i < n; i++) {
        list[i] = dm_f_text(texts + i * step, len, true);
        if (list[i] == NULL) {
            text_list_free(list);
            return NULL;
        }
    }
    return list;
}

/* What only the root's arguments say is not looked at elsewhere. */
static bool is_root_of(MPI_Comm comm, int root)
{
    int rank = -1;

    return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

DM_EXPORT void pmpi_comm_spawn_(const char *command, const char *argv, const MPI_Fint *maxprocs,
                                const MPI_Fint *info, const MPI_Fint *root, const MPI_Fint *comm,
                                MPI_Fint *intercomm, MPI_Fint *errcodes, MPI_Fint *ierror,
                                size_t command_len, size_t argv_len)
{
    bool is_root = is_root_of(*comm, *root);
    char *command_c = is_root ? dm_f_text(command, command_len, true) : NULL;
    char **argv_c = MPI_ARGV_NULL;
    int err;

    if (is_root && !dm_f_is_argv_null(argv))
        argv_c = text_list_new(argv, argv_len, argv_len);
    err = MPI_Comm_spawn(command_c, argv_c, *maxprocs, *info, *root, *comm, intercomm,
                         dm_f_errcodes(errcodes));
    free(command_c);
    text_list_free(argv_c);
    dm_f_return(ierror, err);
}
DM_F_NAMES(comm_spawn);

static void text_lists_free(char ***lists, int n)
{
    int i;

    for (i = 0; lists != NULL && i < n; i++)
        text_list_free(lists[i]);
    free(lists);
}

/* The n commands' arguments: array_of_argv(n, *), the first index is the command's. */
static char ***text_lists_new(const char *texts, size_t len, int n)
{
    char ***lists = calloc((size_t)n + 1, sizeof(*lists));
    int i;

    for (i = 0; lists != NULL && i < n; i++)
        lists[i] = text_list_new(texts + (size_t)i * len, len, (size_t)n * len);
    return lists;
}

static char **commands_of(const char *texts, size_t len, int n)
{
    char **list = calloc((size_t)n + 1, sizeof(*list));
    int i;

    for (i = 0; list != NULL && i < n; i++)
        list[i] = dm_f_text(texts + (size_t)i * len, len, true);
    return list;
}

DM_EXPORT void pmpi_comm_spawn_multiple_(const MPI_Fint *count, const char *commands,
                                         const char *argvs, const MPI_Fint *maxprocs,
                                         const MPI_Fint *infos, const MPI_Fint *root,
                                         const MPI_Fint *comm, MPI_Fint *intercomm,
                                         MPI_Fint *errcodes, MPI_Fint *ierror, size_t command_len,
                                         size_t argv_len)
{
    int n = *count > 0 && is_root_of(*comm, *root) ? *count : 0, err;
    char **commands_c = NULL;
    char ***argvs_c = MPI_ARGVS_NULL;

    if (n > 0) {
        commands_c = commands_of(commands, command_len, n);
        if (!dm_f_is_argvs_null(argvs))
            argvs_c = text_lists_new(argvs, argv_len, n);
    }
    err = MPI_Comm_spawn_multiple(*count, commands_c, argvs_c, maxprocs, infos, *root, *comm,
                                  intercomm, dm_f_errcodes(errcodes));
    text_list_free(commands_c);
    text_lists_free(argvs_c, n);
    dm_f_return(ierror, err);
}
DM_F_NAMES(comm_spawn_multiple);

/* ---- buffers for buffered sends: only mpi_f08 gets their address ---- */

/* Fortran's own of MPI_BUFFER_AUTOMATIC. */
static void detached(int err, void *address, void **buffer)
{
    if (err == MPI_SUCCESS)
        *buffer = address == MPI_BUFFER_AUTOMATIC ? &datumpriv_ : address;
}

#define OF_PROCESS
#define OF_COMM    const MPI_Fint *comm,
#define OF_SESSION const MPI_Fint *session,

#define DETACH(lower, owner, c_args, call)                                                         \
    DM_EXPORT void pmpi_##lower##_(owner void *buffer, MPI_Fint *size, MPI_Fint *ierror)           \
    {                                                                                              \
        void *address;                                                                             \
                                                                                                   \
        (void)buffer;                                                                              \
        dm_f_return(ierror, call(c_args &address, size));                                          \
    }                                                                                              \
    DM_ALSO_AS(pmpi_##lower##_, mpi_##lower##_);                                                   \
    DM_EXPORT void pmpi_##lower##_f08_(owner void **buffer, MPI_Fint *size, MPI_Fint *ierror)      \
    {                                                                                              \
        void *address;                                                                             \
        int err = call(c_args & address, size);                                                    \
                                                                                                   \
        detached(err, address, buffer);                                                            \
        dm_f_return(ierror, err);                                                                  \
    }                                                                                              \
    DM_ALSO_AS(pmpi_##lower##_f08_, mpi_##lower##_f08_);                                           \
    DM_EXPORT void pmpi_##lower##_c_f08_(owner void **buffer, MPI_Count *size, MPI_Fint *ierror)   \
    {                                                                                              \
        void *address;                                                                             \
        int err = call##_c(c_args & address, size);                                                \
                                                                                                   \
        detached(err, address, buffer);                                                            \
        dm_f_return(ierror, err);                                                                  \
    }                                                                                              \
    DM_ALSO_AS(pmpi_##lower##_c_f08_, mpi_##lower##_c_f08_);

#define ARG_NONE
#define ARG_COMM    *comm,
#define ARG_SESSION *session,

DETACH(buffer_detach, OF_PROCESS, ARG_NONE, MPI_Buffer_detach)
DETACH(comm_detach_buffer, OF_COMM, ARG_COMM, MPI_Comm_detach_buffer)
DETACH(session_detach_buffer, OF_SESSION, ARG_SESSION, MPI_Session_detach_buffer)

/* ---- functions with a value ---- */

DM_EXPORT double pmpi_wtime_(void)
{
    return MPI_Wtime();
}
DM_ALSO_AS(pmpi_wtime_, mpi_wtime_);
DM_ALSO_AS(pmpi_wtime_, mpi_wtime_f08_);
DM_ALSO_AS(pmpi_wtime_, pmpi_wtime_f08_);

DM_EXPORT double pmpi_wtick_(void)
{
    return MPI_Wtick();
}
DM_ALSO_AS(pmpi_wtick_, mpi_wtick_);
DM_ALSO_AS(pmpi_wtick_, mpi_wtick_f08_);
DM_ALSO_AS(pmpi_wtick_, pmpi_wtick_f08_);

DM_EXPORT MPI_Aint pmpi_aint_add_(const MPI_Aint *base, const MPI_Aint *disp)
{
    return MPI_Aint_add(*base, *disp);
}
DM_ALSO_AS(pmpi_aint_add_, mpi_aint_add_);
DM_ALSO_AS(pmpi_aint_add_, mpi_aint_add_f08_);
DM_ALSO_AS(pmpi_aint_add_, pmpi_aint_add_f08_);

DM_EXPORT MPI_Aint pmpi_aint_diff_(const MPI_Aint *addr1, const MPI_Aint *addr2)
{
    return MPI_Aint_diff(*addr1, *addr2);
}
DM_ALSO_AS(pmpi_aint_diff_, mpi_aint_diff_);
DM_ALSO_AS(pmpi_aint_diff_, mpi_aint_diff_f08_);
DM_ALSO_AS(pmpi_aint_diff_, pmpi_aint_diff_f08_);

/* ---- of Fortran only ---- */

DM_EXPORT void pmpi_pcontrol_(const MPI_Fint *level)
{
    MPI_Pcontrol(*level);
}
DM_F_NAMES(pcontrol);

/* Nothing: that it is called keeps the compiler from moving the buffer (MPI-4.0 section 19.1.16). */
DM_EXPORT void pmpi_f_sync_reg_(const void *buf)
{
    (void)buf;
}
DM_ALSO_AS(pmpi_f_sync_reg_, mpi_f_sync_reg_);
DM_ALSO_AS(pmpi_f_sync_reg_, mpi_f_sync_reg_cdesc_);
DM_ALSO_AS(pmpi_f_sync_reg_, pmpi_f_sync_reg_cdesc_);
DM_ALSO_AS(pmpi_f_sync_reg_, mpi_f_sync_reg_f08ts_);
DM_ALSO_AS(pmpi_f_sync_reg_, pmpi_f_sync_reg_f08ts_);

DM_EXPORT void pmpi_sizeof_cdesc_(const CFI_cdesc_t *x, MPI_Fint *size, MPI_Fint *ierror)
{
    *size = (MPI_Fint)x->elem_len;
    dm_f_return(ierror, MPI_SUCCESS);
}
DM_ALSO_AS(pmpi_sizeof_cdesc_, mpi_sizeof_cdesc_);

/* ---- removed by MPI-3.0: addresses are integers of default size, and may not fit ---- */

static MPI_Fint as_old(MPI_Aint value)
{
    return (MPI_Fint)value;
}

DM_EXPORT void pmpi_address_(const void *location, MPI_Fint *address, MPI_Fint *ierror)
{
    MPI_Aint found = 0;
    int err = MPI_Get_address(dm_f_address(location), &found);

    *address = as_old(found);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_address_, mpi_address_);

DM_EXPORT void pmpi_type_extent_(const MPI_Fint *datatype, MPI_Fint *extent, MPI_Fint *ierror)
{
    MPI_Aint lb = 0, found = 0;
    int err = MPI_Type_get_extent(*datatype, &lb, &found);

    *extent = as_old(found);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_type_extent_, mpi_type_extent_);

DM_EXPORT void pmpi_type_lb_(const MPI_Fint *datatype, MPI_Fint *displacement, MPI_Fint *ierror)
{
    MPI_Aint lb = 0, extent = 0;
    int err = MPI_Type_get_extent(*datatype, &lb, &extent);

    *displacement = as_old(lb);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_type_lb_, mpi_type_lb_);

DM_EXPORT void pmpi_type_ub_(const MPI_Fint *datatype, MPI_Fint *displacement, MPI_Fint *ierror)
{
    MPI_Aint lb = 0, extent = 0;
    int err = MPI_Type_get_extent(*datatype, &lb, &extent);

    *displacement = as_old(lb + extent);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_type_ub_, mpi_type_ub_);

DM_EXPORT void pmpi_type_hvector_(const MPI_Fint *count, const MPI_Fint *blocklength,
                                  const MPI_Fint *stride, const MPI_Fint *oldtype,
                                  MPI_Fint *newtype, MPI_Fint *ierror)
{
    dm_f_return(ierror, MPI_Type_create_hvector(*count, *blocklength, *stride, *oldtype, newtype));
}
DM_ALSO_AS(pmpi_type_hvector_, mpi_type_hvector_);

/* NULL, which the call complains of, without memory. */
static MPI_Aint *wide_displacements(MPI_Fint count, const MPI_Fint *displacements)
{
    MPI_Aint *wide = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof(*wide));
    MPI_Fint i;

    for (i = 0; wide != NULL && i < count; i++)
        wide[i] = displacements[i];
    return wide;
}

DM_EXPORT void pmpi_type_hindexed_(const MPI_Fint *count, const MPI_Fint *blocklengths,
                                   const MPI_Fint *displacements, const MPI_Fint *oldtype,
                                   MPI_Fint *newtype, MPI_Fint *ierror)
{
    MPI_Aint *wide = wide_displacements(*count, displacements);

    dm_f_return(ierror, MPI_Type_create_hindexed(*count, blocklengths, wide, *oldtype, newtype));
    free(wide);
}
DM_ALSO_AS(pmpi_type_hindexed_, mpi_type_hindexed_);

DM_EXPORT void pmpi_type_struct_(const MPI_Fint *count, const MPI_Fint *blocklengths,
                                 const MPI_Fint *displacements, const MPI_Fint *types,
                                 MPI_Fint *newtype, MPI_Fint *ierror)
{
    MPI_Aint *wide = wide_displacements(*count, displacements);

    dm_f_return(ierror, MPI_Type_create_struct(*count, blocklengths, wide, types, newtype));
    free(wide);
}
DM_ALSO_AS(pmpi_type_struct_, mpi_type_struct_);
