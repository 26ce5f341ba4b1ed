/*
 * Long waits.
 *
 * Invariant: what a note, or the word of dm_chan_wait, points to is there while it is set: whoever sets it takes it
 * back when the wait ends. A wait that sets none is open, and begins anew with whatever comes in between.
 */
#include "channel/account.h"

#include "channel/chan.h"
#include "util/clock.h"

void dm_account_add(struct dm_wait_account *account, int proc)
{
    for (int i = 0; i < account->n; i++)
        if (account->procs[i] == proc)
            return;
    if (account->n == DM_ACCOUNT_PROCS)
        account->is_open = true;
    else
        account->procs[account->n++] = proc;
}

void dm_wait_note_set(struct dm_chan *chan, const struct dm_wait_note *note)
{
    chan->long_wait.note = note;
    chan->long_wait.since = 0;
    if (chan->long_wait.is_timed)
        dm_wait_timed_begin(chan);
}

void dm_wait_note_end(struct dm_chan *chan)
{
    chan->long_wait.note = NULL;
    chan->long_wait.since = 0;
    if (chan->long_wait.is_timed)
        dm_wait_timed_end(chan);
}

void dm_wait_timed_begin(struct dm_chan *chan)
{
    chan->long_wait.timed_from = dm_clock_ns();
}

void dm_wait_timed_end(struct dm_chan *chan)
{
    if (chan->long_wait.timed_from != 0)
        chan->long_wait.timed_ns += dm_clock_ns() - chan->long_wait.timed_from;
    chan->long_wait.timed_from = 0;
}

uint64_t dm_wait_time(struct dm_chan *chan, bool is_timed)
{
    chan->long_wait.is_timed = is_timed;
    return chan->long_wait.timed_ns;
}

void dm_wait_on_pending(struct dm_chan *chan,
                        void (*report)(const int *n_pending, struct dm_wait_account *account))
{
    chan->long_wait.report = report;
}

void dm_wait_on_long(struct dm_chan *chan, void (*fn)(void *arg), void *arg)
{
    chan->long_wait.fn = fn;
    chan->long_wait.arg = arg;
}

void dm_wait_long(struct dm_chan *chan, uint64_t now)
{
    struct dm_chan_long_wait *wait = &chan->long_wait;

    if (wait->since == 0) {
        wait->since = now;
        wait->number += 1 + (wait->number == UINT32_MAX);
    } else if (wait->fn != NULL) {
        wait->fn(wait->arg);
    }
    wait->next = now + wait->every;
}

uint32_t dm_wait_long_number(const struct dm_chan *chan, uint64_t *since_p)
{
    *since_p = chan->long_wait.since;
    return chan->long_wait.since != 0 ? chan->long_wait.number : 0;
}

void dm_wait_report(const struct dm_chan *chan, struct dm_wait_account *account)
{
    const struct dm_chan_long_wait *wait = &chan->long_wait;

    account->is_over = account->is_open = false;
    account->n = 0;
    dm_strbuf_init(&account->text, account->chars, sizeof(account->chars));
    if (wait->note != NULL)
        wait->note->report(wait->note, account);
    else if (wait->n_pending != NULL && wait->report != NULL)
        wait->report(wait->n_pending, account);
    else
        account->is_open = true;
}
