/* test: layers=util timeout=10 */
/* What lines look like, that each is one write, and the trace areas. */
#include "util/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"
#include "util/err.h"

/* A datagram socket as stderr: each recv returns exactly one write. */
static int capture[2];
static int real_stderr;

static void capture_open(void)
{
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, capture) != 0)
        abort();
    real_stderr = fcntl(2, F_DUPFD_CLOEXEC, 10);
    dup2(capture[1], 2);
}

static void capture_close(void)
{
    dup2(real_stderr, 2);
    close(real_stderr);
    close(capture[0]);
    close(capture[1]);
}

static const char *next_line(void)
{
    static char line[8192];
    ssize_t n = recv(capture[0], line, sizeof(line) - 1, MSG_DONTWAIT);

    line[n > 0 ? n : 0] = '\0';
    return line;
}

static void lines_name_the_speaker(void)
{
    dm_log_error("no rank %s", "yet");
    CHECK_STR(next_line(), "datum: error: no rank yet\n");
    dm_log_identity(0, "host7");
    dm_log_error("code %d", 5);
    CHECK_STR(next_line(), "datum: [rank 0 on host7] error: code 5\n");
    dm_log_warn("careful\n");
    CHECK_STR(next_line(), "datum: [rank 0 on host7] warning: careful\n");
    dm_log_info("shm is used");
    CHECK_STR(next_line(), "datum: shm is used\n");
    CHECK_STR(next_line(), "");
}

static void long_lines_are_cut(void)
{
    static char text[10000];
    const char *line;

    memset(text, 'x', sizeof(text) - 1);
    dm_log_warn("%s", text);
    line = next_line();
    CHECK(strlen(line) > 4000 && strlen(line) <= 4096);
    CHECK_EQ(line[strlen(line) - 1], '\n');
    CHECK_STR(next_line(), "");
}

static void areas_are_parsed(void)
{
    CHECK_EQ(dm_log_trace_mask(), 0);
    CHECK_EQ(dm_log_trace_set("conn,PMI"), DM_OK);
    CHECK_EQ(dm_log_trace_mask(), 1U << DM_T_CONN | 1U << DM_T_PMI);
    CHECK_EQ(dm_log_trace_set("con"), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "'con'") != NULL);
    CHECK_EQ(dm_log_trace_mask(), 1U << DM_T_CONN | 1U << DM_T_PMI);
    CHECK_EQ(dm_log_trace_set("all"), DM_OK);
    CHECK_EQ(dm_log_trace_mask(), (1U << DM_T_LAST) - 1);
    CHECK_EQ(dm_log_trace_set(""), DM_OK);
    CHECK_EQ(dm_log_trace_mask(), 0);
}

static void traces_name_the_area(void)
{
    dm_log_trace_emit(DM_T_CONN, "up %d", 1);
    CHECK(strstr(next_line(), " 0 CONN: up 1\n") != NULL);
    DM_TRACE(CONN, "not seen");
    CHECK_STR(next_line(), "");
}

static void what_was_said_is_known(void)
{
    char name[16];

    CHECK(dm_log_is_new("net2", "no address"));
    CHECK(!dm_log_is_new("net2", "no address"));
    CHECK(dm_log_is_new("net2", "no interface"));
    CHECK(dm_log_is_new("net3", "no address"));
    CHECK(!dm_log_is_new("net2", "no address"));
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "other%d", i);
        CHECK(dm_log_is_new(name, "no address"));
    }
    CHECK(!dm_log_is_new("other99", "no address"));
    CHECK(dm_log_is_new("net2", "no address")); /* the oldest ones are forgotten */
}

int main(void)
{
    capture_open();
    lines_name_the_speaker();
    long_lines_are_cut();
    areas_are_parsed();
    traces_name_the_area();
    what_was_said_is_known();
    capture_close();
    return test_result();
}
