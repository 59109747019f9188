#!/bin/sh
# sysroot.sh FOLDER: puts there what makes a program for old systems: FOLDER/cc, this machine's
# gcc with the C library of Debian 11 (glibc 2.31), and FOLDER/hdf5, a serial HDF5 that needs
# that C library alone, with zlib and libaec inside. All of it comes from Debian's archive by
# apt, which checks it; nothing is installed and nobody need be root. It is quick if it is there.
#
# It needs gcc, make, apt-get and dpkg, and Debian's keys (debian-archive-keyring). MIRROR names
# the archive if this machine does not use one. JOBS is make's.
set -eu
folder=$1
release=bullseye # its C library is the oldest that is to be had
hdf5=1.10.8+repack1 # that of Debian 12, which the tests run with

fail() { printf 'lsm: sysroot: %s\n' "$1" >&2; exit 4; }

[ "$(uname -sm)" = "Linux x86_64" ] || fail "packages are made on Linux x86_64, this is $(uname -sm)"
for program in gcc make apt-get dpkg objdump; do
	command -v $program >/dev/null || fail "$program is missing: Debian's packages are gcc, make, apt, dpkg, binutils"
done
here=$(cd "$(dirname "$0")" && pwd)
want=$(cat "$here/sysroot.sh" "$here/glibc.h" | sha256sum)
mkdir -p "$folder" && cd "$folder"
folder=$(pwd)
if [ "$(cat made 2>/dev/null)" = "$want" ]; then exit 0; fi
rm -rf made apt debs root hdf5 hdf5-*

# Lists and packages of an apt of its own.
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e $keys ] || fail "$keys is missing: it is in the package debian-archive-keyring"
# shellcheck disable=SC2016 # apt's own variables
: "${MIRROR:=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
	awk '$1 == "Debian" && $2 == "main" && $4 !~ /security/ { print $3; exit }')}"
[ -n "$MIRROR" ] || fail "this machine has no archive of Debian: name one by MIRROR=http://…/debian"
cp "$here/glibc.h" .
mkdir -p apt/lists/partial apt/cache/archives/partial debs root
printf 'deb [signed-by=%s] %s %s main\n' $keys "$MIRROR" $release >apt/sources.list
printf 'deb-src [signed-by=%s] %s bookworm main\n' $keys "$MIRROR" >>apt/sources.list
from_debian() {
	apt-get -qq -o=Dir::Etc::SourceList="$folder/apt/sources.list" -o=Dir::Etc::SourceParts=/dev/null \
		-o=Dir::State::Lists="$folder/apt/lists" -o=Dir::State::Status=/dev/null -o=Dir::Cache="$folder/apt/cache" \
		-o=APT::Architecture=amd64 -o=APT::Sandbox::User="$(id -un)" -o=Acquire::Languages=none "$@"
}
from_debian update
(cd debs && from_debian download libc6 libc6-dev linux-libc-dev libcrypt1 libcrypt-dev zlib1g-dev libaec-dev &&
	from_debian source --download-only hdf5)
for package in debs/*.deb; do dpkg -x "$package" root; done

# Links that name a place from the root name it in this root.
find root -type l -lname '/*' | while read -r link; do ln -sfn "$folder/root$(readlink "$link")" "$link"; done
libraries=$folder/root/usr/lib/x86_64-linux-gnu
rm -f "$libraries"/libz.so "$libraries"/libaec.so "$libraries"/libsz.so # leaves libz.a and the others

# -B and -L: gcc looks beside itself before it looks in the sysroot.
printf '#!/bin/sh\nexec gcc --sysroot="%s" -B"%s" -L"%s" -include "%s" "$@"\n' "$folder/root" "$libraries" "$libraries" "$folder/glibc.h" >cc
chmod 755 cc

tar -xzf debs/hdf5_$hdf5.orig.tar.gz
cd hdf5-$hdf5
./configure CC="$folder/cc" CFLAGS="-O2 -fPIC -w -ffile-prefix-map=$PWD=hdf5" LDFLAGS=-Wl,--exclude-libs,ALL LIBS=-laec \
	--prefix="$folder/hdf5" --with-zlib --with-szlib --disable-static --enable-shared --enable-build-mode=production \
	--disable-tests --disable-tools --disable-dependency-tracking --disable-embedded-libinfo >../configure.log 2>&1 ||
	fail "HDF5's configure failed: $folder/configure.log"
grep -q 'deflate(zlib),szip(encoder)' ../configure.log || fail "HDF5 has found no zlib or libaec: $folder/configure.log"
sed -i 's|^hardcode_libdir_flag_spec=.*|hardcode_libdir_flag_spec=|; s|^runpath_var=.*|runpath_var=none|' libtool # no rpath
for part in src hl/src; do
	make -j "${JOBS:-2}" -C $part install >>../make.log 2>&1 || fail "HDF5's make failed: $folder/make.log"
done
cd ..
mkdir -p licences
cp hdf5-$hdf5/COPYING licences/hdf5
cp root/usr/share/doc/zlib1g-dev/copyright licences/zlib
cp root/usr/share/doc/libaec-dev/copyright licences/libaec
for package in zlib1g-dev libaec-dev; do
	printf '%s %s\n' $package "$(dpkg-deb -f debs/${package}_*.deb Version)"
done >versions
printf 'hdf5 %s\n' $hdf5 >>versions
rm -rf hdf5-$hdf5 apt
printf '%s\n' "$want" >made
