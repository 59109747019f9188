# What packs a program with its libraries: read by other scripts.
# shellcheck shell=sh

# link_flags are for go build's -ldflags: stripped, and libraries are looked for in ../lib.
# RPATH, unlike RUNPATH, is where the libraries' own libraries are looked for, too.
# shellcheck disable=SC2016,SC2034 # the loader knows $ORIGIN; others read it
link_flags="-s -w -extldflags '-Wl,--disable-new-dtags,-rpath,\$ORIGIN/../lib'"

# copy_libraries FOLDER FILE... copies there what programs and libraries load, without glibc's.
copy_libraries() {
	to=$1
	shift
	for file; do ldd "$file" 2>/dev/null || true; done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so' | while read -r library; do cp -L "$library" "$to/"; done
}
