/* test: layers=util,dapl_adapt timeout=20 */
/* dat.conf files: what is listed, and what is said about broken ones. */
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/conf.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/dapl_adapt.h"
#include "test.h"
#include "util/cfg.h"
#include "util/err.h"

static char dir[] = "/tmp/dm-conf-XXXXXX";
static char path[64];

static void write_conf(const char *text)
{
    FILE *file = fopen(path, "w");

    fputs(text, file);
    fclose(file);
}

#define GOOD(name) name " u2.0 nonthreadsafe default lib" name ".so v.1.0 \"par 0\" \"\"\n"

static void parse(void)
{
    struct dm_conf conf;

    write_conf(
        "# a comment\n"
        "\n"
        "   \t\n" GOOD("one") GOOD("two") GOOD("one") /* again: libraries in turn */
        "safe u2.0 threadsafe default lib.so v.1.0 \"\" \"\"\n"
        "kernel k2.0 nonthreadsafe default lib.so v.1.0 \"\" \"\"\n"
        "old u1.2 nonthreadsafe default lib.so v.1.0 \"\" \"\"\n"
        "hidden u2.0 nonthreadsafe nondefault lib.so v.1.0 \"\" \"\"\n"
        "seven u2.0 nonthreadsafe default lib.so v.1.0 \"\"\n"
        "nine u2.0 nonthreadsafe default lib.so v.1.0 \"\" \"\" x\n"
        "\"quoted name\" u02.00 nonthreadsafe default \"/a b/\\\"c.so\" v.1.0 p# \"\" # end\n"
        "last u2 nonthreadsafe default l.so v.1.0 \"\" \"\"");
    CHECK_EQ(dm_conf_read(path, false, &conf), DM_OK);
    CHECK_EQ(conf.n_entries, 4);
    CHECK_STR(conf.entries[0].name, "one");
    CHECK_STR(conf.entries[0].lib, "libone.so");
    CHECK_STR(conf.entries[0].params, "par 0");
    CHECK_EQ(conf.entries[0].line, 4);
    CHECK_STR(conf.entries[2].name, "quoted name");
    CHECK_STR(conf.entries[2].lib, "/a b/\"c.so");
    CHECK_STR(conf.entries[2].params, "p#");
    CHECK_STR(conf.entries[3].name, "last");
    CHECK_EQ(conf.n_bad, 2);
    CHECK_EQ(conf.first_bad, 11);
    CHECK(!conf.has_crlf);
    dm_conf_free(&conf);
}

static void choose(void)
{
    struct dm_conf conf;

    write_conf(GOOD("one") GOOD("two") GOOD("three"));
    CHECK_EQ(dm_conf_read(path, false, &conf), DM_OK);
    CHECK_EQ(dm_conf_select(&conf, " ,"), DM_OK);
    CHECK_EQ(conf.n_entries, 3);
    CHECK_EQ(dm_conf_select(&conf, "three, one,three"), DM_OK);
    CHECK_EQ(conf.n_entries, 2);
    CHECK_STR(conf.entries[0].name, "three");
    CHECK_STR(conf.entries[1].name, "one");
    CHECK_EQ(dm_conf_select(&conf, "two"), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "\"two\"") != NULL);
    CHECK(strstr(dm_err_detail(), "three, one") != NULL);
    CHECK(strstr(dm_err_detail(), path) != NULL);
    dm_conf_free(&conf);

    write_conf(
        GOOD("one") "\"two words, or three\" u2.0 nonthreadsafe default lib.so v.1.0 \"\" \"\"\n");
    CHECK_EQ(dm_conf_read(path, false, &conf), DM_OK);
    CHECK_EQ(dm_conf_select(&conf, "two words, or three"), DM_OK);
    CHECK_EQ(conf.n_entries, 1);
    CHECK_STR(conf.entries[0].name, "two words, or three");
    dm_conf_free(&conf);
}

static void refused(const char *text, const char *expect, int line)
{
    struct dm_conf conf;
    char where[80];

    if (text != NULL)
        write_conf(text);
    else
        unlink(path);
    CHECK_EQ(dm_conf_load(&conf), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), expect) != NULL);
    CHECK(strstr(dm_err_detail(), path) != NULL);
    snprintf(where, sizeof(where), "%s:%d:", path, line);
    CHECK(line == 0 || strstr(dm_err_detail(), where) != NULL);
    if (test_n_failed > 0)
        printf("    said: %s\n", dm_err_detail());
}

