/*
 * The library for debuggers: the communicators of a process.
 */
#include "mqs/state.h"

#include <stdio.h>
#include <string.h>

static void comms_add(mqs_process_info *info, mqs_taddr_t at)
{
    struct dm_mqs_comm *comm =
        dm_mqs_more(info, info->comms, info->n_comms, &info->cap_comms, sizeof(*comm));
    mqs_taddr_t remote;

    if (comm == NULL)
        return;
    info->comms = comm;
    comm += info->n_comms++;
    *comm = (struct dm_mqs_comm){
        .at = at,
        .ctx = dm_mqs_word(info, dm_mqs_member(info, at, DM_AT_COMM_CTX)),
        .ctx_send = dm_mqs_word(info, dm_mqs_member(info, at, DM_AT_COMM_CTX_SEND)),
        .rank = (int32_t)dm_mqs_word(info, dm_mqs_member(info, at, DM_AT_COMM_RANK)),
        .size = (int32_t)dm_mqs_word(info, dm_mqs_member(info, at, DM_AT_COMM_SIZE)),
        .group = dm_mqs_pointer(info, dm_mqs_member(info, at, DM_AT_COMM_GROUP)),
    };
    remote = dm_mqs_pointer(info, dm_mqs_member(info, at, DM_AT_COMM_REMOTE));
    comm->peers = remote != 0 ? remote : comm->group;
    dm_mqs_fetch(info, dm_mqs_member(info, at, DM_AT_COMM_NAME),
                 info->queues.name_len < sizeof(comm->name) ? info->queues.name_len
                                                            : sizeof(comm->name),
                 comm->name);
    comm->name[sizeof(comm->name) - 1] = '\0';
    if (comm->name[0] == '\0')
        snprintf(comm->name, sizeof(comm->name), "communicator with context %u", comm->ctx);
}

int mqs_update_communicator_list(mqs_process *process)
{
    mqs_process_info *info = dm_mqs_process(process);
    mqs_taddr_t table = (mqs_taddr_t)info->queues.comms;
    mqs_taddr_t slots, at;
    uint32_t n;

    info->err = mqs_ok;
    info->n_comms = 0;
    if (!info->has_queues)
        return mqs_no_information;
    for (unsigned i = 0; i < info->queues.n_builtin; i++) {
        at = dm_mqs_pointer(info, dm_mqs_member(info, table, DM_AT_HANDLES_BUILTIN) +
                                      i * sizeof(mqs_taddr_t));
        if (at != 0)
            comms_add(info, at);
    }
    n = dm_mqs_word(info, dm_mqs_member(info, table, DM_AT_HANDLES_N));
    slots = dm_mqs_pointer(info, dm_mqs_member(info, table, DM_AT_HANDLES_SLOTS));
    for (uint32_t i = 0; i < n && i < DM_MQS_MOST && info->err == mqs_ok; i++) {
        at = dm_mqs_pointer(info, slots + i * sizeof(mqs_taddr_t));
        if (at % 2 == 0 && at != 0) /* odd: a free one */
            comms_add(info, at);
    }
    return info->err;
}

int mqs_setup_communicator_iterator(mqs_process *process)
{
    mqs_process_info *info = dm_mqs_process(process);

    info->at_comm = 0;
    return info->n_comms > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_next_communicator(mqs_process *process)
{
    mqs_process_info *info = dm_mqs_process(process);

    if (info->at_comm >= info->n_comms)
        return mqs_end_of_list;
    return ++info->at_comm < info->n_comms ? mqs_ok : mqs_end_of_list;
}

int mqs_get_communicator(mqs_process *process, mqs_communicator *out)
{
    mqs_process_info *info = dm_mqs_process(process);
    const struct dm_mqs_comm *comm = &info->comms[info->at_comm];

    if (info->at_comm >= info->n_comms)
        return mqs_no_information;
    out->unique_id = comm->ctx;
    out->local_rank = comm->rank;
    out->size = comm->size;
    memcpy(out->name, comm->name, sizeof(out->name));
    return mqs_ok;
}

/* The ranks in the job of the members, in order. */
int mqs_get_comm_group(mqs_process *process, int *ranks)
{
    mqs_process_info *info = dm_mqs_process(process);
    const struct dm_mqs_comm *comm = &info->comms[info->at_comm];
    mqs_taddr_t procs;

    if (info->at_comm >= info->n_comms)
        return mqs_no_information;
    info->err = mqs_ok;
    procs = dm_mqs_pointer(info, dm_mqs_member(info, comm->group, DM_AT_GROUP_PROCS));
    for (int i = 0; i < comm->size && info->err == mqs_ok; i++)
        ranks[i] = procs == 0 ? i : (int)dm_mqs_word(info, procs + (mqs_taddr_t)i * sizeof(int));
    return info->err;
}
