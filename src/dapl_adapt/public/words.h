/*
 * Atomic operations of providers.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_WORDS_H
#define DM_DAPL_ADAPT_PUBLIC_WORDS_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/public/rdma.h"

struct dm_words;

/*
 * What others need to reach a process' words; plain bytes. rail: equal for the same rail; 0: there
 * are no words.
 */
struct dm_word_key {
    uint64_t addr;
    uint32_t ctx;
    uint32_t rail;
};

/* What is done with a word: `value` is added, or (is_swap) stored if the word is `compare`. */
struct dm_word_op {
    uint64_t which; /* number of the word */
    uint64_t value;
    uint64_t compare;
    bool is_swap;
};

/*
 * n 64-bit words, 0 at first, that are changed and looked at by dm_adapt_word_op only, through
 * one rail, by their owner too: a provider's atomic operations need not know of the processor's.
 * They are not swapped.
 * is_remote: processes of other hosts do so; is_any: also a rail where processors carry them out, if they
 * do so whatever the words' owner does.
 * NULL: no rail has such operations, which is tried, or memory is out.
 */
struct dm_words *dm_adapt_words_new(struct dm_adapt *adapt, size_t n, bool is_remote, bool is_any,
                                    struct dm_word_key *key_p);
/*
 * The same for words that are there, at a multiple of 8, and stay the caller's; swapped, too. The rail
 * is the same on all processes that have the same rails. NULL also: they cannot be registered.
 */
struct dm_words *dm_adapt_words_at(struct dm_adapt *adapt, void *at, size_t len, bool is_remote,
                                   bool is_any, struct dm_word_key *key_p);
/* Nobody uses them any more. */
void dm_adapt_words_free(struct dm_adapt *adapt, struct dm_words *words);
/*
 * Change a word of proc, perhaps this process; *old_p gets what was there. `mine` are this process'
 * words, on the same rail. The word is changed when done is called, at the latest. DM_EAGAIN: not now (it is being connected, or too many are under way), make progress
 * and try again; also told by done: it was not done. DM_EPEER: the process, or that rail to it, is
 * lost; told by done it may have been done or not, since it is not repeated when a connection
 * breaks. DM_EPROVIDER: the own word cannot be reached any more, nothing was done.
 */
int dm_adapt_word_op(struct dm_adapt *adapt, int proc, struct dm_rdma *rdma,
                     const struct dm_words *mine, const struct dm_word_key *key,
                     const struct dm_word_op *op, uint64_t *old_p);

#endif
