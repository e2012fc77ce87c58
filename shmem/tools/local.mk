# oshinfo. It has the library's own option and plugin code linked in, which the library does not export, of the static one,
# and is linked to the shared one before that, to speak of the one that programs would be run with.
bin_PROGRAMS += bin/oshinfo
bin_oshinfo_SOURCES = shmem/core/start/builtin.c shmem/tools/info.h shmem/tools/info_devices.c shmem/tools/info_gather.c \
	shmem/tools/info_json.c shmem/tools/info_markdown.c shmem/tools/info_schema.c shmem/tools/info_text.c \
	shmem/tools/oshinfo.c
bin_oshinfo_CPPFLAGS = $(AM_CPPFLAGS) -DSY_BUILD_CC='"$(CC)"' -DSY_BUILD_FLAGS='"$(CFLAGS)"' \
	-DSY_BUILD_HOST='"$(host_triplet)"'
bin_oshinfo_LDFLAGS = $(AM_LDFLAGS) $(SY_TOOL_RUN_PATH)
bin_oshinfo_LDADD = shmem/libsma.la shmem/libsma.a $(JANSSON_LIBS) $(LIBEV_LIBS)

# docs/options.md and the schema of configuration files are what oshinfo says of the options: tests/lint/options.test compares them.
EXTRA_DIST += docs/options.md
