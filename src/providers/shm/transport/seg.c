/*
 * The process's own control segment and the allocator of its blocks.
 *
 * Short blocks, most of which peers read when they connect, are next to the header and the first keys, on few
 * pages; what is mapped of them at the first touch (the kernel maps pages around it) serves all connections.
 * When there is no space left they are in a part of their own, and at last among the others. All parts
 * are alike:
 *
 * Blocks come in size classes with four steps per power of two, each with a
 * free list threaded through the blocks; a block's class and length are kept in
 * the 64 bytes before it, so that the heap can be walked. When it is full, free
 * neighbours of any class are joined and bigger blocks are divided.
 */
#include "providers/shm/transport/seg.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_HEAD = 64, MIN_LEN = 64, N_CLASSES = DM_SHM_HEAP_CLASSES };
enum { SHORT_LEN = 1024, PART_ALIGN = 2 << 20 };

static_assert(offsetof(struct dm_shm_hdr, keys) + 4096 == DM_SHM_NEAR_LEN,
              "the first keys are near");
static_assert(DM_SHM_INBOX_SLOTS == 64 * DM_SHM_INBOX_WORDS, "a bit for each slot");

struct block {
    uint64_t class;
    uint64_t next;
    uint64_t len; /* with this head; never less than what the class needs */
    uint64_t is_free;
};

/* Smallest class that holds len, and its size. */
static unsigned heap_class(size_t len, size_t *size_p)
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

/* A sealed file of that size; false, and errno. */
static bool seg_make_file(size_t size, int *fd_p)
{
    struct rlimit lim;
    int saved;

    /* Growing a file beyond this limit would end the process (SIGXFSZ). */
    if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur < size) {
        errno = EFBIG;
        return false;
    }
    *fd_p = memfd_create("datum-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd_p < 0)
        return false;
    if (ftruncate(*fd_p, (off_t)size) == 0 &&
        fcntl(*fd_p, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return true;
    saved = errno;
    close(*fd_p);
    errno = saved;
    return false;
}

/* The pid namespace, if /proc shows it; else 0. */
static uint64_t seg_pid_space(void)
{
    char self[16] = "";
    char pid[16];
    struct stat st;

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || strcmp(self, pid) != 0 ||
        stat("/proc/self/ns/pid", &st) != 0)
        return 0;
    return (uint64_t)st.st_ino;
}

static void heap_begin(struct dm_shm_heap *heap, uint64_t first, uint64_t len)
{
    heap->first = heap->at = first;
    heap->end = first + len;
}

/* What peers read in the header, and where blocks are. */
static void seg_begin(struct dm_shm_seg *seg, size_t size)
{
    struct dm_shm_hdr *hdr = seg->hdr;

    if (getrandom(&hdr->id, sizeof(hdr->id), 0) != sizeof(hdr->id))
        hdr->id = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)hdr;
    hdr->id &= ~DM_SHM_FILLING;
    hdr->nonce = hdr->id * 0x9e3779b97f4a7c15u + 1;
    hdr->version = DM_SHM_VERSION;
    hdr->size = size;
    hdr->self_va = (uint64_t)(uintptr_t)hdr;
    hdr->has_membarrier = dm_shm_barrier_join();
    hdr->pid = (int32_t)getpid();
    hdr->pid_space = seg_pid_space();
    hdr->magic = DM_SHM_MAGIC;
    seg->size = size;
    heap_begin(&seg->short_heap, offsetof(struct dm_shm_hdr, short_blocks),
               sizeof(hdr->short_blocks));
    heap_begin(&seg->more_heap, offsetof(struct dm_shm_hdr, more_blocks), sizeof(hdr->more_blocks));
    heap_begin(&seg->heap, (sizeof(*hdr) + 63) / 64 * 64, size - (sizeof(*hdr) + 63) / 64 * 64);
}

/* A part of the arena; false: there is none, or it has no more. */
static bool seg_take_part(struct dm_shm_seg *seg, size_t size)
{
    uint64_t offset = 0;

    if (dm_arena_open(&seg->arena, true))
        offset = dm_arena_take(&seg->arena, size, PART_ALIGN);
    if (offset == 0)
        return false;
    seg->fd = seg->arena.fd;
    seg->hdr = (void *)((char *)seg->arena.head + offset);
    seg_begin(seg, size);
    seg->part = dm_arena_name(&seg->arena, seg->hdr->id, offset, size);
    return seg->part != NULL;
}

bool dm_shm_seg_open(struct dm_shm_seg *seg, size_t size)
{
    void *map;
    int saved;

    memset(seg, 0, sizeof(*seg));
    if (seg_take_part(seg, size))
        return true;
    if (!seg_make_file(size, &seg->fd)) {
        dm_arena_close(&seg->arena);
        return false;
    }
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, seg->fd, 0);
    if (map == MAP_FAILED) {
        saved = errno;
        close(seg->fd);
        dm_arena_close(&seg->arena);
        errno = saved;
        return false;
    }
    seg->hdr = map;
    seg_begin(seg, size);
    return true;
}

/* The arena lives on. What the header says others may still read: connections are down. */
static void seg_give_back(const struct dm_shm_seg *seg)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (sizeof(*seg->hdr) + page - 1) / page * page;

    (void)madvise((char *)seg->hdr + first, seg->size - first, MADV_REMOVE);
}

