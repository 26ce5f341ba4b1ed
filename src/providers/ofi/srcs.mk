# Without libfabric this provider is not built.
ifeq ($(HAVE_LIBFABRIC),yes)
SRCS_provider_ofi += \
    src/providers/ofi/conn.c \
    src/providers/ofi/ctrl.c \
    src/providers/ofi/dto.c \
    src/providers/ofi/ep.c \
    src/providers/ofi/ext.c \
    src/providers/ofi/ia.c \
    src/providers/ofi/init.c \
    src/providers/ofi/key.c \
    src/providers/ofi/lmr.c \
    src/providers/ofi/progress.c \
    src/providers/ofi/rdma.c \
    src/providers/ofi/recv.c \
    src/providers/ofi/rkey.c \
    src/providers/ofi/send.c \
    src/providers/ofi/transport/fabric.c \
    src/providers/ofi/transport/handshake.c \
    src/providers/ofi/transport/listener.c \
    src/providers/ofi/transport/load.c \
    src/providers/ofi/transport/op.c \
    src/providers/ofi/transport/read.c \
    src/providers/ofi/transport/sock.c \
    $(SRCS_NET)
# Those before libfabric: the loader goes by the order.
LIBS_provider_ofi = -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN/no-psm' $(shell ls -d lib/no-psm/*) $(FABRIC_LDFLAGS) -lfabric
obj/providers/ofi/%.o: CPPFLAGS += $(FABRIC_CPPFLAGS)
endif
