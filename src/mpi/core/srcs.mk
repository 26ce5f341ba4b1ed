SRCS_mpi_core += src/mpi/core/core.c src/mpi/core/handle.c \
	src/mpi/core/group.c src/mpi/core/comm_obj.c src/mpi/core/ctx.c \
	src/mpi/core/request.c src/mpi/core/copies.c src/mpi/core/errhandler.c \
	src/mpi/core/info.c src/mpi/core/info_env.c src/mpi/core/attr.c src/mpi/core/topo_obj.c
