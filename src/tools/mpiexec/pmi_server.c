/*
 * PMI-1 for the ranks of this host. Lines come as the ranks write them, several at once or in
 * pieces; each command has one answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/mpiexec/node.h"
#include "tools/mpiexec/pmi_jobs.h"
#include "util/err.h"
#include "util/log.h"

/* What programs of MPICH have buffers for. */
enum { KVS_NAME_MAX = 256, KEY_LEN_MAX = 64, VALUE_LEN_MAX = 1024 };

/* ---- answers ---- */

/* Who is gone does not hear it: that is seen elsewhere. */
#define ANSWER(rank, ...) ((void)dm_pmi_wire_send((rank)->wire, __VA_ARGS__))
/* Together with the answers to what was asked at the same time. */
#define ANSWER_LATER(rank, ...) ((void)dm_pmi_wire_add((rank)->wire, __VA_ARGS__))

static void answer_init(struct dm_launch_rank *rank, const char *line)
{
    int version = 0;
    bool is_ours = dm_pmi_wire_number(line, "pmi_version", &version) && version == 1;

    ANSWER(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d", is_ours ? 0 : -1);
    rank->has_spoken = true;
}

static void answer_maxes(struct dm_launch_rank *rank, const char *line)
{
    (void)line;
    ANSWER(rank, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", KVS_NAME_MAX, KEY_LEN_MAX,
           VALUE_LEN_MAX);
}

static void answer_appnum(struct dm_launch_rank *rank, const char *line)
{
    (void)line;
    ANSWER(rank, "cmd=appnum appnum=%d", rank->app);
}

static void answer_name(struct dm_launch_rank *rank, const char *line)
{
    (void)line;
    ANSWER(rank, "cmd=my_kvsname kvsname=%s", rank->node->kvs_name);
}

static void answer_universe(struct dm_launch_rank *rank, const char *line)
{
    const struct dm_launch_node *node = rank->node;
    int size = node->options->universe_size;

    (void)line;
    ANSWER(rank, "cmd=universe_size size=%d", size > 0 ? size : node->place->n_ranks);
}

static void answer_put(struct dm_launch_rank *rank, const char *line)
{
    char key[KEY_LEN_MAX + 1];
    char value[VALUE_LEN_MAX + 1];
    bool is_good = dm_pmi_wire_field(line, "key", key, sizeof(key)) &&
                   dm_pmi_wire_field(line, "value", value, sizeof(value)) &&
                   dm_launch_kvs_put(&rank->node->kvs, key, value);

    ANSWER(rank, "cmd=put_result rc=%d msg=%s", is_good ? 0 : -1,
           is_good ? "success" : "no_key_or_value_or_too_long");
}

static void answer_get(struct dm_launch_rank *rank, const char *line)
{
    const struct dm_launch_node *node = rank->node;
    char key[KEY_LEN_MAX + 1] = "";
    const char *value = NULL;
    bool is_lost = false;

    if (dm_pmi_wire_field(line, "key", key, sizeof(key)))
        value = dm_launch_kvs_get(&node->kvs, key);
    if (value == NULL && node->upstream.lookup != NULL)
        value = node->upstream.lookup(node->upstream.arg, key, &is_lost);
    rank->has_no_answer = is_lost;
    if (is_lost)
        return;
    if (value != NULL)
        ANSWER_LATER(rank, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        ANSWER_LATER(rank, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown", key);
}

/* The pairs of the space by number. */
static void answer_by_index(struct dm_launch_rank *rank, const char *line)
{
    const struct dm_launch_kvs *kvs = &rank->node->kvs;
    int i = -1;

    if (!dm_pmi_wire_number(line, "idx", &i) || i < 0 || (size_t)i >= kvs->n_pairs)
        ANSWER(rank, "cmd=getbyidx_results rc=-2 reason=no_more_keyvals");
    else
        ANSWER(rank, "cmd=getbyidx_results rc=0 nextidx=%d key=%s val=%s", i + 1,
               kvs->pairs[i]->key, kvs->pairs[i]->value);
}

static void answer_barrier(struct dm_launch_rank *rank, const char *line)
{
    (void)line;
    if (!rank->is_in_barrier)
        rank->node->n_in_barrier++;
    rank->is_in_barrier = true;
    dm_launch_pmi_check_barrier(rank->node);
}

static void answer_finalize(struct dm_launch_rank *rank, const char *line)
{
    (void)line;
    rank->has_finalized = true;
    rank->n_ties = 0;
    ANSWER(rank, "cmd=finalize_ack");
}

static void answer_abort(struct dm_launch_rank *rank, const char *line)
{
    int code = 1;

    (void)dm_pmi_wire_number(line, "exitcode", &code);
    dm_launch_verdict_abort(rank, code);
}

static const struct command {
    const char *name;
    void (*answer)(struct dm_launch_rank *rank, const char *line);
} commands[] = {
    {"init", answer_init},
    {"get_maxes", answer_maxes},
    {"get_appnum", answer_appnum},
    {"get_my_kvsname", answer_name},
    {"get_universe_size", answer_universe},
    {"put", answer_put},
    {"get", answer_get},
    {"getbyidx", answer_by_index},
    {"barrier_in", answer_barrier},
    {"finalize", answer_finalize},
    {"abort", answer_abort},
    {"publish_name", dm_launch_pmi_publish},
    {"unpublish_name", dm_launch_pmi_unpublish},
    {"lookup_name", dm_launch_pmi_lookup},
    {"connected", dm_launch_pmi_connected},
    {"disconnected", dm_launch_pmi_disconnected},
};

static void answer_line(struct dm_launch_rank *rank, const char *line)
{
    char name[64] = "";

    if (dm_launch_pmi_spawn_line(rank, line) || !dm_pmi_wire_field(line, "cmd", name, sizeof(name)))
        return;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].answer(rank, line);
            return;
        }
    dm_log_warn("mpiexec: rank %d asks for '%s', which this mpiexec does not know", rank->rank,
                name);
    ANSWER(rank, "cmd=%s_result rc=-1 msg=unknown_command", name);
}

/* ---- the barrier ---- */

void dm_launch_pmi_release(struct dm_launch_node *node)
{
    node->n_in_barrier = 0;
    for (int i = 0; i < node->n_ranks; i++) {
        if (!node->ranks[i].is_in_barrier)
            continue;
        node->ranks[i].is_in_barrier = false;
        ANSWER(&node->ranks[i], "cmd=barrier_out");
    }
}

void dm_launch_pmi_check_barrier(struct dm_launch_node *node)
{
    if (node->is_ending)
        return;
    if (node->n_in_barrier > 0)
        dm_launch_verdict_barrier(node);
    if (node->n_in_barrier < node->n_ranks)
        return;
    if (node->upstream.barrier != NULL)
        node->upstream.barrier(node->upstream.arg);
    else
        dm_launch_pmi_release(node);
}

/* ---- connections ---- */

void dm_launch_pmi_close(struct dm_launch_rank *rank)
{
    if (rank->wire == NULL || rank->is_closed)
        return;
    rank->is_closed = true;
    dm_launch_loop_remove(rank->node->loop, &rank->watch);
    close(rank->wire->fd);
}

void dm_launch_pmi_drain(struct dm_launch_rank *rank)
{
    const char *line;

    while (!rank->is_closed) {
        ssize_t n = dm_pmi_wire_read(rank->wire);

        if (n < 0)
            return;
        while (!rank->is_closed && dm_pmi_wire_next(rank->wire, &line))
            answer_line(rank, line);
        if (!rank->is_closed)
            (void)dm_pmi_wire_flush(rank->wire);
        if (n == 0)
            dm_launch_pmi_close(rank);
    }
}

static void on_request(void *arg)
{
    struct dm_launch_rank *rank = arg;

    dm_launch_pmi_drain(rank);
    if (rank->is_closed)
        dm_launch_verdict_look(rank);
}

bool dm_launch_pmi_serve(struct dm_launch_rank *rank, int fd)
{
    if (rank->wire == NULL)
        rank->wire = malloc(sizeof(*rank->wire));
    if (rank->wire == NULL) {
        close(fd);
        return false;
    }
    dm_pmi_wire_init(rank->wire, fd);
    rank->is_closed = false;
    if (dm_launch_loop_add(rank->node->loop, &rank->watch, fd, false, on_request, rank))
        return true;
    dm_log_error("mpiexec: the connection to rank %d cannot be watched: %s", rank->rank,
                 strerror(errno));
    rank->is_closed = true;
    close(fd);
    return false;
}

/* ---- -pmi-port ---- */

/* A process says which rank it is. */
static void on_port(void *arg)
{
    struct dm_launch_node *node = arg;
    int fd = accept4(node->port_fd, NULL, NULL, SOCK_CLOEXEC);
    struct dm_pmi_wire *wire = fd >= 0 ? malloc(sizeof(*wire)) : NULL;
    const char *line;
    int id = -1;

    if (wire != NULL)
        dm_pmi_wire_init(wire, fd);
    if (wire != NULL && dm_pmi_wire_recv(wire, 1000000, &line) == DM_OK)
        (void)dm_pmi_wire_number(line, "pmiid", &id);
    for (int i = 0; id >= 0 && i < node->n_ranks; i++) {
        struct dm_launch_rank *rank = &node->ranks[i];

        if (rank->rank != id || rank->has_spoken)
            continue;
        if (dm_launch_pmi_serve(rank, fd))
            ANSWER(rank, "cmd=initack rc=0\ncmd=set size=%d\ncmd=set rank=%d\ncmd=set debug=0",
                   node->place->n_ranks, id);
        fd = -1;
        break;
    }
    if (fd >= 0)
        close(fd);
    free(wire);
}

bool dm_launch_pmi_listen(struct dm_launch_node *node)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);

    node->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (node->port_fd < 0 || bind(node->port_fd, (const void *)&addr, sizeof(addr)) != 0 ||
        listen(node->port_fd, SOMAXCONN) != 0 ||
        getsockname(node->port_fd, (void *)&addr, &len) != 0 ||
        !dm_launch_loop_add(node->loop, &node->port_watch, node->port_fd, false, on_port, node)) {
        dm_log_error("mpiexec: no port for the ranks: %s", strerror(errno));
        return false;
    }
    node->port = ntohs(addr.sin_port);
    return true;
}
