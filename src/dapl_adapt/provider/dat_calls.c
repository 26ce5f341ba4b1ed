/*
 * Loading libdat2 (see dat_calls.h).
 */
#include "dapl_adapt/provider/dat_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/cfg.h"
#include "util/err.h"

#define DAT_LIBRARY "libdat2.so.2"

struct dm_dat_state dm_dat_state;

/* Global, since providers need not be linked with it. */
static void *dat_open_quietly(void)
{
    bool is_quiet = dm_cfg_env("DAT_DBG_TYPE") == NULL && setenv("DAT_DBG_TYPE", "0", 1) == 0;
    void *lib = dlopen(DAT_LIBRARY, RTLD_NOW | RTLD_GLOBAL);

    if (is_quiet)
        unsetenv("DAT_DBG_TYPE");
    return lib;
}

/* The first of a name in the program: a library that was loaded before may take its place. */
static void *dat_find(void *lib, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    return found != NULL ? found : dlsym(lib, name);
}

int dm_dat_load(void)
{
    static void *lib;
    const char *missing = NULL;

    if (lib != NULL)
        return DM_OK;
    lib = dat_open_quietly();
    if (lib == NULL)
        return DM_FAIL(DM_EPROVIDER, "the DAT registry cannot be loaded: %s (package libdat2)",
                       dlerror());
#define DAT_CALL_FIND(name)                                                                        \
    *(void **)&dm_dat_state.name = dat_find(lib, "dat_" #name);                                    \
    if (dm_dat_state.name == NULL)                                                                 \
        missing = "dat_" #name;
    DM_DAT_CALLS(DAT_CALL_FIND)
#undef DAT_CALL_FIND
    if (missing == NULL)
        return DM_OK;
    lib = NULL;
    return DM_FAIL(DM_EPROVIDER, DAT_LIBRARY " has no %s", missing);
}
