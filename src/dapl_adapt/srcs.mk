SRCS_dapl_adapt += src/dapl_adapt/adapt.c src/dapl_adapt/conf.c src/dapl_adapt/ia.c src/dapl_adapt/device.c \
	src/dapl_adapt/rails.c src/dapl_adapt/ring.c src/dapl_adapt/mem.c src/dapl_adapt/card.c src/dapl_adapt/reg_cache.c \
	src/dapl_adapt/conn.c src/dapl_adapt/conn_listen.c src/dapl_adapt/conn_ondemand.c \
	src/dapl_adapt/eager.c src/dapl_adapt/eager_ring.c src/dapl_adapt/eager_sr.c \
	src/dapl_adapt/rma.c src/dapl_adapt/rma_imm.c src/dapl_adapt/poll.c src/dapl_adapt/conn_close.c src/dapl_adapt/measure.c src/dapl_adapt/rndv_select.c src/dapl_adapt/serial.c \
	src/dapl_adapt/explain.c src/dapl_adapt/stats.c src/dapl_adapt/probe_ia.c src/dapl_adapt/probe_loop.c \
	src/dapl_adapt/conn_move.c src/dapl_adapt/eager_move.c src/dapl_adapt/rma_stripe.c \
	src/dapl_adapt/eager_knock.c src/dapl_adapt/wait.c src/dapl_adapt/loop.c src/dapl_adapt/rma_atomic.c
