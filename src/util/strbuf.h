/*
 * Text builder over a buffer of the caller: never overflows, always ends with a
 * NUL, and remembers when something did not fit.
 */
#ifndef DM_UTIL_STRBUF_H
#define DM_UTIL_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "util/port.h"

struct dm_strbuf {
    char *buf;
    size_t cap;    /* bytes of buf with the NUL, at least 1 */
    size_t len;    /* bytes in use without the NUL */
    bool is_short; /* something was cut off */
};

/* Start with an empty text in buf, which has room for cap > 0 bytes. */
void dm_strbuf_init(struct dm_strbuf *sb, char *buf, size_t cap);
/* Append; cuts what does not fit. Returns false when it (or an earlier one) was cut. */
bool dm_strbuf_add(struct dm_strbuf *sb, const char *text);
bool dm_strbuf_add_len(struct dm_strbuf *sb, const char *text, size_t len);
bool dm_strbuf_addf(struct dm_strbuf *sb, const char *fmt, ...) DM_PRINTF(2, 3);
/* Forget the text, keep the buffer. */
void dm_strbuf_clear(struct dm_strbuf *sb);

#endif
