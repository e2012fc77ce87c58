# SY_MPI: the MPIs that are here, at most one of each family of MPIs with the same binary interface: mpich, openmpi and
# abi, the standard interface of MPI 5. What calls MPI is built once for each. Nothing else of the library needs any.
# --with-mpi: compilers to ask, divided by commas; no: none.
AC_DEFUN([SY_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=MPICC,...], [compilers of the MPIs to build for;
    default: mpicc.mpich, mpicc.openmpi, mpicc_abi and mpicc, as far as they are here; no: none])],
    [], [with_mpi=mpicc.mpich,mpicc.openmpi,mpicc_abi,mpicc])
  AS_IF([test "x$with_mpi" = xyes], [with_mpi=mpicc.mpich,mpicc.openmpi,mpicc_abi,mpicc])
  AS_IF([test "x$with_mpi" = xno], [with_mpi=])
  AS_IF([test "x$have_nettle" != xyes], [with_mpi=])
  sy_mpis=
  SY_MPI_NONE([MPICH])
  SY_MPI_NONE([OPENMPI])
  SY_MPI_NONE([ABI])
  for sy_mpicc in `echo "$with_mpi" | tr , ' '`; do
    SY_MPI_TRY
  done
  SY_MPI_DONE([MPICH])
  SY_MPI_DONE([OPENMPI])
  SY_MPI_DONE([ABI])
  AM_CONDITIONAL([HAVE_MPI], [test -n "$sy_mpis"])
  AS_IF([test -n "$sy_mpis"], [sy_bootstraps="$sy_bootstraps mpi"])
])

AC_DEFUN([SY_MPI_NONE], [
  have_mpi_$1=no
  MPI_$1_CFLAGS=
  MPI_$1_LIBS=
])

AC_DEFUN([SY_MPI_DONE], [
  AM_CONDITIONAL([HAVE_MPI_$1], [test "x$have_mpi_$1" = xyes])
  AC_SUBST([MPI_$1_CFLAGS])
  AC_SUBST([MPI_$1_LIBS])
])

# SY_MPI_TRY: what $sy_mpicc compiles for, and with which flags; nothing if it does not work or the family is there.
AC_DEFUN([SY_MPI_TRY], [
  AC_MSG_CHECKING([for an MPI by $sy_mpicc])
  sy_mpi_flags=
  sy_mpi_cflags=
  sy_mpi_libs=
  sy_mpi_family=
  AS_IF([command -v "$sy_mpicc" >/dev/null 2>&1], [
    sy_mpi_flags=`"$sy_mpicc" -show 2>/dev/null | sed 's/^@<:@^ @:>@*//; s/-Wl,-rpath -Wl,/-Wl,-rpath,/g'`
  ])
  for sy_mpi_flag in $sy_mpi_flags; do
    AS_CASE([$sy_mpi_flag],
      [-I*|-D*], [sy_mpi_cflags="$sy_mpi_cflags $sy_mpi_flag"],
      [-L*|-l*|*.so|*.a|-Wl,-rpath*|-Wl,--enable-new-dtags], [sy_mpi_libs="$sy_mpi_libs $sy_mpi_flag"])
  done
  sy_mpi_saved_cflags=$CFLAGS
  sy_mpi_saved_libs=$LIBS
  CFLAGS="$CFLAGS $sy_mpi_cflags"
  LIBS="$sy_mpi_libs $LIBS"
  AS_IF([test -n "$sy_mpi_flags"], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Init(0, 0);]])], [
      sy_mpi_family=MPICH
      AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef OPEN_MPI
#error another
#endif]])], [sy_mpi_family=OPENMPI])
      AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#if !defined MPI_ABI_VERSION || defined OPEN_MPI || defined MPICH_VERSION
#error another
#endif]])], [sy_mpi_family=ABI])
    ])
  ])
  CFLAGS=$sy_mpi_saved_cflags
  LIBS=$sy_mpi_saved_libs
  AS_CASE([$sy_mpi_family],
    [MPICH], [SY_MPI_TAKE([MPICH], [mpich])],
    [OPENMPI], [SY_MPI_TAKE([OPENMPI], [openmpi])],
    [ABI], [SY_MPI_TAKE([ABI], [abi])],
    [AC_MSG_RESULT([no])])
])

AC_DEFUN([SY_MPI_TAKE], [
  AS_IF([test "x$have_mpi_$1" = xyes], [AC_MSG_RESULT([$2, which is found already])], [
    have_mpi_$1=yes
    MPI_$1_CFLAGS=$sy_mpi_cflags
    MPI_$1_LIBS=$sy_mpi_libs
    sy_mpis="$sy_mpis $2"
    AC_MSG_RESULT([$2])
  ])
])
