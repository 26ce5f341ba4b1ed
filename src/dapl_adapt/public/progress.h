/*
 * Progress: looking, and sleeping in the provider.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_PROGRESS_H
#define DM_DAPL_ADAPT_PUBLIC_PROGRESS_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Look once for input, completions, credits, connection events and make the upcalls.
 * Returns the number of things that happened (0: idle). Cost grows with the active
 * connections only.
 */
int dm_adapt_poll(struct dm_adapt *adapt);
/*
 * Block in the provider until something may have happened or timeout_us is over.
 * The global lock is dropped meanwhile. Returns at once when the eager path cannot
 * wake us by itself and the time-out stands in (then timeout_us is cut to what is safe).
 */
void dm_adapt_wait(struct dm_adapt *adapt, uint64_t timeout_us);
/* Does all that comes wake who is in dm_adapt_wait, as completions do? Then it may wait long from the start. */
bool dm_adapt_is_woken(const struct dm_adapt *adapt);

/*
 * The same in two steps for a thread of the library's own that sleeps while the program computes:
 * begin is called inside the global lock, with the longest time in timeout_us, dm_adapt_sleep
 * outside of it when begin said so. False: there is something to do. Nobody may be in dm_adapt_wait
 * meanwhile.
 *
 * There are two sides to sleep at where dm_adapt_has_sides() says so: what has come, and what was
 * posted and connections.
 */
enum dm_side { DM_SIDE_RECV, DM_SIDE_REQUEST, DM_SIDES };

struct dm_ia;

struct dm_adapt_sleep {
    uint64_t timeout_us;
    enum dm_side side;
    struct dm_adapt *adapt;
    const struct dm_ia *ia; /* private to the layer */
};

bool dm_adapt_sleep_begin(struct dm_adapt *adapt, struct dm_adapt_sleep *sleep);
/*
 * Inside the lock: is that thread asleep, and will it be woken by whatever comes, also by what was posted and by
 * peers that were connected since? If that does not hold it is woken.
 */
bool dm_adapt_sleep_check(const struct dm_adapt_sleep *sleep);
/* True when an event ended it. */
bool dm_adapt_sleep(const struct dm_adapt_sleep *sleep);
/* Wake that side; any thread, the global lock is not needed. */
void dm_adapt_wake(struct dm_adapt *adapt, enum dm_side side);
/* Is there a provider to sleep in at all? */
bool dm_adapt_has_rails(const struct dm_adapt *adapt);
/* Have all providers two sides? */
bool dm_adapt_has_sides(const struct dm_adapt *adapt);
/* True when processes outnumber cores, so that waiting should block soon. */
bool dm_adapt_is_oversubscribed(const struct dm_adapt *adapt);
/* Is something to be sent for which the peer has no place, and will this process be woken when it has? */
bool dm_adapt_awaits_place(const struct dm_adapt *adapt);

#endif
