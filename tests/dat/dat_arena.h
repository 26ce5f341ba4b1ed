/*
 * An arena (util/arena.h) for instances that are opened, or processes that are made, after it.
 */
#ifndef DM_TESTS_DAT_DAT_ARENA_H
#define DM_TESTS_DAT_DAT_ARENA_H

#include "dat_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "util/arena.h"

/* Of that length, with boxes for n processes; its descriptor. */
static inline int dt_arena(size_t len, uint64_t n)
{
    const uint64_t head[] = {DM_ARENA_MAGIC, len, n};
    struct stat st;
    char text[64];
    int fd = memfd_create("dat-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)len), 0);
    CHECK_EQ(pwrite(fd, head, sizeof(head), 0), sizeof(head));
    CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    snprintf(text, sizeof(text), "%d:%llu:%llu", fd, (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    CHECK_EQ(setenv(DM_ARENA_ENV, text, 1), 0);
    return fd;
}

#endif
