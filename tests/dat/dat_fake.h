/*
 * An instance of datum-shm that a test plays: a segment with an inbox, and a doorbell. So it answers what no
 * instance would, at a time of the test's choice. Real ones find it by a qualifier, as they find each other
 * (src/providers/shm/transport/near.c).
 */
#ifndef DM_TESTS_DAT_DAT_FAKE_H
#define DM_TESTS_DAT_DAT_FAKE_H

#include "dat_pair.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "providers/shm/wire.h"

enum {
    FAKE_PID_BITS = 22,
    FAKE_FD_AT = 26,
    FAKE_ID_AT = 46,
    FAKE_MARK_AT = 62,
    FAKE_MORE = 1 << 20,
    FAKE_RING = 8,
    FAKE_CONN = 77 /* its id of the only connection that it accepts */
};

struct fake {
    struct dm_shm_hdr *hdr;
    struct dm_shm_link_ep *ep; /* the only one it has */
    struct dm_evd_ring *ring;  /* of the events of that */
    DAT_CONN_QUAL qual;
    int fd;
    int door;
};

/* The segment of another, as mapped here. */
struct fake_seg {
    struct dm_shm_hdr *hdr;
    size_t size;
};

static inline socklen_t fake_door_name(uint64_t id, struct sockaddr_un *to)
{
    memset(to, 0, sizeof(*to));
    to->sun_family = AF_UNIX;
    return (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
           (socklen_t)snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "datum-ctrl.%016llx",
                               (unsigned long long)id);
}

