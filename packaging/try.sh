#!/bin/sh
# try.sh ROOT...: starts what make dist has left in packages/ in the roots of other systems,
# such as debootstrap makes them, and of other processors where this system runs their programs by
# qemu-user-static: a survey, its least-squares image and a picture from the archive, the lesson least-squares, and the image
# again on two ranks with each of Open MPI and MPICH that is installed there, and again from the
# .deb or .rpm, if the root can install one. All images must have the same bits, in all roots of a
# processor. Where
# the root has Python 3.10 or newer, the wheel makes the same image, and runs the tests of
# python/tests; pip fetches here what those need. It leaves the roots as they were, and needs no
# root's rights where users may have namespaces.
set -eu
cd "$(dirname "$0")/.."
fail() { printf 'lsm: try: %s\n' "$1" >&2; exit 1; }
[ $# -gt 0 ] || fail "no root is named"
as=
[ "$(id -u)" = 0 ] || as=--map-root-user
seen= # digests by machine

# machine_of ROOT is uname's word for its processor.
machine_of() {
	# shellcheck disable=SC2086 # nothing or one option
	unshare $as chroot "$1" uname -m || fail "$1 has programs that this system cannot run"
}

# python_of ROOT is the version of its Python that the wheel can be tried with, if there is one.
python_of() {
	# shellcheck disable=SC2086 # nothing or one option
	unshare $as chroot "$1" python3 -c 'import sys; sys.version_info >= (3, 10) and print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# fetch VERSION TO gets packages for a Python of that version: pip, what the wheel needs, and pytest.
fetch() {
	platforms=
	for glibc in 2014 _2_17 _2_27 _2_28; do platforms="$platforms --platform manylinux${glibc}_$machine"; done
	# shellcheck disable=SC2086 # a list of options
	python3 -m pip download -q --disable-pip-version-check -d "$2" --only-binary :all: --python-version "$1" $platforms \
		"$(echo packages/*_"$machine".whl)" pip pytest
}

for root; do
	[ -x "$root/bin/sh" ] || fail "$root is no root of a system"
	root=$(cd "$root" && pwd)
	machine=$(machine_of "$root")
	ls packages/lsm-*-linux-"$machine".tar.gz >/dev/null 2>&1 || fail "no archive for $machine in packages: make dist"
	at=$(mktemp -d "$root/tmp/lsm-try-XXXXXX")
	hosts=
	[ -e "$root/etc/hosts" ] || hosts=$root/etc/hosts
	trap 'rm -rf "$at" "$hosts"' EXIT
	: >>"$root/etc/hosts"
	cp packages/lsm*_"$(echo "$machine" | sed 's/x86_64/amd64/; s/aarch64/arm64/')".deb packages/lsm*."$machine".rpm packaging/try-inside.sh "$at"
	tar -xzf packages/lsm-*-linux-"$machine".tar.gz -C "$at"
	mkdir -p "$at/tree/python" "$at/tree/docs" # where the tests look for what they name
	cp -r python/tests python/lsm.py "$at/tree/python" && cp -r include "$at/tree" && cp docs/python.md docs/pylops.md "$at/tree/docs"
	version=$(python_of "$root")
	if [ -z "$version" ]; then
		echo "$root has no Python 3.10 or newer: the wheel is not tried there"
	elif ! fetch "$version" "$at/wheels"; then
		echo "pip cannot fetch what the wheel needs: it is not tried in $root"
		rm -rf "$at/wheels"
	fi
	# What is mounted is gone with the last process. MPICH 3 looks this machine's name up.
	# shellcheck disable=SC2016 # for the inner shell
	unshare $as --mount --pid --fork sh -euc '
		mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" && mount -t proc proc "$1/proc"
		mount --bind /etc/hosts "$1/etc/hosts"
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			chroot "$1" sh "${2#"$1"}/try-inside.sh"' - "$root" "$at" || fail "$root failed"
	digest=$(sha256sum <"$at/digest" | cut -c-64)
	case " $seen" in
	*" $machine:$digest "*) ;;
	*" $machine:"*) fail "$root has other bits than the first root of $machine" ;;
	esac
	seen="$seen$machine:$digest "
	rm -rf "$at" "$hosts"
done
echo "the same bits in $*"
