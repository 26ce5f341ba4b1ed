/* test: layers=util timeout=10 */
/* The text builder never overflows and says when it cut. */
#include "util/strbuf.h"

#include "test.h"

static void fits_exactly(void)
{
    char buf[9];
    struct dm_strbuf sb;

    memset(buf, '#', sizeof(buf));
    dm_strbuf_init(&sb, buf, 8);
    CHECK_STR(buf, "");
    CHECK(dm_strbuf_add(&sb, "abc"));
    CHECK(dm_strbuf_addf(&sb, "%d", 1234));
    CHECK_STR(buf, "abc1234");
    CHECK_EQ(sb.len, 7);
    CHECK(!sb.is_short);
    CHECK_EQ(buf[8], '#');
    CHECK(dm_strbuf_add(&sb, ""));
    CHECK(!dm_strbuf_addf(&sb, "%s", "x"));
    CHECK_STR(buf, "abc1234");
    CHECK_EQ(buf[8], '#');
}

static void cuts_and_remembers(void)
{
    char buf[4];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, buf, sizeof(buf));
    CHECK(!dm_strbuf_addf(&sb, "%s", "abcdef"));
    CHECK_STR(buf, "abc");
    CHECK(sb.is_short);
    CHECK(!dm_strbuf_add(&sb, ""));
    dm_strbuf_clear(&sb);
    CHECK(!sb.is_short);
    CHECK(dm_strbuf_add_len(&sb, "xyz", 2));
    CHECK_STR(buf, "xy");
    CHECK(!dm_strbuf_add_len(&sb, "123", 3));
    CHECK_STR(buf, "xy1");
}

static void smallest_buffer(void)
{
    char buf[1];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, buf, 1);
    CHECK(!dm_strbuf_add(&sb, "a"));
    CHECK_STR(buf, "");
}

int main(void)
{
    fits_exactly();
    cuts_and_remembers();
    smallest_buffer();
    return test_result();
}
