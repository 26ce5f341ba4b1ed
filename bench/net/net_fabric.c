/*
 * The floor of datum-ofi: ping-pong and stream over libfabric alone, its connected message endpoints of
 * provider tcp, spinning on the completion queue, between the first two ranks; MPI
 * only tells rank 1 where to connect to.
 *
 *   mpiexec -n 2 net_fabric [-s MIN:MAX] [-r ROUNDS] [-a ADDRESS]
 *
 * Options and output lines as of net_socket.
 */
#define _GNU_SOURCE
#include <netdb.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define FLOOR "net_fabric"
#include "net_floor.h"

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq_send, *cq_recv;
static struct fid_ep *ep;
static char *posted; /* the buffer that the one receive under way was posted with */
static size_t posted_len;

static void must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, FLOOR ": %s: %s\n", what, fi_strerror(-rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static struct fi_info *find(const char *host, const char *service, uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo(), *found = NULL;

    if (hints == NULL)
        die("no memory");
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT;
    hints->fabric_attr->prov_name = strdup("tcp");
    must(fi_getinfo(FI_VERSION(1, 11), host, service, flags, hints, &found), "fi_getinfo");
    fi_freeinfo(hints);
    return found;
}

static void open_fabric(void)
{
    struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};

    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    must(fi_eq_open(fabric, &eq_attr, &eq, NULL), "fi_eq_open");
}

static void open_ep(struct fi_info *of)
{
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};

    must(fi_domain(fabric, of, &domain, NULL), "fi_domain");
    must(fi_cq_open(domain, &cq_attr, &cq_send, NULL), "fi_cq_open");
    must(fi_cq_open(domain, &cq_attr, &cq_recv, NULL), "fi_cq_open");
    must(fi_endpoint(domain, of, &ep, NULL), "fi_endpoint");
    must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq_send->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq_recv->fid, FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
}

/* Wait for a connection event; returns its info. */
static struct fi_info *next_event(uint32_t want)
{
    struct fi_eq_cm_entry entry;
    uint32_t event = 0;
    ssize_t n = fi_eq_sread(eq, &event, &entry, sizeof(entry), 10000, 0);

    if (n < 0)
        must((int)n, "no connection");
    if (event != want)
        die("another event than expected");
    return entry.info;
}

static void post(char *buf, size_t len)
{
    must((int)fi_recv(ep, buf, len, NULL, 0, NULL), "fi_recv");
    posted = buf;
    posted_len = len;
}

/* Rank 0 listens. */
static void floor_open(int rank, const char *address, char *buf, size_t len)
{
    char where[2][128] = {"", ""}, host[100] = "";
    struct fid_pep *pep = NULL;
    struct sockaddr_storage addr;
    size_t addr_len = sizeof(addr);

    if (rank == 0) {
        gethostname(host, sizeof(host) - 1);
        info = find(address != NULL ? address : host, NULL, FI_SOURCE);
        open_fabric();
        must(fi_passive_ep(fabric, info, &pep, NULL), "fi_passive_ep");
        must(fi_pep_bind(pep, &eq->fid, 0), "fi_pep_bind");
        must(fi_listen(pep), "fi_listen");
        must(fi_getname(&pep->fid, &addr, &addr_len), "fi_getname");
        getnameinfo((struct sockaddr *)&addr, (socklen_t)addr_len, where[0], sizeof(where[0]),
                    where[1], sizeof(where[1]), NI_NUMERICHOST | NI_NUMERICSERV);
        MPI_Send(where, sizeof(where), MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        open_ep(next_event(FI_CONNREQ));
        must(fi_accept(ep, NULL, 0), "fi_accept");
    } else {
        MPI_Recv(where, sizeof(where), MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        info = find(where[0], where[1], 0);
        open_fabric();
        open_ep(info);
        must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
    }
    next_event(FI_CONNECTED);
    if (pep != NULL)
        fi_close(&pep->fid);
    post(buf, len);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void poll_one(struct fid_cq *cq)
{
    struct fi_cq_entry entry;
    ssize_t n;

    do
        n = fi_cq_read(cq, &entry, 1);
    while (n == -FI_EAGAIN);
    if (n < 0)
        must((int)n, "fi_cq_read");
}

static void floor_all(char *buf, long len, int is_send)
{
    struct iovec iov = {.iov_base = buf, .iov_len = (size_t)len};
    /* Small ones are not waited for, as in any library. */
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
    uint64_t flags = len <= (long)info->tx_attr->inject_size ? FI_INJECT : FI_COMPLETION;
    struct fi_cq_entry entry;
    ssize_t rc;

    if (!is_send) {
        poll_one(cq_recv);
        post(posted, posted_len);
        return;
    }
    while ((rc = fi_sendmsg(ep, &msg, flags)) == -FI_EAGAIN)
        fi_cq_read(cq_send, &entry, 0);
    must((int)rc, "fi_sendmsg");
    if (flags & FI_COMPLETION)
        poll_one(cq_send);
}

static void floor_close(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    fi_close(&ep->fid);
    fi_close(&cq_send->fid);
    fi_close(&cq_recv->fid);
    fi_close(&domain->fid);
    fi_close(&eq->fid);
    fi_close(&fabric->fid);
    fi_freeinfo(info);
}
