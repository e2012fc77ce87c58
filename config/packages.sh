# Sourced by the scripts beside it.
# need_packages PACKAGE...: installs those Debian packages that are missing, or exits with an explanation.

need_packages() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
            missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "$0: this script installs Debian packages and found no apt-get; install what corresponds" \
             "to:$missing" >&2
        exit 1
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        sudo=sudo
        if ! command -v sudo >/dev/null 2>&1; then
            echo "$0: these packages are missing, and only root can install them:$missing" >&2
            echo "$0: run as root: apt-get install$missing" >&2
            exit 1
        fi
    fi
    echo "== installing:$missing"
    log=$(mktemp)
    install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
    # A fresh machine has no package lists, an older one may have outdated ones: then update, once.
    # shellcheck disable=SC2086
    if ! $install $missing >"$log" 2>&1; then
        if ! { $sudo apt-get update && $install $missing; } >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            echo "$0: apt-get could not install:$missing (its words are above)" >&2
            exit 1
        fi
    fi
    rm -f "$log"
}

# set_up BUILD_DIR CONFIGURE_ARGUMENT... : configures (if that has not been done with the same
# arguments) and builds there.
set_up() {
    build=$1
    shift
    [ -x configure ] && [ configure -nt configure.ac ] || {
        echo "== ./autogen.sh"
        ./autogen.sh >autogen.log 2>&1 || { cat autogen.log >&2; exit 1; }
        rm -f autogen.log
    }
    mkdir -p "$build"
    if [ ! -f "$build/Makefile" ] || [ "$(cat "$build/.configured" 2>/dev/null)" != "$*" ]; then
        echo "== configuring in $build/"
        # Libtool runs in configure's shell, once an object; this one is quicker than that which configure looks for.
        # Without the shell's exec the message of a failure would be configure's own last lines.
        (cd "$build" && CONFIG_SHELL=/bin/sh ../configure "$@" >configure.out 2>&1) || {
            tail -n 20 "$build/configure.out" >&2
            echo "$0: configure failed; the whole story is in $build/config.log" >&2
            exit 1
        }
        sed -n '/^  Switchyard/,$p' "$build/configure.out"
        echo "$*" >"$build/.configured"
    fi
    echo "== building in $build/"
    make -C "$build" -s -j"$(nproc)" >"$build/make.out" 2>&1 || {
        tail -n 40 "$build/make.out" >&2
        echo "$0: the build failed; the whole story is in $build/make.out" >&2
        exit 1
    }
}