static void override(void)
{
    struct dm_conf conf;

    setenv("DAT_OVERRIDE", path, 1);
    refused(NULL, "cannot be read", 0);
    refused("", "no entry", 0);
    refused("# nothing\n", "no entry", 0);
    refused("\none u2.0 nonthreadsafe default l.so v.1.0 \"\" \"\"\r\n", "CR LF", 2);
    refused("# x\r\n\r\none two three\n", "it has 3 fields, and an entry has exactly 8", 3);
    refused("one u2.0 nonthreadsafe default l.so v.1.0 \"\" \"\n", "quote is not closed", 1);
    refused("one u2.0 nonthreadsafe default \"l.so v.1.0 \"\" x\n", "quote is not closed", 1);
    refused("one u2.0 nonthreadsafe default l.so v.1 \"\" \"\"\n", "like name.1.0", 1);
    refused("one u2.0 nonthreadsafe default l.so .1.0 \"\" \"\"\n", "like name.1.0", 1);
    refused("one u2.0 nonthreadsafe default l.so v.1.0.2 \"\" \"\"\n", "like name.1.0", 1);
    refused(
        "# x\n\na u1.2 nonthreadsafe default l.so v.1.0 \"\" \"\"\n"
        "b u2.0 threadsafe default l.so v.1.0 \"\" \"\"\nc d\n"
        "e u2.0 nonthreadsafe nondefault l.so v.1.0 \"\" \"\"\n",
        "version \"u1.2\", not for u2.0; line 4: it is \"threadsafe\", and only nonthreadsafe is asked for; "
        "line 5: it has 2 fields, and an entry has exactly 8; "
        "line 6: its fourth field is \"nondefault\", not default; no other line",
        3);
    refused("a b\nc d\ne f\ng h\ni j\nk l\nm n\n", "; and so on; no other line", 1);
    write_conf(GOOD("mine"));
    CHECK_EQ(dm_conf_load(&conf), DM_OK);
    CHECK(conf.is_user);
    CHECK_STR(conf.entries[0].name, "mine");
    CHECK(!conf.entries[0].is_builtin);
    for (int i = 1; i < conf.n_entries; i++)
        CHECK(conf.entries[i].is_builtin);
    dm_conf_free(&conf);
    CHECK_STR(dm_adapt_conf_path(), path);
}

/* The way through text and back; nonsense is refused. */
static void addresses(void)
{
    static const unsigned char addr[28] = {2, 0, 1, 255, 127};
    struct dm_adapt *adapt = calloc(1, sizeof(*adapt));
    struct dm_ia ia[2];
    struct dm_addr ep_addr;
    char text[DM_KV_VAL_MAX];

    memset(ia, 0, sizeof(ia));
    for (int i = 0; i < 2; i++) {
        snprintf(ia[i].name, sizeof(ia[i].name), "rail%d", i);
        memcpy(ia[i].net.addr, addr, sizeof(addr));
        ia[i].net.addr_len = i == 0 ? 16 : 28;
        ia[i].cm.qual = UINT64_C(0xfedcba9876543210);
        ia[i].index = i;
        adapt->rails.ias[i] = &ia[i];
    }
    adapt->rails.n_ias = 2;
    adapt->rings.n_slots = 48;
    adapt->rings.slot_size = 4096;
    adapt->own_host = dm_addr_own_host(NULL);
    dm_addr_write(adapt, text, sizeof(text));
    CHECK_EQ(dm_addr_read(text, &ep_addr), DM_OK);
    CHECK_EQ(ep_addr.n_rails, 2);
    CHECK_STR(ep_addr.rails[1].name, "rail1");
    CHECK_EQ(ep_addr.rails[0].addr_len, 16);
    CHECK(memcmp(ep_addr.rails[1].addr, addr, 28) == 0);
    CHECK(ep_addr.rails[1].qual == UINT64_C(0xfedcba9876543210));
    CHECK(ep_addr.cpus[0] != 0);
    CHECK_EQ(ep_addr.n_slots, 48);
    CHECK_EQ(ep_addr.slot_size, 4096);
    CHECK_STR(ep_addr.why, "");
    CHECK(ep_addr.host != 0 && ep_addr.host == dm_addr_own_host(NULL));
    CHECK_EQ(dm_addr_read("", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("1;0.1;5;64,128;3;", &ep_addr), DM_ECONN); /* another form */
    CHECK(strstr(dm_err_detail(), "same version") != NULL);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128,0;3;", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;a-version-that-is-long;5;64,128,0,0,0,0,0;3;", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128,0,0,0,0,0;3;name,0g,1,0;", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128,0,0,0,0,0;3;name,00,1;", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128,0,0,0,0,0;3;name,00,1,9;", &ep_addr), DM_ECONN);
    CHECK_EQ(dm_addr_read("6;0.1;5;64,128,0,0,0,0,0;3;", &ep_addr), DM_OK);
    CHECK_EQ(ep_addr.n_rails, 0);
    CHECK_EQ(ep_addr.host, 5);
    CHECK_STR(ep_addr.version, "0.1");
    /* what was refused travels where nothing else leaves the host */
    adapt->rails.n_ias = 0;
    adapt->job.size = 2;
    adapt->job.n_local = 1;
    adapt->rails.refused = strdup("  eth-a: no such device;\n  eth=b: \"down\"\n");
    dm_addr_write(adapt, text, sizeof(text));
    CHECK_EQ(dm_addr_read(text, &ep_addr), DM_OK);
    CHECK_STR(ep_addr.why, "eth-a: no such device eth b: down ");
    adapt->rails.has_network = true;
    dm_addr_write(adapt, text, sizeof(text));
    CHECK_EQ(dm_addr_read(text, &ep_addr), DM_OK);
    CHECK_STR(ep_addr.why, "");
    free(adapt->rails.refused);
    free(adapt);
}

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/dat.conf", dir);
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    parse();
    choose();
    override();
    addresses();
    unlink(path);
    rmdir(dir);
    return test_result();
}
