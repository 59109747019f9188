#!/bin/sh
# dist.sh FOLDER: makes what others install, for Linux with glibc 2.28 or newer: an archive that runs
# from any place, a .deb and an .rpm of the same content, a wheel for Python with the program and the
# C library, an SBOM and checksums. ARCH lists the processors: amd64 (the default), arm64 or both.
# CACHE holds the C libraries and HDF5 that it is made with (packaging/sysroot.sh says what that
# needs). SOURCE_DATE_EPOCH is the time of all files, else that of the last commit: the same tree
# then gives the same bytes. PYTHON (python3) with pip packs the wheel. Run by make dist, which sets
# LDFLAGS, PYTHON_LDFLAGS, VERSION, GO.
set -eu
cd "$(dirname "$0")/.."
folder=$1
glibc=2.28 # RHEL 8; Ubuntu 20.04 and Debian 11 have 2.31
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
caches=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lsm/dist}
go=${GO:-go}
: "${SOURCE_DATE_EPOCH:=$(git -c safe.directory="$PWD" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
umask 022
. scripts/relocate.sh

# programs makes bin/lsm, lib and liblsm.so.
programs() {
	of_cache "$go" build -trimpath -buildvcs=false -ldflags "-buildid= ${LDFLAGS:-} $link_flags" -o "$work/bin/lsm" ./cmd/lsm
	mkdir "$work/lib"
	ldd=$cache/ldd copy_libraries "$work/lib" "$work/bin/lsm"
	"$machine-linux-gnu-strip" --strip-unneeded "$work"/lib/*
	of_cache "$go" build -trimpath -buildvcs=false -buildmode=c-shared -ldflags "-s -w -buildid= ${PYTHON_LDFLAGS:-}" -o "$work/liblsm.so" ./cmd/liblsm
	packaging/glibc.sh $glibc "$work/bin/lsm" "$work/liblsm.so" "$work"/lib/*
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$cache/run" "$work/bin/lsm" >"$work/lsm"
	chmod 755 "$work/lsm"
}

of() { awk -v name="$1" '$1 == name { print $2 }' "$cache/versions"; }

# share fills $share: pages, completions, SBOM, licences.
share() {
	mkdir -p "$share/doc/lsm"
	scripts/share.sh install "$work/lsm" "$share"
	cp README.md CHANGELOG.md CITATION.cff LICENSE NOTICE "$share/doc/lsm"
	cp -r docs configs tutorials "$share/doc/lsm"
	rm -r "$share/doc/lsm/docs/site" # how the site is made
	rm -rf "$share"/doc/lsm/*/*_test.go "$share"/doc/lsm/*/testdata
	"$go" run -buildvcs=false ./packaging/contents "$share/doc/lsm" "$work/bin/lsm,$work/liblsm.so" "$version" \
		"hdf5,$(of hdf5),BSD-3-Clause,$cache/licences/hdf5" \
		"zlib,$(of zlib1g-dev),Zlib,$cache/licences/zlib" \
		"libaec,$(of libaec-dev),BSD-2-Clause,$cache/licences/libaec" \
		"libgcc,$("$cache/cc" -dumpfullversion),GPL-3.0-or-later WITH GCC-exception-3.1," \
		"leaflet,1.9.4,BSD-2-Clause,internal/view/web/leaflet/LICENSE"
}

# archive makes the archive, the .deb, the .rpm and the SBOM.
archive() {
	mv "$work/bin" "$work/lib" "$tree"
	chmod -R u=rwX,go=rX "$tree"
	find "$tree" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
	tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -c "$name" | gzip -9n >"$folder/$name.tar.gz"
	config=$PWD/packaging/nfpm.yaml
	for format in deb rpm; do
		(cd "$tree" && ARCH=$arch VERSION=$version CGO_ENABLED=0 GOFLAGS='' "$go" run "$nfpm" package -f "$config" -p $format -t "$folder/" >/dev/null)
	done
	cp "$share/doc/lsm/lsm.spdx.json" "$folder/$name.spdx.json"
}

wheel() {
	package=$work/python
	mkdir "$package"
	cp -r python/pyproject.toml python/setup.py python/README.md python/kirchhoff_lsm python/lsm.py python/scripts LICENSE NOTICE "$package"
	cp -r "$tree/bin" "$tree/lib" "$work/liblsm.so" include/lsm.h "$share/doc/lsm/lsm.spdx.json" "$share/doc/lsm/licences" "$package/kirchhoff_lsm"
	chmod -R u=rwX,go=rX "$package"
	PLATFORM=manylinux_$(echo $glibc | tr . _)_$machine scripts/python.sh pack "$package" "$folder"
}

rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
trap 'rm -rf "${work:-}"' EXIT
for arch in ${ARCH:-amd64}; do
	cache=$caches/$arch
	mkdir -p "$cache"
	flock "$cache.lock" packaging/sysroot.sh "$cache" "$arch" # which another checkout may be making
	cache=$(cd "$cache" && pwd)
	machine=$(cat "$cache/machine")
	work=$(mktemp -d)
	programs
	# A version as packages want it: 1.2.0+3.g0123456 is newer than 1.2.0.
	version=$(echo "${VERSION:-}" | sed 's/^v//; s/-\([0-9]*\)-g/+\1.g/; s/-dirty$/.dirty/')
	[ -n "$version" ] || version=$("$work/lsm" --version | sed -n 's/^lsm \([^,]*\),.*/\1/p')
	name=lsm-$version-linux-$machine
	tree=$work/$name share=$work/$name/share
	share
	archive
	wheel
	rm -rf "$work"
done
(cd "$folder" && sha256sum -- * >SHA256SUMS)
ls -l "$folder"
