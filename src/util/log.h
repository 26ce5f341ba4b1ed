/*
 * Messages for users and traces for developers; the only place that prints.
 *
 * A line reads "datum: [rank 3 on host7] error: text". Levels error and warn are
 * always compiled; a trace costs one test of a mask when it is off.
 * DATUM_TRACE=area,area|all switches areas on. Lines are written with one
 * write(2) each, so that lines of several processes do not mix.
 */
#ifndef DM_UTIL_LOG_H
#define DM_UTIL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define DM_TRACE_AREAS(X)                                                                          \
    X(PMI) X(DAT) X(CONN) X(EAGER) X(RNDV) X(REG) X(CHAN) X(MATCH) X(COLL) X(RMA) X(MEM) X(API)
#define DM_TRACE_ENUM(a) DM_T_##a,
enum dm_trace_area { DM_TRACE_AREAS(DM_TRACE_ENUM) DM_T_LAST };
#undef DM_TRACE_ENUM

/* Who speaks: set once the rank is known (rank < 0: not yet), copied. */
void dm_log_identity(int rank, const char *host);

/* "datum: [rank R on HOST] error: ..." on stderr. */
void dm_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "... warning: ..." on stderr. */
void dm_log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "datum: ..." on stderr without level; for what a setting asked to see. */
void dm_log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Plain text to stdout, for tools and DATUM_EXPLAIN-like output of tools. */
void dm_log_out(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Has `why` of `name` not been said before? For what is tried again and again and fails in the same way.
 * Both are static or short texts that do not change with the circumstances; of many the oldest are forgotten.
 */
bool dm_log_is_new(const char *name, const char *why);

/* The mask of areas that are on; read by DM_TRACE only. */
uint32_t dm_log_trace_mask(void);
/* Parse "area,area" or "all"; returns DM_OK or DM_ECONFIG for an unknown area. */
int dm_log_trace_set(const char *areas);
void dm_log_trace_emit(enum dm_trace_area area, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Text is lower case, "name value" without '='. Off in builds without debug. */
#define DM_TRACE(area, ...)                                                                        \
    do {                                                                                           \
        if (DM_TRACE_ON && (dm_log_trace_mask() >> DM_T_##area & 1))                               \
            dm_log_trace_emit(DM_T_##area, __VA_ARGS__);                                           \
    } while (0)

#include "config.h" /* DM_TRACE_ON: 1 with --enable-debug, else 0 */

#endif
