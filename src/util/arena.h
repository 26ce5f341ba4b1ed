/*
 * An arena: memory that the processes of a host share. It is one sparse file, made by who starts them and
 * inherited by all, or made by the first and opened by the others; each takes parts of it. So it is mapped once,
 * however many processes there are.
 *
 * Parts are not given back, but for all at once: by the last process that closes it. Those with names are found by
 * others. When nothing is left, or where a process has not inherited it, memory files of its own serve. At the front
 * there is space for notes: a few bytes under a name, for all to read; and for rows: a few words for each process,
 * side by side, for all to write. Behind that a box for each process is laid out likewise, with slots. The first ones
 * lie side by side with those of the same number, so that who writes to the first slots of many touches few pages;
 * the others with those of the same box, so that who writes to many slots of one touches few.
 */
#ifndef DM_UTIL_ARENA_H
#define DM_UTIL_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/port.h"

#define DM_ARENA_MAGIC UINT64_C(0x616e6572632d6d64)

/* How processes find it: "fd:device:inode"; or that there is none, and none is to be made. */
#define DM_ARENA_ENV  "DATUM_ARENA"
#define DM_ARENA_NONE "no"

enum {
    DM_ARENA_PARTS = 4096,
    DM_ARENA_NOTES = 4096,
    DM_ARENA_TEXT = 2 << 20,
    DM_ARENA_ROWS = 2 << 20,
    DM_ARENA_BOX_LEN = 2048,
    DM_ARENA_SHORT_SLOTS = 3072, /* of a box, the first ones */
    DM_ARENA_SHORT_LEN = 128,
    DM_ARENA_LONG_SLOTS = 1024,
    DM_ARENA_LONG_LEN = 1152,
    DM_ARENA_SPARE_SLOTS = 256, /* of them, which short datagrams may have, and no more */
    DM_ARENA_SLOTS = DM_ARENA_SHORT_SLOTS + DM_ARENA_LONG_SLOTS
};

/* A part with a name. */
struct dm_arena_part {
    _Atomic uint64_t name; /* 0: not yet, or not any more */
    uint64_t offset;
    uint64_t len;
    int64_t pid; /* of its owner, as that sees it */
};

/* A few bytes with a name. */
struct dm_arena_note {
    _Atomic uint64_t name; /* 0: not yet */
    uint32_t at;
    uint32_t len;
};

struct dm_arena_head {
    uint64_t magic;
    uint64_t size;
    uint64_t n;                            /* processes that it was made for */
    DM_ALIGNED(64) _Atomic uint64_t taken; /* end of what is taken */
    _Atomic uint32_t n_parts;              /* with names; may exceed the table */
    _Atomic uint32_t n_notes;
    _Atomic uint32_t n_bytes; /* of the text that are taken; may exceed it */
    _Atomic uint32_t n_open;  /* that have it open; more, if one has been killed */
    DM_ALIGNED(64) struct dm_arena_part parts[DM_ARENA_PARTS];
    struct dm_arena_note notes[DM_ARENA_NOTES];
    char text[DM_ARENA_TEXT];
    DM_ALIGNED(64) unsigned char rows[DM_ARENA_ROWS];
};

/* As it is open here. */
struct dm_arena {
    int fd;
    uint64_t dev;
    uint64_t ino;
    size_t size;
    struct dm_arena_head *head; /* NULL: there is none */
    size_t mapped;              /* from the head on */
    _Atomic uint64_t *touched;  /* a bit for each block of slots; NULL: none */
    pid_t pid;                  /* who has opened it */
};

/* Make one for n processes; -1: that cannot be. The text is for DM_ARENA_ENV. */
int dm_arena_make(int n, char *text, size_t len);
/* Open the one that this process has inherited, and map all of it or its head. False: there is none, or
 * that is too much for this process. The descriptor is not inherited further; closing leaves it open. */
bool dm_arena_open(struct dm_arena *arena, bool is_whole);
void dm_arena_close(struct dm_arena *arena);
/* Is the memory of parts to be left to the last one that closes it? Giving it back costs something for each
 * process that has it mapped. */
bool dm_arena_is_large(const struct dm_arena *arena);
/* Zeroed bytes, at a multiple of align (a power of two): their offset, 0: not so many are left. */
uint64_t dm_arena_take(const struct dm_arena *arena, size_t len, size_t align);
/* Give a part a name (not 0); NULL: there are too many. And take it away. */
struct dm_arena_part *dm_arena_name(const struct dm_arena *arena, uint64_t name, uint64_t offset,
                                    size_t len);
void dm_arena_unname(struct dm_arena_part *part);
/* The part with that name; or, with a mask that leaves bits out, with such a name and owner. What the table
 * says was written by others: *offset_p and *len_p are within the file. */
bool dm_arena_find(const struct dm_arena_head *head, size_t size, uint64_t name, uint64_t mask,
                   pid_t pid, uint64_t *offset_p, size_t *len_p);
/* Leave a note, in the place of an earlier one of that name. Without space it is not there. */
void dm_arena_put(const struct dm_arena *arena, uint64_t name, const char *text);
/* Copy it. False: it is not there, or longer. */
bool dm_arena_get(const struct dm_arena *arena, uint64_t name, char *buf, size_t len);
/* The number of a note, from 0: each has one of its own. False: it is not there. */
bool dm_arena_number(const struct dm_arena *arena, uint64_t name, uint32_t *number_p);
/* The row with that number: cache lines with two words, then a bit for each row. NULL: the arena was made for
 * fewer processes, or for too many. */
void *dm_arena_row(const struct dm_arena *arena, uint32_t number);
/* The box with that number, and a slot of it; the arena is mapped as a whole. NULL: the arena was made for fewer
 * processes. */
void *dm_arena_box(const struct dm_arena *arena, uint32_t number);
void *dm_arena_slot(const struct dm_arena *arena, uint32_t number, uint32_t slot);
/* Before something is written to that slot: the pages around it are there, one call for some, if that can be. */
void dm_arena_touch(const struct dm_arena *arena, const void *at);
/* Which one that is. */
uint32_t dm_arena_slot_number(const struct dm_arena *arena, uint32_t number, const void *at);
/* Is it the head of one, of that size? */
bool dm_arena_is_head(const struct dm_arena_head *head, size_t size);

#endif
