# SY_RUN_PATH: how installed executables, and the programs of users, find libsma.so. Packages, whose prefix is /usr, have
# no run paths; elsewhere the tools look beside themselves, so that an installation can be moved. Programs get the folder's
# name, but below /usr, where the system's own search finds it. After LT_INIT.
AC_DEFUN([SY_RUN_PATH], [
  sy_prefix=$prefix
  AS_IF([test "x$sy_prefix" = xNONE], [sy_prefix=$ac_default_prefix])
  sy_exec_prefix=$exec_prefix
  AS_IF([test "x$sy_exec_prefix" = xNONE], [sy_exec_prefix=$sy_prefix])
  sy_libdir=`prefix=$sy_prefix exec_prefix=$sy_exec_prefix; eval echo "$libdir"`
  sy_bindir=`prefix=$sy_prefix exec_prefix=$sy_exec_prefix; eval echo "$bindir"`
  # The way from bindir to libdir, where both are below the prefix.
  sy_below=`expr "$sy_libdir" : "$sy_exec_prefix/\(.*\)"`
  AS_IF([test "x$sy_bindir" = "x$sy_exec_prefix/bin" && test -n "$sy_below"],
    [sy_run_path="'\$\$ORIGIN/../$sy_below'"], [sy_run_path=$sy_libdir])
  SY_PROGRAM_RUN_PATH=yes SY_TOOL_RUN_PATH="-Wl,-rpath,$sy_run_path -Wl,--enable-new-dtags"
  AS_CASE([$sy_libdir], [/usr/*], [SY_PROGRAM_RUN_PATH=])
  AS_IF([test "x$sy_prefix" = x/usr], [SY_TOOL_RUN_PATH=])
  SY_PC_RUN_PATH=
  AS_IF([test "x$SY_PROGRAM_RUN_PATH" = xyes], [SY_PC_RUN_PATH=' -Wl,-rpath,${libdir}'])
  AC_SUBST([SY_BELOW], [$sy_below])
  AC_SUBST([SY_PROGRAM_RUN_PATH])
  AC_SUBST([SY_TOOL_RUN_PATH])
  AC_SUBST([SY_PC_RUN_PATH])
  # Libtool would add the absolute folder to whatever it links.
  AC_CONFIG_COMMANDS([libtool-run-path],
    [sed 's/^hardcode_libdir_flag_spec=.*/hardcode_libdir_flag_spec=/' libtool >libtool.part &&
     cat libtool.part >libtool && rm -f libtool.part])
])
