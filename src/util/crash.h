/*
 * The last words of a process that crashes: one block on stderr with who it is, the signal, the address
 * and the stack. Then the signal does what it would have done: a core file, if wanted, is that of the crash.
 */
#ifndef DM_UTIL_CRASH_H
#define DM_UTIL_CRASH_H

/*
 * From now on for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, as far as the program has left them at their
 * default. host is copied. The calling thread gets a stack for handlers if it has none, so that an overflow
 * of its own is seen, too.
 */
void dm_crash_start(int rank, const char *host);
/* Back to the default, where the handler is still ours. */
void dm_crash_stop(void);

#endif
