/*
 * A forked child is no peer of anybody: it closes its copies of the sockets, so
 * that the connections end with the process that has made them.
 */
#include "providers/ofi/transport/ofi_state.h"

#include <unistd.h>

#include "providers/ofi/conn.h"
#include "providers/ofi/transport/listener.h"

static void fork_prepare(void)
{
    pthread_mutex_lock(&dm_ofi_state.lock);
    dm_list_for_each (it, &dm_ofi_state.ias)
        pthread_mutex_lock(&dm_container_of(it, struct dm_ofi_ia, link)->pia.lock);
}

static void fork_unlock(void)
{
    dm_list_for_each (it, &dm_ofi_state.ias)
        pthread_mutex_unlock(&dm_container_of(it, struct dm_ofi_ia, link)->pia.lock);
    pthread_mutex_unlock(&dm_ofi_state.lock);
}

static void fork_child(void)
{
    dm_list_for_each (it, &dm_ofi_state.ias) {
        struct dm_ofi_ia *ia = dm_container_of(it, struct dm_ofi_ia, link);

        for (uint32_t i = 0; i < ia->numbers.n; i++)
            if (ia->numbers.conns[i] != NULL && ia->numbers.conns[i]->keepalive.sock >= 0)
                close(ia->numbers.conns[i]->keepalive.sock);
        dm_list_for_each (at, &ia->pia.objs[DAT_HANDLE_TYPE_PSP])
            dm_ofi_sp_close_fd(dm_container_of(at, struct dm_sp, obj.link));
        dm_list_for_each (at, &ia->pia.objs[DAT_HANDLE_TYPE_RSP])
            dm_ofi_sp_close_fd(dm_container_of(at, struct dm_sp, obj.link));
    }
    fork_unlock();
}

bool dm_ofi_fork_add(struct dm_ofi_ia *ia)
{
    bool is_ok = true;

    pthread_mutex_lock(&dm_ofi_state.lock);
    if (!dm_ofi_state.is_ready) {
        dm_list_init(&dm_ofi_state.ias);
        is_ok = pthread_atfork(fork_prepare, fork_unlock, fork_child) == 0;
        dm_ofi_state.is_ready = is_ok;
    }
    if (is_ok)
        dm_list_add_tail(&dm_ofi_state.ias, &ia->link);
    pthread_mutex_unlock(&dm_ofi_state.lock);
    return is_ok;
}

void dm_ofi_fork_del(struct dm_ofi_ia *ia)
{
    pthread_mutex_lock(&dm_ofi_state.lock);
    dm_list_del(&ia->link);
    pthread_mutex_unlock(&dm_ofi_state.lock);
}
