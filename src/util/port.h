/*
 * What depends on the compiler or the machine; with port_vector.h the only file with GNU extensions
 * and platform conditionals.
 */
#ifndef DM_UTIL_PORT_H
#define DM_UTIL_PORT_H

#include <stddef.h>
#include <stdint.h>

#define DM_CACHE_LINE 64

#define dm_likely(x)   __builtin_expect(!!(x), 1)
#define dm_unlikely(x) __builtin_expect(!!(x), 0)

#define DM_EXPORT        __attribute__((visibility("default")))
#define DM_WEAK          __attribute__((weak))
#define DM_WEAK_ALIAS(f) __attribute__((weak, alias(f)))
/* Another name of a function that this file defines. */
#define DM_ALSO_AS(f, name)                                                                        \
    extern __typeof__(f) name __attribute__((visibility("default"), weak, alias(#f)))
/* Run when the library is loaded. */
#define DM_CONSTRUCTOR   __attribute__((constructor))
#define DM_NORETURN      __attribute__((noreturn))
#define DM_COLD          __attribute__((cold, noinline))
#define DM_PURE          __attribute__((pure))
#define DM_UNUSED        __attribute__((unused))
#define DM_NOINLINE      __attribute__((noinline))
#define DM_ALWAYS_INLINE inline __attribute__((always_inline))
#define DM_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define DM_ALIGNED(n)    __attribute__((aligned(n)))
#define DM_THREAD_LOCAL  _Thread_local
#define DM_INIT_EXEC     __attribute__((tls_model("initial-exec")))
/* For looking at memory that somebody else writes meanwhile, when just that is the question. */
#define DM_UNTRACKED __attribute__((no_sanitize_thread))

/* MADV_POPULATE_WRITE of Linux 5.14, which older headers do not have: pages that are there before they are used. */
#define DM_MADV_POPULATE 23
/* futex_waitv of Linux 5.16, likewise. */
#define DM_SYS_FUTEX_WAITV 449

/* The number of the lowest bit that is set; value is not 0. */
#define dm_lowest_bit(value) __builtin_ctzll(value)

/* For sums and products of 64-bit values that must not wrap. */
__extension__ typedef __int128 dm_int128;

/* binary128: Fortran's REAL(16). */
__extension__ typedef __float128 dm_float128;

/*
 * Functions for machines with wider vectors than all have, and whether this is one. Multiply and
 * add stay two operations with two roundings.
 */
#if defined(__x86_64__)
#define DM_TARGET_WIDE __attribute__((target("avx2,no-fma")))
#define DM_HAS_WIDE()  (__builtin_cpu_supports("avx2") != 0)
#else
#define DM_TARGET_WIDE
#define DM_HAS_WIDE() false
#endif

/* A type that may lie anywhere and alias anything, for data of users and packets. */
#define DM_ANYWHERE __attribute__((aligned(1), may_alias))

/*
 * Compare and swap of 1, 2, 4 or 8 bytes, naturally aligned: when *p is *old it becomes new,
 * otherwise *old becomes *p. True when it was swapped.
 */
#define dm_atomic_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define dm_atomic_cas(p, old_p, new)                                                               \
    __atomic_compare_exchange_n((p), (old_p), (new), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#define dm_atomic_add(p, n)   __atomic_fetch_add((p), (n), __ATOMIC_ACQ_REL)
#define dm_atomic_or(p, bits) __atomic_fetch_or((p), (bits), __ATOMIC_SEQ_CST)
#define dm_atomic_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define dm_atomic_swap(p, v)  __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define dm_atomic_fence()     __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* The word whose first half in memory is first. */
static inline uint64_t dm_word_of(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint64_t)first << 32 | second;
#else
    return (uint64_t)second << 32 | first;
#endif
}

/*
 * Have the compiler keep this value in a register: neither load it again nor join it with others
 * into a vector.
 */
#define dm_in_register(x) __asm__("" : "+r"(x))

/*
 * Ask for a cache line that will be written. (For the builtin a processor need not have such an
 * instruction.)
 */
static inline void dm_prefetch_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Tell the core that this is a spin loop. */
static inline void dm_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

/*
 * Between these the thread sanitizer does not check loads and stores of the calling thread: what a
 * provider does with the program's memory on a peer's behalf, as an adapter would. Who may touch it at
 * the same time was settled between processes, which the sanitizer does not see.
 */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define DM_DMA_BEGIN()                                                                             \
    (AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__))
#define DM_DMA_END()                                                                               \
    (AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__))
#else
#define DM_DMA_BEGIN() ((void)0)
#define DM_DMA_END()   ((void)0)
#endif

#endif
