# One macro a dependency. A required one that is missing stops configure with the package to install.

# SY_LIBEV: the event loop of the progress thread and of oshrun. libev has no pkg-config file.
AC_DEFUN([SY_LIBEV], [
  AC_CHECK_HEADER([ev.h], [], [AC_MSG_ERROR([ev.h was not found; install libev (Debian: libev-dev)])])
  AC_CHECK_LIB([ev], [ev_run], [LIBEV_LIBS=-lev],
    [AC_MSG_ERROR([libev was not found; install it (Debian: libev-dev)])], [-lm])
  AC_SUBST([LIBEV_LIBS])
])

# SY_JANSSON: configuration files, and the --json listings of the tools.
AC_DEFUN([SY_JANSSON], [
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.9], [],
    [AC_MSG_ERROR([Jansson was not found; install it (Debian: libjansson-dev)])])
])

# SY_HWLOC: oshrun --bind-to. The library is loaded when it is needed; its headers are needed here.
AC_DEFUN([SY_HWLOC], [
  have_hwloc=no
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [have_hwloc=yes], [:])
  AS_IF([test "x$have_hwloc" = xyes], [
    AC_DEFINE([HAVE_HWLOC], [1], [Define to 1 if the headers of hwloc are there.])
    AC_DEFINE([SY_HWLOC_LIBRARY], ["libhwloc.so.15"], [The file that hwloc is loaded from.])
  ])
])

# SY_LIBFABRIC: the ofi transport, which needs Nettle too. Without it the other transports are built.
AC_DEFUN([SY_LIBFABRIC], [
  PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.14], [have_libfabric=yes], [have_libfabric=no])
  AM_CONDITIONAL([HAVE_LIBFABRIC], [test "x$have_libfabric$have_nettle" = xyesyes])
  AS_IF([test "x$have_libfabric$have_nettle" = xyesyes], [sy_transports="$sy_transports ofi"])
])

# SY_CHECK: unit tests. Without it they are skipped, with a word.
AC_DEFUN([SY_CHECK], [
  PKG_CHECK_MODULES([CHECK], [check >= 0.10], [have_check=yes], [have_check=no])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$have_check" = xyes])
])

# SY_NETTLE: peers prove to each other that they belong to the job. Without it there is no TCP transport, and
# no bootstrap but oshrun's.
AC_DEFUN([SY_NETTLE], [
  PKG_CHECK_MODULES([NETTLE], [nettle >= 3.4], [have_nettle=yes], [have_nettle=no])
  AM_CONDITIONAL([HAVE_NETTLE], [test "x$have_nettle" = xyes])
  AS_IF([test "x$have_nettle" = xyes],
    [sy_transports="$sy_transports tcp"
     sy_bootstraps=" pmi pmix slurm env"],
    [AC_MSG_WARN([Nettle was not found: no TCP transport, and no launcher but oshrun (Debian: nettle-dev)])])
])

# SY_SUMMARY: what was found and what will be built.
AC_DEFUN([SY_SUMMARY], [
  cat <<EOF

  Switchyard OpenSHMEM $PACKAGE_VERSION
    compiler      $CC   ($CFLAGS)
    prefix        $prefix
    libev         yes   ($LIBEV_LIBS)
    Jansson       yes   ($JANSSON_LIBS)
    libfabric     $have_libfabric   (the ofi transport)
    Check         $have_check   (unit tests)
    hwloc         $have_hwloc   (oshrun --bind-to)
    MPI          ${sy_mpis:- none}   (the mpi bootstrap)
    sanitizers    $enable_sanitize
    Nettle        $have_nettle   ($NETTLE_LIBS)
    transports    shm$sy_transports
    bootstraps    single oshrun$sy_bootstraps
EOF
  AS_IF([test "x$have_nettle" != xyes], [cat <<EOF

  NO TCP: Nettle was not found, so PEs on different machines cannot reach each other over TCP, and no
  launcher but oshrun starts jobs. Install it (Debian: nettle-dev) and run configure again.
EOF
])
])
