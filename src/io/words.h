/*
 * Words that the processes of a file share, whatever they do meanwhile: the shared pointer, and the lock
 * of atomic mode.
 */
#ifndef DM_IO_WORDS_H
#define DM_IO_WORDS_H

#include <stdatomic.h>

#include "mpi/core/core.h"
#include "mpi/node/segment.h"

struct dm_file; /* file.h */

/* From DM_WORD_WAITERS on there is one for each process, and more up to a power of two (lock.c). */
enum dm_file_word { DM_WORD_POINTER, DM_WORD_LOCK, DM_WORD_LOST, DM_WORD_WAITERS };

struct dm_file_words {
    int home;                 /* the process that has them */
    int32_t file;             /* its handle of the file */
    struct dm_words *own;     /* not NULL: they are changed by the provider's atomic operations, */
    struct dm_word_key key;   /* with this */
    _Atomic uint64_t *at;     /* where this process addresses them; else NULL: it asks by packets */
    _Atomic uint64_t pointer; /* of one process, who needs no others */
    struct dm_node_segment segment;
    struct dm_node_file memory; /* of the segment's maker */
    bool is_agreed;             /* all of the host have the segment */
    uint32_t n_waiters;
    uint64_t stamp; /* of this file among those whose words `home` has had */
};

/* Where they are, as the first process tells the others; sent as it is. */
struct dm_file_home {
    struct dm_node_file file;
    struct dm_word_key key;
    int32_t handle;
    uint64_t stamp;
};

/* What a process cannot do; or, when all have agreed, some process. */
enum dm_words_lack { DM_WORDS_UNMAPPED, DM_WORDS_NO_PROVIDER, DM_N_WORDS_LACKS };

/* Handlers of packets. */
void dm_file_words_start(void);
void dm_file_words_stop(void);
/* Zeroes, for this process alone. */
void dm_file_words_init(struct dm_file *f);
/*
 * Zeroes, for all processes of the file, in three steps; the messages between them are the caller's:
 * 1. All make what they have. What the first process gets in *home_p goes to all. DM_ENOMEM.
 * 2. All take that, and say what they cannot do. All agree on what some process cannot.
 * 3. All choose alike; then they may be used. Where another process asks by packets, it may do so before
 *    the first process has come here.
 */
int dm_file_words_make(struct dm_file *f, struct dm_file_home *home_p);
void dm_file_words_take(struct dm_file *f, const struct dm_file_home *home,
                        bool lacks[DM_N_WORDS_LACKS]);
void dm_file_words_choose(struct dm_file *f, const bool lacks[DM_N_WORDS_LACKS]);
/* On several hosts: tell by DATUM_EXPLAIN how they are changed. */
void dm_file_words_explain(const struct dm_file *f);
/* Nobody uses them any more; at whatever step. */
void dm_file_words_free(struct dm_file *f);
/*
 * Add n to a word; *old_p: what was there. Waits. DM_EPEER: their process is lost; or it is not known
 * whether n was added, since a connection broke meanwhile.
 */
int dm_file_word_add(struct dm_file *f, uint32_t word, uint64_t n, uint64_t *old_p);

#endif
