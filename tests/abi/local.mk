# The binary interface.
dist_check_SCRIPTS += tests/abi/abi.test
TESTS += tests/abi/abi.test
EXTRA_DIST += tests/abi/values.c tests/abi/binding.f90 tests/abi/tool.c tests/abi/profiled.c

# What programs of earlier releases were compiled with; a release that changes shmem.h adds its own.
EXTRA_DIST += tests/abi/headers-1.0
