#!/bin/sh
# Makes sure that everything a build needs is installed. It is quick if it is.
#
# On Debian and Ubuntu, missing packages are installed by apt, as root or with
# sudo; elsewhere their names are printed. HDF5=/folder names an HDF5 outside
# the usual places. CI=true never waits for a password.
#
# bootstrap.sh test also installs what some tests need: Open MPI, MPICH and Slurm,
# unless MPI=none, a browser, compilers for GPU kernels, and Python's environments. It goes on if they cannot be
# installed; those tests are then skipped. NVRTC=none leaves NVIDIA's compiler and assembler out,
# which are not free software.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
GO=${GO:-go}
CC=${CC:-gcc}
# Whether somebody is there to type a password.
asks=no
if [ -t 0 ] && [ "${CI:-}" != true ]; then asks=yes; fi

say() { printf '%s\n' "$*" >&2; }
fail() { say "lsm: $1"; shift; for line in "$@"; do say "hint: $line"; done; exit 4; }

# version_at_least HAVE WANT compares major.minor.patch numbers.
version_at_least() {
	awk -v have="$1" -v want="$2" 'BEGIN {
		split(have, h, "."); split(want, w, ".")
		for (i = 1; i <= 3; i++) {
			if (h[i] + 0 > w[i] + 0) exit 0
			if (h[i] + 0 < w[i] + 0) exit 1
		}
		exit 0
	}'
}

check_go() {
	want=$(awk '$1 == "go" { print $2; exit }' "$root/go.mod")
	command -v "$GO" >/dev/null 2>&1 || fail "Go is not installed, or not on the PATH" \
		"install Go $want or newer from https://go.dev/dl/"
	# Asked from outside the module, so that an old Go does not fetch a new one.
	have=$(cd / && GOTOOLCHAIN=local "$GO" version | awk '{ sub(/^go/, "", $3); print $3 }')
	case $have in devel*) return ;; esac
	version_at_least "$have" "$want" && return
	if version_at_least "$have" 1.21; then
		# From 1.21 on Go fetches the version that go.mod asks for.
		(cd "$root" && "$GO" version >/dev/null) && return
	fi
	fail "Go $have is too old: $want or newer is needed" \
		"install a newer one from https://go.dev/dl/, or set GOTOOLCHAIN=auto to let Go $have (from 1.21 on) fetch it"
}

# links_hdf5 compiles and links with the folders that the Go build looks in.
links_hdf5() {
	dir=$(mktemp -d) || return 1
	printf '#include <hdf5.h>\n#include <hdf5_hl.h>\nint main(void) { return H5open() < 0; }\n' >"$dir/t.c"
	set -- -I/usr/local/include -L/usr/local/lib
	for arch in x86_64 aarch64; do
		serial=/usr/lib/$arch-linux-gnu/hdf5/serial
		if [ -d "$serial" ]; then set -- "$@" "-I$serial/include" "-L$serial"; fi
	done
	if [ -n "${HDF5:-}" ]; then set -- "-I$HDF5/include" "-L$HDF5/lib" "$@"; fi
	ok=0
	"$CC" -o "$dir/t" "$dir/t.c" "$@" -lhdf5 -lhdf5_hl >/dev/null 2>&1 || ok=1
	rm -rf "$dir"
	return $ok
}

compiles() {
	command -v "$CC" >/dev/null 2>&1 &&
		printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
		"$CC" -x c -o /dev/null - >/dev/null 2>&1
}

# has_certificates: Go fetches modules over https.
has_certificates() {
	[ -n "${SSL_CERT_FILE:-}${SSL_CERT_DIR:-}" ] || [ "$(uname)" = Darwin ] ||
		[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] ||
		[ -e /etc/ssl/ca-bundle.pem ] || [ -e /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem ]
}

# missing sets $missing to the Debian names of what is not there.
missing() {
	missing=
	compiles || missing="$missing gcc libc6-dev"
	links_hdf5 || missing="$missing libhdf5-dev"
	has_certificates || missing="$missing ca-certificates"
	missing=${missing# }
}

# run_as_root runs its arguments as root, or returns 1 when it may not.
run_as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		if [ $asks = yes ]; then sudo "$@"; else sudo -n "$@"; fi
	else
		return 1
	fi
}

