SRCS_mpi += src/mpi/topo/attach.c src/mpi/topo/cart.c src/mpi/topo/cart_create.c \
	src/mpi/topo/dims.c src/mpi/topo/dist_graph.c src/mpi/topo/graph.c src/mpi/topo/reorder.c
