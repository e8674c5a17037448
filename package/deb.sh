#!/bin/sh
# A package for Debian and Ubuntu: what `ninja install` writes, below /usr, and the module tilewright of Python.
#
#   usage: sh package/deb.sh BUILD FOLDER, at the top of the tree
#
# BUILD is the folder of the build. FOLDER receives tilewright_VERSION_ARCHITECTURE.deb, whose path is printed. Needs
# dpkg-deb. NVRTC is no package of Debian's: where there is none, the program says where one comes from.
set -eu
LC_ALL=C
export LC_ALL
if [ $# -ne 2 ] || [ ! -x "$1/tilewright" ]; then
    echo "usage: sh package/deb.sh BUILD FOLDER; BUILD holds what ninja has built" >&2
    exit 2
fi
build=$1 out=$2
if ! command -v dpkg-deb >/dev/null 2>&1; then
    echo "deb.sh: there is no dpkg-deb; it is of the package dpkg" >&2
    exit 3
fi
if [ ! -e "$build/_maps.abi3.so" ]; then
    echo "deb.sh: there is no _maps.abi3.so: install python3-dev, then ./configure && ninja deb" >&2
    exit 3
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
chmod 755 "$work"
PREFIX=/usr DESTDIR=$root sh package/install.sh "$build"
module=$root/usr/lib/python3/dist-packages/tilewright
mkdir -p "$module" "$root/DEBIAN"
install -m 644 python/tilewright/*.py "$module"
install -m 644 "$build/libtilewright-python.so" "$build"/_maps.*.so "$module"
mv "$root/usr/share/doc/tilewright/LICENSE" "$root/usr/share/doc/tilewright/copyright"
gzip -9 -n "$root/usr/share/man/man1/tilewright.1"
if command -v strip >/dev/null 2>&1; then
    find "$root" \( -path '*/bin/tilewright' -o -name '*.a' -o -name '*.so' -o -name '*.so.*' \) -exec \
        strip --strip-debug --enable-deterministic-archives {} +
fi
find "$root" -type d -exec chmod 755 {} +

version=$("$build/tilewright" --version | sed 's/^tilewright //; s/[, ].*//')
architecture=$(dpkg --print-architecture)
# The C library that was linked with, and all newer ones: the newest version that a symbol asks for.
libc=$(for file in "$build/tilewright" "$build/libtilewright-python.so" "$build"/_maps.*.so \
    "$build/libtilewright-explain.so" "$build/libcuda/libcuda.so.1" "$build/libcuda/libcudart.so.13"; do
    grep -ao 'GLIBC_[0-9.]*[0-9]' "$file"
done | sed 's/GLIBC_//' | sort -V | tail -n 1)
cat >"$root/DEBIAN/control" <<control
Package: tilewright
Version: $version
Architecture: $architecture
Maintainer: The developers of Tilewright <tilewright@localhost>
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f 1)
Depends: libc6 (>= $libc)
Recommends: gcc | c-compiler, libc6-dev
Suggests: cmake, ninja-build, python3 (>= 3.10), python3-dev
Section: devel
Priority: optional
Description: CUDA kernels from a Lua spec of tiles
 A spec of tensor shapes, tiles and a program over tiles becomes a specialised CUDA kernel and the C code that launches
 it. An emulator runs kernels without a GPU and names races, hangs and wrong accesses.
control
mkdir -p "$out"
deb=$out/tilewright_${version}_$architecture.deb
SOURCE_DATE_EPOCH=315532800 dpkg-deb --root-owner-group --build "$root" "$deb" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
echo "$deb"