/* A doorbell of its own; or, if another has that id already, none that others find. */
static inline int fake_door(uint64_t id)
{
    struct sockaddr_un name;
    socklen_t len = fake_door_name(id, &name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    (void)bind(fd, (struct sockaddr *)&name, len);
    return fd;
}

/* A segment as instances make it, with an endpoint that waits for its connection. id: even. */
static inline void fake_open(struct fake *fake, uint64_t id)
{
    size_t len = (sizeof(*fake->hdr) + FAKE_MORE + 4095) / 4096 * 4096;
    struct dm_shm_hdr *hdr;
    struct stat st;

    fake->fd = memfd_create("dat-fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fake->fd >= 0);
    CHECK_EQ(ftruncate(fake->fd, (off_t)len), 0);
    CHECK_EQ(fcntl(fake->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    hdr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fake->fd, 0);
    CHECK(hdr != MAP_FAILED);
    CHECK_EQ(stat("/proc/self/ns/pid", &st), 0);
    hdr->id = id;
    hdr->version = DM_SHM_VERSION;
    hdr->size = len;
    hdr->self_va = (uint64_t)(uintptr_t)hdr;
    hdr->pid = (int32_t)getpid();
    hdr->pid_space = (uint64_t)st.st_ino;
    hdr->magic = DM_SHM_MAGIC;
    fake->hdr = hdr;
    fake->ep = (void *)hdr->short_blocks;
    fake->ring = (void *)(fake->ep + 1);
    fake->ring->size = FAKE_RING;
    fake->ep->conn_ring = (uint64_t)((char *)fake->ring - (char *)hdr);
    fake->ep->link = dm_shm_link_word(FAKE_CONN, DM_LINK_WAIT);
    fake->door = fake_door(id);
    fake->qual = UINT64_C(1) << FAKE_MARK_AT | id >> 48 << FAKE_ID_AT |
                 (uint64_t)fake->fd << FAKE_FD_AT | (uint64_t)getpid();
}

/* One more receive, of no bytes, in a queue of one. Before it accepts, the first time. */
static inline void fake_post_recv(struct fake *fake)
{
    struct dm_shm_recv *recv = (void *)(fake->ring->slots + FAKE_RING);

    memset(recv, 0, sizeof(*recv));
    fake->ep->recvs = (uint64_t)((char *)recv - (char *)fake->hdr);
    fake->ep->recv_mask = 0;
    fake->ep->recv_stride = sizeof(*recv);
    fake->ep->recv_ring = fake->ep->conn_ring;
    atomic_fetch_add(&fake->ep->recv_tail, 1);
}

static inline void fake_close(struct fake *fake)
{
    CHECK_EQ(munmap(fake->hdr, fake->hdr->size), 0);
    close(fake->fd);
    close(fake->door);
}

/* Let a real instance ask it. */
static inline void fake_ask(struct dt *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static inline unsigned char *fake_slot(struct dm_shm_hdr *hdr, uint32_t slot)
{
    return slot < DM_SHM_INBOX_FIRST ? hdr->first_slots[slot].bytes
                                     : hdr->more_slots[slot - DM_SHM_INBOX_FIRST].bytes;
}

static inline bool fake_take(struct fake *fake, uint32_t slot, struct dm_shm_letter *letter)
{
    struct dm_shm_inbox *inbox = &fake->hdr->inbox;
    uint64_t bit = UINT64_C(1) << slot % 64;

    if ((atomic_fetch_and(&inbox->full[slot / 64], ~bit) & bit) == 0)
        return false;
    memcpy(letter, fake_slot(fake->hdr, slot), sizeof(*letter));
    atomic_fetch_and(&inbox->claimed[slot / 64], ~bit);
    atomic_store(&inbox->from[slot], 0);
    return true;
}

/* The next letter, which has to come. */
static inline struct dm_shm_letter fake_read(struct fake *fake)
{
    double end = dt_now() + 1e-6 * DT_WAIT_US;
    struct dm_shm_letter letter;

    atomic_store(&fake->hdr->inbox.is_rung, 0);
    while (dt_now() < end) {
        for (uint32_t slot = 0; slot < DM_SHM_INBOX_SLOTS; slot++)
            if (fake_take(fake, slot, &letter))
                return letter;
        dt_sleep_ms(1);
    }
    DT_FAIL("no letter has come");
}

/* Whose letter that is. */
static inline struct fake_seg fake_map(const struct dm_shm_letter *letter)
{
    struct fake_seg seg;
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", letter->pid, letter->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fstat(fd, &st), 0);
    seg.size = (size_t)st.st_size;
    seg.hdr = mmap(NULL, seg.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(seg.hdr != MAP_FAILED);
    CHECK_EQ(seg.hdr->id, letter->msg.id);
    close(fd);
    return seg;
}

static inline void fake_unmap(struct fake_seg *seg)
{
    CHECK_EQ(munmap(seg->hdr, seg->size), 0);
}

/* A message for the doorbell of an instance. */
static inline void fake_ring(const struct fake *fake, uint64_t id, const struct dm_shm_ctrl *msg)
{
    struct sockaddr_un to;
    socklen_t len = fake_door_name(id, &to);
    ssize_t n = sendto(fake->door, msg, offsetof(struct dm_shm_ctrl, data), MSG_NOSIGNAL,
                       (struct sockaddr *)&to, len);

    CHECK_EQ(n, offsetof(struct dm_shm_ctrl, data));
}

/* Write the answer to a request into the slot that it names. */
static inline void fake_answer(struct fake *fake, const struct fake_seg *to,
                               const struct dm_shm_letter *request, struct dm_shm_ctrl *msg)
{
    const struct dm_shm_ctrl ring = {.type = DM_CTRL_DOORBELL};
    struct dm_shm_letter letter = {
        .to = request->msg.conn, .pid = (int32_t)getpid(), .fd = fake->fd};
    struct dm_shm_inbox *inbox = &to->hdr->inbox;
    uint32_t slot = request->reply;

    msg->version = DM_SHM_VERSION;
    msg->id = fake->hdr->id;
    letter.msg = *msg;
    CHECK_EQ(inbox->from[slot], fake->hdr->id);
    atomic_store(&inbox->from[slot], fake->hdr->id | DM_SHM_FILLING);
    memcpy(fake_slot(to->hdr, slot), &letter, sizeof(letter));
    atomic_fetch_or(&inbox->full[slot / 64], UINT64_C(1) << slot % 64);
    atomic_store(&inbox->is_due, 1);
    if (atomic_exchange(&inbox->is_rung, 1) == 0)
        fake_ring(fake, to->hdr->id, &ring);
}

/* Slots of an inbox that somebody has. */
static inline int fake_n_taken(const struct fake_seg *seg)
{
    int n = 0;

    for (int i = 0; i < DM_SHM_INBOX_SLOTS; i++)
        n += atomic_load(&seg->hdr->inbox.from[i]) != 0;
    return n;
}

/* Wait until it has no more than so many slots that are taken. */
static inline void fake_want_taken(const struct fake_seg *seg, int most)
{
    double last = dt_now() + 2e-6 * DT_WAIT_US;

    while (fake_n_taken(seg) > most && dt_now() < last)
        dt_sleep_ms(1);
    CHECK(fake_n_taken(seg) <= most);
}

#endif
