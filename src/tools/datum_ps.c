/*
 * datum-ps: the jobs of this host, and what each rank is doing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tools/out.h"
#include "tools/where.h"

static const char usage[] =
    "Usage: datum-ps [OPTION]...\n"
    "\n"
    "Lists the MPI jobs of this user (root: of all) that have ranks on this host, and of each rank the\n"
    "call that it waits in, if it has waited for a tenth of a second (with many ranks on a core: some\n"
    "seconds): what for, how long, its queues.\n"
    "\n"
    "  --stacks     with the stack of each rank's main thread; it gets SIGURG for that, unless it sleeps\n"
    "               in a system call of the program, which would end early\n"
    "  --job NAME   this job only\n"
    "  --json       one JSON object for each job, on a line\n"
    "  --version    the version\n"
    "  --help       this text\n"
    "\n"
    "Exit status: 0; 1 if there is no such job; 2 for a wrong option.\n";

struct request {
    bool has_stacks;
    bool is_json;
    const char *job;
};

static void show_job(const struct dm_where_list *list, const struct request *request,
                     const char *job)
{
    if (request->is_json) {
        dm_where_print_json(stdout, list, job, request->has_stacks);
        return;
    }
    printf("job %s\n", job);
    (void)dm_where_print(stdout, list, job, request->has_stacks);
}

static int show_jobs(const struct request *request)
{
    struct dm_where_list list;
    int n = 0;

    if (!dm_where_find(&list)) {
        fprintf(stderr, "datum-ps: the processes cannot be looked at: %s\n", strerror(errno));
        return 1;
    }
    if (request->has_stacks)
        dm_where_get_stacks(&list, request->job, false);
    for (int i = 0; i < list.n; i++) {
        const char *job = list.ranks[i].file->job;

        if ((i > 0 && strcmp(job, list.ranks[i - 1].file->job) == 0) ||
            (request->job != NULL && strcmp(job, request->job) != 0))
            continue;
        show_job(&list, request, job);
        n++;
    }
    dm_where_free(&list);
    if (n == 0)
        fprintf(stderr,
                request->job != NULL
                    ? "datum-ps: no job %s has ranks on this host\n"
                    : "datum-ps: no job has ranks on this host that may be looked at\n",
                request->job);
    return n > 0 ? 0 : 1;
}

static int ps_run(char **argv)
{
    struct request request = {false, false, NULL};

    for (; *argv != NULL; argv++) {
        if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(*argv, "--version") == 0) {
            printf("Datum %s\n", DM_VERSION);
            return 0;
        }
        if (strcmp(*argv, "--stacks") == 0) {
            request.has_stacks = true;
        } else if (strcmp(*argv, "--json") == 0) {
            request.is_json = true;
        } else if (strcmp(*argv, "--job") == 0 && argv[1] != NULL) {
            request.job = *++argv;
        } else if (strcmp(*argv, "--job") == 0) {
            fputs("datum-ps: no value for --job; \"datum-ps --help\" says more\n", stderr);
            return 2;
        } else {
            fprintf(stderr, "datum-ps: unknown option \"%s\"; \"datum-ps --help\" says more\n",
                    *argv);
            return 2;
        }
    }
    return show_jobs(&request);
}

int main(int argc, char **argv)
{
    return dm_out_end("datum-ps", argc > 0 ? ps_run(argv + 1) : 2);
}
