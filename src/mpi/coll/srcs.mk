SRCS_mpi += src/mpi/coll/coll.c src/mpi/coll/move.c src/mpi/coll/reduce.c src/mpi/coll/run.c \
	src/mpi/coll/sched.c src/mpi/coll/select.c src/mpi/coll/choices.c \
	src/mpi/coll/neighbor.c \
	src/mpi/coll/alg/barrier_dissemination.c src/mpi/coll/alg/barrier_tree.c \
	src/mpi/coll/alg/barrier_linear.c src/mpi/coll/alg/bcast_linear.c \
	src/mpi/coll/alg/allgather_linear.c src/mpi/coll/alg/alltoall_central.c \
	src/mpi/coll/alg/allreduce_linear.c src/mpi/coll/alg/reduce_linear.c \
	src/mpi/coll/alg/bcast_binomial.c src/mpi/coll/alg/bcast_scatter.c \
	src/mpi/coll/alg/gather_linear.c src/mpi/coll/alg/gather_binomial.c \
	src/mpi/coll/alg/scatter_linear.c src/mpi/coll/alg/scatter_binomial.c \
	src/mpi/coll/alg/allgather_doubling.c src/mpi/coll/alg/allgather_bruck.c \
	src/mpi/coll/alg/allgather_ring.c src/mpi/coll/alg/alltoall_exchange.c \
	src/mpi/coll/alg/alltoall_linear.c src/mpi/coll/alg/alltoall_pairwise.c \
	src/mpi/coll/alg/alltoall_bruck.c src/mpi/coll/alg/reduce_binomial.c \
	src/mpi/coll/alg/pof2.c src/mpi/coll/alg/reduce_halving.c \
	src/mpi/coll/alg/allreduce_doubling.c src/mpi/coll/alg/allreduce_halving.c \
	src/mpi/coll/alg/allreduce_tree.c src/mpi/coll/alg/reduce_scatter_allreduce.c \
	src/mpi/coll/alg/reduce_scatter_pairwise.c src/mpi/coll/alg/reduce_scatter_ordered.c \
	src/mpi/coll/alg/reduce_scatter_root.c \
	src/mpi/coll/alg/scan_doubling.c src/mpi/coll/alg/scan_chain.c src/mpi/coll/alg/alone.c \
	src/mpi/coll/alg/inter_rooted.c src/mpi/coll/alg/inter_exchange.c \
	src/mpi/coll/alg/inter_reduce.c \
	src/mpi/coll/alg/neighbor_direct.c \
	src/mpi/coll/shm/segment.c src/mpi/coll/shm/wait.c src/mpi/coll/shm/rounds.c \
	src/mpi/coll/shm/data.c src/mpi/coll/shm/cma.c src/mpi/coll/shm/split_copy.c \
	src/mpi/coll/shm/blocks.c src/mpi/coll/shm/move.c src/mpi/coll/shm/rooted.c \
	src/mpi/coll/shm/alltoall.c src/mpi/coll/shm/reduction.c src/mpi/coll/shm/allreduce.c \
	src/mpi/coll/shm/reduce.c src/mpi/coll/shm/reduce_pair.c src/mpi/coll/shm/reduce_scatter.c \
	src/mpi/coll/shm/scan.c src/mpi/coll/shm/nodes.c
