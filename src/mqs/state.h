/*
 * Inside the library for debuggers: what it keeps of a process, and reading its memory.
 */
#ifndef DM_MQS_STATE_H
#define DM_MQS_STATE_H

#include <stdbool.h>

#include "mqs/mqs.h"
#include "util/queues.h"

/* Codes of our own. */
enum {
    DM_MQS_NO_MEMORY = mqs_first_user_code,
    DM_MQS_UNREADABLE, /* the process's memory, or something that cannot be */
    DM_MQS_OTHER,      /* another version of libmpi */
    DM_MQS_NO_TABLE,
    DM_MQS_END
};

/* More than that of anything: what is read makes no sense. */
#define DM_MQS_MOST 10000000u

struct mqs_image_info_ {
    const mqs_image_callbacks *callbacks;
    mqs_taddr_t table; /* address of MPIR_datum_queues; 0: not found */
};

/* A communicator. */
struct dm_mqs_comm {
    mqs_taddr_t at;
    uint32_t ctx;
    uint32_t ctx_send;
    int32_t rank;
    int32_t size;
    mqs_taddr_t group;
    mqs_taddr_t peers; /* the group that messages go to */
    char name[64];
};

struct mqs_process_info_ {
    mqs_process *process;
    const mqs_process_callbacks *callbacks;
    struct dm_queues queues; /* a copy */
    uint32_t chan_at[DM_N_CHAN_AT];
    bool has_queues;
    struct dm_mqs_comm *comms;
    unsigned n_comms, cap_comms, at_comm;
    mqs_pending_operation *ops;
    unsigned n_ops, cap_ops, at_op;
    int err; /* of reading, since it was last reset */
};

/* (mqs.c) */
mqs_process_info *dm_mqs_process(mqs_process *process);
/* Make space for one more element; NULL: no memory, noted in info->err. */
void *dm_mqs_more(mqs_process_info *info, void *array, unsigned n, unsigned *cap, size_t size);

/* Memory of the process (read.c); what cannot be read is 0, and noted in info->err. */
bool dm_mqs_fetch(mqs_process_info *info, mqs_taddr_t at, size_t len, void *to);
uint32_t dm_mqs_word(mqs_process_info *info, mqs_taddr_t at);
uint64_t dm_mqs_long(mqs_process_info *info, mqs_taddr_t at);
mqs_taddr_t dm_mqs_pointer(mqs_process_info *info, mqs_taddr_t at);
/* Address of a member of the structure at this address. */
static inline mqs_taddr_t dm_mqs_member(const mqs_process_info *info, mqs_taddr_t at,
                                        enum dm_queues_at member)
{
    return at + info->queues.at[member];
}

#endif
