/*
 * Text builder over a fixed buffer. Invariant: len < cap and buf[len] is NUL.
 */
#include "util/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void dm_strbuf_init(struct dm_strbuf *sb, char *buf, size_t cap)
{
    sb->buf = buf;
    sb->cap = cap;
    dm_strbuf_clear(sb);
}

void dm_strbuf_clear(struct dm_strbuf *sb)
{
    sb->len = 0;
    sb->is_short = false;
    sb->buf[0] = '\0';
}

bool dm_strbuf_add(struct dm_strbuf *sb, const char *text)
{
    return dm_strbuf_add_len(sb, text, strlen(text));
}

bool dm_strbuf_add_len(struct dm_strbuf *sb, const char *text, size_t len)
{
    size_t space = sb->cap - 1 - sb->len;

    if (len > space) {
        len = space;
        sb->is_short = true;
    }
    memcpy(sb->buf + sb->len, text, len);
    sb->len += len;
    sb->buf[sb->len] = '\0';
    return !sb->is_short;
}

bool dm_strbuf_addf(struct dm_strbuf *sb, const char *fmt, ...)
{
    size_t space = sb->cap - sb->len; /* with the NUL */
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(sb->buf + sb->len, space, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= space) {
        sb->is_short = true;
        n = n < 0 ? 0 : (int)(space - 1);
    }
    sb->len += (size_t)n;
    sb->buf[sb->len] = '\0';
    return !sb->is_short;
}
