/*
 * Hints of communicators (MPI-4.0 section 7.4.4). Those that are known are kept and shown; none of
 * them changes what is done: assertions that matching could use, which would save nothing here.
 */
#include "mpi/comm/comm.h"

#include <string.h>

static const char *const comm_hints[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
};

enum { N_COMM_HINTS = sizeof(comm_hints) / sizeof(comm_hints[0]) };

int dm_comm_set_info(struct dm_comm *comm, struct dm_info *info)
{
    int err = DM_OK;

    for (int i = 0; i < N_COMM_HINTS && err == DM_OK; i++) {
        const char *value = dm_info_value(info, comm_hints[i]);

        /* a value that means nothing is ignored like an unknown key */
        if (value == NULL || (strcmp(value, "true") != 0 && strcmp(value, "false") != 0))
            continue;
        if (comm->info == NULL)
            err = dm_info_create(&comm->info);
        if (err == DM_OK)
            err = dm_info_set(comm->info, comm_hints[i], value);
    }
    return err;
}

int dm_comm_get_info(struct dm_comm *comm, struct dm_info **info_p)
{
    int err = dm_info_create(info_p);

    for (int i = 0; i < N_COMM_HINTS && err == DM_OK; i++) {
        const char *value = dm_info_value(comm->info, comm_hints[i]);

        err = dm_info_set(*info_p, comm_hints[i], value != NULL ? value : "false");
    }
    if (err != DM_OK && *info_p != NULL) {
        dm_info_unref(*info_p);
        *info_p = NULL;
    }
    return err;
}
