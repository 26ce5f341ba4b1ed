/*
 * Waiting: how every wait above the DAT line polls, yields and sleeps. The numbers are here and
 * in the table of wait.c, nowhere else.
 *
 * A wait makes passes of progress. While every process has a core it polls, and lets others on
 * its core run in between; after DATUM_SPIN (1 ms unless set) it sleeps in the provider, for ever
 * longer times. When processes outnumber cores it yields after each pass, since whoever it waits
 * for may need this very core, and sleeps soon; but rarely while nobody takes its yields up, as the
 * others sleep. DATUM_PROGRESS=poll never sleeps, =wait never
 * polls.
 */
#ifndef DM_CHANNEL_WAIT_H
#define DM_CHANNEL_WAIT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/backoff.h"
#include "util/port.h"

struct dm_chan;

enum dm_wait_kind {
    DM_WAIT_MESSAGE, /* for a request: packets and completions end it */
    DM_WAIT_WORD,    /* for a word that a process of this host writes, who sends a packet then */
    DM_WAIT_ROUND,   /* for the other ranks of a collective in shared memory */
    DM_N_WAITS
};

/* Pairs: while every process has a core, and when processes outnumber cores. */
struct dm_wait_policy {
    uint32_t looks[2];  /* at a word in memory between two passes */
    uint32_t first[2];  /* idle passes before the first look at the clock, */
    uint32_t passes[2]; /* between the others, */
    uint32_t awake[2];  /* and between two sleeps */
    uint32_t free;      /* the first two while nobody takes up yields; 0: they are not looked at */
    uint64_t yield_ns;  /* of polling before yields, while every process has a core */
    uint64_t spin_ns;   /* of yielding before the first sleep, when they have not */
    uint32_t yields;    /* at least so many before that, however long they have taken */
    bool learns;        /* waits where yielding was in vain make the next ones sleep at once */
    bool by_message;    /* what is waited for comes as a message, and no other way */
    uint32_t sleep_us[2];     /* the first sleep; each is twice as long as the one before, */
    uint32_t sleep_max_us[2]; /* at most so long */
};

extern const struct dm_wait_policy dm_wait_policies[DM_N_WAITS];

/* One wait; on the caller's stack, or kept where a wait consists of calls. */
struct dm_waiter {
    const struct dm_wait_policy *policy;
    bool is_oversubscribed;
    bool has_yielded;    /* in this pass, to another thread: dm_wait_idle need not */
    uint32_t n;          /* idle passes */
    uint32_t next_clock; /* of them, until the next look at the clock */
    uint32_t n_sleeps;
    uint64_t since;   /* the first look at the clock in ns; 0: none yet */
    uint64_t spin_ns; /* to go on without sleeping; 0: it is time to */
    uint64_t first_spin_ns;
    uint64_t skipped_at; /* when one began that sleeps at once, as yields were in vain before */
    uint64_t sleep_us;   /* the next sleep */
};

/* Once, when the job is known. */
void dm_wait_start(struct dm_chan *chan);
/*
 * Begin a wait. spin_ns: instead of the policy's, when processes outnumber cores; 0: the policy's.
 * Inside the global lock, as all here.
 */
void dm_wait_begin(struct dm_chan *chan, struct dm_waiter *w, enum dm_wait_kind kind,
                   bool is_oversubscribed, uint64_t spin_ns);
/* What was waited for has come. */
void dm_wait_end(struct dm_chan *chan, struct dm_waiter *w);
/* Something has happened: polling starts anew. */
void dm_wait_reset(struct dm_waiter *w);
/* When processes outnumber cores: so many yields that nobody took up, almost in a row, and the core is ours. */
#define DM_WAIT_FREE_YIELDS 16
/* Give the core to others, or look for another one; it is now `start`; or when processes outnumber cores. (yield.c) */
void dm_chan_yield(struct dm_chan *chan, uint64_t start);
void dm_chan_yield_oversubscribed(struct dm_chan *chan, uint64_t start);
/* The clock's part of dm_wait_idle. */
bool dm_wait_look_at_clock(struct dm_chan *chan, struct dm_waiter *w);
/* A pass found nothing; may yield. True: it is time to sleep. */
static inline bool dm_wait_idle(struct dm_chan *chan, struct dm_waiter *w)
{
    return dm_unlikely(++w->n >= w->next_clock) && dm_wait_look_at_clock(chan, w);
}
/*
 * A pass of progress, then dm_wait_reset or dm_wait_idle; other threads are let in. Never blocks.
 */
bool dm_wait_pass(struct dm_chan *chan, struct dm_waiter *w);
/*
 * Sleep until a packet may have come, or for the policy's time, at most max_us: in the provider, or until a progress
 * thread has done something.
 */
void dm_wait_sleep(struct dm_chan *chan, struct dm_waiter *w, uint64_t max_us);

/*
 * Wait, making progress, for a word in memory that other processes of this host write: until
 * is_over says so. Before the caller sleeps *asleep, which they see, is counted up: whoever
 * writes the word, passes a full fence and then finds *asleep not 0 has to send a packet,
 * whatever it says. Other threads that wait may look for this one.
 */
