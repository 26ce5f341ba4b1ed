/*
 * The stack of the calling thread as text. Works in signal handlers: it takes no memory, and writes into
 * a buffer of the caller.
 */
#ifndef DM_UTIL_STACK_H
#define DM_UTIL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

/*
 * Append a line for each call, the innermost first: its number, "function+0xOFFSET" where the loader knows
 * the name, and "(file+0xOFFSET)", which addr2line takes. is_in_handler: begin with the call that the
 * signal has interrupted.
 */
void dm_stack_add(struct dm_strbuf *sb, bool is_in_handler);
/*
 * Only the addresses of the calls, at most max, the innermost (the caller of this) first; how many. They are turned
 * into text, one such line for each, by dm_stack_add_taken, which leaves out the innermost ones that are in the
 * library itself, unless all are.
 */
int dm_stack_take(uintptr_t *addresses, int max);
void dm_stack_add_taken(struct dm_strbuf *sb, const uintptr_t *addresses, int n);
/*
 * The innermost function on the stack whose name the loader knows and begins with prefix, behind one letter or
 * none: "MPI_" finds PMPI_Send, too, and gives MPI_Send. False: there is none.
 */
bool dm_stack_find(const char *prefix, char *name, size_t size);
/*
 * A call that this thread has begun, and its end: its name goes before those of the loader, which knows none of code that
 * the compiler has put apart. Calls may be nested; the name of the outer one is back when the inner one ends.
 */
void dm_stack_enter(const char *name);
void dm_stack_leave(void);
/* Append a number in base 10 or 16 (with 0x), as dm_strbuf_addf would, but also in signal handlers. */
void dm_stack_add_number(struct dm_strbuf *sb, uint64_t value, unsigned base);

#endif
