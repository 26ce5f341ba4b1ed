/*
 * Long copies by loads and stores: 32 bytes at a time where the processor can, else 16.
 */
#include "util/copy.h"

#include "util/port.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* to is aligned. Gives back how many bytes were copied: whole blocks. */
__attribute__((target("avx2"))) static size_t blocks_32(char *to, const char *from, size_t len)
{
    size_t i;

    for (i = 0; i + 128 <= len; i += 128) {
        const __m256i *in = (const __m256i *)(const void *)(from + i);
        __m256i *out = (__m256i *)(void *)(to + i);
        __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1);
        __m256i c = _mm256_loadu_si256(in + 2), d = _mm256_loadu_si256(in + 3);

        _mm256_store_si256(out, a);
        _mm256_store_si256(out + 1, b);
        _mm256_store_si256(out + 2, c);
        _mm256_store_si256(out + 3, d);
    }
    return i;
}

static size_t blocks_16(char *to, const char *from, size_t len)
{
    size_t i;

    for (i = 0; i + 64 <= len; i += 64) {
        const __m128i *in = (const __m128i *)(const void *)(from + i);
        __m128i *out = (__m128i *)(void *)(to + i);
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

        _mm_store_si128(out, a);
        _mm_store_si128(out + 1, b);
        _mm_store_si128(out + 2, c);
        _mm_store_si128(out + 3, d);
    }
    return i;
}

void dm_copy_long(char *to, const char *from, size_t len)
{
    size_t lead = (DM_CACHE_LINE - (uintptr_t)to % DM_CACHE_LINE) % DM_CACHE_LINE;
    size_t n;

    memcpy(to, from, lead);
    to += lead;
    from += lead;
    len -= lead;
    n = __builtin_cpu_supports("avx2") ? blocks_32(to, from, len) : blocks_16(to, from, len);
    memcpy(to + n, from + n, len - n);
}
#else
void dm_copy_long(char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
}
#endif
