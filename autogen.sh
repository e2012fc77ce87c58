#!/bin/sh
# Makes ./configure from configure.ac. Needs autoconf, automake, libtool.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "autogen.sh: '$tool' was not found; on Debian: apt-get install autoconf automake libtool" >&2
        exit 1
    }
done
exec autoreconf --install --force
