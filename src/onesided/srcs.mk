SRCS_onesided += src/onesided/win.c src/onesided/mem.c src/onesided/put_get.c \
	src/onesided/acc.c src/onesided/target.c src/onesided/check.c src/onesided/flush.c \
	src/onesided/epoch_fence.c src/onesided/epoch_pscw.c src/onesided/epoch_lock.c \
	src/onesided/rma_state.c
