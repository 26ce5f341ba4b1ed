/*
 * Views: which bytes of the file a process sees (MPI-4.0 section 14.3).
 *
 * The data of a view are numbered from 0: a position. A view is the displacement and the loop
 * program of its filetype, which repeats for ever; nothing is listed. From a position to an offset
 * in the file costs a division or a binary search for each level of the program, back a binary
 * search of these. In a data representation whose elements have other lengths than in memory,
 * positions count bytes of the file.
 *
 * Immutable once made. Any thread may use the functions that take a const view.
 */
#ifndef DM_IO_VIEW_H
#define DM_IO_VIEW_H

#include "io/datarep.h"
#include "mpi/datatype/datatype.h"

struct dm_view {
    int refs;
    MPI_Offset disp;
    struct dm_type *etype, *filetype; /* as the program gave them */
    const struct dm_datarep *rep;
    struct dm_type *tile; /* the filetype as it is in the file */
    uint64_t etype_size;  /* bytes in the file, */
    uint64_t size;        /* and of the data of a filetype */
    bool is_contig;       /* all bytes from `start` on */
    bool is_single;       /* one filetype only: by its extent the next one would overlap it */
    bool has_overlaps;    /* some bytes are seen twice: offsets may go back by less than a block */
    int64_t start;        /* offset of position 0 */
};

/*
 * DM_ERR_IO, as programs for MPICH expect: negative displacements, blocks that descend, or overlaps when
 * is_for_writing; DM_ERR_ARG: an etype without data, a filetype that is not made of whole etypes.
 */
int dm_view_new(MPI_Offset disp, struct dm_type *etype, struct dm_type *filetype,
                const struct dm_datarep *rep, bool is_for_writing, struct dm_view **view_p);
void dm_view_ref(struct dm_view *view);
void dm_view_unref(struct dm_view *view);

/* Does all up to this position lie within the largest file? DM_ERR_ARG. */
int dm_view_check(const struct dm_view *view, uint64_t pos);
/* The offset in the file of a position; the view is not empty. */
int64_t dm_view_offset(const struct dm_view *view, uint64_t pos);
/* The lowest position whose offset is not below this one. */
uint64_t dm_view_pos(const struct dm_view *view, int64_t offset);
/*
 * The file's ranges of [pos, pos + len), offsets in the place of addresses: at most n; *n_p of
 * them. Returns the bytes that they cover.
 */
uint64_t dm_view_ranges(const struct dm_view *view, uint64_t pos, uint64_t len, struct iovec *iov,
                        int n, int *n_p);
/* Copy [pos, pos + len) out of, or into, memory that holds the file from offset `at` on. */
void dm_view_gather(const struct dm_view *view, const char *mem, int64_t at, uint64_t pos,
                    void *dst, size_t len);
void dm_view_scatter(const struct dm_view *view, char *mem, int64_t at, uint64_t pos,
                     const void *src, size_t len);

#endif
