/*
 * Connection events of DAT, by whichever thread takes them off the queue: links change their state,
 * and the main thread finds a pending event.
 */
#include "dapl_adapt/conn/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/passive.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "util/log.h"

static struct dm_link *cm_find_link(struct dm_adapt *adapt, DAT_EP_HANDLE ep)
{
    struct dm_conn *conn;
    struct dm_link *link;

    dm_conn_for_each (conn, adapt) {
        for (int k = 0; k < DM_LINK_N; k++) {
            link = &conn->links->at[k];
            if (ep != DAT_HANDLE_NULL && (link->ep == ep || link->dropped == ep))
                return link;
        }
    }
    return NULL;
}

static void cm_take_answer(struct dm_link *link, const DAT_CONNECTION_EVENT_DATA *data)
{
    memset(&link->answer, 0, sizeof(link->answer));
    if (data->private_data != NULL && data->private_data_size >= (DAT_COUNT)sizeof(link->answer))
        memcpy(&link->answer, data->private_data, sizeof(link->answer));
}

/* Has the one answered who was asked, over this connection? */
static bool cm_is_peer(const struct dm_link *link)
{
    const struct dm_conn_who *who = &link->conn->who;
    struct dm_proc_id id = {link->answer.job, link->answer.rank, 0};

    return link->answer.magic == DM_PRIVATE_MAGIC && link->answer.kind == DM_PRIVATE_ACCEPT &&
           dm_proc_id_compare(id, who->id) == 0 &&
           (who->theirs == 0 || who->theirs == link->answer.mine);
}

static void cm_established(struct dm_link *link, const DAT_CONNECTION_EVENT_DATA *data)
{
    if (link->is_active) {
        cm_take_answer(link, data);
        if (!cm_is_peer(link)) {
            /* somebody else listens there: as good as nobody */
            link->event = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
            dm_conn_note(link, DM_NOTE_REFUSED);
            return;
        }
        link->conn->who.theirs = link->answer.mine;
    }
    if (link->state == DM_LINK_CONNECTING || link->state == DM_LINK_ACCEPTING) {
        link->state = DM_LINK_UP;
        dm_conn_note(link, DM_NOTE_UP);
    }
}

static void cm_ended(struct dm_link *link, int event, const DAT_CONNECTION_EVENT_DATA *data)
{
    switch (link->state) {
    case DM_LINK_CONNECTING:
        if (event == DAT_CONNECTION_EVENT_PEER_REJECTED)
            cm_take_answer(link, data);
        link->event = event;
        dm_conn_note(link, DM_NOTE_REFUSED);
        break;
    case DM_LINK_ACCEPTING: /* the connector tries again, or gives up and says so */
        link->state = DM_LINK_IDLE;
        /* an own attempt that it had replaced */
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
        link->dropped = link->ep;
        link->ep = DAT_HANDLE_NULL;
        dm_conn_note(link, DM_NOTE_DROPPED);
        break;
    case DM_LINK_UP:
        link->is_ended = true;
        dm_conn_note(link, DM_NOTE_LOST);
        break;
    default:
        break;
    }
}

void dm_conn_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
    struct dm_adapt *adapt = ia->adapt;
    struct dm_link *link;

    pthread_mutex_lock(&adapt->shared.lock);
    if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
        dm_conn_on_request(ia, event->event_data.cr_arrival_event_data.cr_handle);
    } else {
        link = cm_find_link(adapt, data->ep_handle);
        if (link == NULL)
            DM_TRACE(CONN, "event 0x%x of an endpoint that is gone", event->event_number);
        else if (data->ep_handle == link->dropped)
            dm_conn_note(link, DM_NOTE_DROPPED);
        else if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
            cm_established(link, data);
        else
            cm_ended(link, (int)event->event_number, data);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    if (atomic_load(&adapt->shared.n_notes) > 0)
        dm_conn_notes_wake(adapt);
}
