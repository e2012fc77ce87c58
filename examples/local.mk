# The example programs are built with the library, but for stencil, which wants OpenCL's headers (examples.test builds it); their sources are installed as documentation.
noinst_PROGRAMS += \
	examples/hello \
	examples/ring \
	examples/heat \
	examples/wordcount \
	examples/random_access \
	examples/histogram

examples_hello_LDADD = shmem/libsma.la
examples_ring_LDADD = shmem/libsma.la
examples_heat_LDADD = shmem/libsma.la
examples_wordcount_LDADD = shmem/libsma.la
examples_random_access_LDADD = shmem/libsma.la
examples_histogram_LDADD = shmem/libsma.la

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	examples/README.md examples/overlap.svg \
	examples/hello.c \
	examples/ring.c \
	examples/heat.c \
	examples/mpi_ranks.c \
	examples/mpi_poisson.c \
	examples/wordcount.c \
	examples/random_access.c \
	examples/histogram.c \
	examples/stencil.c

# The plugin of docs/transport-guide.md; tests/transport/guide.test builds it from where it is installed.
transportexampledir = $(docdir)/examples/transport
dist_transportexample_DATA = examples/transport/post.c

# The plugin of docs/devices.md; tests/space/device.test builds it.
deviceexampledir = $(docdir)/examples/device
dist_deviceexample_DATA = examples/device/far.c

# The programs of docs/mpi-paper.md; tests/launch/mpi_paper.test builds them.
paperexampledir = $(docdir)/examples/mpi_paper
dist_paperexample_DATA = examples/mpi_paper/faults.c examples/mpi_paper/figures.c

TESTS += examples/examples.test
EXTRA_DIST += examples/examples.test
