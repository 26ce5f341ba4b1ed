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

#define PAGE          ((size_t)4096)
#define POPULATE_MOST ((size_t)64 << 10) /* bytes of heads */

struct dm_node_batch {
    uint32_t n_users; /* blocks that are not freed */
    struct dm_node_blocks blocks;
    void *at;
    size_t len;
};

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

static void batch_unref(struct dm_node_batch *batch)
{
    if (--batch->n_users > 0)
        return;
    munmap(batch->at, batch->len);
    free(batch);
}

void dm_node_segment_free(struct dm_node_segment *s)
{
    if (s->is_private)
        free(s->at);
    else if (s->at != NULL && s->batch != NULL)
        batch_unref(s->batch);
    else if (s->at != NULL)
        munmap(s->at, s->len);
    s->at = NULL;
    dm_node_segment_close_file(s);
}

/* ---- blocks ---- */

static size_t blocks_round(size_t len, size_t to)
{
    return (len + to - 1) / to * to;
}

static size_t blocks_heads_len(const struct dm_node_blocks *blocks)
{
    return blocks_round(blocks->n * blocks->head_len, PAGE);
}

size_t dm_node_blocks_len(struct dm_node_blocks *blocks)
{
    blocks->head_len = blocks_round(blocks->head_len, DM_CACHE_LINE);
    blocks->tail_len = blocks_round(blocks->tail_len, PAGE);
    return blocks_heads_len(blocks) + blocks->n * blocks->tail_len;
}

static void batch_place(struct dm_node_batch *batch, uint32_t i, struct dm_node_segment *s)
{
    const struct dm_node_blocks *blocks = &batch->blocks;

    batch->n_users++;
    s->batch = batch;
    s->at = (char *)batch->at + i * blocks->head_len;
    s->len = blocks->head_len;
    s->tail = (char *)batch->at + blocks_heads_len(blocks) + i * blocks->tail_len;
}

int dm_node_segment_cut(struct dm_node_segment *s, const struct dm_node_blocks *blocks)
{
    struct dm_node_batch *batch = malloc(sizeof(*batch));
    size_t heads_len = blocks_heads_len(blocks);

    if (batch == NULL)
        return DM_FAIL(DM_ENOMEM, "blocks of a segment");
    *batch = (struct dm_node_batch){.blocks = *blocks, .at = s->at, .len = s->len};
    /* refused: pages come by faults */
    (void)madvise(s->at, heads_len < POPULATE_MOST ? heads_len : POPULATE_MOST, DM_MADV_POPULATE);
    batch_place(batch, 0, s);
    return DM_OK;
}

struct dm_node_segment dm_node_segment_block(const struct dm_node_segment *first, uint32_t i)
{
    struct dm_node_segment s = {.fd = -1};

    batch_place(first->batch, i, &s);
    return s;
}

void dm_node_segment_empty_tail(const struct dm_node_segment *s)
{
    dm_host_shm_drop(s->tail, s->batch->blocks.tail_len);
}
