/*
 * Which of the protocols read and pipe (util/rndv.h) is faster now. Where cores share a cache the
 * pipe moves twice what one process copies; where they do not, or where processes have to wait for a
 * core, a third of it; and that changes within seconds as the system moves processes. So the
 * receiver times what it gets, by classes of length, tries the other protocol now and then, and
 * stays with the better. In an exchange the protocol decides, too, in which cache the program then finds
 * what it sends and receives: there the time from one message to the next is compared. No locks: the
 * caller's global lock guards it. Units: bytes, nanoseconds.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_RNDV_SELECT_H
#define DM_DAPL_ADAPT_PROVIDER_RNDV_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/rndv.h"
#include "util/trial.h"

#define DM_RNDV_SELECT_LENGTHS 6 /* below 64, 128, 256, 512 KiB, below 1 MiB, the others */
#define DM_RNDV_SELECT_CLASSES (2 * DM_RNDV_SELECT_LENGTHS) /* and of those for exchanges */
#define DM_RNDV_SELECT_PROTOS  (DM_RNDV_PIPE + 1) /* the first element of such arrays is unused */

_Static_assert(DM_RNDV_READ == 1 && DM_RNDV_PIPE == 2, "the protocols to choose from come first");

struct dm_rndv_select_class {
    double ns[DM_RNDV_SELECT_PROTOS]; /* a KiB, lately */
    double usual;                     /* ns of the protocol in use, when it was chosen */
    enum dm_rndv proto;               /* in use, or on trial */
    bool is_trial;
    bool is_known[DM_RNDV_SELECT_PROTOS]; /* ns was measured here */
    unsigned n_trial;                     /* messages of this trial */
    /* Samples under way. */
    struct dm_trial_least least;
    uint64_t since;
    uint64_t next_trial;
    uint64_t pause; /* between trials; grows while they change nothing */
};

struct dm_rndv_select {
    bool is_on;
    struct dm_rndv_select_class classes[DM_RNDV_SELECT_CLASSES];
    /* What is coming: time is counted while anything is, however many messages that are. */
    struct dm_rndv_select_open {
        int n;
        int class;
        bool is_mixed; /* something came by the other meanwhile: no sample */
        uint64_t since;
        uint64_t bytes; /* of what has come since */
        uint64_t last;  /* when the last one was there, if none has come by the other since; or 0 */
    } open[DM_RNDV_SELECT_PROTOS];
    uint64_t n_piped; /* bytes, of the first ones */
    uint64_t n_trials;
    uint64_t n_changes;
};

/*
 * Begin with what a measurement says of both, in GB/s. is_read_split: a read may have both processors copy,
 * as the pipe has.
 */
void dm_rndv_select_init(struct dm_rndv_select *select, double read_gbs, double pipe_gbs,
                         bool is_read_split, uint64_t now);
/*
 * A message of len bytes is about to come: by which protocol. Of an exchange: this process has sent such
 * messages, too, which are fetched at the same time.
 */
enum dm_rndv dm_rndv_select_begin(struct dm_rndv_select *select, size_t len, bool is_exchange,
                                  uint64_t now);
/* Exchanges: the protocol in use, or on trial; and from now on the one that somebody else has chosen. */
enum dm_rndv dm_rndv_select_now(const struct dm_rndv_select *select, size_t len);
void dm_rndv_select_follow(struct dm_rndv_select *select, size_t len, enum dm_rndv proto);
/* It has come, len bytes of it; 0: it failed. */
void dm_rndv_select_end(struct dm_rndv_select *select, enum dm_rndv proto, size_t len,
                        uint64_t now);

#endif
