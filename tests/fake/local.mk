# A transport that misbehaves within its contract; never installed.
check_LTLIBRARIES += tests/fake/shmem_transport_fake.la
tests_fake_shmem_transport_fake_la_SOURCES = \
	tests/fake/fake.c tests/fake/fake.h \
	tests/fake/queue.c \
	tests/fake/large.c \
	tests/fake/wire.c \
	$(engine_sources) \
	shmem/util/parse.c shmem/util/parse.h
tests_fake_shmem_transport_fake_la_LDFLAGS = $(transport_ldflags) -rpath /nowhere

fake_scripts = tests/fake/fake.test tests/routes/routes.test
dist_check_SCRIPTS += $(fake_scripts)
TESTS += $(fake_scripts)
