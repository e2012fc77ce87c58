# What users get: tarball, installations, wrappers.
dist_check_SCRIPTS += tests/packaging/packaging.test tests/packaging/prefix.test
TESTS += tests/packaging/packaging.test tests/packaging/prefix.test
