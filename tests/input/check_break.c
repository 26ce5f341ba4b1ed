/*
 * Preloaded into a tool that calls DAT: makes a good provider a bad one, as DM_BREAK says.
 *   order  an RDMA write places its last byte first, and the others a little later
 *   crash  an RDMA write crashes
 *   hang   dat_srq_create does not return
 *   open   dat_ia_openv crashes
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>

#include <dat2/udat.h>

typedef DAT_RETURN write_fn(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
                            const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

static int is_broken(const char *how)
{
    const char *value = getenv("DM_BREAK");

    return value != NULL && strcmp(value, how) == 0;
}

static void crash(void)
{
    *(volatile int *)(uintptr_t)16 = 1;
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *lmr,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *rmr,
                                  DAT_COMPLETION_FLAGS flags)
{
    write_fn *real;
    DAT_LMR_TRIPLET last = lmr[0];
    DAT_RMR_TRIPLET last_to = *rmr;

    *(void **)&real = dlsym(RTLD_NEXT, "dat_ep_post_rdma_write");
    if (is_broken("crash"))
        crash();
    if (is_broken("order") && n == 1 && last.segment_length > 1) {
        last.virtual_address += last.segment_length - 1;
        last_to.virtual_address += last.segment_length - 1;
        last.segment_length = last_to.segment_length = 1;
        real(ep, 1, &last, cookie, &last_to, DAT_COMPLETION_SUPPRESS_FLAG);
        usleep(100);
    }
    return real(ep, n, lmr, cookie, rmr, flags);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                          DAT_SRQ_HANDLE *srq)
{
    DAT_RETURN (*real)(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *);

    *(void **)&real = dlsym(RTLD_NEXT, "dat_srq_create");
    while (is_broken("hang"))
        pause();
    return real(ia, pz, attr, srq);
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
                        DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN is_safe)
{
    DAT_RETURN(*real)
    (const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *, DAT_UINT32, DAT_UINT32,
     DAT_BOOLEAN);

    *(void **)&real = dlsym(RTLD_NEXT, "dat_ia_openv");
    if (is_broken("open"))
        crash();
    return real(name, qlen, evd, ia, major, minor, is_safe);
}
