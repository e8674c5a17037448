#!/bin/sh
# What `ninja install` runs: the program, its libraries and headers, what pkg-config and CMake find them by, the manual
# page, completion, and the spec language for editors.
#
#   usage: PREFIX=/usr/local DESTDIR= sh package/install.sh BUILD, at the top of the tree
#
# BUILD is the folder of the build. DESTDIR stands before every path that is written. No file holds a path: what was
# installed may be moved as a whole.
set -eu
LC_ALL=C
export LC_ALL
build=$1
prefix=${PREFIX:-/usr/local}
case $prefix in
/*) ;;
*)
    echo "install.sh: PREFIX '$prefix' is no absolute path; write one such as $PWD/$prefix" >&2
    exit 2
    ;;
esac
to=${DESTDIR:-}$prefix
program=$build/tilewright
version=$("$program" --version | sed 's/^tilewright //; s/[, ].*//')

put() { # MODE FILE FOLDER [NAME]
    mkdir -p "$to/$3"
    install -m "$1" "$2" "$to/$3/${4:-${2##*/}}"
}

# made FOLDER NAME: what stands on stdin.
made() {
    mkdir -p "$to/$1"
    cat >"$to/$1/$2"
    chmod 644 "$to/$1/$2"
}

put 755 "$program" bin
for library in libtilewright.a libtilewright-emu.a; do put 644 "$build/$library" lib; done
put 755 "$build/libtilewright-explain.so" lib
# What run-program gives to programs: a folder that no loader looks into by itself.
for library in libcuda.so.1 libcudart.so.13; do put 755 "$build/libcuda/$library" lib/tilewright; done

# Headers and the tables that they include, under the names that they have in this tree: "tensormap/tensormap.h".
for file in runtime/*.h runtime/*.def; do put 644 "$file" include/tilewright; done
for file in runtime/tensormap/*.h runtime/tensormap/*.def; do put 644 "$file" include/tilewright/tensormap; done
for file in runtime/emu/*.h runtime/emu/*.def; do put 644 "$file" include/tilewright/emu; done

made lib/pkgconfig tilewright.pc <<pc
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include/tilewright

Name: tilewright
Description: Tensor maps, NVRTC, the cache of compiled kernels and the CUDA driver
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -ltilewright -lm -ldl -pthread
pc
made lib/pkgconfig tilewright-emu.pc <<pc
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib

Name: tilewright-emu
Description: The emulator of a GPU as a device of tilewright's
Version: $version
Requires: tilewright
Libs: -L\${libdir} -ltilewright-emu
pc
put 644 package/tilewright-config.cmake lib/cmake/tilewright
made lib/cmake/tilewright tilewright-config-version.cmake <<cmake
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
cmake

sh package/manual.sh "$program" | made share/man/man1 tilewright.1
sh package/completion.sh "$program" bash | made share/bash-completion/completions tilewright
sh package/completion.sh "$program" zsh | made share/zsh/site-functions _tilewright
sh package/completion.sh "$program" fish | made share/fish/vendor_completions.d tilewright.fish
"$program" help spec --luacats | made share/tilewright tilewright.lua
for file in LICENSE README.md; do put 644 "$file" share/doc/tilewright; done
