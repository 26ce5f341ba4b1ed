SRCS_mpi_pt2pt += src/mpi/pt2pt/start.c src/mpi/pt2pt/req.c \
	src/mpi/pt2pt/match.c src/mpi/pt2pt/send.c src/mpi/pt2pt/recv.c src/mpi/pt2pt/eager.c \
	src/mpi/pt2pt/rndv.c src/mpi/pt2pt/rndv_proto.c src/mpi/pt2pt/rndv_split.c src/mpi/pt2pt/bsend.c src/mpi/pt2pt/sendrecv.c src/mpi/pt2pt/probe.c \
	src/mpi/pt2pt/wait.c src/mpi/pt2pt/wait_some.c src/mpi/pt2pt/persist.c src/mpi/pt2pt/isendrecv.c \
	src/mpi/pt2pt/grequest.c src/mpi/pt2pt/cancel.c src/mpi/pt2pt/flow.c src/mpi/pt2pt/part.c \
	src/mpi/pt2pt/account.c src/mpi/pt2pt/tally.c src/mpi/pt2pt/queues.c src/mpi/pt2pt/deadlock.c
