/*
 * Key-value operations of whoever launched the job, handed down to the layers
 * that exchange addresses, so that they need not know the launcher.
 */
#ifndef DM_UTIL_KV_H
#define DM_UTIL_KV_H

#include <stddef.h>

#define DM_KV_VAL_MAX 1024 /* bytes of a value with its NUL */

struct dm_kv_ops {
    void *arg;
    /* Publish a pair; visible to the others after the next fence. */
    int (*put)(void *arg, const char *key, const char *val);
    /* Fetch a value published before the last fence into buf (NUL-terminated). */
    int (*get)(void *arg, const char *key, char *buf, size_t len);
    /* Optional. Values of these keys will be asked for: fetch them at one go, where that saves time. */
    int (*ahead)(void *arg, const char *const *keys, int n);
    /* Collective over the job: commit own pairs and wait for everybody's. */
    int (*fence)(void *arg);
};

#endif
