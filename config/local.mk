# Compiler wrappers (one template; in the build tree and installed), files for pkg-config and CMake, and scripts.
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = config/openshmem.pc
cmakedir = $(libdir)/cmake/OpenSHMEM
nodist_cmake_DATA = config/OpenSHMEMConfig.cmake
dist_cmake_DATA = config/OpenSHMEMConfigVersion.cmake

EXTRA_DIST += config/oshcc.in config/quickstart.sh config/check.sh config/install-packages.sh config/packages.sh \
	config/coverage.sh config/summary.sh

# Example configurations, and their schema, which oshinfo --schema prints (tests/lint/config.test).
configexamplesdir = $(docdir)/config
dist_configexamples_DATA = \
	config/examples/cloud-tcp.json \
	config/examples/container.json \
	config/examples/laptop.json \
	config/examples/mixed-fabric.json \
	config/examples/shmem.schema.json

static_libs = -ljansson $(LIBEV_LIBS) $(NETTLE_LIBS) -lm -lpthread -ldl
wrapper_sed = $(SED) -e 's|@PACKAGE_NAME''@|$(PACKAGE_NAME)|g' \
	-e 's|@PACKAGE_VERSION''@|$(PACKAGE_VERSION)|g' -e 's|@STATIC_LIBS''@|$(static_libs)|g'
wrapper_c = -e 's|@LANGUAGE''@|C|g' -e 's|@COMPILER_ENV''@|OSHCC_CC|g' -e 's|@COMPILER''@|$(CC)|g' \
	-e 's|@COMPILER_ENV_OF_OTHERS''@|SHMEM_CC|g'
wrapper_cxx = -e 's|@LANGUAGE''@|C++|g' -e 's|@COMPILER_ENV''@|OSHCXX_CXX|g' -e 's|@COMPILER''@|$(CXX)|g' \
	-e 's|@COMPILER_ENV_OF_OTHERS''@|SHMEM_CXX|g'
wrapper_installed = -e 's|@WRAPPER_PREFIX''@|$(prefix)|g' -e 's|@INCLUDEDIR''@|$(includedir)|g' \
	-e 's|@LIBDIR''@|$(libdir)|g' -e 's|@RPATH''@|$(SY_PROGRAM_RUN_PATH)|g'
wrapper_intree = -e 's|@WRAPPER_PREFIX''@||g' -e 's|@INCLUDEDIR''@|$(abs_top_srcdir)/include|g' \
	-e 's|@LIBDIR''@|$(abs_top_builddir)/shmem/.libs|g' -e 's|@RPATH''@|yes|g'
template = $(top_srcdir)/config/oshcc.in

# Installed.
bin_SCRIPTS += config/oshcc config/oshc++
CLEANFILES += config/oshcc config/oshc++ bin/oshcc bin/oshc++ bin/oshcxx bin/oshCC
config/oshcc: $(template) Makefile
	$(AM_V_GEN)mkdir -p config && $(wrapper_sed) $(wrapper_c) $(wrapper_installed) $(template) >$@ && chmod +x $@
config/oshc++: $(template) Makefile
	$(AM_V_GEN)mkdir -p config && $(wrapper_sed) $(wrapper_cxx) $(wrapper_installed) $(template) >$@ && chmod +x $@

# In the build tree: build/bin/ is laid out like an installed bin/. The static library is linked to
# where the wrapper looks for it.
ALL_LOCAL += bin/oshcc bin/oshc++ shmem/.libs/libsma.a
bin/oshcc: $(template) Makefile
	$(AM_V_GEN)mkdir -p bin && $(wrapper_sed) $(wrapper_c) $(wrapper_intree) $(template) >$@ && chmod +x $@
bin/oshc++: $(template) Makefile
	$(AM_V_GEN)mkdir -p bin && $(wrapper_sed) $(wrapper_cxx) $(wrapper_intree) $(template) >$@ && \
	chmod +x $@ && $(LN_S) -f oshc++ bin/oshcxx && $(LN_S) -f oshc++ bin/oshCC
shmem/.libs/libsma.a: shmem/libsma.a shmem/libsma.la
	$(AM_V_GEN)$(LN_S) -f ../libsma.a $@

# The names that other libraries' users know; -lpsma is how the specification (10.3.2) links a library
# that has its profiling names apart.
install-exec-hook:
	cd $(DESTDIR)$(bindir) && $(LN_S) -f oshc++ oshcxx && $(LN_S) -f oshc++ oshCC
	cd $(DESTDIR)$(libdir) && $(LN_S) -f libsma.so libpsma.so && $(LN_S) -f libsma.a libpsma.a
	test -n "$(DESTDIR)$(SY_PROGRAM_RUN_PATH)" || ldconfig || \
		echo "run ldconfig as root, for programs to find libsma.so in $(libdir)"
uninstall-hook:
	rm -f $(DESTDIR)$(bindir)/oshcxx $(DESTDIR)$(bindir)/oshCC
	rm -f $(DESTDIR)$(libdir)/libpsma.so $(DESTDIR)$(libdir)/libpsma.a
