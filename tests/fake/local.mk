# A transport that misbehaves within its contract, under two names; never installed.
fake_sources = \
	tests/fake/fake.c tests/fake/fake.h \
	tests/fake/queue.c \
	tests/fake/wire.c \
	$(engine_sources) \
	shmem/util/parse.c shmem/util/parse.h
fake_ldflags = $(transport_ldflags) -rpath /nowhere

check_LTLIBRARIES += tests/fake/shmem_transport_fake.la tests/fake/shmem_transport_fake2.la
tests_fake_shmem_transport_fake_la_SOURCES = $(fake_sources)
tests_fake_shmem_transport_fake_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NAME='"fake"'
tests_fake_shmem_transport_fake_la_LDFLAGS = $(fake_ldflags)
tests_fake_shmem_transport_fake2_la_SOURCES = $(fake_sources)
tests_fake_shmem_transport_fake2_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NAME='"fake2"'
tests_fake_shmem_transport_fake2_la_LDFLAGS = $(fake_ldflags)

fake_scripts = tests/fake/fake.test tests/routes/routes.test
dist_check_SCRIPTS += $(fake_scripts)
TESTS += $(fake_scripts)
