/*
 * The arena.
 */
#include "util/arena.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/port.h"

/* For each process, and for each that it may speak with: address space, not memory. */
#define PROCESS_LEN ((size_t)256 << 20)
#define PAIR_LEN    ((size_t)2 << 20)

/* Processes, from which on parts are not given back one by one. */
#define LARGE 16

/* Where address space is limited it may take this part of it. */
enum { AS_PART = 4 };

bool dm_arena_is_head(const struct dm_arena_head *head, size_t size)
{
    return size >= sizeof(*head) && head->magic == DM_ARENA_MAGIC && head->size == size;
}

/* ---- boxes ---- */

#define BOXES_AT     ((sizeof(struct dm_arena_head) + 4095) / 4096 * 4096)
#define BLOCK        ((size_t)32768) /* of slots that are there together */
#define SHARED_SLOTS UINT64_C(64)    /* of each box, side by side with those of other boxes */

/* Processes that have a box: what the head says was written by others. */
static uint64_t arena_n_boxes(const struct dm_arena_head *head)
{
    return head->n <= DM_ARENA_NOTES ? head->n : 0;
}

/* Where short slots begin, long ones, and what is behind them. */
static uint64_t arena_short_at(uint64_t n)
{
    return BOXES_AT + (n * DM_ARENA_BOX_LEN + 4095) / 4096 * 4096;
}

static uint64_t arena_long_at(uint64_t n)
{
    return arena_short_at(n) + n * DM_ARENA_SHORT_SLOTS * DM_ARENA_SHORT_LEN;
}

static uint64_t arena_slots_end(uint64_t n)
{
    return arena_long_at(n) + n * DM_ARENA_LONG_SLOTS * DM_ARENA_LONG_LEN;
}

/* Where slot SHARED_SLOTS of that box would be slot 0. */
static uint64_t box_slots_at(uint64_t n, uint32_t number, uint32_t n_slots)
{
    return SHARED_SLOTS * (n - 1) + (uint64_t)number * (n_slots - SHARED_SLOTS);
}

/* The place of a slot among those of its length, and the slot at a place. */
static uint64_t slot_place(uint64_t n, uint32_t number, uint32_t slot, uint32_t n_slots)
{
    return slot < SHARED_SLOTS ? slot * n + number : box_slots_at(n, number, n_slots) + slot;
}

static uint32_t slot_at_place(uint64_t n, uint32_t number, uint64_t place, uint32_t n_slots)
{
    return (uint32_t)(place < SHARED_SLOTS * n ? place / n
                                               : place - box_slots_at(n, number, n_slots));
}

void *dm_arena_box(const struct dm_arena *arena, uint32_t number)
{
    uint64_t n = arena_n_boxes(arena->head);

    if (number >= n || arena->mapped < arena_slots_end(n))
        return NULL;
    return (char *)arena->head + BOXES_AT + (size_t)number * DM_ARENA_BOX_LEN;
}

void *dm_arena_slot(const struct dm_arena *arena, uint32_t number, uint32_t slot)
{
    uint64_t n = arena_n_boxes(arena->head);

    if (slot < DM_ARENA_SHORT_SLOTS)
        return (char *)arena->head + arena_short_at(n) +
               slot_place(n, number, slot, DM_ARENA_SHORT_SLOTS) * DM_ARENA_SHORT_LEN;
    return (char *)arena->head + arena_long_at(n) +
           slot_place(n, number, slot - DM_ARENA_SHORT_SLOTS, DM_ARENA_LONG_SLOTS) *
               DM_ARENA_LONG_LEN;
}

void dm_arena_touch(const struct dm_arena *arena, const void *at)
{
    size_t block = (size_t)((const char *)at - (const char *)arena->head) / BLOCK;
    uint64_t bit = UINT64_C(1) << block % 64;
    size_t left = arena->mapped - block * BLOCK;

    if (arena->touched == NULL ||
        (atomic_load_explicit(&arena->touched[block / 64], memory_order_relaxed) & bit) != 0)
        return;
    atomic_fetch_or_explicit(&arena->touched[block / 64], bit, memory_order_relaxed);
    (void)madvise((char *)arena->head + block * BLOCK, left < BLOCK ? left : BLOCK,
                  DM_MADV_POPULATE);
}

uint32_t dm_arena_slot_number(const struct dm_arena *arena, uint32_t number, const void *at)
{
    uint64_t n = arena_n_boxes(arena->head);
    uint64_t offset = (uint64_t)((const char *)at - (const char *)arena->head);
    uint64_t long_at = arena_long_at(n);

    if (offset < long_at)
        return slot_at_place(n, number, (offset - arena_short_at(n)) / DM_ARENA_SHORT_LEN,
                             DM_ARENA_SHORT_SLOTS);
    return DM_ARENA_SHORT_SLOTS +
           slot_at_place(n, number, (offset - long_at) / DM_ARENA_LONG_LEN, DM_ARENA_LONG_SLOTS);
}

