/*
 * The end that nobody wanted: peers that go away, and who is told when a job ends before its time.
 */
#include "api/lost.h"

#include <stdio.h>

#include "api/api.h"
#include "mpi/core/core.h"
#include "mpi/process/process.h"
#include "pmi/pmi.h"
#include "util/host.h"

static struct dm_pmi *launcher;

static void lost_abort(void *arg, int code, const char *text)
{
    (void)arg;
    dm_pmi_abort(launcher, code, text);
}

static const char *lost_host_of(void *arg, int proc)
{
    static struct dm_proc_info foreign;

    (void)arg;
    if (dm_world_is_foreign(proc)) {
        if (dm_adapt_proc_info(dm_chan_adapt(dm_world.chan), proc, &foreign) != DM_OK)
            return "an unknown host";
        return foreign.host;
    }
    return launcher != NULL ? dm_pmi_host_of(launcher, proc) : dm_host_name();
}

/* A process of another job is lost; who needs nothing of it any more does not mind. */
static void lost_foreign(int proc, int err)
{
    char who[DM_PROC_TEXT_MAX];
    char text[512];

    if (!dm_process_loss_is_fatal(proc))
        return;
    dm_pmi_peer_lost(launcher);
    snprintf(text, sizeof(text),
             "%s, with which this job is connected, is gone: it died, or exited without calling "
             "MPI_Finalize (%s%s%s)",
             dm_adapt_proc_text(dm_chan_adapt(dm_world.chan), proc, who, sizeof(who)),
             dm_err_text(err), dm_err_detail()[0] != '\0' ? ": " : "", dm_err_detail());
    dm_api_abort(1, text);
}

/*
 * A peer went away in the middle of the job. A program that changed the handler of
 * MPI_COMM_WORLD hears of it from the calls that needed the peer.
 */
static void lost_peer(void *arg, int proc, int err)
{
    char text[512];

    (void)arg;
    if (dm_world_is_foreign(proc)) {
        lost_foreign(proc, err);
        return;
    }
    if (dm_world.comm_world != NULL && !dm_errhandler_is_fatal(dm_world.comm_world->eh))
        return;
    /* It may be one that the launcher ends because of another: then it ends this one, too. */
    dm_pmi_peer_lost(launcher);
    if (err == DM_ECONN || err == DM_EPROVIDER || err == DM_ENOMEM)
        snprintf(text, sizeof(text), "rank %d on %s cannot be reached (%s: %s)", proc,
                 lost_host_of(NULL, proc), dm_err_text(err), dm_err_detail());
    else
        snprintf(text, sizeof(text),
                 "rank %d on %s is gone: it died, or exited without calling MPI_Finalize (%s%s%s)",
                 proc, lost_host_of(NULL, proc), dm_err_text(err),
                 dm_err_detail()[0] != '\0' ? ": " : "", dm_err_detail());
    dm_api_abort(1, text);
}

void dm_lost_start(struct dm_pmi *pmi)
{
    launcher = pmi;
    dm_world.host_of = lost_host_of;
    dm_world.abort = lost_abort;
}

void dm_lost_listen(void)
{
    dm_chan_on_lost(dm_world.chan, lost_peer, NULL);
}
