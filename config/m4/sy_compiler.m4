# SY_COMPILER_FLAGS: the warnings this tree is kept free of; errors only with --enable-werror (CI).
AC_DEFUN([SY_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors (used by CI)])])
  SY_CFLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla"
  AS_IF([test "x$enable_werror" = xyes], [SY_CFLAGS="$SY_CFLAGS -Werror"])
  # -fno-semantic-interposition lets the library call its own functions without the PLT;
  # strict aliasing is off because symmetric objects of any type pass through untyped words.
  # A small routine that begins with a cache line fits into it: a tenth of the rate of small puts.
  SY_CFLAGS="-std=gnu11 -fvisibility=hidden -fno-strict-aliasing -fno-semantic-interposition -falign-functions=64 $SY_CFLAGS"
  # Folding equal functions saves space and costs every typed routine but one a jump.
  sy_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror -fno-ipa-icf"
  AC_MSG_CHECKING([whether $CC takes -fno-ipa-icf])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
    [AC_MSG_RESULT([yes]); SY_CFLAGS="$SY_CFLAGS -fno-ipa-icf"], [AC_MSG_RESULT([no])])
  CFLAGS=$sy_save_CFLAGS
  AC_SUBST([SY_CFLAGS])
])

# SY_SANITIZERS: --enable-sanitize=address,undefined or =thread builds everything with them.
AC_DEFUN([SY_SANITIZERS], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [build with -fsanitize=LIST, e.g. address,undefined or thread])],
    [], [enable_sanitize=no])
  SY_SANITIZE=
  AS_IF([test "x$enable_sanitize" != xno],
    [SY_SANITIZE="-fsanitize=$enable_sanitize -fno-omit-frame-pointer -g"])
  # Coverage is for config/coverage.sh. What measures costs takes it for a sanitizer.
  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage], [count which lines are run, for gcov (config/coverage.sh)])])
  AS_IF([test "x$enable_coverage" = xyes], [SY_SANITIZE="$SY_SANITIZE --coverage -fprofile-update=atomic"])
  AC_SUBST([SY_SANITIZE])
  # gcc warns that ThreadSanitizer does not see fences. The library's order hardware and compiler for
  # other processes; between threads of a process it synchronises by atomic operations.
  AS_CASE([,$enable_sanitize,], [*,thread,*], [
    sy_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror -Wtsan"
    AC_MSG_CHECKING([whether $CC takes -Wno-tsan])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes]); SY_CFLAGS="$SY_CFLAGS -Wno-tsan"], [AC_MSG_RESULT([no])])
    CFLAGS=$sy_save_CFLAGS])
  # The sanitizers' run-time library is in the executable, so a library cannot resolve it by itself.
  AS_IF([test "x$enable_sanitize" = xno], [SY_NO_UNDEFINED="-Wl,-z,defs"])
  AC_SUBST([SY_NO_UNDEFINED])
])
