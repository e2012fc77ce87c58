#!/bin/sh
# install-packages.sh [test]: installs what is missing of the Debian packages that a build needs; with "test" also
# of those that the tests need. As root, or with sudo.
set -e
. "$(dirname "$0")/packages.sh"
case ${1-} in
'' | test) ;;
*) echo "usage: $0 [test]" >&2 && exit 2 ;;
esac
need_packages gcc g++ libc6-dev make autoconf automake libtool pkg-config libev-dev libjansson-dev nettle-dev \
    libhwloc-dev libfabric-dev
[ "${1-}" != test ] || need_packages clang libclang-rt-dev check valgrind procps strace file xz-utils iproute2 \
    openssh-client openssh-server gdb mpich libmpich-dev openmpi-bin libopenmpi-dev slurm-client slurmctld slurmd \
    slurm-wlm-basic-plugins pocl-opencl-icd ocl-icd-libopencl1 ocl-icd-opencl-dev
