#!/bin/sh
# From a checkout to a running job: installs what is missing, builds in build/, and counts the words of
# the licence texts that every Debian system has, with 4 PEs.
set -e
cd "$(dirname "$0")/.."
. config/packages.sh

config/install-packages.sh
set_up build
echo "== build/bin/oshrun -n 4 build/examples/wordcount /usr/share/common-licenses/*"
build/bin/oshrun -n 4 build/examples/wordcount /usr/share/common-licenses/*
cat <<'EOF'

That was a job of 4 PEs. Your own programs:
    build/bin/oshcc program.c -o program
    build/bin/oshrun -n 4 ./program
EOF
