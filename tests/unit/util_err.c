/* test: layers=util timeout=10 */
/* Error texts and the detail per thread. */
#include "util/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "test.h"

static void every_code_has_a_text(void)
{
    for (int i = DM_OK; i < DM_ERR_LAST; i++)
        CHECK(dm_err_text(i) != NULL && dm_err_text(i)[0] != '\0');
    CHECK_STR(dm_err_text(DM_ENOMEM), "out of memory");
    CHECK_STR(dm_err_text(-1), "unknown error");
    CHECK_STR(dm_err_text(DM_ERR_LAST), "unknown error");
}

static void detail_is_kept_and_cut(void)
{
    char text[4000];

    CHECK_STR(dm_err_detail(), "");
    errno = 77;
    CHECK_EQ(DM_FAIL(DM_ESYS, "rank %d", 3), DM_ESYS);
    CHECK_EQ(errno, 77);
    CHECK_STR(dm_err_detail(), "rank 3");
    /* Its own text may be an argument. */
    CHECK_EQ(DM_FAIL(DM_ECONN, "dial: %s", dm_err_detail()), DM_ECONN);
    CHECK_STR(dm_err_detail(), "dial: rank 3");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)DM_FAIL(DM_ESYS, "%s", text);
    CHECK_EQ(strlen(dm_err_detail()), 2047);
    dm_err_clear();
    CHECK_STR(dm_err_detail(), "");
}

static void *other_thread(void *arg)
{
    (void)arg;
    CHECK_STR(dm_err_detail(), "");
    (void)DM_FAIL(DM_ESYS, "theirs");
    return NULL;
}

static void threads_do_not_share(void)
{
    pthread_t thread;

    (void)DM_FAIL(DM_ESYS, "mine");
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    CHECK_STR(dm_err_detail(), "mine");
}

int main(void)
{
    every_code_has_a_text();
    detail_is_kept_and_cut();
    threads_do_not_share();
    return test_result();
}
