/*
 * Reading the memory of a process.
 */
#include "mqs/state.h"

#include <string.h>

bool dm_mqs_fetch(mqs_process_info *info, mqs_taddr_t at, size_t len, void *to)
{
    if (at != 0 && info->callbacks->mqs_fetch_data_fp(info->process, at, (int)len, to) == mqs_ok)
        return true;
    memset(to, 0, len);
    info->err = DM_MQS_UNREADABLE;
    return false;
}

/* A number of the process as one of ours. */
static void mqs_number(mqs_process_info *info, mqs_taddr_t at, size_t len, void *to)
{
    char raw[sizeof(uint64_t)];

    memset(to, 0, len);
    if (dm_mqs_fetch(info, at, len, raw))
        info->callbacks->mqs_target_to_host_fp(info->process, raw, to, (int)len);
}

uint32_t dm_mqs_word(mqs_process_info *info, mqs_taddr_t at)
{
    uint32_t value;

    mqs_number(info, at, sizeof(value), &value);
    return value;
}

uint64_t dm_mqs_long(mqs_process_info *info, mqs_taddr_t at)
{
    uint64_t value;

    mqs_number(info, at, sizeof(value), &value);
    return value;
}

mqs_taddr_t dm_mqs_pointer(mqs_process_info *info, mqs_taddr_t at)
{
    mqs_taddr_t value;

    mqs_number(info, at, sizeof(value), &value);
    return value;
}
