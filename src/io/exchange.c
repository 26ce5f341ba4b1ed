#include "io/exchange.h"
bool dm_exchange_is_for(const struct dm_file *f)
{
    (void)f;
    return false;
}
int dm_exchange_run(struct dm_file *f, struct dm_move *m, int err)
{
    (void)f;
    (void)m;
    return err;
}
