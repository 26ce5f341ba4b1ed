/*
 * Making, handing over and mapping memory files.
 */
#include "mpi/node/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/err.h"
#include "util/host.h"
#include "util/port.h"

int dm_node_file_describe(int fd, size_t len, struct dm_node_file *file_p)
{
    struct stat st;

    *file_p = (struct dm_node_file){.len = 0, .fd = -1};
    if (fstat(fd, &st) != 0)
        return DM_FAIL(DM_ESYS, "memory file %d: %s", fd, strerror(errno));
    *file_p = (struct dm_node_file){
        .len = len, .dev = st.st_dev, .ino = st.st_ino, .pid = getpid(), .fd = fd};
    return DM_OK;
}

int dm_node_file_map(const struct dm_node_file *file, void **ptr_p)
{
    return dm_host_shm_open(file->pid, file->fd, file->dev, file->ino, file->len, ptr_p);
}

int dm_node_segment_make(struct dm_node_segment *s, const char *name, size_t len,
                         struct dm_node_file *file_p)
{
    int err;

    *s = (struct dm_node_segment){.len = len, .fd = -1};
    *file_p = (struct dm_node_file){.len = 0, .fd = -1};
    err = dm_host_shm_alloc(name, len, &s->at, &s->fd);
    if (err != DM_OK)
        return err;
    err = dm_node_file_describe(s->fd, len, file_p);
    if (err != DM_OK)
        dm_node_segment_free(s);
    return err;
}

int dm_node_segment_alone(struct dm_node_segment *s, size_t len)
{
    len = (len + DM_CACHE_LINE - 1) / DM_CACHE_LINE * DM_CACHE_LINE;
    *s = (struct dm_node_segment){.len = len, .fd = -1, .is_private = true};
    s->at = aligned_alloc(DM_CACHE_LINE, len);
    if (s->at == NULL)
        return DM_FAIL(DM_ENOMEM, "a segment of %zu bytes", len);
    memset(s->at, 0, len);
    return DM_OK;
}

int dm_node_segment_map(struct dm_node_segment *s, const struct dm_node_file *file, size_t len)
{
    *s = (struct dm_node_segment){.len = len, .fd = -1};
    if (file->len != len)
        return DM_FAIL(DM_ESYS, "there is no memory file of %zu bytes", len);
    return dm_node_file_map(file, &s->at);
}

void dm_node_segment_close_file(struct dm_node_segment *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

void dm_node_segment_free(struct dm_node_segment *s)
{
    if (s->is_private)
        free(s->at);
    else if (s->at != NULL)
        munmap(s->at, s->len);
    s->at = NULL;
    dm_node_segment_close_file(s);
}
