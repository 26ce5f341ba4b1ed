/*
 * One question an agent, with the reason as its text.
 */
#include "tools/mpiexec/reports.h"

#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/server_ask.h"
#include "util/cfg.h"

/* Where to report: the server as dm_launch_ask takes it. */
#define REPORT_TO "DATUM_AGENT_REPORT"

static void reports_done(struct dm_launch_reports *reports, const char *why)
{
    reports->n_awaited = 0;
    reports->done(reports->arg, why);
}

static bool answer_report(void *arg, const char *what, const char *subject, const char *text,
                          char *reply)
{
    struct dm_launch_reports *reports = arg;

    (void)reply;
    if (strcmp(what, "REPORT") != 0 || reports->n_awaited == 0)
        return false;
    if (strcmp(subject, "started") != 0)
        reports_done(reports, text != NULL ? text : "its ranks cannot be started");
    else if (--reports->n_awaited == 0)
        reports_done(reports, NULL);
    return true;
}

bool dm_launch_reports_open(struct dm_launch_reports *reports, struct dm_launch_loop *loop, int n,
                            void (*done)(void *arg, const char *why), void *arg)
{
    char name[DM_LAUNCH_SERVER_NAME];

    reports->n_awaited = n;
    reports->done = done;
    reports->arg = arg;
    return dm_launch_server_open(&reports->server, loop, answer_report, reports, name,
                                 sizeof(name)) &&
           setenv(REPORT_TO, name, 1) == 0;
}

bool dm_launch_report(const char *why)
{
    const char *server = dm_cfg_env(REPORT_TO);
    char answer[DM_LAUNCH_WORD_MAX];

    return server != NULL && dm_launch_ask(server, "REPORT", why == NULL ? "started" : "failed",
                                           why, answer, sizeof(answer));
}
