#!/bin/sh
# arm64.sh PACKAGE...: tests of packages that need no HDF5, built for arm64
# and run by qemu where this is another processor. CACHE holds the cross compiler's C library
# (packaging/sysroot.sh says what that needs). Run by make test-arm64.
set -eu
cd "$(dirname "$0")/.."
. scripts/relocate.sh
arch=arm64
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lsm/dist}/$arch
mkdir -p "$cache"
flock "$cache.lock" packaging/sysroot.sh "$cache" $arch # which another checkout may be making
cache=$(cd "$cache" && pwd)
of_cache "${GO:-go}" test -exec "$cache/run" -timeout 60m "$@"
