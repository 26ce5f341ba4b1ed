SRCS_provider_tcp += \
    src/providers/tcp/cm.c \
    src/providers/tcp/cm_passive.c \
    src/providers/tcp/conn.c \
    src/providers/tcp/dto.c \
    src/providers/tcp/ep.c \
    src/providers/tcp/ext.c \
    src/providers/tcp/frame.c \
    src/providers/tcp/ia.c \
    src/providers/tcp/init.c \
    src/providers/tcp/key.c \
    src/providers/tcp/lmr.c \
    src/providers/tcp/progress.c \
    src/providers/tcp/rdma.c \
    src/providers/tcp/recv.c \
    src/providers/tcp/srq.c \
    src/providers/tcp/transport/in.c \
    src/providers/tcp/transport/listener.c \
    src/providers/tcp/transport/op_pool.c \
    src/providers/tcp/transport/out.c \
    src/providers/tcp/transport/parse.c \
    $(SRCS_NET)
