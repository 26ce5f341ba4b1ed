/*
 * Long copies by loads and stores.
 */
#include "util/copy.h"

#include "util/port_vector.h"

void dm_copy_long(char *to, const char *from, size_t len)
{
    size_t lead = (DM_CACHE_LINE - (uintptr_t)to % DM_CACHE_LINE) % DM_CACHE_LINE;
    size_t n;

    memcpy(to, from, lead);
    to += lead;
    from += lead;
    len -= lead;
    n = dm_copy_blocks(to, from, len);
    memcpy(to + n, from + n, len - n);
}
