/*
 * Data into and out of slots.
 */
#include "mpi/coll/shm/data.h"

#include "mpi/coll/coll_state.h"
#include "util/copy.h"
#include "util/port.h"

void dm_coll_shm_pack(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                      void *dst, size_t len)
{
    if (dm_likely(type->is_contig))
        dm_copy_by(&dm_coll_state.copies, dst, (const char *)buf + type->true_lb + offset, len);
    else
        dm_type_pack(buf, count, type, offset, dst, len);
}

void dm_coll_shm_unpack(struct dm_run *run, void *buf, size_t count, const struct dm_type *type,
                        size_t offset, const void *src, size_t len)
{
    size_t has = dm_coll_bytes(count, type);

    if (dm_unlikely(offset + len > has)) {
        dm_coll_fail(run,
                     DM_FAIL(DM_ERR_TRUNCATE,
                             "a rank gives more than the %zu bytes that are expected here", has));
        if (offset >= has)
            return;
        len = has - offset;
    }
    if (dm_likely(type->is_contig))
        dm_copy((char *)buf + type->true_lb + offset, src, len);
    else
        dm_type_unpack(buf, count, type, offset, src, len);
}
