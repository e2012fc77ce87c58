# Fuzz targets, which the scripts build with clang.
dist_check_SCRIPTS += tests/fuzz/fuzz.test tests/fuzz/launcher.test
TESTS += tests/fuzz/fuzz.test tests/fuzz/launcher.test
EXTRA_DIST += \
	tests/fuzz/agent_fuzz.c \
	tests/fuzz/clock.h \
	tests/fuzz/daemon_fuzz.c \
	tests/fuzz/frames_fuzz.c \
	tests/fuzz/frames_seeds.c \
	tests/fuzz/handshake_fuzz.c \
	tests/fuzz/head_fuzz.c \
	tests/fuzz/input.h \
	tests/fuzz/launcher_seeds.c \
	tests/fuzz/lists_fuzz.c \
	tests/fuzz/message_fuzz.c \
	tests/fuzz/ofi_fuzz.c \
	tests/fuzz/pe_fuzz.c \
	tests/fuzz/processes.h \
	tests/fuzz/tree_fuzz.c
