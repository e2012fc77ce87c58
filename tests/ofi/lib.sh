# Sourced by the tests of the ofi transport after tests/lib.sh. Everything stays on the loopback interface.
[ -e "$SY_BUILD/shmem/.libs/switchyard/shmem_transport_ofi.so" ] || skip "built without libfabric"
FI_TCP_IFACE=lo FI_SOCKETS_IFACE=lo FI_UDP_IFACE=lo
export FI_TCP_IFACE FI_SOCKETS_IFACE FI_UDP_IFACE
unset SHMEM_TRANSPORTS SHMEM_OFI_PROVIDER SHMEM_OFI_FABRIC SHMEM_OFI_DOMAIN FI_PROVIDER
here=$SY_BUILD/tests/conformance

# provider NAME: selects it from here on; false, with a message, if this libfabric lacks it.
provider() {
    SHMEM_TRANSPORTS=ofi SHMEM_OFI_PROVIDER=$1
    export SHMEM_TRANSPORTS SHMEM_OFI_PROVIDER
    unset SHMEM_OFI_DOMAIN
    case $1 in
    shm) ;;
    *)
        SHMEM_OFI_DOMAIN=lo
        export SHMEM_OFI_DOMAIN
        ;;
    esac
    "$SY_BUILD/bin/oshrun" -n 1 --timeout 60 "$here/heap" >probe 2>&1 && return 0
    grep -q "no such provider\|no provider" probe || fail "$1: $(cat probe)"
    echo "skipped: $1: $(sed -n 's/.*ofi, which SHMEM_TRANSPORTS demands: //p' probe)"
    return 1
}

# run PES PROGRAM VAR=VALUE...
run() {
    pes=$1 program=$2
    shift 2
    env "$@" "$SY_BUILD/bin/oshrun" -n "$pes" --timeout 240 "$here/$program" >out 2>&1 ||
        fail "$program on $pes PEs with $SHMEM_OFI_PROVIDER $*: $(tail -n 20 out)"
    echo "ok: $pes $program $SHMEM_OFI_PROVIDER $*"
}
