/*
 * Copies from and to mapped files, which another process may truncate meanwhile: the kernel sends
 * SIGBUS then, which must not reach the program.
 */
#ifndef DM_IO_FAULT_H
#define DM_IO_FAULT_H

#include <stdbool.h>

/* fn(arg), which must not allocate or lock. False: it was cut off by a SIGBUS. */
bool dm_fault_guard(void (*fn)(void *arg), void *arg);

#endif
