/*
 * Checks for unit tests. A failing check prints file, line and what it saw, and
 * the test goes on; main ends with `return test_result();`.
 */
#ifndef DM_TESTS_UNIT_TEST_H
#define DM_TESTS_UNIT_TEST_H

#include <stdio.h>
#include <string.h>

static int test_n_failed;

static inline void test_fail(const char *file, int line, const char *what)
{
    printf("%s:%d: FAILED: %s\n", file, line, what);
    fflush(stdout);
    test_n_failed++;
}

static inline void test_eq(const char *file, int line, const char *what, long long a, long long b)
{
    if (a == b)
        return;
    test_fail(file, line, what);
    printf("    left %lld, right %lld\n", a, b);
}

static inline void test_str(const char *file, int line, const char *what, const char *a,
                            const char *b)
{
    if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
        return;
    test_fail(file, line, what);
    printf("    left '%s'\n    right '%s'\n", a != NULL ? a : "(null)", b != NULL ? b : "(null)");
}

/* 0 when every check held, else 1: the exit status of the test program. */
static inline int test_result(void)
{
    if (test_n_failed > 0)
        printf("%d checks failed\n", test_n_failed);
    return test_n_failed > 0;
}

#define CHECK(cond)     ((cond) ? (void)0 : test_fail(__FILE__, __LINE__, #cond))
#define CHECK_EQ(a, b)  test_eq(__FILE__, __LINE__, #a " == " #b, (long long)(a), (long long)(b))
#define CHECK_STR(a, b) test_str(__FILE__, __LINE__, #a " == " #b, (a), (b))

#endif
