SRCS_provider_shm += src/providers/shm/cm.c src/providers/shm/cm_passive.c \
    src/providers/shm/conn.c src/providers/shm/copy.c src/providers/shm/csp.c src/providers/shm/ep.c src/providers/shm/ia.c \
    src/providers/shm/init.c src/providers/shm/key.c src/providers/shm/lmr.c src/providers/shm/model.c src/providers/shm/msg.c \
    src/providers/shm/peer.c src/providers/shm/progress.c src/providers/shm/rdma.c \
    src/providers/shm/rdma_exec.c src/providers/shm/rdma_stage.c src/providers/shm/recv.c src/providers/shm/remote.c src/providers/shm/rmr.c \
    src/providers/shm/seg.c src/providers/shm/srq.c src/providers/shm/srq_take.c
