/*
 * Error texts, and the detail of the last failure of each thread.
 *
 * The code is always recorded. The text is kept in static memory for the first thread that has one,
 * and is lost by another when there is no memory. It is not in thread-local storage itself: a
 * library that programs load at run time (Python's extensions, for one) must do with some hundred
 * bytes of that.
 */
#include "util/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/port.h"

#define DETAIL_LEN 2048 /* a list of providers and reasons */

static struct {
    atomic_flag is_taken;
    char text[DETAIL_LEN];
} first = {.is_taken = ATOMIC_FLAG_INIT};
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* frees the texts of the others */
static bool has_key;

static DM_THREAD_LOCAL char *detail; /* NULL: none yet */
static DM_THREAD_LOCAL int detail_code;

static void err_drop_detail(void *text)
{
    detail = NULL; /* another destructor of the thread may call in */
    free(text);
}

static void err_make_key(void)
{
    has_key = pthread_key_create(&key, err_drop_detail) == 0;
}

static char *err_new_detail(void)
{
    char *text;

    if (!atomic_flag_test_and_set(&first.is_taken))
        return first.text;
    pthread_once(&key_once, err_make_key);
    text = has_key ? malloc(DETAIL_LEN) : NULL;
    if (text != NULL && pthread_setspecific(key, text) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

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
    if (detail == NULL)
        detail = err_new_detail();
    if (detail != NULL)
        snprintf(detail, DETAIL_LEN, "%s", text);
    detail_code = err;
    errno = saved;
    return err;
}

const char *dm_err_detail(void)
{
    return detail != NULL ? detail : "";
}

int dm_err_code(void)
{
    return detail_code;
}

void dm_err_clear(void)
{
    detail_code = DM_OK;
    if (detail != NULL)
        detail[0] = '\0';
}
