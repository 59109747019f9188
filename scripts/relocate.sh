# What packs a program with its libraries: read by other scripts.
# shellcheck shell=sh

# link_flags are for go build's -ldflags: stripped, and libraries are looked for in ../lib.
# RPATH, unlike RUNPATH, is where the libraries' own libraries are looked for, too.
# shellcheck disable=SC2016,SC2034 # the loader knows $ORIGIN; others read it
link_flags="-s -w -extldflags '-Wl,--disable-new-dtags,-rpath,\$ORIGIN/../lib'"

# copy_libraries FOLDER FILE... copies there what programs and libraries load, without glibc's.
# ldd names what lists them, if it is not this machine's ldd.
copy_libraries() {
	to=$1
	shift
	for file; do "${ldd:-ldd}" "$file" 2>/dev/null || true; done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux[-_a-z0-9]*)\.so' | while read -r library; do cp -L "$library" "$to/"; done
}

# of_cache COMMAND... runs a command with the compiler and the HDF5 for $arch that packaging/sysroot.sh
# has put into $cache. Go's own cache knows what they are by a macro that is used nowhere.
of_cache() {
	env CGO_ENABLED=1 GOARCH="$arch" CC="$cache/cc" CGO_CFLAGS="-O2 -I$cache/hdf5/include -DLSM_SYSROOT=$(cut -c-16 "$cache/made")" CGO_LDFLAGS="-O2 -L$cache/hdf5/lib" "$@"
}
