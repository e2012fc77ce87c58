# Fuzz targets, which the script builds with clang.
dist_check_SCRIPTS += tests/fuzz/fuzz.test
TESTS += tests/fuzz/fuzz.test
EXTRA_DIST += \
	tests/fuzz/frames_fuzz.c \
	tests/fuzz/frames_seeds.c \
	tests/fuzz/greeting_fuzz.c
