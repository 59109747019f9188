#!/bin/sh
# sysroot.sh FOLDER [ARCH]: puts there what makes a program for old systems on amd64 (the default)
# or arm64: FOLDER/cc, this machine's gcc for them with the C library of Debian 11 (glibc 2.31),
# FOLDER/hdf5, a serial HDF5 that needs that C library alone, with zlib and libaec inside,
# FOLDER/run and FOLDER/ldd, which run a program that cc has made and list its libraries, and
# FOLDER/machine, uname's word for ARCH. All of it comes from Debian's archive by
# apt, which checks it; nothing is installed and nobody need be root. It is quick if it is there.
#
# It needs gcc, make, apt-get and dpkg, and Debian's keys (debian-archive-keyring); for another
# processor than this machine's also its cross compiler and qemu-user-static. MIRROR names
# the archive if this machine does not use one. JOBS is make's.
set -eu
folder=$1
arch=${2:-amd64}
release=bullseye # its C library is the oldest that is to be had
hdf5=1.10.8+repack1 # that of Debian 12, which the tests run with

fail() { printf 'lsm: sysroot: %s\n' "$1" >&2; exit 4; }

case $arch in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*) fail "packages are made for amd64 and arm64, not for $arch" ;;
esac
triple=$machine-linux-gnu
[ "$(uname -s)" = Linux ] || fail "packages are made on Linux, this is $(uname -s)"
needs="$triple-gcc make apt-get dpkg objdump" packages="gcc, make, apt, dpkg, binutils" emulator=
if [ "$(uname -m)" != $machine ]; then
	emulator=qemu-$machine-static needs="$needs qemu-$machine-static" packages="gcc-$(echo $triple | tr _ -), qemu-user-static, make, apt, dpkg, binutils"
fi
for program in $needs; do
	command -v "$program" >/dev/null || fail "$program is missing: Debian's packages are $packages"
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
		-o=APT::Architecture=$arch -o=APT::Architectures=$arch -o=APT::Sandbox::User="$(id -un)" -o=Acquire::Languages=none "$@"
}
from_debian update
(cd debs && from_debian download libc6 libc6-dev linux-libc-dev libcrypt1 libcrypt-dev zlib1g-dev libaec-dev &&
	from_debian source --download-only hdf5)
for package in debs/*.deb; do dpkg -x "$package" root; done

# Links that name a place from the root name it in this root.
find root -type l -lname '/*' | while read -r link; do ln -sfn "$folder/root$(readlink "$link")" "$link"; done
libraries=$folder/root/usr/lib/$triple
rm -f "$libraries"/libz.so "$libraries"/libaec.so "$libraries"/libsz.so # leaves libz.a and the others

# -B, -L and -nostdinc: gcc looks beside itself, and a cross compiler in the C library that came with
# it, before it looks in the sysroot.
include=$folder/root/usr/include
printf '#!/bin/sh\nexec %s-gcc --sysroot="%s" -B"%s" -L"%s" -nostdinc -isystem "%s" -isystem "%s" -isystem "%s" -include "%s" "$@"\n' \
	$triple "$folder/root" "$libraries" "$libraries" "$($triple-gcc -print-file-name=include)" "$include/$triple" "$include" "$folder/glibc.h" >cc
printf '#!/bin/sh\nexec %s "$@"\n' "${emulator:+$emulator -L \"$folder/root\"}" >run
printf '#!/bin/sh\nexec "%s" "%s" --library-path "%s" --list "$@"\n' \
	"$folder/run" "$(echo "$folder"/root/lib*/ld-linux-*)" "$folder/hdf5/lib:$folder/root/lib/$triple" >ldd
chmod 755 cc run ldd

tar -xzf debs/hdf5_$hdf5.orig.tar.gz
cd hdf5-$hdf5
# configure runs what it compiles, by run: to it this is the machine that it is for.
sed -i "s|ac_try='./conftest|ac_try='\$RUNSERIAL ./conftest|" configure
./configure --build=$triple RUNSERIAL="$folder/run" CC="$folder/cc" CFLAGS="-O2 -fPIC -w -ffile-prefix-map=$PWD=hdf5" LDFLAGS=-Wl,--exclude-libs,ALL LIBS=-laec \
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
echo $machine >machine
rm -rf hdf5-$hdf5 apt
printf '%s\n' "$want" >made
