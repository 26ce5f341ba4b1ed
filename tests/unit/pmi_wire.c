/* test: layers=util,pmi timeout=20 */
/* Lines of the PMI wire protocol: whole, in pieces, damaged, missing. */
#include "pmi/pmi_wire.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"
#include "util/clock.h"
#include "util/err.h"

static int peer; /* the launcher's end */
static struct dm_pmi_wire wire;

static void open_wire(void)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        abort();
    peer = fds[1];
    dm_pmi_wire_init(&wire, fds[0]);
}

static void close_wire(void)
{
    close(peer);
    close(wire.fd);
}

static void say(const char *text)
{
    CHECK_EQ(write(peer, text, strlen(text)), strlen(text));
}

static void expect_line(const char *text)
{
    const char *line = "";

    CHECK_EQ(dm_pmi_wire_recv(&wire, 1000000, &line), DM_OK);
    CHECK_STR(line, text);
}

static void expect_failure(const char *text)
{
    const char *line = "";

    CHECK_EQ(dm_pmi_wire_recv(&wire, 20000, &line), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), text) != NULL);
}

static void lines_are_split(void)
{
    open_wire();
    say("one\ntwo\n\nthr");
    expect_line("one");
    expect_line("two");
    expect_line("");
    expect_failure("does not answer");
    say("ee\n");
    expect_line("three");
    close_wire();
}

static void many_lines_wrap_the_buffer(void)
{
    char text[64];

    open_wire();
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "cmd=line number=%d fill=aaaaaaaaaaaaaaaaaaaa\ncm", i);
        say(text + (i > 0 ? 2 : 0));
        text[strlen(text) - 3] = '\0';
        expect_line(text);
    }
    close_wire();
}

static void long_and_binary_lines(void)
{
    static char text[DM_PMI_LINE_MAX + 1];
    const char *line;

    open_wire();
    memset(text, 'x', sizeof(text) - 1);
    text[DM_PMI_LINE_MAX - 1] = '\n';
    say(text);
    CHECK_EQ(dm_pmi_wire_recv(&wire, 1000000, &line), DM_OK);
    CHECK_EQ(strlen(line), DM_PMI_LINE_MAX - 1);
    text[DM_PMI_LINE_MAX - 1] = 'x';
    say(text);
    expect_failure("of more than");
    close_wire();
    open_wire();
    CHECK_EQ(write(peer, "a\0b\n", 4), 4);
    expect_failure("binary");
    close_wire();
}

static void the_end_is_noticed(void)
{
    open_wire();
    say("cmd=half");
    close(peer);
    expect_failure("closed the connection");
    CHECK_EQ(dm_pmi_wire_send(&wire, "cmd=x"), DM_ELAUNCH);
    CHECK(strstr(dm_err_detail(), "gone") != NULL);
    close(wire.fd);
    expect_failure("descriptor");
}

static void timeouts_are_kept(void)
{
    const char *line;
    uint64_t start;

    open_wire();
    start = dm_clock_ns();
    CHECK_EQ(dm_pmi_wire_recv(&wire, 100000, &line), DM_ELAUNCH);
    CHECK(dm_clock_ns() - start >= 100000000);
    close_wire();
}

static void long_requests_are_refused(void)
{
    static char text[DM_PMI_LINE_MAX];

    open_wire();
    memset(text, 'x', sizeof(text) - 1);
    CHECK_EQ(dm_pmi_wire_send(&wire, "%s", text), DM_EINTERN);
    text[DM_PMI_LINE_MAX - 2] = '\0';
    CHECK_EQ(dm_pmi_wire_send(&wire, "%s", text), DM_OK);
    close_wire();
}

static void fields(void)
{
    static const char line[] = "cmd=get_result rc=-1  msg= value=(v,(0,1))=b keyvalue=7 rc2=x n=5x "
                               "big=99999999999";
    char out[16];
    int num = 3;

    CHECK(dm_pmi_wire_field(line, "cmd", out, sizeof(out)));
    CHECK_STR(out, "get_result");
    CHECK(dm_pmi_wire_field(line, "value", out, sizeof(out)));
    CHECK_STR(out, "(v,(0,1))=b");
    CHECK(dm_pmi_wire_field(line, "msg", out, sizeof(out)));
    CHECK_STR(out, "");
    CHECK(!dm_pmi_wire_field(line, "cm", out, sizeof(out)));
    CHECK(!dm_pmi_wire_field(line, "cmd", out, 10));
    CHECK(dm_pmi_wire_field(line, "cmd", out, 11));
    CHECK(!dm_pmi_wire_field("", "cmd", out, sizeof(out)));
    CHECK(!dm_pmi_wire_field("=x", "", out, 1));
    CHECK(dm_pmi_wire_number(line, "rc", &num));
    CHECK_EQ(num, -1);
    CHECK(!dm_pmi_wire_number(line, "rc2", &num));
    CHECK(!dm_pmi_wire_number(line, "n", &num));
    CHECK(!dm_pmi_wire_number(line, "msg", &num));
    CHECK(!dm_pmi_wire_number(line, "big", &num));
    CHECK_EQ(num, -1);
}