void dm_shm_seg_close(struct dm_shm_seg *seg)
{
    if (seg->part != NULL) {
        if (!dm_arena_is_large(&seg->arena))
            seg_give_back(seg);
        dm_arena_unname(seg->part);
    } else {
        munmap(seg->hdr, seg->size);
        close(seg->fd);
    }
    dm_arena_close(&seg->arena);
    seg->hdr = NULL;
    seg->fd = -1;
}

static struct block *heap_block(struct dm_shm_seg *seg, uint64_t at)
{
    return (struct block *)(void *)((char *)seg->hdr + at);
}

static void heap_put(struct dm_shm_seg *seg, struct dm_shm_heap *heap, struct block *block)
{
    size_t size;
    unsigned class = heap_class(block->len - BLOCK_HEAD, &size);

    /* The class must promise no more than there is. */
    if (size > block->len - BLOCK_HEAD)
        class --;
    block->class = class < N_CLASSES ? class : N_CLASSES - 1;
    block->is_free = 1;
    block->next = heap->free[block->class];
    heap->free[block->class] = dm_shm_seg_offset(seg, block);
}

/* Join free neighbours, whatever their classes; give the last ones back. */
static void heap_join(struct dm_shm_seg *seg, struct dm_shm_heap *heap)
{
    uint64_t at = heap->first;
    uint64_t end = heap->at;

    memset(heap->free, 0, sizeof(heap->free));
    while (at < end) {
        struct block *block = heap_block(seg, at);

        while (block->is_free != 0 && at + block->len < end &&
               heap_block(seg, at + block->len)->is_free != 0)
            block->len += heap_block(seg, at + block->len)->len;
        if (block->is_free != 0 && at + block->len >= end)
            heap->at = at;
        else if (block->is_free != 0)
            heap_put(seg, heap, block);
        at += block->len;
    }
}

/* A block that was used before, of this class or, if any will do, of a bigger
 * one, of which what is not needed stays free. */
static struct block *heap_take(struct dm_shm_seg *seg, struct dm_shm_heap *heap, unsigned class,
                               size_t size, bool is_any_ok)
{
    unsigned n = is_any_ok ? N_CLASSES : class + 1;
    struct block *block;
    struct block *rest;

    while (class < n && heap->free[class] == 0)
        class ++;
    if (class >= n)
        return NULL;
    block = heap_block(seg, heap->free[class]);
    heap->free[class] = block->next;
    if (is_any_ok && block->len >= 2 * BLOCK_HEAD + size + MIN_LEN) {
        rest = (struct block *)(void *)((char *)block + BLOCK_HEAD + size);
        rest->len = block->len - BLOCK_HEAD - size;
        block->len = BLOCK_HEAD + size;
        heap_put(seg, heap, rest);
    }
    return block;
}

static struct block *heap_extend(struct dm_shm_seg *seg, struct dm_shm_heap *heap, size_t size)
{
    struct block *block = heap_block(seg, heap->at);

    if (size > seg->size || heap->at + BLOCK_HEAD + size > heap->end)
        return NULL;
    heap->at += BLOCK_HEAD + size;
    block->len = BLOCK_HEAD + size;
    return block;
}

/* Memory that no block has had before is zero, and costs no page until it is used. */
static void heap_clear(struct dm_shm_seg *seg, struct dm_shm_heap *heap, struct block *block)
{
    uint64_t at = dm_shm_seg_offset(seg, block) + BLOCK_HEAD;
    uint64_t end = dm_shm_seg_offset(seg, block) + block->len;

    if (at < heap->used)
        memset((char *)seg->hdr + at, 0, (end < heap->used ? end : heap->used) - at);
    if (end > heap->used)
        heap->used = end;
}

static void *heap_alloc(struct dm_shm_seg *seg, struct dm_shm_heap *heap, size_t len)
{
    size_t size;
    unsigned class = heap_class(len, &size);
    struct block *block;

    if (class >= N_CLASSES)
        return NULL;
    block = heap_take(seg, heap, class, size, false);
    if (block == NULL)
        block = heap_extend(seg, heap, size);
    if (block == NULL) {
        heap_join(seg, heap);
        block = heap_take(seg, heap, class, size, true);
    }
    if (block == NULL)
        block = heap_extend(seg, heap, size);
    if (block == NULL)
        return NULL;
    block->class = class;
    block->is_free = 0;
    heap_clear(seg, heap, block);
    return (char *)block + BLOCK_HEAD;
}

void *dm_shm_seg_alloc(struct dm_shm_seg *seg, size_t len)
{
    void *mem = len <= SHORT_LEN ? heap_alloc(seg, &seg->short_heap, len) : NULL;

    if (mem == NULL && len <= SHORT_LEN)
        mem = heap_alloc(seg, &seg->more_heap, len);
    return mem != NULL ? mem : heap_alloc(seg, &seg->heap, len);
}

void dm_shm_seg_free(struct dm_shm_seg *seg, void *mem)
{
    struct block *block = (struct block *)(void *)((char *)mem - BLOCK_HEAD);
    uint64_t at = dm_shm_seg_offset(seg, block);
    struct dm_shm_heap *heap = at < seg->short_heap.end  ? &seg->short_heap
                               : at < seg->more_heap.end ? &seg->more_heap
                                                         : &seg->heap;

    block->is_free = 1;
    block->next = heap->free[block->class];
    heap->free[block->class] = at;
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