struct dm_wait_word {
    bool (*is_over)(struct dm_wait_word *word);
    /* The same outside of the global lock, if it is nothing but a look at shared memory; or NULL. */
    bool (*has_come)(const struct dm_wait_word *word);
    uint32_t *asleep; /* of dm_wait_until NULL */
    bool
        is_untold; /* of dm_wait_until: nobody tells, so that this process looks all the time, or often */
};
void dm_wait_for_word(struct dm_chan *chan, struct dm_wait_word *word);
/*
 * The same for what packets and completions end, as dm_chan_progress_wait does: nothing is counted up. Of several
 * threads only those whose wait is over wake up.
 */
void dm_wait_until(struct dm_chan *chan, struct dm_wait_word *word);

/*
 * ---- rounds of the ranks of a node (DM_WAIT_ROUND), when processes outnumber cores ----
 *
 * How long to yield depends on how many ranks take turns on a core and on the bytes that all have
 * to move. n_overlong counts waits that lasted several times as long; each halves the time.
 */
uint64_t dm_wait_round_ns(int n_ranks, uint64_t bytes, unsigned int n_overlong);
/*
 * A wait with a sleep is over that began at `since`. A sleep makes short waits long, so only the
 * time counts.
 */
void dm_wait_round_learn(unsigned int *n_overlong, int n_ranks, uint64_t bytes, uint64_t since);
/*
 * Its first sleep is a timed wait on a futex, which the writer wakes at once, and packets do not.
 */
#define DM_WAIT_FUTEX_US 300

/* ---- waits that are too short for passes ---- */

/* For another process' few instructions: looks before the core is given away, which it may want. */
#define DM_WAIT_SHORT_LOOKS 200
/* More of them than any such wait takes, unless that process was stopped. */
#define DM_WAIT_STOPPED_LOOKS 12800
static inline void dm_wait_short(uint32_t *n)
{
    if (++*n % DM_WAIT_SHORT_LOOKS == 0)
        sched_yield();
    else
        dm_cpu_relax();
}

/* ---- passes ---- */

/* In rounds: passes between looks whether anybody was lost, while the waiter does not sleep. */
#define DM_WAIT_LOST_PASSES 1024
/*
 * MPI_Test and the like: idle calls before the core is given away, when processes outnumber
 * cores.
 */
#define DM_WAIT_IDLE_TESTS 8

/* ---- how long to wait for one way before another is taken ---- */

/*
 * Target-assisted RMA: the target executes a request soon, or the origin cancels it; looks
 * between clocks.
 */
#define DM_WAIT_ASSIST_NS    1200
#define DM_WAIT_ASSIST_BYTES 1 /* and a ns for so many bytes */
#define DM_WAIT_ASSIST_LOOKS 64
/*
 * An active-message get whose reply has not come is done by RDMA; and so are others after a reply
 * that old.
 */
#define DM_WAIT_AM_GET_NS 60000
/*
 * A split copy goes well if its end takes no longer than the copy, and so much: else it was in
 * vain.
 */
#define DM_WAIT_SPLIT_NS 20000
/*
 * Tries left out at most after failures in a row (util/backoff.h): transfers to a target, copies
 * of two ranks.
 */
#define DM_WAIT_BACKOFF_MAX 63
/* Generalized requests: idle passes, then timed waits; a poll_fn wakes nobody. */
#define DM_WAIT_GREQ_PASSES 1000
#define DM_WAIT_GREQ_NS     50000

/* ---- what other threads of this process do ---- */

/*
 * Jobs of threads of the library, which hooks of the progress engine see when they are done: n more
 * are under way (inside the global lock).
 */
void dm_wait_jobs_add(int n);
/* One is done: whoever sleeps for it looks again. Any thread, outside of the lock, too. */
void dm_wait_notify(void);
/*
 * A pass of progress, until a hook has seen that a job is done. After enough idle ones it sleeps until
 * dm_wait_notify, for at most DM_WAIT_JOB_NS since messages may come; while no job is under way, as
 * dm_chan_progress_wait does.
 */
void dm_wait_job_pass(struct dm_chan *chan, uint32_t *n_idle);
#define DM_WAIT_JOB_NS UINT64_C(1600000)
/* So many notifications there were; read before a pass, it lets dm_wait_timed miss none. */
uint32_t dm_wait_n_notified(void);
/* Sleep outside of the global lock for so long, or until there are more notifications than that. */
void dm_wait_timed(uint32_t n_notified, uint64_t ns);

/*
 * A wait is long then, and looked after so often (account.h); with more than so many ranks on a core that much later:
 * there all waits are longer, and all look, which takes some 0.1 ms.
 */
#define DM_WAIT_LONG_NS    UINT64_C(100000000)
#define DM_WAIT_LONG_RANKS 8

/* ---- progress threads (DATUM_PROGRESS=thread, threads2), microseconds ---- */

/* Between looks whether the program's threads still come in and poll. */
#define DM_WAIT_THREAD_MIN_US 100
#define DM_WAIT_THREAD_MAX_US 1000
/* In the provider: the first sleep, doubled up to the second. */
#define DM_WAIT_THREAD_SLEEP_MIN_US 500
#define DM_WAIT_THREAD_SLEEP_MAX_US 100000

#endif
