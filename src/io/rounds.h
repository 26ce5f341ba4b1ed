/*
 * What the two sides of a round share: the process that has data, and the aggregator with its window
 * of the file. Private to two_phase.c and window.c.
 */
#ifndef DM_IO_ROUNDS_H
#define DM_IO_ROUNDS_H

#include "io/two_phase.h"

#define DM_ROUND_TAG  1
#define DM_ROUND_NONE INT64_MAX

/* The data of one process in the domain of one aggregator, from pos on. */
struct dm_cursor {
    const struct dm_view *view;
    uint64_t pos, end;
    int64_t low; /* of the domain */
};

/* Data of the file that an aggregator has at a time. */
struct dm_window {
    char *mem, *mask, *stage; /* the mask says which bytes have come */
    int64_t low, high;        /* of the file */
    size_t got;               /* bytes that were there to be read */
    int first, last, next;    /* processes whose data are in the stage; the next to be waited for */
    uint64_t used;            /* bytes of the stage, of processes before that */
    struct dm_io_job job;     /* the access to the file */
    struct dm_req job_req;    /* what is waited for until it is over */
};

/*
 * An aggregator writes: take data of some processes, until all have sent; write them. It reads: read,
 * then give some processes theirs, until all have them. OWN ends the round.
 */
enum dm_round_stage {
    DM_ROUND_NEXT,
    DM_ROUND_WINDOW,
    DM_ROUND_ACCESS,
    DM_ROUND_ACCESSED,
    DM_ROUND_SOME,
    DM_ROUND_EACH,
    DM_ROUND_OWN,
    DM_ROUND_OVER
};

/* All that a process needs for its rounds. */
struct dm_rounds {
    struct dm_file *f;
    struct dm_move *m;
    const struct dm_plan *plan;
    int me;                   /* number among the aggregators, -1: none */
    struct dm_cursor *out;    /* of this process, to each aggregator */
    struct dm_cursor *in;     /* of each process, at this aggregator */
    struct dm_req **reqs;     /* one for each aggregator */
    uint64_t *lens;           /* likewise: bytes of the message, */
    uint64_t *at;             /* and where they are in memory, packed */
    struct dm_req **agg_reqs; /* one for each process */
    char *pack;               /* packed data of a round, when memory is not contiguous */
    struct dm_window window;
    bool blocks;
    enum dm_round_stage stage;
    int64_t round;
    int next_own;    /* own message that is waited for next, */
    uint64_t packed; /* and where its data are in `pack` */
    int64_t good;    /* all below this offset is written, as far as this aggregator knows */
    struct dm_io_result result;
};

/* ---- two_phase.c ---- */

/* An error that does not stop the rounds: the first one is kept. */
void dm_rounds_note(struct dm_rounds *r, int err);
/* The same of a message: what it had, or what comes of it, is not there. */
void dm_rounds_fail(struct dm_rounds *r, int err);
/* Bytes of a round, from c->pos on. */
uint64_t dm_cursor_len(const struct dm_plan *plan, const struct dm_cursor *c, int64_t round);

/* ---- window.c: an aggregator ---- */

/* Memory of an aggregator; false: there is none. The processes' cursors come later. */
bool dm_window_alloc(struct dm_rounds *r);
void dm_window_free(struct dm_rounds *r);
/* Carry the stage of this round on: the next stage; *req_p: what is waited for first. */
enum dm_round_stage dm_window_step(struct dm_rounds *r, struct dm_req **req_p);

#endif
