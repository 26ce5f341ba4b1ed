/* test: layers=util,pmi timeout=10 */
/* Hydra's process mapping, well-formed and not. */
#include "pmi/pmi_map.h"

#include "test.h"

static void good(const char *text, int size, const char *nodes)
{
    char got[64] = "";
    int node_of[16];

    CHECK(dm_pmi_map_parse(text, node_of, size));
    for (int i = 0; i < size; i++)
        got[i] = (char)('0' + node_of[i]);
    CHECK_STR(got, nodes);
}

static void bad(const char *text)
{
    int node_of[16];

    if (dm_pmi_map_parse(text, node_of, 4))
        printf("    taken: '%s'\n", text);
    CHECK(!dm_pmi_map_parse(text, node_of, 4));
}

int main(void)
{
    good("(vector,(0,1,4))", 4, "0000");
    good("(vector,(0,1,1))", 4, "0000");
    good("(vector,(0,2,2))", 4, "0011");
    good("(vector,(0,2,1))", 5, "01010");
    good("(vector,(0,1,2),(1,1,1))", 6, "001001");
    good("(vector,(7,2,1),(3,1,2))", 4, "0122");
    good("(vector,(1,1,1),(0,1,1))", 2, "01");
    good("(vector,(0,1,1000000000))", 3, "000");
    good("(vector,(1000000000,1000000000,1))", 3, "012");
    bad("");
    bad("(vector)");
    bad("(vector,)");
    bad("(vector,(0,1,4)");
    bad("(vector,(0,1,4))x");
    bad("(vector,(0,1,4),)");
    bad("(vector,(0,1))");
    bad("(vector,(0,1,1,1))");
    bad("(vector,(0,0,4))");
    bad("(vector,(0,1,0))");
    bad("(vector,(-1,1,1))");
    bad("(vector,( 0,1,1))");
    bad("(vector,(0,1,99999999999))");
    bad("(Vector,(0,1,1))");
    bad("vector,(0,1,1)");
    return test_result();
}
