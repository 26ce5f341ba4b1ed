# Without libfabric this provider is not built.
ifeq ($(HAVE_LIBFABRIC),yes)
SRCS_provider_ofi += src/providers/ofi/cm.c src/providers/ofi/cm_passive.c src/providers/ofi/conn.c src/providers/ofi/dto.c \
    src/providers/ofi/ep.c src/providers/ofi/ext.c src/providers/ofi/rkey_cache.c src/providers/ofi/fabric.c src/providers/ofi/key.c src/providers/ofi/lmr.c \
    src/providers/ofi/load.c src/providers/ofi/rdma.c \
    src/providers/ofi/recv.c src/providers/ofi/rmr.c src/providers/ofi/srq.c \
    src/providers/ofi/ia.c src/providers/ofi/fork.c src/providers/ofi/ofi_state.c src/providers/ofi/interface.c src/providers/ofi/init.c src/providers/ofi/progress.c src/providers/ofi/sock.c
# Those before libfabric: the loader goes by the order.
LIBS_provider_ofi = -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN/no-psm' $(shell ls -d lib/no-psm/*) -lfabric
endif
