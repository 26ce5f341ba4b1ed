SRCS_dapl_adapt += src/dapl_adapt/adapt.c src/dapl_adapt/conf.c src/dapl_adapt/ia.c \
	src/dapl_adapt/mem.c src/dapl_adapt/card.c src/dapl_adapt/reg_cache.c \
	src/dapl_adapt/conn.c src/dapl_adapt/conn_listen.c src/dapl_adapt/conn_ondemand.c \
	src/dapl_adapt/eager.c src/dapl_adapt/eager_ring.c src/dapl_adapt/eager_sr.c \
	src/dapl_adapt/rma.c src/dapl_adapt/poll.c src/dapl_adapt/measure.c \
	src/dapl_adapt/explain.c
