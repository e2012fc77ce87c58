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

# SY_CHECK: unit tests. Without it they are skipped, with a word.
AC_DEFUN([SY_CHECK], [
  PKG_CHECK_MODULES([CHECK], [check >= 0.10], [have_check=yes], [have_check=no])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$have_check" = xyes])
])

# SY_SUMMARY: what was found and what will be built.
AC_DEFUN([SY_SUMMARY], [
  cat <<EOF

  Switchyard OpenSHMEM $PACKAGE_VERSION
    compiler      $CC   ($CFLAGS)
    prefix        $prefix
    libev         yes   ($LIBEV_LIBS)
    Jansson       yes   ($JANSSON_LIBS)
    Check         $have_check   (unit tests)
    sanitizers    $enable_sanitize
    transports    shm
    bootstraps    single oshrun
EOF
])
