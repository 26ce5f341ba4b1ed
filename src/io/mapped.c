/*
 * Writing through a mapping.
 */
#include "io/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/fault.h"
#include "util/err.h"

struct mapped {
    const struct dm_move *m;
    char *mem; /* the file from offset `at` on */
    int64_t at;
    uint64_t first; /* packed byte of memory, */
    size_t len;
    const char *src; /* already packed */
};

static void mapped_copy(void *arg)
{
    struct mapped *c = arg;

    dm_view_scatter(c->m->view, c->mem, c->at, c->m->pos + c->first, c->src, c->len);
}

/*
 * Space for the range, so that a full disk is noticed here. An fs without fallocate is left to the
 * other way.
 */
static int mapped_reserve(const struct dm_disk *disk, int64_t low, int64_t high,
                          bool *is_possible_p)
{
    int ret;

    do {
        ret = fallocate(disk->fd, 0, low, high - low);
    } while (ret != 0 && errno == EINTR);
    *is_possible_p = ret == 0;
    if (ret == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EFBIG || errno == ENODEV)
        return DM_OK;
    /* There may be space for what is ours, but not for the holes. */
    if (errno == ENOSPC || errno == EDQUOT)
        return DM_OK;
    return dm_disk_fail(disk->path, "reserving space in", low, errno);
}

static int mapped_run(struct dm_move *m, struct mapped *c, uint64_t len, char *stage,
                      size_t stage_len)
{
    while (len > 0) {
        c->first = m->done;
        if (stage == NULL) {
            c->len = len;
            c->src = (const char *)((uintptr_t)m->buf + (uintptr_t)m->type->true_lb + m->done);
        } else {
            c->len = len < stage_len ? len : stage_len;
            c->src = stage;
            dm_type_pack(m->buf, m->count, m->type, m->done, stage, c->len);
        }
        if (!dm_fault_guard(mapped_copy, c))
            return DM_FAIL(DM_ERR_IO,
                           "writing \"%s\" at offset %lld: the file was truncated meanwhile, or "
                           "there is no space on the disk",
                           m->disk->path, (long long)c->at);
        m->done += c->len;
        m->n_way[DM_WAY_MAPPED] += c->len;
        len -= c->len;
    }
    return DM_OK;
}

int dm_mapped_write(struct dm_move *m, int64_t low, int64_t high, uint64_t len, char *stage,
                    size_t stage_len, bool *is_done_p)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = low / page * page;
    struct mapped c = {.m = m, .at = start};
    int err = mapped_reserve(m->disk, low, high, is_done_p);

    if (err != DM_OK || !*is_done_p)
        return err;
    c.mem = mmap(NULL, (size_t)(high - start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                 m->disk->fd, start);
    if (c.mem == MAP_FAILED) {
        *is_done_p = false;
        return DM_OK;
    }
    err = mapped_run(m, &c, len, m->type->is_contig ? NULL : stage, stage_len);
    (void)munmap(c.mem, (size_t)(high - start));
    return err;
}
