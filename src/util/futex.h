/*
 * Sleeping on a word that may be shared between processes.
 */
#ifndef DM_UTIL_FUTEX_H
#define DM_UTIL_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

#define DM_FUTEX_FOREVER UINT64_MAX

/* Sleep while *word == value, until the deadline in ns of CLOCK_MONOTONIC.
 * Returns 0 (woken, or the value had changed) or ETIMEDOUT or EINTR. */
int dm_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns);
/* The same on two words at a time. ENOSYS: this system cannot. */
int dm_futex_wait_two(_Atomic uint32_t *a, uint32_t value_a, _Atomic uint32_t *b, uint32_t value_b,
                      uint64_t deadline_ns);
/* Wake up to n sleepers. */
void dm_futex_wake(_Atomic uint32_t *word, int n);
/* Now, in ns of CLOCK_MONOTONIC. */
uint64_t dm_futex_now(void);
/* The deadline for a timeout in microseconds, DAT_TIMEOUT_INFINITE included. */
uint64_t dm_futex_deadline(uint32_t timeout_us);

#endif
