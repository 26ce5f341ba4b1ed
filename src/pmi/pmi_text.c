/*
 * Growing texts.
 */
#include "pmi/pmi_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void dm_pmi_text_add(struct dm_pmi_text *text, const char *fmt, ...)
{
    size_t left = text->max - text->len;
    va_list ap;
    char *new;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text->text != NULL ? text->text + text->len : NULL, left, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n >= left) {
        new = realloc(text->text, 2 * text->max + (size_t)n + 1);
        if (new == NULL) {
            text->is_short = true;
            return;
        }
        text->text = new;
        text->max = 2 * text->max + (size_t)n + 1;
        va_start(ap, fmt);
        n = vsnprintf(text->text + text->len, text->max - text->len, fmt, ap);
        va_end(ap);
    }
    text->len += n > 0 ? (size_t)n : 0;
}
