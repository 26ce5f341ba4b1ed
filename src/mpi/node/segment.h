/*
 * Memory that processes of one host share: a memory file that one of them makes. The others open it
 * as /proc/PID/fd/N of its maker. It has no name, so nothing can stay behind.
 *
 * All have it mapped or nobody uses it:
 * 1. The maker makes it. Its descriptor stays open.
 * 2. The file's description goes to the others, who map it.
 * 3. All agree whether everybody has it: the maker closes its descriptor; else all unmap it.
 * The messages of 2 and 3 are the caller's: collectives, which stand above this room, are users of
 * it, and windows exchange more than this in the same message.
 *
 * A file may hold several blocks of the same lengths, each of which is a segment then: it is made and mapped once for
 * all of them. First come the heads of all blocks, side by side, so that they share pages; then their tails, which few
 * use, each with pages of its own.
 */
#ifndef DM_MPI_NODE_SEGMENT_H
#define DM_MPI_NODE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A memory file as its owner describes it; it is sent as it is. len 0: there is none. */
struct dm_node_file {
    uint64_t len;
    uint64_t dev;
    uint64_t ino;
    int32_t pid;
    int32_t fd;
    uint32_t block; /* the segment's, of several */
    uint32_t reserved;
};

/* Describe a descriptor of this process that has len bytes. DM_ESYS; there is none then. */
int dm_node_file_describe(int fd, size_t len, struct dm_node_file *file_p);
/* Map the first file->len bytes of it; munmap ends that. DM_ESYS: not allowed, not that file. */
int dm_node_file_map(const struct dm_node_file *file, void **ptr_p);

struct dm_node_batch; /* private: blocks that are mapped together */

struct dm_node_segment {
    void *at; /* NULL: not mapped */
    size_t len;
    int fd;          /* of its maker during the hand-over; else -1 */
    bool is_private; /* there is no file */
    /* of one of several blocks, of which at and len are the head: */
    char *tail;
    struct dm_node_batch *batch;
};

/* Make len bytes, and describe them (len 0 on failure). DM_ENOMEM, DM_ESYS. */
int dm_node_segment_make(struct dm_node_segment *s, const char *name, size_t len,
                         struct dm_node_file *file_p);
/* Make len bytes of zeros for a process that has nobody to share them with. DM_ENOMEM. */
int dm_node_segment_alone(struct dm_node_segment *s, size_t len);
/* Map len bytes that another process has made. DM_ESYS, DM_ENOMEM. */
int dm_node_segment_map(struct dm_node_segment *s, const struct dm_node_file *file, size_t len);
/*
 * All have agreed that everybody has it, or else that nobody uses it: nobody will open it any
 * more.
 */
void dm_node_segment_close_file(struct dm_node_segment *s);
/* Unmap it, at whatever stage; of several blocks with the last one of them. Again does nothing. */
void dm_node_segment_free(struct dm_node_segment *s);

/* Blocks of a file: bytes of each of the two parts, rounded up to lines and pages by dm_node_blocks_len. */
struct dm_node_blocks {
    size_t head_len;
    size_t tail_len;
    uint32_t n;
};
/* The length of their file. */
size_t dm_node_blocks_len(struct dm_node_blocks *blocks);
/* A segment of that length, made or mapped, becomes its first block. Of DM_ENOMEM it stays what it is. */
int dm_node_segment_cut(struct dm_node_segment *s, const struct dm_node_blocks *blocks);
/* Another one of the blocks, below n: a segment of its own, to be freed. */
struct dm_node_segment dm_node_segment_block(const struct dm_node_segment *first, uint32_t i);
/* Nobody uses a block: give back the pages of its tail, which is zeros then. */
void dm_node_segment_empty_tail(const struct dm_node_segment *s);

#endif
