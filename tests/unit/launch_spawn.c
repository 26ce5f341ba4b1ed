/* test: layers=util,pmi,tools_mpiexec timeout=60 */
/* Requests of PMI-1 to spawn: good ones, and whatever else a program may write. */
#include "tools/mpiexec/spawn_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static struct dm_launch_request request;

/* Takes lines until the request is whole; false: it is not. */
static bool take(const char *const *lines)
{
    memset(&request, 0, sizeof(request));
    for (; *lines != NULL; lines++)
        if (dm_launch_request_line(&request, *lines))
            return lines[1] == NULL;
    return false;
}

#define TAKE(...) take((const char *const[]){__VA_ARGS__, NULL})

static void good_requests(void)
{
    CHECK(TAKE("nprocs=2", "execname=a b=c", "totspawns=1", "spawnssofar=1", "arg1=x=y z",
               "arg2=", "argcnt=2", "preput_num=1", "preput_key_0=K", "preput_val_0=V W",
               "info_num=1", "info_key_0=wdir", "info_val_0=/a b", "endcmd"));
    CHECK(request.why == NULL);
    CHECK_EQ(request.n_apps, 1);
    CHECK_EQ(request.apps[0].n, 2);
    CHECK_STR(request.apps[0].command, "a b=c");
    CHECK_EQ(request.apps[0].args.n, 2);
    CHECK_STR(request.apps[0].args.list[0], "x=y z");
    CHECK_STR(request.apps[0].args.list[1], "");
    CHECK_STR(request.keys.list[0], "K");
    CHECK_STR(request.values.list[0], "V W");
    CHECK_STR(dm_launch_request_info(&request.apps[0], "wdir"), "/a b");
    CHECK(dm_launch_request_info(&request.apps[0], "host") == NULL);
    dm_launch_request_free(&request);
}

static void two_programs(void)
{
    CHECK(TAKE("is_escaped=1", "own=ff", "nprocs=1", "execname=a", "totspawns=2", "preput_num=1",
               "preput_key_0=K", "preput_val_0=%250", "endcmd", "mcmd=spawn", "nprocs=0",
               "execname=b", "more=%0Ac", "arg1=1", "more=2", "more=3", "preput_num=1",
               "preput_key_0=K", "preput_val_0=V", "endcmd"));
    CHECK(request.why == NULL);
    CHECK_EQ(request.own, 255);
    CHECK_EQ(request.n_apps, 2);
    CHECK_STR(request.apps[1].command, "b\nc");
    CHECK_STR(request.apps[1].args.list[0], "123");
    CHECK_EQ(request.keys.n, 1);
    CHECK_STR(request.values.list[0], "%0");
    dm_launch_request_free(&request);
}

/* Whole, and refused with a reason. */
#define CHECK_BAD(...)                                                                             \
    do {                                                                                           \
        CHECK(TAKE(__VA_ARGS__));                                                                  \
        CHECK(request.why != NULL);                                                                \
        dm_launch_request_free(&request);                                                          \
    } while (0)

static void bad_requests(void)
{
    CHECK_BAD("endcmd");
    CHECK_BAD("nprocs=1", "totspawns=1", "endcmd");
    CHECK_BAD("execname=", "endcmd");
    CHECK_BAD("nprocs=x", "execname=a", "endcmd");
    CHECK_BAD("nprocs=-1", "execname=a", "endcmd");
    CHECK_BAD("nprocs=99999999999", "execname=a", "endcmd");
    CHECK_BAD("nprocs=", "execname=a", "endcmd");
    CHECK_BAD("execname=a", "info_key_0=host", "endcmd");
    CHECK_BAD("execname=a", "preput_val_0=V", "endcmd");
    CHECK_BAD("is_escaped=1", "execname=a%G0", "endcmd");
    CHECK_BAD("is_escaped=1", "execname=a", "arg1=%", "endcmd");
    CHECK_BAD("more=a", "execname=a", "endcmd");
    CHECK_BAD("execname=a", "nprocs=1", "more=2", "endcmd");
    CHECK_BAD("execname=a", "a_name_of_a_field_that_is_much_too_long_for_pmi=1", "endcmd");
    CHECK(!TAKE("totspawns=2", "execname=a", "endcmd"));
    dm_launch_request_free(&request);
    CHECK(!TAKE("no equals sign", "=", ""));
    dm_launch_request_free(&request);
}

/* Lines of pieces of requests in any order: nothing but answers. */
static void random_requests(void)
{
    static const char *const pieces[] = {"nprocs=1",
                                         "nprocs=",
                                         "execname=a",
                                         "execname=",
                                         "totspawns=2",
                                         "totspawns=-1",
                                         "spawnssofar=9",
                                         "arg1=x",
                                         "arg=",
                                         "argcnt=7",
                                         "preput_key_0=K",
                                         "preput_val_0=",
                                         "preput_val_1=",
                                         "info_key_0=a",
                                         "info_val_0=b",
                                         "is_escaped=1",
                                         "more=%41",
                                         "more=",
                                         "more=%",
                                         "own=zz",
                                         "mcmd=spawn",
                                         "mcmd",
                                         "",
                                         "=",
                                         "====",
                                         "endcmd",
                                         "endcmd=1",
                                         "info_num=9999",
                                         "preput_num=-12",
                                         "totspawns=3"};
    enum { N_PIECES = sizeof(pieces) / sizeof(pieces[0]) };
    unsigned int seed = 1;

    for (int round = 0; round < 20000; round++) {
        memset(&request, 0, sizeof(request));
        for (int i = 0; i < 30; i++) {
            seed = seed * 1103515245 + 12345;
            if (dm_launch_request_line(&request, pieces[seed / 65536 % N_PIECES]))
                break;
        }
        dm_launch_request_free(&request);
    }
    CHECK(true);
}

static void long_texts(void)
{
    static char line[8000];
    bool is_whole = false;

    memset(line, 'x', sizeof(line) - 1);
    memcpy(line, "more=", 5);
    memset(&request, 0, sizeof(request));
    CHECK(!dm_launch_request_line(&request, "execname=a"));
    for (int i = 0; i < 9000 && !is_whole; i++)
        is_whole = dm_launch_request_line(&request, line);
    CHECK(dm_launch_request_line(&request, "endcmd"));
    CHECK(request.why != NULL);
    CHECK(strlen(request.apps[0].command) < 65 << 20);
    dm_launch_request_free(&request);
}

int main(void)
{
    good_requests();
    two_programs();
    bad_requests();
    random_requests();
    long_texts();
    return test_result();
}
