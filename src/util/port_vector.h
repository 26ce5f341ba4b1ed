/*
 * What port.h is for, where it takes vector instructions: copies. Their header is ten times the
 * size of all others together, so it is only where it is used.
 */
#ifndef DM_UTIL_PORT_VECTOR_H
#define DM_UTIL_PORT_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "util/port.h"

#if defined(__x86_64__)
/*
 * Copy whole blocks to a cache line by vector loads and stores, not by a string instruction; how
 * many bytes that were, the rest is the caller's: 64 bytes at a time where the processor can without
 * a lower clock, else 32, else 16, 0 where there is no such way.
 */
__attribute__((target("avx512f"))) static inline size_t
dm_copy_blocks_64(char *to, const char *from, size_t len)
{
    size_t i;

    for (i = 0; i + 256 <= len; i += 256) {
        __m512i a = _mm512_loadu_si512(from + i), b = _mm512_loadu_si512(from + i + 64);
        __m512i c = _mm512_loadu_si512(from + i + 128), d = _mm512_loadu_si512(from + i + 192);

        _mm512_store_si512(to + i, a);
        _mm512_store_si512(to + i + 64, b);
        _mm512_store_si512(to + i + 128, c);
        _mm512_store_si512(to + i + 192, d);
    }
    return i;
}

__attribute__((target("avx2"))) static inline size_t dm_copy_blocks_32(char *to, const char *from,
                                                                       size_t len)
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

static inline size_t dm_copy_blocks_16(char *to, const char *from, size_t len)
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

static inline size_t dm_copy_blocks(char *to, const char *from, size_t len)
{
    if (__builtin_cpu_supports(
            "avx512vbmi2")) /* a processor later than the first ones of AVX-512 */
        return dm_copy_blocks_64(to, from, len);
    return __builtin_cpu_supports("avx2") ? dm_copy_blocks_32(to, from, len)
                                          : dm_copy_blocks_16(to, from, len);
}
#else
static inline size_t dm_copy_blocks(char *to, const char *from, size_t len)
{
    (void)to, (void)from, (void)len;
    return 0;
}
#endif

/* Copy by the processor's string instruction. */
#if defined(__x86_64__)
static inline void dm_copy_string(char *to, const char *from, size_t len)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}
#else
static inline void dm_copy_string(char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
}
#endif

/* Copy with stores that pass the caches by; they are visible, in any order,
 * before everything that this thread stores later. */
#if defined(__SSE2__)
static inline void dm_copy_stream(char *to, const char *from, size_t len)
{
    size_t lead = (DM_CACHE_LINE - (uintptr_t)to % DM_CACHE_LINE) % DM_CACHE_LINE;

    lead = lead < len ? lead : len;
    memcpy(to, from, lead);
    for (to += lead, from += lead, len -= lead; len >= 64; to += 64, from += 64, len -= 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));

        _mm_stream_si128((__m128i *)(void *)to, a);
        _mm_stream_si128((__m128i *)(void *)(to + 16), b);
        _mm_stream_si128((__m128i *)(void *)(to + 32), c);
        _mm_stream_si128((__m128i *)(void *)(to + 48), d);
    }
    memcpy(to, from, len);
    _mm_sfence();
}
#else
static inline void dm_copy_stream(char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
}
#endif

#endif
