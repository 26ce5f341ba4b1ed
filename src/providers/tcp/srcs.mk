SRCS_provider_tcp += \
    src/providers/tcp/conn.c \
    src/providers/tcp/dto.c \
    src/providers/tcp/ep.c \
    src/providers/tcp/ext.c \
    src/providers/tcp/frame.c \
    src/providers/tcp/ia.c \
    src/providers/tcp/init.c \
    src/providers/tcp/pinned.c \
    src/providers/tcp/lmr.c \
    src/providers/tcp/progress.c \
    src/providers/tcp/rdma.c \
    src/providers/tcp/recv.c \
    src/providers/tcp/transport/congestion.c \
    src/providers/tcp/transport/heads.c \
    src/providers/tcp/transport/hold.c \
    src/providers/tcp/transport/in.c \
    src/providers/tcp/transport/listener.c \
    src/providers/tcp/transport/op.c \
    src/providers/tcp/transport/out.c \
    src/providers/tcp/transport/parse.c \
    src/providers/tcp/transport/splice.c \
    $(SRCS_NET)
