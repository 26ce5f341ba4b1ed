/*
 * The library for debuggers: files and processes.
 */
#include "mqs/state.h"

#include <string.h>

#include "config.h"

static const mqs_basic_callbacks *basic;

void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks)
{
    basic = callbacks;
}

char *mqs_version_string(void)
{
    static char text[] = "Datum " DM_VERSION;

    return text;
}

int mqs_version_compatibility(void)
{
    return MQS_INTERFACE_COMPATIBILITY;
}

int mqs_dll_taddr_width(void)
{
    return (int)sizeof(mqs_taddr_t);
}

char *mqs_dll_error_string(int code)
{
    static char texts[DM_MQS_END - mqs_first_user_code][64] = {
        "no memory",
        "memory of the process cannot be read, or makes no sense",
        "libmpi is of another version than libdatum_mqs.so",
        "the program has no symbol MPIR_datum_queues: is it MPI's?",
    };
    static char other[] = "no error of Datum's";

    if (code < mqs_first_user_code || code >= DM_MQS_END)
        return other;
    return texts[code - mqs_first_user_code];
}

mqs_process_info *dm_mqs_process(mqs_process *process)
{
    return basic->mqs_get_process_info_fp(process);
}

void *dm_mqs_more(mqs_process_info *info, void *array, unsigned n, unsigned *cap, size_t size)
{
    unsigned more = *cap == 0 ? 16 : *cap * 2;
    void *bigger;

    if (n < *cap)
        return array;
    bigger = basic->mqs_malloc_fp(more * size);
    if (bigger == NULL) {
        info->err = DM_MQS_NO_MEMORY;
        return NULL;
    }
    if (n > 0)
        memcpy(bigger, array, n * size);
    if (array != NULL)
        basic->mqs_free_fp(array);
    *cap = more;
    return bigger;
}

/* ---- a file ---- */

int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks)
{
    mqs_image_info *info = basic->mqs_malloc_fp(sizeof(*info));

    if (info == NULL)
        return DM_MQS_NO_MEMORY;
    memset(info, 0, sizeof(*info));
    info->callbacks = callbacks;
    basic->mqs_put_image_info_fp(image, info);
    return mqs_ok;
}

int mqs_image_has_queues(mqs_image *image, char **message)
{
    static char name[] = "MPIR_datum_queues";
    mqs_image_info *info = basic->mqs_get_image_info_fp(image);

    *message = NULL;
    if (info->callbacks->mqs_find_symbol_fp(image, name, &info->table) == mqs_ok)
        return mqs_ok;
    info->table = 0;
    *message = mqs_dll_error_string(DM_MQS_NO_TABLE);
    return mqs_no_information;
}

void mqs_destroy_image_info(mqs_image_info *info)
{
    basic->mqs_free_fp(info);
}

/* ---- a process ---- */

int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks)
{
    mqs_process_info *info = basic->mqs_malloc_fp(sizeof(*info));

    if (info == NULL)
        return DM_MQS_NO_MEMORY;
    memset(info, 0, sizeof(*info));
    info->process = process;
    info->callbacks = callbacks;
    basic->mqs_put_process_info_fp(process, info);
    return mqs_ok;
}

/* Before MPI_Init there are no queues yet, but their places are known. */
static int mqs_read_table(mqs_process_info *info, mqs_taddr_t table)
{
    struct dm_queues *queues = &info->queues;

    info->err = mqs_ok;
    if (!dm_mqs_fetch(info, table, sizeof(*queues), queues))
        return info->err;
    if (queues->magic != DM_QUEUES_MAGIC || queues->version != DM_QUEUES_VERSION)
        return DM_MQS_OTHER;
    dm_mqs_fetch(info, (mqs_taddr_t)queues->chan_at, sizeof(info->chan_at), info->chan_at);
    return info->err;
}

int mqs_process_has_queues(mqs_process *process, char **message)
{
    mqs_process_info *info = dm_mqs_process(process);
    mqs_image *image = info->callbacks->mqs_get_image_fp(process);
    mqs_image_info *image_info = basic->mqs_get_image_info_fp(image);
    int err;

    err = image_info->table != 0 ? mqs_read_table(info, image_info->table) : DM_MQS_NO_TABLE;
    info->has_queues = err == mqs_ok;
    *message = err == mqs_ok ? NULL : mqs_dll_error_string(err);
    return err;
}

void mqs_destroy_process_info(mqs_process_info *info)
{
    if (info->comms != NULL)
        basic->mqs_free_fp(info->comms);
    if (info->ops != NULL)
        basic->mqs_free_fp(info->ops);
    basic->mqs_free_fp(info);
}
