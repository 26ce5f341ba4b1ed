/*
 * Error texts, and the detail of the last failure of each thread.
 *
 * The detail is a fixed buffer per thread: recording a failure cannot fail.
 */
#include "util/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/port.h"

#define DETAIL_LEN 2048 /* a list of providers and reasons */

static DM_THREAD_LOCAL char detail[DETAIL_LEN];
static DM_THREAD_LOCAL int detail_code;

#define ERR_TEXT(name, class, text) [name] = text,
static const char *const err_texts[DM_ERR_LAST] = {[DM_OK] = "no error", DM_ERRORS(ERR_TEXT)};

const char *dm_err_text(int err)
{
    if (err < 0 || err >= DM_ERR_LAST)
        return "unknown error";
    return err_texts[err];
}

int dm_err_fail(int err, const char *fmt, ...)
{
    char text[DETAIL_LEN];
    int saved = errno;
    va_list ap;

    /* Formatted beside the buffer: an argument may be dm_err_detail() itself. */
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    snprintf(detail, sizeof(detail), "%s", text);
    detail_code = err;
    errno = saved;
    return err;
}

const char *dm_err_detail(void)
{
    return detail;
}

int dm_err_code(void)
{
    return detail_code;
}

void dm_err_clear(void)
{
    detail_code = DM_OK;
    detail[0] = '\0';
}