/* ---- making ---- */

/* The head of a new file; peers rely on its length. */
static bool arena_set_up(int fd, size_t size, int n)
{
    const struct {
        uint64_t magic, size, n;
    } head = {DM_ARENA_MAGIC, size, (uint64_t)n};

    return ftruncate(fd, (off_t)size) == 0 && pwrite(fd, &head, sizeof(head), 0) == sizeof(head) &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

int dm_arena_make(int n, char *text, size_t len)
{
    size_t size = arena_slots_end((uint64_t)n) + (size_t)n * (PROCESS_LEN + (size_t)n * PAIR_LEN);
    struct rlimit lim;
    struct stat st;
    int fd;

    /* Growing a file beyond this limit would end the process (SIGXFSZ). */
    if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur < size)
        return -1;
    fd = memfd_create("datum-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (!arena_set_up(fd, size, n) || fstat(fd, &st) != 0) {
        close(fd);
        return -1;
    }
    snprintf(text, len, "%d:%llu:%llu", fd, (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    return fd;
}

/* ---- using ---- */

/* Is the descriptor still what it was when the variable was set? */
static bool arena_check_file(struct dm_arena *arena, const char *text)
{
    unsigned long long dev, ino;
    struct stat st;

    if (sscanf(text, "%d:%llu:%llu", &arena->fd, &dev, &ino) != 3 || fstat(arena->fd, &st) != 0 ||
        st.st_dev != dev || st.st_ino != ino || st.st_uid != geteuid() ||
        (fcntl(arena->fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
        return false;
    arena->dev = dev;
    arena->ino = ino;
    arena->size = (size_t)st.st_size;
    return true;
}

/* Has this process address space for so much, and far more? */
static bool arena_has_space(size_t len)
{
    struct rlimit lim;

    return getrlimit(RLIMIT_AS, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY ||
           len <= lim.rlim_cur / AS_PART;
}

/* Map it without filling it with pages, though this process may lock all that it maps (mlockall). */
static void *arena_map(int fd, size_t len)
{
    void *map = mmap(NULL, len, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (map == MAP_FAILED)
        return NULL;
    (void)munlock(map, len);
    if (mprotect(map, len, PROT_READ | PROT_WRITE) == 0)
        return map;
    munmap(map, len);
    return NULL;
}

bool dm_arena_open(struct dm_arena *arena, bool is_whole)
{
    const char *text = dm_cfg_env(DM_ARENA_ENV);
    void *map;

    memset(arena, 0, sizeof(*arena));
    if (text == NULL || !arena_check_file(arena, text) || arena->size < sizeof(*arena->head))
        return false;
    arena->mapped = is_whole ? arena->size : sizeof(*arena->head);
    map = arena_has_space(arena->mapped) ? arena_map(arena->fd, arena->mapped) : NULL;
    if (map == NULL)
        return false;
    if (!dm_arena_is_head(map, arena->size)) {
        munmap(map, arena->mapped);
        return false;
    }
    (void)madvise(map, arena->mapped, MADV_DONTDUMP); /* most of it is not ours */
    (void)fcntl(arena->fd, F_SETFD, FD_CLOEXEC);
    arena->head = map;
    if (is_whole)
        arena->touched =
            calloc(arena_slots_end(arena_n_boxes(arena->head)) / BLOCK / 64 + 1, sizeof(uint64_t));
    arena->pid = getpid();
    atomic_fetch_add(&arena->head->n_open, 1);
    return true;
}

void dm_arena_close(struct dm_arena *arena)
{
    uint64_t end = 0;

    if (arena->head == NULL)
        return;
    if (arena->pid == getpid()) {               /* not a child of who has opened it */
        end = atomic_load(&arena->head->taken); /* who comes later takes what is behind */
        if (atomic_fetch_sub(&arena->head->n_open, 1) != 1 || end > arena->size)
            end = 0;
    }
    munmap(arena->head, arena->mapped);
    arena->head = NULL;
    free(arena->touched);
    arena->touched = NULL;
    if (end > sizeof(*arena->head))
        (void)fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, sizeof(*arena->head),
                        (off_t)(end - sizeof(*arena->head)));
}

bool dm_arena_is_large(const struct dm_arena *arena)
{
    return arena->head->n > LARGE;
}

uint64_t dm_arena_take(const struct dm_arena *arena, size_t len, size_t align)
{
    uint64_t taken = atomic_load_explicit(&arena->head->taken, memory_order_relaxed);
    uint64_t first = arena_slots_end(arena_n_boxes(arena->head));
    uint64_t at;

    do {
        at = taken > first ? taken : first;
        at = (at + align - 1) & ~((uint64_t)align - 1);
        if (at > arena->size || len > arena->size - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&arena->head->taken, &taken, at + len));
    return at;
}

/* ---- names ---- */

struct dm_arena_part *dm_arena_name(const struct dm_arena *arena, uint64_t name, uint64_t offset,
                                    size_t len)
{
    struct dm_arena_part *part;
    uint32_t n;

    if (atomic_load_explicit(&arena->head->n_parts, memory_order_relaxed) >= DM_ARENA_PARTS)
        return NULL;
    n = atomic_fetch_add(&arena->head->n_parts, 1);
    if (n >= DM_ARENA_PARTS)
        return NULL;
    part = &arena->head->parts[n];
    part->offset = offset;
    part->len = len;
    part->pid = getpid();
    atomic_store_explicit(&part->name, name, memory_order_release);
    return part;
}

void dm_arena_unname(struct dm_arena_part *part)
{
    atomic_store(&part->name, 0);
}

bool dm_arena_find(const struct dm_arena_head *head, size_t size, uint64_t name, uint64_t mask,
                   pid_t pid, uint64_t *offset_p, size_t *len_p)
{
    uint32_t n = atomic_load_explicit(&head->n_parts, memory_order_relaxed);

    for (uint32_t i = 0; i < n && i < DM_ARENA_PARTS; i++) {
        const struct dm_arena_part *part = &head->parts[i];
        uint64_t found = atomic_load_explicit(&part->name, memory_order_acquire);

        if (found == 0 || ((found ^ name) & mask) != 0 || (mask != UINT64_MAX && part->pid != pid))
            continue;
        *offset_p = part->offset;
        *len_p = (size_t)part->len;
        return *offset_p >= sizeof(*head) && *offset_p % 4096 == 0 && *offset_p <= size &&
               *len_p <= size - *offset_p;
    }
    return false;
}

/* ---- notes ---- */

/* What was there under that name is not any more. */
static void note_clear(struct dm_arena_head *head, uint64_t name)
{
    uint32_t n = atomic_load(&head->n_notes);

    for (uint32_t i = 0; i < n && i < DM_ARENA_NOTES; i++)
        if (atomic_load(&head->notes[i].name) == name)
            atomic_store(&head->notes[i].name, 0);
}

void dm_arena_put(const struct dm_arena *arena, uint64_t name, const char *text)
{
    struct dm_arena_head *head = arena->head;
    uint32_t len = (uint32_t)strlen(text);
    uint32_t at, n;

    note_clear(head, name);
    if (len >= DM_ARENA_TEXT ||
        atomic_load_explicit(&head->n_bytes, memory_order_relaxed) >= DM_ARENA_TEXT ||
        atomic_load_explicit(&head->n_notes, memory_order_relaxed) >= DM_ARENA_NOTES)
        return;
    at = atomic_fetch_add(&head->n_bytes, len);
    if (at > DM_ARENA_TEXT - len)
        return;
    n = atomic_fetch_add(&head->n_notes, 1);
    if (n >= DM_ARENA_NOTES)
        return;
    memcpy(&head->text[at], text, len);
    head->notes[n].at = at;
    head->notes[n].len = len;
    atomic_store_explicit(&head->notes[n].name, name, memory_order_release);
}

bool dm_arena_number(const struct dm_arena *arena, uint64_t name, uint32_t *number_p)
{
    const struct dm_arena_head *head = arena->head;
    uint32_t n = atomic_load_explicit(&head->n_notes, memory_order_relaxed);

    for (uint32_t i = 0; i < n && i < DM_ARENA_NOTES; i++) {
        if (atomic_load_explicit(&head->notes[i].name, memory_order_acquire) != name)
            continue;
        *number_p = i;
        return true;
    }
    return false;
}

bool dm_arena_get(const struct dm_arena *arena, uint64_t name, char *buf, size_t len)
{
    const struct dm_arena_head *head = arena->head;
    uint32_t number, at, size;

    if (!dm_arena_number(arena, name, &number))
        return false;
    at = head->notes[number].at;
    size = head->notes[number].len;
    if (size >= len || size > DM_ARENA_TEXT || at > DM_ARENA_TEXT - size)
        return false;
    memcpy(buf, &head->text[at], size);
    buf[size] = '\0';
    return true;
}

/* ---- rows ---- */

void *dm_arena_row(const struct dm_arena *arena, uint32_t number)
{
    uint64_t n = arena->head->n;
    uint64_t len = ((2 + (n + 63) / 64) * sizeof(uint64_t) + 63) / 64 * 64;

    if (number >= n || n > DM_ARENA_NOTES || (number + 1) * len > DM_ARENA_ROWS)
        return NULL;
    return &arena->head->rows[number * len];
}
