/*
 * Segments found by qualifiers.
 */
#include "providers/shm/transport/near.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/transport/inbox.h"
#include "providers/shm/transport/peer.h"
#include "util/err.h"

/* From the lowest bit: pid, number of the qualifier, descriptor, a part of the instance's id, mark. */
enum { PID_BITS = 22, N_BITS = 4, FD_BITS = 20, ID_BITS = 16 };
enum { N_AT = PID_BITS, FD_AT = N_AT + N_BITS, ID_AT = FD_AT + FD_BITS, MARK_AT = ID_AT + ID_BITS };

#define MARK       (UINT64_C(1) << MARK_AT)
#define LOW(bits)  ((UINT64_C(1) << (bits)) - 1)
#define NO_N(qual) ((qual) & ~(LOW(N_BITS) << N_AT))

static uint64_t near_id_part(uint64_t id)
{
    return id >> (64 - ID_BITS);
}

DAT_CONN_QUAL dm_shm_near_qual(const struct dm_shm_ia *ia, unsigned n)
{
    const struct dm_shm_hdr *hdr = ia->seg.hdr;

    if (hdr->pid_space == 0 || (uint64_t)hdr->pid > LOW(PID_BITS) ||
        (uint64_t)ia->seg.fd > LOW(FD_BITS) || n > LOW(N_BITS) || ia->model.is_on)
        return 0;
    return MARK | near_id_part(hdr->id) << ID_AT | (uint64_t)ia->seg.fd << FD_AT |
           (uint64_t)n << N_AT | (uint64_t)hdr->pid;
}

/* A descriptor of its segment; -1 and errno. */
static int near_open_file(const struct dm_shm_ia *ia, pid_t pid, int number)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == ia->doorbell.uid)
        return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

struct dm_shm_peer *dm_shm_near_open(struct dm_shm_ia *ia, int number, const struct dm_shm_who *who)
{
    struct dm_shm_peer *peer;
    int fd;

    errno = EACCES;
    if (who->pid <= 0 || ia->seg.hdr->pid_space == 0)
        return NULL;
    peer = dm_shm_peer_get(ia, -1, who); /* in the arena, or known */
    if (peer == NULL) {
        fd = near_open_file(ia, who->pid, number);
        if (fd < 0)
            return NULL;
        peer = dm_shm_peer_get(ia, fd, who);
        close(fd);
    }
    errno = EACCES;
    if (peer == NULL ||
        (peer->hdr->pid == (int32_t)who->pid && peer->hdr->pid_space == ia->seg.hdr->pid_space))
        return peer;
    dm_shm_peer_put(ia, peer);
    errno = EACCES;
    return NULL;
}

struct dm_shm_peer *dm_shm_near_find(struct dm_shm_ia *ia, DAT_CONN_QUAL qual)
{
    struct dm_shm_peer *peer = dm_hash_get(&ia->peers_by_qual, NO_N(qual));
    const struct dm_shm_who who = {.id = qual >> ID_AT << (64 - ID_BITS),
                                   .mask = ~LOW(64 - ID_BITS),
                                   .pid = (pid_t)(qual & LOW(PID_BITS))};

    if (qual >> MARK_AT != 1)
        return NULL;
    if (peer != NULL && !peer->is_gone) {
        dm_shm_peer_hold(peer);
        return peer;
    }
    peer = dm_shm_near_open(ia, (int)(qual >> FD_AT & LOW(FD_BITS)), &who);
    if (peer == NULL)
        return NULL;
    if (peer->is_gone) { /* what is left of it answers nobody */
        dm_shm_peer_put(ia, peer);
        return NULL;
    }
    if (peer->qual !=
        0) /* it has its key: of another descriptor, which the arena makes no use of */
        return peer;
    peer->qual = NO_N(qual);
    if (dm_hash_put(&ia->peers_by_qual, peer->qual, peer) != DM_OK)
        peer->qual = 0;
    return peer;
}

bool dm_shm_near_refuse(struct dm_shm_ia *ia, const struct dm_shm_letter *letter)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_APART, .conn = letter->msg.conn};
    struct dm_shm_name to;

    dm_shm_sock_doorbell_name(letter->msg.id, &to);
    return dm_shm_sock_send(ia->doorbell.src.fd, &to, &msg, -1) != 0;
}
