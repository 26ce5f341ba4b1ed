/*
 * Commands about other jobs. Names and ports are words as they come: the clients have escaped what
 * is none.
 */
#include "tools/mpiexec/pmi_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/spawn_request.h"
#include "tools/mpiexec/spawned.h"

enum { WORD_LEN = 1024 };

bool dm_launch_pmi_spawn_line(struct dm_launch_rank *rank, const char *line)
{
    struct dm_launch_request request;

    if (rank->request == NULL) {
        if (strcmp(line, "mcmd=spawn") != 0)
            return false;
        rank->request = calloc(1, sizeof(*rank->request));
        if (rank->request == NULL) /* the lines that follow are answered as they come */
            (void)dm_pmi_wire_send(rank->wire, "cmd=spawn_result rc=-1 msg=no_memory");
        return true;
    }
    if (!dm_launch_request_line(rank->request, line))
        return true;
    request = *rank->request;
    free(rank->request);
    rank->request = NULL;
    dm_launch_spawned_start(rank, &request);
    return true;
}

static void answer_name_op(const struct dm_launch_rank *rank, const char *what, bool is_good)
{
    (void)dm_pmi_wire_send(rank->wire, "cmd=%s_result rc=%d info=%s", what, is_good ? 0 : 1,
                           is_good ? "ok" : "failed");
}

void dm_launch_pmi_publish(struct dm_launch_rank *rank, const char *line)
{
    const struct dm_launch_kin *kin = &rank->node->kin;
    char service[WORD_LEN];
    char port[WORD_LEN];

    answer_name_op(rank, "publish",
                   dm_pmi_wire_field(line, "service", service, sizeof(service)) &&
                       dm_pmi_wire_field(line, "port", port, sizeof(port)) &&
                       dm_launch_names_publish(&kin->jobs->names, service, port, kin->serial));
}

void dm_launch_pmi_unpublish(struct dm_launch_rank *rank, const char *line)
{
    const struct dm_launch_kin *kin = &rank->node->kin;
    char service[WORD_LEN];

    answer_name_op(rank, "unpublish",
                   dm_pmi_wire_field(line, "service", service, sizeof(service)) &&
                       dm_launch_names_unpublish(&kin->jobs->names, service, kin->serial));
}

void dm_launch_pmi_lookup(struct dm_launch_rank *rank, const char *line)
{
    char service[WORD_LEN];
    char port[WORD_LEN];

    if (dm_pmi_wire_field(line, "service", service, sizeof(service)) &&
        dm_launch_names_lookup(&rank->node->kin.jobs->names, service, port, sizeof(port)))
        (void)dm_pmi_wire_send(rank->wire, "cmd=lookup_result rc=0 info=ok port=%s", port);
    else
        answer_name_op(rank, "lookup", false);
}

/* A number that jobs are called by; 0: there is none. */
static uint64_t take_id(const char *line, const char *name)
{
    char text[32];

    return dm_pmi_wire_field(line, name, text, sizeof(text)) ? strtoull(text, NULL, 16) : 0;
}

void dm_launch_pmi_connected(struct dm_launch_rank *rank, const char *line)
{
    uint64_t job = take_id(line, "job");

    rank->node->kin.id = take_id(line, "own");
    if (job != 0 && job != rank->node->kin.id)
        (void)dm_launch_jobs_tie(rank, job, -1);
    (void)dm_pmi_wire_send(rank->wire, "cmd=connected rc=0");
}

void dm_launch_pmi_disconnected(struct dm_launch_rank *rank, const char *line)
{
    rank->node->kin.id = take_id(line, "own");
    dm_launch_jobs_untie(rank, take_id(line, "job"));
    (void)dm_pmi_wire_send(rank->wire, "cmd=disconnected rc=0");
}
