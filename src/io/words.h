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

enum dm_file_word { DM_WORD_POINTER, DM_WORD_TICKET, DM_WORD_SERVED, DM_N_WORDS };

struct dm_file_words {
    int home;               /* the process that has them */
    int32_t file;           /* its handle of the file */
    struct dm_words *own;   /* not NULL: they are changed by the provider's atomic operations, */
    struct dm_word_key key; /* with this */
    _Atomic uint64_t *at;   /* where this process addresses them; else NULL: it asks by packets */
    _Atomic uint64_t local[DM_N_WORDS]; /* of one process, or where no memory can be shared */
    struct dm_node_segment segment;
};

/* Handlers of packets. */
void dm_file_words_start(void);
/* Zeroes, for this process alone. */
void dm_file_words_init(struct dm_file *f);
/* Collective: zeroes, for all processes of the file. On failure they are as they were. */
int dm_file_words_share(struct dm_file *f);
/* On several hosts: tell by DATUM_EXPLAIN how they are changed. */
void dm_file_words_explain(const struct dm_file *f);
/* Collective: nobody uses them any more. */
void dm_file_words_free(struct dm_file *f);
/*
 * Add n to a word; *old_p: what was there. Waits. DM_EPEER: their process is lost; or it is not known
 * whether n was added, since a connection broke meanwhile.
 */
int dm_file_word_add(struct dm_file *f, enum dm_file_word word, uint64_t n, uint64_t *old_p);

#endif
