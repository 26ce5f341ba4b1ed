/*
 * News about memory that loses its pages: unmapped, moved, given back. By userfaultfd, which reports of
 * ranges that it was asked to watch; no function of the program or of libc is replaced.
 *
 * What is watched is private memory without a file. The pages of other memory may change by another
 * process or descriptor, which nobody reports.
 *
 * The thread that changes a watched range sleeps until a thread of the watch has read of it. That one takes
 * no lock but the log's, allocates nothing and notes what it has read; whoever wants to rely on the memory
 * first takes what was noted (dm_watch_drain). So a thread of the library may itself unmap watched memory,
 * with any lock but the log's held. All but the reader is inside the global lock.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_WATCH_H
#define DM_DAPL_ADAPT_PROVIDER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dm_watch;

/* Tried when it is opened. NULL: it does not work here, and why is in the text of len bytes. */
struct dm_watch *dm_watch_open(char *why, size_t len);
void dm_watch_close(struct dm_watch *watch);
/* Watch [start, end), whole pages. False: not possible; nothing is known of this memory. */
bool dm_watch_add(struct dm_watch *watch, uintptr_t start, uintptr_t end);
/* Has [start, end) been watched all the time since dm_watch_add, by what was reported until the last dm_watch_drain? */
bool dm_watch_covers(const struct dm_watch *watch, uintptr_t start, uintptr_t end);
/*
 * Take the news: changed(arg, start, end) for each. False: more is under way, so what lies at an address
 * is not known now. True: all changes that began before are reported.
 */
bool dm_watch_drain(struct dm_watch *watch,
                    void (*changed)(void *arg, uintptr_t start, uintptr_t end), void *arg);

#endif
