/*
 * The figures of modelled networks: presets, and single keys.
 *
 * A preset has the figures of a network that a paper gives as measured below MPI, or that follow from
 * such figures as noted here; nothing that MPI libraries were measured with. What a paper does not
 * give is 0. The papers: [L] Liu et al., Design and Implementation of MPICH2 over InfiniBand with RDMA
 * Support. [C] Chai et al., Designing a Portable MPI-2 over Modern Interconnects Using uDAPL
 * Interface. [N] Narravula et al., High Performance MPI over iWARP. [Y] Yu et al., Design and
 * Implementation of Open MPI over Quadrics/Elan4. Numbers are those of their sections.
 */
#include "providers/shm/transport/preset.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/init.h"

#define TIME_MAX_NS 1e10
#define PCIX        1.064 /* 64 bits at 133 MHz */

static const struct preset {
    const char *name;
    struct dm_shm_figures figures;
} presets[] = {
    /* [L] 4.2.1: "5.9 us latency and 870 MB/s", MB being 10^6 bytes. 4.4: copies "less than
     * 800 MB/s". 4.1: PCI-X, 64 bits, 133 MHz. request: [C] 4.2, the same adapter: 1 us that
     * fetching the data of a request by DMA costs, compared with data inlined in it. Reads: [L] has
     * their curve without a number (figure 15); they get the bandwidth of writes. */
    {"mt23108",
     {.latency = 5900,
      .request = 1000,
      .bandwidth = 0.870,
      .read = 0.870,
      .bus = PCIX,
      .copy = 0.800}},
    /* [N] 4.1: RDMA writes, 6.49 us and 1287 MB/s. */
    {"t3b", {.latency = 6490, .bandwidth = 1.287, .read = 1.287}},
    /* [Y] 5.3, 5.4: 3.87 us, of which 0.5 us above the transport, whose own time is that of QDMA.
     * request: 5.2, "the time to fire an additional QDMA operation". No bandwidth is given below
     * MPI: 5., PCI-X, 64 bits, 133 MHz, bounds it. */
    {"elan4", {.latency = 3370, .request = 1000, .bandwidth = PCIX, .read = PCIX, .bus = PCIX}},
    /* [C] 4.3: uDAPL/GM, 8.3 us, 480 MB/s; 4.1: PCI-X, 64 bits, 133 MHz. */
    {"gm", {.latency = 8300, .bandwidth = 0.480, .read = 0.480, .bus = PCIX}},
    /* [C] 4.3: uDAPL/ccil, RDMA writes, 21 us, 110 MB/s; 4.1 as before. */
    {"ammasso", {.latency = 21000, .bandwidth = 0.110, .read = 0.110, .bus = PCIX}},
};

#define PRESET_NAMES "mt23108, t3b, elan4, gm or ammasso"

const char *const *dm_shm_preset_keys(void)
{
    static const char *const keys[] = {
        "copy", "segment", "preset",   "latency",       "request",    "bandwidth",       "read",
        "bus",  "memcpy",  "register", "register_page", "deregister", "deregister_page", "strict",
        NULL};

    return keys;
}

/* "2us", "300ns", "1.5ms"; false: none of these. */
static bool preset_read_time(const char *text, uint64_t *ns_p)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text)
        return false;
    if (strcmp(end, "us") == 0)
        value *= 1e3;
    else if (strcmp(end, "ms") == 0)
        value *= 1e6;
    else if (strcmp(end, "ns") != 0)
        return false;
    if (!(value >= 0 && value <= TIME_MAX_NS))
        return false;
    *ns_p = (uint64_t)(value + 0.5);
    return true;
}

static bool preset_find(const char *text, struct dm_shm_figures *figures)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(presets[i].name, text) != 0)
            continue;
        *figures = presets[i].figures;
        return true;
    }
    return false;
}

/* A key with a time, if it is there. */
static bool preset_time(const char *name, const char *params, const char *key, uint64_t *ns_p,
                        bool *is_on_p)
{
    char text[32];

    if (!dm_prov_param(params, key, text, sizeof(text)))
        return true;
    *is_on_p = true;
    if (preset_read_time(text, ns_p))
        return true;
    dm_prov_param_bad(name, params, key, "a time up to 10000ms, such as 5.9us or 300ns");
    return false;
}

/* A key with bytes a second, if it is there. */
static bool preset_rate(const char *name, const char *params, const char *key, double *rate_p,
                        bool *is_on_p)
{
    char text[32];
    uint64_t bytes;

    if (!dm_prov_param(params, key, text, sizeof(text)))
        return true;
    *is_on_p = true;
    bytes = dm_prov_param_size(params, key, 0);
    *rate_p = (double)bytes * 1e-9;
    if (bytes > 0)
        return true;
    dm_prov_param_bad(name, params, key,
                      "bytes a second, such as 870000000 or 800m (k, m, g: 2^10, 2^20, 2^30)");
    return false;
}

bool dm_shm_preset_read(const char *name, const char *params, struct dm_shm_figures *figures,
                        bool *is_on_p)
{
    bool has_read = false;
    bool has_bandwidth = false;
    char text[32];

    memset(figures, 0, sizeof(*figures));
    if (dm_prov_param(params, "preset", text, sizeof(text))) {
        *is_on_p = true;
        if (!preset_find(text, figures)) {
            dm_prov_param_bad(name, params, "preset", PRESET_NAMES);
            return false;
        }
    }
    if (!preset_time(name, params, "latency", &figures->latency, is_on_p) ||
        !preset_time(name, params, "request", &figures->request, is_on_p) ||
        !preset_time(name, params, "register", &figures->lock, is_on_p) ||
        !preset_time(name, params, "register_page", &figures->lock_page, is_on_p) ||
        !preset_time(name, params, "deregister", &figures->unlock, is_on_p) ||
        !preset_time(name, params, "deregister_page", &figures->unlock_page, is_on_p) ||
        !preset_rate(name, params, "bandwidth", &figures->bandwidth, &has_bandwidth) ||
        !preset_rate(name, params, "read", &figures->read, &has_read) ||
        !preset_rate(name, params, "bus", &figures->bus, is_on_p) ||
        !preset_rate(name, params, "memcpy", &figures->copy, is_on_p))
        return false;
    if (has_bandwidth && !has_read)
        figures->read = figures->bandwidth;
    *is_on_p = *is_on_p || has_bandwidth || has_read;
    return true;
}
