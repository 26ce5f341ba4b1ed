/* test: layers=util timeout=20 */
/* Files of names and values: what is read, and where reading ends. */
#include "util/key_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "util/err.h"

static char said[512];

/* Writes down what it gets; the name "end" is refused. */
static int take(void *arg, const char *name, const char *value)
{
    CHECK(arg == said);
    if (strcmp(name, "end") == 0)
        return DM_FAIL(DM_ERR_ARG, "here it ends");
    strcat(said, "<");
    strcat(said, name);
    strcat(said, "|");
    strcat(said, value);
    strcat(said, ">");
    return DM_OK;
}

static int read_text(const char *text)
{
    char path[] = "key_file.XXXXXX";
    int fd = mkstemp(path);
    int err;

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    said[0] = '\0';
    err = dm_key_file_read(path, take, said);
    unlink(path);
    return err;
}

int main(void)
{
    CHECK_EQ(read_text(""), DM_OK);
    CHECK_STR(said, "");
    CHECK_EQ(read_text("# nothing\n\n \t\n  # nor here\n"), DM_OK);
    CHECK_STR(said, "");
    CHECK_EQ(read_text("host a,b\n wdir = /tmp \r\nenv=A=b c\nname\nlast\tone"), DM_OK);
    CHECK_STR(said, "<host|a,b><wdir|/tmp><env|A=b c><name|><last|one>");
    CHECK_EQ(read_text("a=\na =\nb==c\nd # e\n=f\n"), DM_OK);
    CHECK_STR(said, "<a|><a|><b|=c><d|# e><|f>");
    CHECK_EQ(read_text("one 1\nend 2\nthree 3\n"), DM_ERR_ARG);
    CHECK_STR(said, "<one|1>");
    CHECK_EQ(dm_key_file_read("/nowhere/at/all", take, said), DM_ERR_INFO_VALUE);
    CHECK(strstr(dm_err_detail(), "/nowhere/at/all") != NULL);
    CHECK_EQ(dm_key_file_read("/", take, said), DM_ERR_INFO_VALUE);
    return test_result();
}
