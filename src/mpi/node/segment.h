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
};

/* Describe a descriptor of this process that has len bytes. DM_ESYS; there is none then. */
int dm_node_file_describe(int fd, size_t len, struct dm_node_file *file_p);
/* Map the first file->len bytes of it; munmap ends that. DM_ESYS: not allowed, not that file. */
int dm_node_file_map(const struct dm_node_file *file, void **ptr_p);

struct dm_node_segment {
    void *at; /* NULL: not mapped */
    size_t len;
    int fd;          /* of its maker during the hand-over; else -1 */
    bool is_private; /* there is no file */
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
/* Unmap it, at whatever stage; again does nothing. */
void dm_node_segment_free(struct dm_node_segment *s);

#endif
