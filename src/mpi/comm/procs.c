/*
 * Processes as others know them.
 *
 * A packed process is its id, the lengths of its host's name and of its address, and both without
 * NUL: some 150 bytes, so that lists of thousands can be sent.
 */
#include "mpi/comm/procs.h"

#include <string.h>

#include "mpi/node/node.h"

struct entry {
    uint64_t job;
    uint32_t rank;
    uint16_t host_len;
    uint16_t addr_len;
};
_Static_assert(sizeof(struct entry) + DM_PROC_HOST_MAX + DM_PROC_ADDR_MAX <= DM_PROCS_PACKED_MAX,
               "room for one");

static struct dm_adapt *procs_adapt(void)
{
    return dm_chan_adapt(dm_world.chan);
}

int dm_procs_pack_own(char bytes[DM_PROCS_PACKED_MAX], size_t *len_p)
{
    struct dm_proc_info info;
    struct entry entry;
    int err = dm_adapt_proc_info(procs_adapt(), dm_world.rank, &info);

    if (err != DM_OK)
        return err;
    entry = (struct entry){.job = info.id.job,
                           .rank = info.id.rank,
                           .host_len = (uint16_t)strlen(info.host),
                           .addr_len = (uint16_t)strlen(info.addr)};
    memcpy(bytes, &entry, sizeof(entry));
    memcpy(bytes + sizeof(entry), info.host, entry.host_len);
    memcpy(bytes + sizeof(entry) + entry.host_len, info.addr, entry.addr_len);
    *len_p = sizeof(entry) + entry.host_len + entry.addr_len;
    return DM_OK;
}

/* One process from the list at *at_p. */
static int procs_unpack_one(const char **at_p, const char *end, int *proc_p)
{
    struct dm_proc_info info = {0};
    struct entry entry;
    const char *at = *at_p;

    if ((size_t)(end - at) < sizeof(entry))
        return DM_FAIL(DM_EINTERN, "a list of processes ends early");
    memcpy(&entry, at, sizeof(entry));
    at += sizeof(entry);
    if (entry.host_len >= sizeof(info.host) || entry.addr_len >= sizeof(info.addr) ||
        end - at < entry.host_len + entry.addr_len)
        return DM_FAIL(DM_EINTERN,
                       "a list of processes has a name of %d and an address of %d bytes",
                       entry.host_len, entry.addr_len);
    info.id.job = entry.job;
    info.id.rank = entry.rank;
    memcpy(info.host, at, entry.host_len);
    memcpy(info.addr, at + entry.host_len, entry.addr_len);
    *at_p = at + entry.host_len + entry.addr_len;
    return dm_adapt_proc_get(procs_adapt(), &info, proc_p);
}

int dm_procs_unpack(const void *buf, size_t len, int n, int *procs)
{
    const char *at = buf;

    for (int i = 0; i < n; i++) {
        int err = procs_unpack_one(&at, (const char *)buf + len, &procs[i]);

        if (err != DM_OK) {
            dm_procs_put(i, procs);
            return err;
        }
    }
    return DM_OK;
}

void dm_procs_put(int n, const int *procs)
{
    for (int i = 0; i < n; i++)
        dm_adapt_proc_put(procs_adapt(), procs[i]);
}

int dm_procs_compare(int a, int b)
{
    if (!dm_world_is_foreign(a) && !dm_world_is_foreign(b))
        return a < b ? -1 : a > b;
    return dm_proc_id_compare(dm_adapt_proc_id(procs_adapt(), a),
                              dm_adapt_proc_id(procs_adapt(), b));
}

bool dm_procs_is_first(const struct dm_comm *comm)
{
    return dm_procs_compare(dm_group_proc(comm->group, 0), dm_group_proc(comm->remote, 0)) < 0;
}

/* The first member of a group on this host, or MPI_UNDEFINED. */
static int procs_first_local(const struct dm_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (dm_node_is_local(dm_group_proc(group, i)))
            return i;
    return MPI_UNDEFINED;
}

int dm_procs_host_color(const struct dm_comm *comm)
{
    const struct dm_group *first = comm->group, *second = comm->remote;
    int color;

    if (dm_group_is_own(first) && (second == NULL || dm_group_is_own(second)))
        return dm_node_first_proc();
    if (second != NULL && !dm_procs_is_first(comm)) {
        first = comm->remote;
        second = comm->group;
    }
    color = procs_first_local(first);
    return color != MPI_UNDEFINED ? color : first->size + procs_first_local(second);
}
