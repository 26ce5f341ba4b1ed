/* test: layers=util,provider_common timeout=20 */
/* What of a write is placed after all the rest: one store of the processor, to the end. */
#include "providers/common/last.h"

#include "test.h"

int main(void)
{
    for (uint64_t to = 4096; to < 4096 + 2 * DM_CACHE_LINE; to++)
        for (uint64_t len = 1; len <= 3 * DM_CACHE_LINE; len++) {
            uint64_t tail = dm_last_tail(to, len);
            uint64_t first = to + len - tail;

            CHECK(tail == 1 || tail == 8);
            CHECK(tail <= len);
            CHECK(first / DM_CACHE_LINE == (to + len - 1) / DM_CACHE_LINE);
            if (len >= 8 && (to + len) % 8 == 0)
                CHECK(tail == 8); /* a counter, polled as a whole */
        }
    return test_result();
}
