/*
 * The setting, and the places of calls.
 */
#include <stdlib.h>
#include <string.h>

#include "usage/state.h"
#include "util/cfg.h"
#include "util/stack.h"

struct dm_usage_state dm_usage_state;

static const struct usage_word {
    const char *word;
    unsigned what;
} usage_words[] = {
    {"no", 0},
    {"off", 0},
    {"0", 0},
    {"yes", DM_USAGE_ALL},
    {"on", DM_USAGE_ALL},
    {"1", DM_USAGE_ALL},
    {"all", DM_USAGE_ALL},
    {"collectives", DM_USAGE_COLLECTIVES},
    {"leaks", DM_USAGE_LEAKS},
    {"buffers", DM_USAGE_BUFFERS},
    {"requests", DM_USAGE_REQUESTS},
};
#define N_WORDS (sizeof(usage_words) / sizeof(usage_words[0]))

static int usage_parse(const char *text, unsigned *what_p)
{
    *what_p = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, ","), i = 0;

        while (i < N_WORDS &&
               (strlen(usage_words[i].word) != len || strncmp(usage_words[i].word, text, len) != 0))
            i++;
        if (i == N_WORDS)
            return DM_FAIL(
                DM_ECONFIG,
                "DATUM_CHECK (from %s): \"%.*s\" is none of no, yes, all, collectives, leaks, "
                "buffers, requests, which may be joined by commas",
                dm_cfg_source("DATUM_CHECK"), (int)len, text);
        *what_p |= usage_words[i].what;
        text += len + (text[len] == ',');
    }
    return DM_OK;
}

static void usage_at_exit(void)
{
    /* A process that ends in the middle has other troubles. */
    if (!dm_usage_state.is_stopped)
        return;
    dm_usage_objects_report(true);
    dm_usage_objects_drop();
    dm_usage_state.what = 0;
}

int dm_usage_start(dm_usage_raise_fn *raise)
{
    unsigned what;
    int err = usage_parse(dm_cfg()->check, &what);

    if (err != DM_OK)
        return err;
    memset(&dm_usage_state, 0, sizeof(dm_usage_state));
    dm_usage_state.what = what;
    dm_usage_state.raise = raise;
    dm_hash_init(&dm_usage_state.objects);
    dm_hash_init(&dm_usage_state.requests);
    dm_list_init(&dm_usage_state.active);
    dm_list_init(&dm_usage_state.awaits);
    dm_list_init(&dm_usage_state.rmas);
    dm_list_init(&dm_usage_state.compares);
    dm_list_init(&dm_usage_state.sends);
    dm_usage_state.hook.fn = dm_usage_pass;
    if (dm_usage_has(DM_USAGE_COLLECTIVES))
        dm_chan_hook_add(dm_world.chan, &dm_usage_state.hook);
    if (dm_usage_has(DM_USAGE_LEAKS) && atexit(usage_at_exit) != 0)
        return DM_FAIL(DM_ENOMEM, "handler for the exit of the process");
    return DM_OK;
}

bool dm_usage_is_on(void)
{
    return dm_usage_state.what != 0;
}

void dm_usage_report(void)
{
    if (!dm_usage_is_on())
        return;
    dm_usage_look();
    dm_usage_requests_report();
    dm_usage_objects_report(false);
}

void dm_usage_stop(void)
{
    if (!dm_usage_is_on())
        return;
    dm_chan_hook_del(dm_world.chan, &dm_usage_state.hook);
    dm_usage_compares_drop();
    dm_usage_rmas_drop();
    dm_usage_requests_drop();
    dm_usage_state.what &= DM_USAGE_LEAKS;
    dm_usage_state.is_stopped = true;
}

/* ---- places ---- */

void dm_usage_place_take(struct dm_usage_place *place, const char *fn)
{
    place->fn = fn;
    place->n = dm_stack_take(place->stack, DM_USAGE_DEPTH);
}

bool dm_usage_place_is_equal(const struct dm_usage_place *a, const struct dm_usage_place *b)
{
    return a->fn == b->fn && a->n == b->n &&
           memcmp(a->stack, b->stack, (size_t)a->n * sizeof(a->stack[0])) == 0;
}

void dm_usage_place_add(struct dm_strbuf *sb, const struct dm_usage_place *place)
{
    dm_stack_add_taken(sb, place->stack, place->n);
}
