/*
 * Counters of the library, as MPI_T tells them. MPI_T_init_thread has been called.
 */
#ifndef TESTS_MP_COUNTER_H
#define TESTS_MP_COUNTER_H

#include <string.h>

#include "mp_test.h"

/* A counter of the library whose name ends with that; -1: there is none. */
static inline long counter(const char *end)
{
    unsigned long long value = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int n = 0, at = -1, count;

    MUST(MPI_T_pvar_get_num(&n));
    for (int i = 0; i < n && at < 0; i++) {
        char name[200];
        int len = sizeof(name), desc_len = 0, verbosity, class, bind, readonly, continuous, atomic;
        MPI_T_enum enumtype;
        MPI_Datatype type;

        MUST(MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &type, &enumtype, NULL,
                                 &desc_len, &bind, &readonly, &continuous, &atomic));
        if (strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0)
            at = i;
    }
    if (at < 0)
        return -1;
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &count));
    MUST(MPI_T_pvar_read(session, handle, &value));
    MUST(MPI_T_pvar_handle_free(session, &handle));
    MUST(MPI_T_pvar_session_free(&session));
    return (long)value;
}

#endif
