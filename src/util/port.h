/*
 * What depends on the compiler or the machine; the only file with GNU
 * extensions and platform conditionals.
 */
#ifndef DM_UTIL_PORT_H
#define DM_UTIL_PORT_H

#define DM_CACHE_LINE 64

#define dm_likely(x)   __builtin_expect(!!(x), 1)
#define dm_unlikely(x) __builtin_expect(!!(x), 0)

#define DM_EXPORT        __attribute__((visibility("default")))
#define DM_WEAK_ALIAS(f)  __attribute__((weak, alias(f)))
#define DM_NORETURN      __attribute__((noreturn))
#define DM_COLD          __attribute__((cold, noinline))
#define DM_UNUSED        __attribute__((unused))
#define DM_NOINLINE      __attribute__((noinline))
#define DM_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define DM_ALIGNED(n)    __attribute__((aligned(n)))
#define DM_THREAD_LOCAL  _Thread_local
#define DM_INIT_EXEC     __attribute__((tls_model("initial-exec")))

/* For sums and products of 64-bit values that must not wrap. */
__extension__ typedef __int128 dm_int128;

/* binary128: Fortran's REAL(16). */
__extension__ typedef __float128 dm_float128;

/* A type that may lie anywhere and alias anything, for data of users and packets. */
#define DM_ANYWHERE __attribute__((aligned(1), may_alias))

/*
 * Compare and swap of 1, 2, 4 or 8 bytes, naturally aligned: when *p is *old it becomes new,
 * otherwise *old becomes *p. True when it was swapped.
 */
#define dm_atomic_load(p)             __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define dm_atomic_cas(p, old_p, new)                                                               \
    __atomic_compare_exchange_n((p), (old_p), (new), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

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

#endif
