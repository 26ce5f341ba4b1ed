/*
 * Open files, and what the files of this layer offer each other.
 *
 * A file that more than one process has opened has a communicator of its own, and words that all
 * reach (words.h). Nothing is kept in the file system.
 */
#ifndef DM_IO_FILE_H
#define DM_IO_FILE_H

#include "io/datarep.h"
#include "io/disk.h"
#include "io/hints.h"
#include "io/io.h"
#include "io/lock.h"
#include "io/move.h"
#include "io/view.h"
#include "io/words.h"
#include "util/backoff.h"
#include "util/list.h"

struct dm_exchanges; /* exchange.h */
struct dm_ship;      /* ship.h */

/* The split collective that is under way. */
struct dm_file_split {
    const char *what; /* which one: the name that _end must have; NULL: none */
    const void *buf;
    struct dm_req *req;
};

/* Of a host, where others have caches of their own of the file: cache.c. */
struct dm_file_cache {
    bool is_own;     /* they have; the file system does not keep them alike */
    bool has_writes; /* this process has written alone, and others may not see it yet */
    bool is_old;     /* others may have written what this process reads */
};

struct dm_file {
    struct dm_obj obj;
    MPI_File self; /* the handle, for error handlers */
    struct dm_list link;
    struct dm_comm *comm; /* NULL when one process has opened the file */
    struct dm_file_words words;
    struct dm_lock_turn
        *turns; /* of this process at the lock, in order; the first one has a ticket */
    struct dm_group *group;
    int rank, size;
    struct dm_disk disk;
    struct dm_file_cache cache;
    int amode;
    bool is_atomic;
    struct dm_hints hints;
    struct dm_view *view;
    uint64_t pos; /* the individual pointer, in bytes of the view */
    struct dm_errhandler *eh;
    int n_pending;  /* requests, */
    int n_declined; /* and those of them that the program knows nothing of: it made an error */
    struct dm_file_split split;
    unsigned int explained;     /* ways that DATUM_EXPLAIN has told */
    bool is_one_cache;          /* all its processes are on one host, and the file system is, too */
    bool has_view;              /* one was set since it was opened */
    int n_writers;              /* aggregators of a file within one host, without hints */
    struct dm_backoff alone[2]; /* of asking whether an exchange is worth it: to read, to write */
    struct dm_ship *ship;       /* views for exchanges, or NULL: ship.h */
    struct dm_exchanges *exchanges; /* exchange.h */
};

/* ---- agree.c ---- */

/*
 * Collective: DM_OK if every process says so, else the error of the lowest one that has one, with
 * its text, unless this process has one itself.
 */
int dm_file_agree(struct dm_file *f, int err);
/* The same among the processes of a communicator; NULL: this one alone. */
int dm_io_agree(struct dm_comm *comm, int err);
/* And which of n flags are true at some process; at most DM_IO_FLAGS. */
#define DM_IO_FLAGS 4
int dm_io_agree_flags(struct dm_comm *comm, int err, bool *flags, int n);
/* Collective: len bytes of the first process. */
int dm_file_bcast(struct dm_file *f, void *data, size_t len);

/* ---- cache.c: hosts that have caches of their own ---- */

/* The file is open, and so on which hosts is known. */
void dm_file_cache_init(struct dm_file *f);
/*
 * Before reading data or the size: see what others have written, in atomic mode, and for this process. Errors
 * are those of writing what this host has not written yet.
 */
int dm_file_see(struct dm_file *f);
/* After writing alone: in atomic mode let others see it. */
int dm_file_show(struct dm_file *f);
/* The same of what atomic mode does not know: it is written out before the next exchange. */
void dm_file_wrote(struct dm_file *f);
/* All have come to an exchange: let aggregators see what this process has written alone. */
int dm_file_write_out(struct dm_file *f);
/* Aggregators have written for this process, or others what it may read as an aggregator. */
void dm_file_others_wrote(struct dm_file *f);

/* ---- stats.c ---- */

/* Count what a move did, and tell about a way that is new; in the program's thread. */
void dm_move_count(struct dm_file *f, const struct dm_move *m);
/* At rank 0, where $ROMIO_PRINT_HINTS is set: the hints of a file that was opened. */
void dm_file_print_hints(struct dm_file *f);

/* ---- file.c ---- */

/* Collective: hints of info, as the first process has them, so that all decide alike. */
int dm_file_take_hints(struct dm_file *f, const struct dm_info *info);

void dm_file_ref(struct dm_file *f);
void dm_file_unref(struct dm_file *f);

/* ---- shared.c: what its processes have in common ---- */

/* Nobody uses the communicator and the words any more. */
int dm_file_unshare(struct dm_file *f);
/* The shared pointer, in bytes of the view: what it was, and n added. */
int dm_file_pointer_add(struct dm_file *f, uint64_t n, uint64_t *old_p);
int dm_file_pointer_get(struct dm_file *f, uint64_t *value_p);
/* By one process while no other uses it. */
int dm_file_pointer_set(struct dm_file *f, uint64_t value);
/* ---- request.c: transfers in a thread ---- */

/* Start a move; the request is complete when it is. Keeps the view, type and file until then. */
int dm_file_start(struct dm_file *f, const struct dm_move *m, struct dm_req **req_p);
/* A request that is complete, of a move that was made. */
int dm_file_started(struct dm_file *f, const struct dm_move *m, int err, struct dm_req **req_p);
/* Wait for all of this file. */
void dm_file_drain(struct dm_file *f);
/*
 * Sizes are changed while nothing is under way: else DM_ERR_IO (a split collective) or DM_ERR_REQUEST. Waits for
 * what the program knows nothing of.
 */
int dm_file_check_idle(struct dm_file *f);
/* The same for views, but waits for all requests: MPICH's programs set views while there are some. */
int dm_file_make_idle(struct dm_file *f);

#endif
