/*
 * Start and stop of the collectives, and the barrier.
 */
#include "mpi/coll/coll.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/coll/alg/alg.h"
#include "mpi/coll/coll_state.h"
#include "mpi/coll/sched.h"
#include "mpi/coll/select.h"
#include "mpi/coll/shm/coll_shm.h"
#include "util/cfg.h"
#include "util/log.h"

struct dm_coll_state dm_coll_state;

int dm_coll_settings(void)
{
    return dm_coll_choices_make(dm_cfg()->coll, dm_cfg()->coll_file, NULL, &dm_coll_state.all,
                                dm_coll_state.rows);
}

int dm_coll_choose(const struct dm_tune_rail *tuned, uint32_t *hash_p)
{
    struct dm_coll_choice *old = dm_coll_state.all;
    int err = DM_OK;

    if (tuned != NULL)
        err = dm_coll_choices_make(dm_cfg()->coll, dm_cfg()->coll_file, tuned, &dm_coll_state.all,
                                   dm_coll_state.rows);
    if (err == DM_OK && tuned != NULL) {
        free(old);
    } else if (err != DM_OK && strcmp(dm_cfg()->tune, "auto") == 0) {
        if (dm_world.rank == 0)
            dm_log_warn("%s; no algorithm is taken from the file", dm_err_detail());
        err = DM_OK;
    }
    *hash_p = dm_coll_choices_hash((const struct dm_coll_choice *const *)dm_coll_state.rows);
    return err;
}

void dm_coll_forget(void)
{
    free(dm_coll_state.all);
    dm_coll_state = (struct dm_coll_state){0};
}

int dm_coll_start(void)
{
    dm_coll_state.byte = dm_type_get(MPI_BYTE);
    dm_coll_state.explains = dm_cfg()->explain && dm_world.rank == 0;
    dm_sched_start();
    dm_coll_shm_start();
    return DM_OK;
}

void dm_coll_stop(void)
{
    dm_sched_stop();
    dm_coll_shm_stop();
    free(dm_coll_state.spare);
    dm_coll_state.spare = NULL;
    dm_coll_state.spare_len = 0;
}

int dm_coll_barrier_run(struct dm_comm *comm, struct dm_coll_how how)
{
    static const struct dm_coll_args none;

    if (dm_coll_is_alone(comm))
        return dm_coll_nothing(comm, how);
    return dm_coll_run(DM_COLL_BARRIER, 0, &none, comm, how);
}

int dm_coll_or_init(uint32_t *words, size_t n, struct dm_comm *comm, void (*done)(void *arg),
                    void *arg, struct dm_req **req_p)
{
    struct dm_coll_args a = {.sbuf = words,
                             .rbuf = words,
                             .rcount = n,
                             .rtype = dm_type_get(MPI_UINT32_T),
                             .op = dm_op_get(MPI_BOR),
                             .is_in_place = true};
    int err;

    if (comm->remote != NULL)
        err = dm_coll_run_alg(dm_coll_inter_or, &a, comm, dm_coll_persistent(NULL, req_p));
    else
        err = dm_coll_run(DM_COLL_ALLREDUCE, n * sizeof(*words), &a, comm,
                          dm_coll_persistent(NULL, req_p));
    if (err == DM_OK)
        dm_sched_watch(*req_p, done, arg);
    return err;
}
