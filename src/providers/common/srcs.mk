SRCS_provider_common += src/providers/common/attr.c src/providers/common/cno.c src/providers/common/ep_args.c \
    src/providers/common/evd.c src/providers/common/evd_add.c src/providers/common/evd_ring.c \
    src/providers/common/init.c src/providers/common/obj.c \
    src/providers/common/prov_state.c src/providers/common/pz.c src/providers/common/slice.c src/providers/common/table.c
