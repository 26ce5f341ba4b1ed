/*
 * Waking up libfabric, once per process.
 *
 * Its first call sets up every provider that it was built with. One of them reads all of
 * /proc/kallsyms, 0.1 to 0.4 s of processor time in every process, and others look for
 * devices; nothing in its environment stops that. For a fabric without devices it is
 * done in a thread of its own, which may not open files: its filter is the thread's
 * alone, and ends with it. Where filters are forbidden it takes its time.
 */
#include "providers/ofi/transport/fabric.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NO_FILE (SECCOMP_RET_ERRNO | (ENOENT & SECCOMP_RET_DATA))

/* This thread finds no files from now on. */
static bool hide_files(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, NO_FILE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static void *wake_up(void *arg)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_info *info = NULL;

    (void)arg;
    if (hints == NULL)
        return NULL;
    hints->fabric_attr->prov_name = strdup("none"); /* there is none of this name */
    if (hide_files() && fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) == 0)
        fi_freeinfo(info);
    fi_freeinfo(hints);
    return NULL;
}

static void wake_up_once(void)
{
    pthread_t thread;
    sigset_t all;
    sigset_t old;

    sigfillset(&all); /* the consumer's signals are not for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, wake_up, NULL) == 0)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void dm_ofi_load(const char *prov)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (strcmp(prov, "tcp") == 0)
        pthread_once(&once, wake_up_once);
}
