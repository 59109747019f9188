#!/bin/sh
# try.sh ROOT...: starts what make dist has left in packages/ in the roots of other systems,
# such as debootstrap makes them: a survey, its least-squares image and a picture from the archive,
# again on two ranks with each of Open MPI and MPICH that is installed there, and again from the
# .deb or .rpm, if the root can install one. All images must have the same bits, in all roots. It
# leaves the roots as they were, and needs no root's rights where users may have namespaces.
set -eu
cd "$(dirname "$0")/.."
fail() { printf 'lsm: try: %s\n' "$1" >&2; exit 1; }
[ $# -gt 0 ] || fail "no root is named"
ls packages/lsm-*-linux-x86_64.tar.gz >/dev/null 2>&1 || fail "no archive in packages: make dist"
as=
[ "$(id -u)" = 0 ] || as=--map-root-user
first=

for root; do
	[ -x "$root/bin/sh" ] || fail "$root is no root of a system"
	root=$(cd "$root" && pwd)
	at=$(mktemp -d "$root/tmp/lsm-try-XXXXXX")
	trap 'rm -rf "$at"' EXIT
	cp packages/lsm*.deb packages/lsm*.rpm packaging/try-inside.sh "$at"
	tar -xzf packages/lsm-*-linux-x86_64.tar.gz -C "$at"
	# What is mounted is gone with the last process.
	# shellcheck disable=SC2016 # for the inner shell
	unshare $as --mount --pid --fork sh -euc '
		mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" && mount -t proc proc "$1/proc"
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			chroot "$1" sh "${2#"$1"}/try-inside.sh"' - "$root" "$at" || fail "$root failed"
	digest=$(cat "$at/digest")
	: "${first:=$digest}"
	[ "$digest" = "$first" ] || fail "$root has other bits than $1"
	rm -rf "$at"
done
echo "the same bits in $*"
