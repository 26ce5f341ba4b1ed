SRCS_provider_common += \
    src/providers/common/attr.c \
    src/providers/common/cm.c \
    src/providers/common/cno.c \
    src/providers/common/cr.c \
    src/providers/common/entry.c \
    src/providers/common/ep.c \
    src/providers/common/ep_args.c \
    src/providers/common/evd.c \
    src/providers/common/evd_add.c \
    src/providers/common/evd_ring.c \
    src/providers/common/evd_wait.c \
    src/providers/common/ext.c \
    src/providers/common/fork.c \
    src/providers/common/ia.c \
    src/providers/common/init.c \
    src/providers/common/lmr.c \
    src/providers/common/obj.c \
    src/providers/common/own_thread.c \
    src/providers/common/prov_state.c \
    src/providers/common/pz.c \
    src/providers/common/rmr.c \
    src/providers/common/sp.c \
    src/providers/common/srq.c \
    src/providers/common/strict.c \
    src/providers/common/strict_calls.c \
    src/providers/common/table.c
