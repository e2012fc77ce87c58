# What users get: tarball, installation, wrappers.
dist_check_SCRIPTS += tests/packaging/packaging.test
TESTS += tests/packaging/packaging.test
