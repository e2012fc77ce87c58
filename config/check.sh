#!/bin/sh
# Installs what is missing, builds, and runs the whole test suite. The last line is
# "N passed, N failed, N skipped"; the exit status tells whether all is well.
set -e
cd "$(dirname "$0")/.."
. config/packages.sh

need_packages gcc g++ clang libclang-rt-14-dev libc6-dev make autoconf automake libtool pkg-config libev-dev \
    libjansson-dev libssl-dev libhwloc-dev libfabric-dev check valgrind procps strace file xz-utils iproute2 \
    openssh-client openssh-server gdb \
    mpich libmpich-dev openmpi-bin libopenmpi-dev slurm-client slurmctld slurmd slurm-wlm-basic-plugins
set_up build --enable-werror
echo "== testing"
status=0
make -C build -s -k check >build/check.out 2>&1 || status=$?
grep -E '^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): ' build/check.out || tail -n 40 build/check.out
config/summary.sh build || status=1
exit "$status"
