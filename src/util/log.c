/*
 * Messages and traces. A message is formatted into a buffer on the stack and
 * leaves with one write(2), so that lines of several processes and threads do
 * not mix, and so that it works from any context that may call vsnprintf.
 */
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/err.h"
#include "util/hash.h"

#define LINE_LEN 4096
#define HOST_LEN 256
#define N_SAID   32

#define AREA_NAME(a)      #a,
#define AREA_NAME_LIST(a) ", " #a
static const char *const area_names[DM_T_LAST] = {DM_TRACE_AREAS(AREA_NAME)};

static struct {
    int rank; /* rank + 1, so that zero means not known yet */
    char host[HOST_LEN];
    _Atomic uint32_t trace_mask;
    _Atomic uint64_t said[N_SAID]; /* hashes */
    _Atomic uint32_t n_said;
} state;

void dm_log_identity(int rank, const char *host)
{
    state.rank = rank + 1;
    snprintf(state.host, sizeof(state.host), "%s", host != NULL ? host : "");
}

static void log_write_all(int fd, const char *buf, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, buf, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nowhere left to report to */
        buf += n;
        len -= (size_t)n;
    }
}

/* Puts the speaker in front: "datum: [rank 3 on host7] "; returns its length. */
static size_t log_put_speaker(char *line)
{
    int n;

    if (state.rank > 0)
        n = snprintf(line, LINE_LEN, "datum: [rank %d on %s] ", state.rank - 1, state.host);
    else
        n = snprintf(line, LINE_LEN, "datum: ");
    return (size_t)n;
}

/* Completes a line that has pos bytes already and writes it. */
static void log_emit(int fd, char *line, size_t pos, const char *fmt, va_list ap)
{
    int saved = errno;
    size_t space = LINE_LEN - 1 - pos; /* one byte is kept for the newline */
    int n = vsnprintf(line + pos, space, fmt, ap);

    if (n < 0)
        n = 0;
    pos += (size_t)n < space ? (size_t)n : space - 1;
    if (line[pos - 1] != '\n')
        line[pos++] = '\n';
    log_write_all(fd, line, pos);
    errno = saved;
}

static void log_emit_level(const char *level, const char *fmt, va_list ap)
{
    char line[LINE_LEN];
    size_t pos = log_put_speaker(line);

    pos += (size_t)snprintf(line + pos, LINE_LEN - pos, "%s: ", level);
    log_emit(STDERR_FILENO, line, pos, fmt, ap);
}

bool dm_log_is_new(const char *name, const char *why)
{
    uint64_t hash = dm_hash_text(dm_hash_text(dm_hash_text(DM_HASH_TEXT, name), ": "), why);

    for (uint32_t i = 0; i < N_SAID; i++)
        if (atomic_load_explicit(&state.said[i], memory_order_relaxed) == hash)
            return false;
    atomic_store_explicit(
        &state.said[atomic_fetch_add_explicit(&state.n_said, 1, memory_order_relaxed) % N_SAID],
        hash, memory_order_relaxed);
    return true;
}

void dm_log_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_emit_level("error", fmt, ap);
    va_end(ap);
}

void dm_log_warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_emit_level("warning", fmt, ap);
    va_end(ap);
}

void dm_log_info(const char *fmt, ...)
{
    char line[LINE_LEN];
    va_list ap;

    va_start(ap, fmt);
    log_emit(STDERR_FILENO, line, (size_t)snprintf(line, LINE_LEN, "datum: "), fmt, ap);
    va_end(ap);
}

void dm_log_out(const char *fmt, ...)
{
    char line[LINE_LEN];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (n > 0)
        log_write_all(STDOUT_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

uint32_t dm_log_trace_mask(void)
{
    return atomic_load_explicit(&state.trace_mask, memory_order_relaxed);
}

/* The mask of one name of len bytes, 0 when there is no such area. */
static uint32_t log_area_mask(const char *name, size_t len)
{
    if (len == 3 && strncasecmp(name, "all", 3) == 0)
        return (UINT32_C(1) << DM_T_LAST) - 1;
    for (int i = 0; i < DM_T_LAST; i++)
        if (strlen(area_names[i]) == len && strncasecmp(name, area_names[i], len) == 0)
            return UINT32_C(1) << i;
    return 0;
}

int dm_log_trace_set(const char *areas)
{
    uint32_t mask = 0;

    while (*areas != '\0') {
        size_t len = strcspn(areas, ",");
        uint32_t bit = log_area_mask(areas, len);

        if (len > 0 && bit == 0)
            return DM_FAIL(DM_ECONFIG,
                           "no trace area is called '%.*s'; there are: "
                           "all" DM_TRACE_AREAS(AREA_NAME_LIST),
                           (int)len, areas);
        mask |= bit;
        areas += len + (areas[len] == ',');
    }
    atomic_store_explicit(&state.trace_mask, mask, memory_order_relaxed);
    return DM_OK;
}

void dm_log_trace_emit(enum dm_trace_area area, const char *fmt, ...)
{
    char line[LINE_LEN];
    uint64_t us = dm_clock_ns() / 1000;
    size_t pos;
    va_list ap;

    pos = (size_t)snprintf(line, LINE_LEN, "%llu.%06llu ", (unsigned long long)(us / 1000000),
                           (unsigned long long)(us % 1000000));
    pos +=
        (size_t)snprintf(line + pos, LINE_LEN - pos, "%d %s: ", state.rank - 1, area_names[area]);
    va_start(ap, fmt);
    log_emit(STDERR_FILENO, line, pos, fmt, ap);
    va_end(ap);
}
