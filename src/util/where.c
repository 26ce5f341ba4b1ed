/*
 * The file and its signal.
 */
#include "util/where.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"
#include "util/stack.h"

/* The value that comes with the signal, so that another one's is not taken for ours. */
#define WHERE_ASK 0x64617475

static struct {
    struct dm_where *file;
    int fd;
} own;

static void on_where_ask(int signo, siginfo_t *info, void *context)
{
    struct dm_strbuf sb;

    (void)signo;
    (void)context;
    if (own.file == NULL || info->si_code != SI_QUEUE || info->si_value.sival_int != WHERE_ASK)
        return;
    dm_strbuf_init(&sb, own.file->stack, sizeof(own.file->stack));
    dm_stack_add(&sb, true);
    atomic_fetch_add(&own.file->n_stacks, 1);
}

/* Where memory files are refused: a file that has its name for a moment only. */
static void *where_make_file(const char *dir, int *fd_p)
{
    char path[256];
    void *file = MAP_FAILED;

    if (dir == NULL ||
        (size_t)snprintf(path, sizeof(path), "%s/" DM_WHERE_FILE ".XXXXXX", dir) >= sizeof(path))
        return NULL;
    *fd_p = mkostemp(path, O_CLOEXEC);
    if (*fd_p < 0)
        return NULL;
    (void)unlink(path);
    if (posix_fallocate(*fd_p, 0, sizeof(struct dm_where)) == 0)
        file = mmap(NULL, sizeof(struct dm_where), PROT_READ | PROT_WRITE, MAP_SHARED, *fd_p, 0);
    if (file != MAP_FAILED)
        return file;
    close(*fd_p);
    return NULL;
}

static void *where_alloc(int *fd_p)
{
    void *file;

    if (dm_host_shm_alloc(DM_WHERE_FILE, sizeof(struct dm_where), &file, fd_p) == DM_OK ||
        (file = where_make_file("/dev/shm", fd_p)) != NULL ||
        (file = where_make_file(dm_cfg_env("TMPDIR"), fd_p)) != NULL)
        return file;
    return where_make_file("/tmp", fd_p);
}

void dm_where_open(int rank, int size, const char *job, const char *host)
{
    struct sigaction action, old;
    void *file;

    if (own.file != NULL || (file = where_alloc(&own.fd)) == NULL)
        return;
    own.file = file;
    own.file->rank = rank;
    own.file->size = size;
    own.file->pid = (int32_t)getpid();
    own.file->version = DM_WHERE_VERSION;
    snprintf(own.file->job, sizeof(own.file->job), "%s", job);
    snprintf(own.file->host, sizeof(own.file->host), "%s", host);
    own.file->magic = DM_WHERE_MAGIC;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_where_ask;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (sigaction(SIGURG, &action, &old) == 0 && old.sa_handler != SIG_DFL)
        (void)sigaction(SIGURG, &old, NULL); /* the program has taken it */
}

void dm_where_close(void)
{
    struct sigaction now;

    if (own.file == NULL)
        return;
    if (sigaction(SIGURG, NULL, &now) == 0 && now.sa_sigaction == on_where_ask) {
        memset(&now, 0, sizeof(now));
        now.sa_handler = SIG_DFL;
        (void)sigaction(SIGURG, &now, NULL);
    }
    dm_host_shm_free(own.file, sizeof(*own.file), own.fd);
    own.file = NULL;
}

void dm_where_write(const struct dm_where_wait *wait)
{
    if (own.file == NULL)
        return;
    atomic_fetch_add(&own.file->seq, 1);
    own.file->wait = *wait;
    atomic_fetch_add(&own.file->seq, 1);
}

struct dm_where_wait dm_where_read(struct dm_where *where)
{
    enum { TRIES = 1000 };
    struct dm_where_wait wait;

    for (int i = 0; i < TRIES; i++) {
        uint32_t seq = atomic_load(&where->seq);

        wait = where->wait;
        atomic_thread_fence(memory_order_seq_cst);
        if (seq % 2 == 0 && seq == atomic_load(&where->seq))
            break;
    }
    wait.call[sizeof(wait.call) - 1] = wait.text[sizeof(wait.text) - 1] =
        wait.unexpected[sizeof(wait.unexpected) - 1] = '\0';
    return wait;
}

void dm_where_ask(const struct dm_where *where)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = WHERE_ASK;
    (void)syscall(SYS_rt_tgsigqueueinfo, where->pid, where->pid, SIGURG, &info);
}
