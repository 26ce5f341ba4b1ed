SRCS_onesided += src/onesided/win.c src/onesided/win_shared.c src/onesided/win_dynamic.c \
	src/onesided/win_info.c src/onesided/map.c src/onesided/mem.c src/onesided/put_get.c \
	src/onesided/move.c src/onesided/acc.c src/onesided/fetch.c src/onesided/update.c \
	src/onesided/combine.c src/onesided/xfer.c src/onesided/req.c src/onesided/target.c \
	src/onesided/target_note.c src/onesided/check.c src/onesided/flush.c \
	src/onesided/epoch_fence.c src/onesided/epoch_pscw.c src/onesided/epoch_lock.c \
	src/onesided/rma_state.c src/onesided/shared.c src/onesided/lock_word.c \
	src/onesided/lock_atomic.c src/onesided/update_atomic.c \
	src/onesided/assist_origin.c src/onesided/assist_target.c \
	src/onesided/am_get.c src/onesided/split_copy.c src/onesided/path_select.c \
	src/onesided/get_modify_put.c
