# A list for each room; they belong to dapl_adapt.
SRCS_dapl_adapt += src/dapl_adapt/adapt.c src/dapl_adapt/explain.c src/dapl_adapt/open_rails.c \
	src/dapl_adapt/open_arena.c src/dapl_adapt/stats.c src/dapl_adapt/virtual_time.c
SRCS_dapl_adapt_provider += src/dapl_adapt/provider/conf.c src/dapl_adapt/provider/dat.c src/dapl_adapt/provider/dat_calls.c src/dapl_adapt/provider/device.c src/dapl_adapt/provider/ep_end.c \
	src/dapl_adapt/provider/ext.c src/dapl_adapt/provider/ia.c src/dapl_adapt/provider/lmr.c \
	src/dapl_adapt/provider/loopback.c src/dapl_adapt/provider/probe_ia.c src/dapl_adapt/provider/probe_loop.c \
	src/dapl_adapt/provider/rails.c src/dapl_adapt/provider/ranges.c src/dapl_adapt/provider/reg_cache.c src/dapl_adapt/provider/region.c \
	src/dapl_adapt/provider/rndv_select.c src/dapl_adapt/provider/serial.c src/dapl_adapt/provider/source.c src/dapl_adapt/provider/srq.c src/dapl_adapt/provider/watch.c
SRCS_dapl_adapt_core += src/dapl_adapt/core/conn.c src/dapl_adapt/core/memory.c src/dapl_adapt/core/mem_extend.c src/dapl_adapt/core/mem_lend.c \
	src/dapl_adapt/core/mem_pinned.c src/dapl_adapt/core/mem_pool.c src/dapl_adapt/core/mem_register.c src/dapl_adapt/core/mem_segment.c src/dapl_adapt/core/pending.c \
	src/dapl_adapt/core/proc.c
SRCS_dapl_adapt_conn += src/dapl_adapt/conn/addr.c src/dapl_adapt/conn/addr_pack.c src/dapl_adapt/conn/back.c src/dapl_adapt/conn/close.c src/dapl_adapt/conn/connect.c \
	src/dapl_adapt/conn/event.c src/dapl_adapt/conn/exchange.c src/dapl_adapt/conn/failover.c \
	src/dapl_adapt/conn/link.c src/dapl_adapt/conn/lose.c src/dapl_adapt/conn/part.c \
	src/dapl_adapt/conn/passive.c src/dapl_adapt/conn/port.c src/dapl_adapt/conn/prepare.c \
	src/dapl_adapt/conn/proc.c src/dapl_adapt/conn/prod.c src/dapl_adapt/conn/progress.c src/dapl_adapt/conn/receives.c src/dapl_adapt/conn/retry.c src/dapl_adapt/conn/ring.c \
	src/dapl_adapt/conn/server.c src/dapl_adapt/conn/table.c
SRCS_dapl_adapt_eager += src/dapl_adapt/eager/attach.c src/dapl_adapt/eager/clean.c src/dapl_adapt/eager/credit.c src/dapl_adapt/eager/datagram.c src/dapl_adapt/eager/lend.c src/dapl_adapt/eager/notify.c src/dapl_adapt/eager/place.c \
	src/dapl_adapt/eager/post.c src/dapl_adapt/eager/replay.c src/dapl_adapt/eager/rx.c \
	src/dapl_adapt/eager/setup.c src/dapl_adapt/eager/sr.c src/dapl_adapt/eager/srq.c src/dapl_adapt/eager/tx.c \
	src/dapl_adapt/eager/used.c src/dapl_adapt/eager/walk.c
SRCS_dapl_adapt_rma += src/dapl_adapt/rma/atomic.c src/dapl_adapt/rma/rdmaq.c \
	src/dapl_adapt/rma/rma.c src/dapl_adapt/rma/rndv.c src/dapl_adapt/rma/shares.c src/dapl_adapt/rma/stripe.c \
	src/dapl_adapt/rma/value.c
SRCS_dapl_adapt_progress += src/dapl_adapt/progress/dispatch.c src/dapl_adapt/progress/poll.c src/dapl_adapt/progress/relay.c \
	src/dapl_adapt/progress/wait.c
