/*
 * Two forms of the same. The JSON's schema is in docs/TOOLS.md.
 */
#include "tools/check/check_print.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tools/out.h"
#include "util/host.h"

#define TITLE_WIDTH 36
#define VALUE_WIDTH 12

static int n_printed; /* probes of the object that is being printed */

static void put_text(const char *text)
{
    dm_out_json(stdout, text, SIZE_MAX);
}

void dm_check_print_begin(bool is_json, const struct dm_check *check,
                          const struct dm_probe_provider *provider)
{
    if (!is_json) {
        printf("%s: %s%s%s%s%s%s\n", provider->name, provider->library,
               provider->params[0] != '\0' ? " \"" : "", provider->params,
               provider->params[0] != '\0' ? "\"" : "", check->host != NULL ? ", with " : "",
               check->host != NULL ? check->host : "");
        return;
    }
    printf("{\"format\": 1, \"version\": ");
    put_text(DM_VERSION);
    printf(", \"provider\": ");
    put_text(provider->name);
    printf(", \"library\": ");
    put_text(provider->library);
    printf(", \"params\": ");
    put_text(provider->params);
    printf(", \"host\": ");
    put_text(dm_host_name());
    printf(", \"peer\": ");
    if (check->host != NULL)
        put_text(check->host);
    else
        printf("null");
    printf(", \"probes\": {");
    n_printed = 0;
}

static const char *verdict_word(enum dm_probe_verdict verdict)
{
    static const char *const words[] = {
        [DM_PROBE_YES] = "yes",
        [DM_PROBE_NO] = "no",
        [DM_PROBE_VALUE] = "value",
        [DM_PROBE_UNTESTED] = "not tested",
    };

    return words[verdict];
}

/* A figure as people like it. */
static void format_value(const struct dm_probe_result *result, char *text, size_t len)
{
    double value = result->value;

    if (strcmp(result->unit, "bytes") == 0 && value >= 1 << 20)
        snprintf(text, len, "%.6g MiB", value / (1 << 20));
    else if (strcmp(result->unit, "bytes") == 0 && value >= 10240)
        snprintf(text, len, "%.6g KiB", value / 1024);
    else if (value == (double)(long long)value)
        snprintf(text, len, "%.0f %s", value, result->unit);
    else
        snprintf(text, len, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, result->unit);
}

static void print_item(const struct dm_probe_item *item, const struct dm_probe_result *result)
{
    const char *means = result->verdict == DM_PROBE_YES  ? item->if_yes
                        : result->verdict == DM_PROBE_NO ? item->if_no
                                                         : NULL;
    char value[64];

    if (result->verdict == DM_PROBE_VALUE)
        format_value(result, value, sizeof(value));
    else
        snprintf(value, sizeof(value), "%s", verdict_word(result->verdict));
    if (result->verdict == DM_PROBE_UNTESTED)
        printf("  %-*s not tested: %s\n", TITLE_WIDTH, item->title, result->text);
    else if (result->text[0] == '\0')
        printf("  %-*s %s\n", TITLE_WIDTH, item->title, value);
    else
        printf("  %-*s %-*s %s\n", TITLE_WIDTH, item->title, VALUE_WIDTH, value, result->text);
    if (means != NULL)
        printf("      for an MPI this means: %s\n", means);
}

static void put_item(const struct dm_probe_result *result, bool is_first)
{
    printf("%s", is_first ? "" : ", ");
    put_text(result->key);
    printf(": {\"result\": ");
    put_text(verdict_word(result->verdict));
    if (result->verdict == DM_PROBE_VALUE) {
        printf(", \"value\": %.10g, \"unit\": ", result->value);
        put_text(result->unit);
    }
    printf(", \"detail\": ");
    put_text(result->text);
    putchar('}');
}

void dm_check_print_run(bool is_json, const struct dm_probe *probe, const struct dm_check_run *run)
{
    static const char *const ends[] = {
        [DM_CHECK_OK] = "ok", [DM_CHECK_REFUSED] = "refused", [DM_CHECK_BROKEN] = "broken"};

    if (is_json) {
        printf("%s", n_printed++ > 0 ? ", " : "");
        put_text(probe->name);
        printf(": {\"end\": ");
        put_text(ends[run->end]);
        printf(", \"why\": ");
        put_text(run->why);
        printf(", \"items\": {");
    }
    for (int i = 0; i < run->n_results; i++) {
        if (is_json)
            put_item(&run->results[i], i == 0);
        else
            print_item(&probe->items[i], &run->results[i]);
    }
    if (is_json)
        printf("}}");
    else if (run->end == DM_CHECK_BROKEN)
        printf("  PROVIDER BROKEN in the probe \"%s\": %s\n", probe->name, run->why);
    fflush(stdout);
}

void dm_check_print_end(bool is_json, const char *error)
{
    if (!is_json) {
        if (error != NULL)
            printf("  cannot be checked: %s\n", error);
        return;
    }
    printf("}, \"error\": ");
    if (error != NULL)
        put_text(error);
    else
        printf("null");
    printf("}\n");
    fflush(stdout);
}