# apt_install installs its arguments.
apt_install() {
	# A fresh machine may still be busy with its own updates: wait for the lock.
	wait=-o=DPkg::Lock::Timeout=300
	say "lsm: installing $*"
	run_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq $wait update </dev/null >&2 &&
		run_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq $wait -o=Dpkg::Use-Pty=0 \
			install -y --no-install-recommends "$@" </dev/null >&2
}

install_debian() {
	# shellcheck disable=SC2086 # a list of names
	apt_install $missing || fail "could not install: $missing" \
		"as root: apt-get update && apt-get install -y --no-install-recommends $missing"
}

# missing_for_tests sets $missing to the Debian names of what some tests need
# beyond a build: two MPIs, a Slurm, a browser, compilers for GPU kernels, Python with
# environments, pip and its headers.
missing_for_tests() {
	missing=
	if [ "${MPI:-}" != none ]; then
		has pkg-config || missing="$missing pkg-config"
		{ has mpirun.openmpi && pkg-config --exists ompi-c 2>/dev/null; } || missing="$missing openmpi-bin libopenmpi-dev"
		{ has mpiexec.mpich && pkg-config --exists mpich 2>/dev/null; } || missing="$missing mpich libmpich-dev"
		has slurmctld || missing="$missing slurmctld slurmd slurm-client munge libpmix2"
	fi
	has g++ || missing="$missing g++"
	has chromium || has google-chrome || missing="$missing chromium"
	ls /usr/lib/*/libamdhip64.so.5 >/dev/null 2>&1 || missing="$missing libamdhip64-5 libhiprtc-builtins5"
	{ has python3 && python3 -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; } ||
		missing="$missing python3-venv python3-dev"
	missing=${missing# }
}

has() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1; }

# add_for_tests installs that, one package after the other where not all are to be
# had. What stays missing costs the tests that need it: they say so and are skipped.
add_for_tests() {
	missing_for_tests
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null 2>&1; then
		say "lsm: no apt-get here: tests that need $missing are skipped"
		return 0
	fi
	# shellcheck disable=SC2086 # a list of names
	if apt_install $missing; then return 0; fi
	for package in $missing; do
		apt_install "$package" || say "lsm: apt-get could not install $package: tests that need it are skipped"
	done
}

# has_nvrtc: NVIDIA's run-time compiler is where the loader or the program looks.
has_nvrtc() {
	[ -n "${LSM_TEST_NVRTC_LIB:-}" ] || PATH="$PATH:/sbin" ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so' ||
		ls "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so.* >/dev/null 2>&1
}

# nonfree_sources names, for apt, the component with NVRTC of the mirrors in use.
nonfree_sources() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk '
		$1 == "Debian" && $2 == "main" { part = "non-free"; keys = "/usr/share/keyrings/debian-archive-keyring.gpg" }
		$1 == "Ubuntu" && $2 == "main" { part = "multiverse"; keys = "/usr/share/keyrings/ubuntu-archive-keyring.gpg" }
		part != "" { print "deb [signed-by=" keys "] " $3, $4, part; part = "" }'
}

# add_nvrtc installs NVRTC. Debian and Ubuntu have it in a component that machines
# mostly do not take packages from; its lists are fetched into a folder of their own,
# and the machine's sources stay as they are.
add_nvrtc() {
	if [ "${NVRTC:-}" = none ] || has_nvrtc; then return 0; fi
	skipped="tests that compile kernels with it are skipped"
	if ! command -v apt-get >/dev/null 2>&1; then
		say "lsm: no NVRTC and no apt-get here: $skipped"
		return 0
	fi
	apart=$(mktemp -d) && chmod 755 "$apart" && mkdir -p "$apart/lists/partial"
	nonfree_sources >"$apart/sources.list"
	say "lsm: installing NVRTC"
	from_nonfree || say "lsm: apt-get could not install NVRTC: $skipped"
	run_as_root rm -rf "$apart" || rm -rf "$apart"
}

# from_nonfree installs the newest NVRTC of $apart/sources.list.
from_nonfree() {
	set -- -o=Dir::Etc::SourceList="$apart/sources.list" -o=Dir::Etc::SourceParts=/dev/null \
		-o=Dir::State::Lists="$apart/lists" -o=Dir::Cache::PkgCache= -o=Dir::Cache::SrcPkgCache= -o=DPkg::Lock::Timeout=300
	[ -s "$apart/sources.list" ] && run_as_root apt-get -qq "$@" update </dev/null >&2 || return 1
	package=$(apt-cache "$@" search --names-only '^libnvrtc[0-9.]+$' | awk '{ print $1 }' | sort -V | tail -n 1)
	[ -n "$package" ] && run_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" -o=Dpkg::Use-Pty=0 \
		install -y --no-install-recommends "$package" </dev/null >&2
}

# from_index is where tests look, beside the PATH, for programs and libraries of NVIDIA's in the Python
# package index: an assembler, since Debian's is too old for the newest cards, and a compiler that does not say where its builtins lie.
from_index=${HOME:-/root}/.cache/lsm

# add_wheels puts there what the machine does not have.
add_wheels() {
	if [ "${NVRTC:-}" = none ]; then return 0; fi
	[ -n "${LSM_TEST_PTXAS:-}" ] || has ptxas || add_wheel 'nvidia-cuda-nvcc-cu12>=12.9' ptxas ptxas
	[ -n "${LSM_TEST_NVRTC_WHEEL:-}" ] || add_wheel 'nvidia-cuda-nvrtc==13.0.*' nvrtc-13.0 libnvrtc-builtins.so.13.0 libnvrtc.so.13
}

# add_wheel PACKAGE FOLDER FILE... puts files of a package into a folder there, the last one last.
add_wheel() {
	package=$1 folder=$from_index/$2
	shift 2
	for last; do :; done
	if [ -e "$folder/$last" ]; then return 0; fi
	say "lsm: installing $last in $folder"
	apart=$(mktemp -d)
	# Debian's python3 comes without pip; a new environment has it.
	if python3 -m venv "$apart/venv" && "$apart/venv/bin/pip" download -q --no-deps --disable-pip-version-check -d "$apart" "$package" >&2 &&
		(cd "$apart" && python3 -m zipfile -e ./*.whl whole) && mkdir -p "$folder" && take "$apart/whole" "$@"; then :; else
		say "lsm: pip could not fetch $last: tests that need it are skipped"
	fi
	rm -rf "$apart"
}

# take FROM FILE... moves files of a package, wherever they lie in it, into $folder.
take() {
	from=$1
	shift
	for file; do
		at=$(find "$from" -name "$file" -type f | head -n 1)
		[ -n "$at" ] && cp "$at" "$folder/$file.new" && chmod 755 "$folder/$file.new" && mv "$folder/$file.new" "$folder/$file" || return 1
	done
}

name_elsewhere() {
	if [ "$(uname)" = Darwin ]; then
		say "hint: Homebrew: xcode-select --install; brew install hdf5"
	fi
	id=$( (. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") || true)
	case " $id " in
	*fedora* | *rhel* | *centos*) say "hint: Fedora: dnf install gcc glibc-devel hdf5-devel" ;;
	*arch*) say "hint: Arch: pacman -S gcc hdf5" ;;
	*suse*) say "hint: openSUSE: zypper install gcc glibc-devel hdf5-devel" ;;
	*alpine*) say "hint: Alpine: apk add gcc musl-dev hdf5-dev" ;;
	esac
	fail "missing, by their Debian names: $missing" \
		"an HDF5 outside the usual places is named by: make HDF5=/its/folder (with include and lib in it)"
}

# add_needed installs what no build can do without.
add_needed() {
	missing
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null 2>&1 || name_elsewhere
	install_debian
	tried=$missing
	missing
	[ -z "$missing" ] ||
		fail "apt-get installed $tried, yet a build still lacks: $missing" "CC=$CC must be able to compile and to link -lhdf5"
}

check_go
add_needed
case ${1:-} in test) add_for_tests && add_nvrtc && add_wheels ;; esac
