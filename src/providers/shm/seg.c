/*
 * The process's own control segment and the allocator of its blocks.
 *
 * Blocks come in size classes with four steps per power of two, each with a
 * free list threaded through the blocks; a block's class is kept in the 64
 * bytes before it.
 */
#include "providers/shm/seg.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_HEAD = 64, MIN_LEN = 64 };

struct block {
    uint64_t class;
    uint64_t next;
};

/* Smallest class that holds len, and its size. */
static unsigned class_of(size_t len, size_t *size_p)
{
    size_t base = MIN_LEN;
    unsigned class = 0;

    for (;; base *= 2)
        for (unsigned step = 0; step < 4; step++, class ++) {
            size_t size = base + base / 4 * step;

            size = (size + 63) / 64 * 64;
            if (size >= len) {
                *size_p = size;
                return class;
            }
        }
}

bool dm_shm_seg_open(struct dm_shm_seg *seg, size_t size)
{
    struct dm_shm_hdr *hdr;
    void *map;

    memset(seg, 0, sizeof(*seg));
    seg->fd = memfd_create("datum-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (seg->fd < 0)
        return false;
    if (ftruncate(seg->fd, (off_t)size) != 0 ||
        fcntl(seg->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(seg->fd);
        return false;
    }
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, seg->fd, 0);
    if (map == MAP_FAILED) {
        close(seg->fd);
        return false;
    }
    hdr = map;
    if (getrandom(&hdr->id, sizeof(hdr->id), 0) != sizeof(hdr->id))
        hdr->id = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)map;
    hdr->nonce = hdr->id * 0x9e3779b97f4a7c15u + 1;
    hdr->version = DM_SHM_VERSION;
    hdr->size = size;
    hdr->self_va = (uint64_t)(uintptr_t)map;
    hdr->has_membarrier = dm_shm_barrier_join();
    hdr->magic = DM_SHM_MAGIC;
    seg->hdr = hdr;
    seg->size = size;
    seg->heap.at = (sizeof(*hdr) + 63) / 64 * 64;
    return true;
}

void dm_shm_seg_close(struct dm_shm_seg *seg)
{
    munmap(seg->hdr, seg->size);
    close(seg->fd);
    seg->hdr = NULL;
    seg->fd = -1;
}

void *dm_shm_seg_alloc(struct dm_shm_seg *seg, size_t len)
{
    size_t size;
    unsigned class = class_of(len, &size);
    struct block *block;
    uint64_t at;

    if (class >= sizeof(seg->heap.free) / sizeof(seg->heap.free[0]))
        return NULL;
    at = seg->heap.free[class];
    if (at != 0) {
        block = (struct block *)(void *)((char *)seg->hdr + at);
        seg->heap.free[class] = block->next;
    } else {
        if (seg->heap.at + BLOCK_HEAD + size > seg->size)
            return NULL;
        at = seg->heap.at;
        seg->heap.at += BLOCK_HEAD + size;
        block = (struct block *)(void *)((char *)seg->hdr + at);
    }
    block->class = class;
    memset((char *)block + BLOCK_HEAD, 0, size);
    return (char *)block + BLOCK_HEAD;
}

void dm_shm_seg_free(struct dm_shm_seg *seg, void *mem)
{
    struct block *block = (struct block *)(void *)((char *)mem - BLOCK_HEAD);

    block->next = seg->heap.free[block->class];
    seg->heap.free[block->class] = dm_shm_seg_offset(seg, block);
}

uint64_t dm_shm_seg_offset(const struct dm_shm_seg *seg, const void *mem)
{
    return (uint64_t)((const char *)mem - (const char *)seg->hdr);
}

bool dm_shm_barrier_join(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void dm_shm_barrier_all(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    /* Refused: then has_membarrier is 0 and initiators use fences. */
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    atomic_thread_fence(memory_order_seq_cst);
}