static void escapes(void)
{
    char out[32];
    char all[256];
    char long_out[768];

    CHECK(dm_pmi_wire_escape("a b=c%\n", out, sizeof(out)));
    CHECK_STR(out, "a%20b%3Dc%25%0A");
    CHECK(dm_pmi_wire_unescape(out));
    CHECK_STR(out, "a b=c%\n");
    CHECK(dm_pmi_wire_escape("abc", out, 4));
    CHECK(!dm_pmi_wire_escape("abc", out, 3));
    CHECK(!dm_pmi_wire_escape("a ", out, 4));
    CHECK(dm_pmi_wire_escape("a ", out, 5));
    CHECK(!dm_pmi_wire_escape("", out, 0));
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    CHECK(dm_pmi_wire_escape(all, long_out, sizeof(long_out)));
    CHECK(strpbrk(long_out, " =\n\t") == NULL);
    CHECK(dm_pmi_wire_unescape(long_out));
    CHECK_STR(long_out, all);
    CHECK(!dm_pmi_wire_unescape(strcpy(out, "a%2")));
    CHECK(!dm_pmi_wire_unescape(strcpy(out, "%")));
    CHECK(!dm_pmi_wire_unescape(strcpy(out, "%zz")));
    CHECK(!dm_pmi_wire_unescape(strcpy(out, "%00")));
}

/* ---- PMI-2 ---- */

static void frames(void)
{
    char got[64];
    ssize_t n;

    open_wire();
    wire.is_framed = true;
    say("     4ab;c10    cmd=x y;z;");
    expect_line("ab c");
    expect_line("cmd=x_y z ");
    say("     0");
    expect_line("");
    say("  ");
    expect_failure("does not answer");
    say("   3a");
    expect_failure("does not answer");
    say("bc");
    expect_line("abc");
    CHECK_EQ(dm_pmi_wire_add(&wire, "cmd=%s;", "one"), DM_OK);
    CHECK_EQ(dm_pmi_wire_send(&wire, "cmd=two;"), DM_OK);
    n = read(peer, got, sizeof(got) - 1);
    got[n > 0 ? n : 0] = '\0';
    CHECK_STR(got, "     8cmd=one;     8cmd=two;");
    CHECK_EQ(wire.n_msgs, 2);
    close_wire();
}

static void no_frame(const char *text)
{
    open_wire();
    wire.is_framed = true;
    say(text);
    expect_failure("no length");
    close_wire();
}

static void damaged_frames(void)
{
    no_frame("cmd=response_to_init");
    no_frame("      x");
    no_frame("   -4abcd");
    no_frame("  1 1 abc");
    no_frame("999999");
    open_wire();
    wire.is_framed = true;
    CHECK_EQ(write(peer, "     3a\0b", 9), 9);
    expect_failure("binary");
    close_wire();
    open_wire();
    wire.is_framed = true;
    say("    10abc");
    close(peer);
    expect_failure("closed the connection");
    close(wire.fd);
}

static void long_frames(void)
{
    static char text[DM_PMI_LINE_MAX + 1];
    const char *line;
    int len = DM_PMI_LINE_MAX - 6;

    open_wire();
    wire.is_framed = true;
    snprintf(text, sizeof(text), "%6d", len);
    memset(text + 6, 'x', (size_t)len);
    say(text);
    CHECK_EQ(dm_pmi_wire_recv(&wire, 1000000, &line), DM_OK);
    CHECK_EQ(strlen(line), len);
    close_wire();
}

/* What waits is sent when there is no room for more. */
static void many_requests_wait(void)
{
    char got[4096];
    size_t sum = 0;

    open_wire();
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(dm_pmi_wire_add(&wire, "cmd=number_%04d", i), DM_OK);
    CHECK_EQ(dm_pmi_wire_flush(&wire), DM_OK);
    close(wire.fd);
    for (ssize_t n; (n = read(peer, got, sizeof(got))) > 0;)
        sum += (size_t)n;
    CHECK_EQ(sum, 16000);
    CHECK_EQ(wire.n_bytes, 16000);
    CHECK_EQ(wire.n_msgs, 1000);
    close(peer);
}

int main(void)
{
    frames();
    damaged_frames();
    long_frames();
    many_requests_wait();
    lines_are_split();
    many_lines_wrap_the_buffer();
    long_and_binary_lines();
    the_end_is_noticed();
    timeouts_are_kept();
    long_requests_are_refused();
    fields();
    escapes();
    return test_result();
}
