/*
 * What a wait that has become long says of itself: what for, and who could end it. Calls that do not wait know
 * nothing of this; those that do store a pointer, and are asked once they have waited for a tenth of a
 * second (with more than 8 ranks on a core: longer).
 */
#ifndef DM_CHANNEL_ACCOUNT_H
#define DM_CHANNEL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

struct dm_chan; /* channel.h */

#define DM_ACCOUNT_PROCS 64
#define DM_ACCOUNT_TEXT  320

/* The account of a wait. */
struct dm_wait_account {
    bool is_over; /* it has come; the wait has not looked yet */
    bool is_open; /* others than procs may end it: an adapter, a thread, something under way */
    int n;
    int procs[DM_ACCOUNT_PROCS]; /* none of the others can */
    struct dm_strbuf text;       /* "a message from rank 1 of MPI_COMM_WORLD, tag 7" */
    char chars[DM_ACCOUNT_TEXT];
};
/* One more process that could end the wait; it is open if it is one too many. */
void dm_account_add(struct dm_wait_account *account, int proc);

/*
 * For loops that wait for more than one request: what they wait for, while they do. report fills in an account that
 * is empty, and may be called by any pass of progress. The note is the caller's; one at a time.
 */
struct dm_wait_note {
    void (*report)(const struct dm_wait_note *note, struct dm_wait_account *account);
};
void dm_wait_note_set(struct dm_chan *chan, const struct dm_wait_note *note);
void dm_wait_note_end(struct dm_chan *chan);
/* Who tells of the word that dm_chan_wait is called with. */
void dm_wait_on_pending(struct dm_chan *chan,
                        void (*report)(const int *n_pending, struct dm_wait_account *account));

/* fn(arg) is called by a wait that is long, and again and again from then on. One, in progress: it may send. */
void dm_wait_on_long(struct dm_chan *chan, void (*fn)(void *arg), void *arg);
/* The number of the long wait that this process is in, and since when (dm_clock_ns); 0: it is in none. */
uint32_t dm_wait_long_number(const struct dm_chan *chan, uint64_t *since_p);
/* Nanoseconds that calls have waited with a note or for requests; only while is_timed says so are they counted. */
uint64_t dm_wait_time(struct dm_chan *chan, bool is_timed);
/* Its account. */
void dm_wait_report(const struct dm_chan *chan, struct dm_wait_account *account);

#endif
