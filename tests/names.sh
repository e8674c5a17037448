#!/bin/sh
# The emitted text owns its names: every keyword of C, C++ and CUDA, every macro of the headers that the emitted C
# includes, every identifier of an emitted kernel and whatever one of them begins with, as name of a scalar, a dim, a
# tensor and a kernel: `check` refuses it, or what is emitted compiles by NVRTC, as C99, as C with the compiler's own
# words and as C++17. TAP on stdout.
#   usage: tests/names.sh TILEWRIGHT, from the top of the tree. Needs NVRTC and a C compiler.
set -u
tilewright=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_names_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$tilewright" doctor >/dev/null 2>&1; then
    echo "ok 1 - names # SKIP there is no NVRTC"
    exit 0
fi

# A machine may have C without C++.
cxx=yes
echo 'int main() { return 0; }' | cc -x c++ -std=c++17 -fsyntax-only - 2>/dev/null || cxx=no
[ $cxx = yes ] || echo "# C++ is not looked at: cc compiles none here"

# spec KERNEL SCALARS DIMS TENSORS: a product with these names, one to a line of the files, on $work/spec.lua. Tensors are
# matrices, rows, tables of integers and results in turn. Its tiles are as small as they may be with the text of larger
# ones: a compiler takes half as long.
spec() {
    {
        printf 'local M, N, K = dims "zM zN zK"\nlocal sum = {}\n'
        sed 's/.*/sum[#sum + 1] = function(t, i) return i.n + dims "&" end/' "$3"
        echo 'local base = kernel "'"$1"'" {'
        echo '  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },'
        echo '  D = tensor { M, N, dtype = "bf16" }, allow_spills = true, tile = { m = 128, n = 64, k = 64 },'
        echo '  arch = { sm_90a = {}, sm_80 = { tile = { m = 64 } } },'
        sed 's/.*/  ["&"] = scalar "fp32",/' "$2"
        awk '{
            form = NR % 5
            what = form < 2 ? "M, N, dtype = \"bf16\"" : form == 2 ? "N, axes = \"n\", dtype = \"fp32\"" : \
                form == 3 ? "7, dtype = \"int32\"" : "M, N, dtype = \"fp16\", out = true"
            printf "  [\"%s\"] = tensor { %s },\n", $1, what
            use = use (form == 4 ? "" : sprintf(" + t[\"%s\"]%s", $1, form == 3 ? "[i.n % 7]" : ""))
            out = out (form == 4 ? sprintf(", [\"%s\"] = acc", $1) : "")
        }
        END { printf "  epilogue = function(acc, t, i)\n    local v = acc%s\n", use; rest = out; print "    local out = { D = v" out " }" }' "$4"
        sed 's/.*/    out.D = out.D + t["&"]/' "$2"
        printf '    for _, more in ipairs(sum) do out.D = out.D + more(t, i) end\n    return out\n  end,\n}\n'
    } >"$work/spec.lua"
}

# told RULE...: the names that the last check refused by one of the rules, from its diagnostics.
told() {
    sed -n "s/.*error: kernel '[^']*', \([A-Za-z0-9_]*\): .*\[TENSOR-NAME\]\$/\1/p
        s/.*error: kernel '\([^']*\)': .*\[KERNEL-NAME\]\$/\1/p
        s/.*error: a dim cannot be called '\([^']*\)'.*/\1/p" "$work/err" | sort -u
}

# compiles NAME ARCH...: the spec's kernel, by NVRTC and by the C compilers.
compiles() {
    name=$1
    shift
    rm -rf "$work/out"
    {
        for arch in "$@"; do
            "$tilewright" run "$work/spec.lua" --device none --arch "$arch" || echo "$arch: status $?"
        done >"$work/run.log" 2>&1
        grep -E 'error|status' "$work/run.log"
        "$tilewright" gen "$work/spec.lua" -o "$work/out" >/dev/null
        [ "$(find "$work/out" -name '*.c' | wc -l)" -eq 1 ] || echo "no C file, or more than one"
        for flags in "-std=c99 -Wall -Wextra -Wpedantic -Werror" "-std=gnu11" "-x c++ -std=c++17"; do
            [ "$flags" != "-x c++ -std=c++17" ] || [ "$cxx" = yes ] || continue
            # shellcheck disable=SC2086
            sh tests/kept.sh - "${CC:-cc}" $flags -fsyntax-only -I"$work/out" "$work/out"/*.c ||
                echo "$flags: status $?"
        done
    } >"$work/log" 2>&1
    ! [ -s "$work/log" ]
    ok $? "$name" "$work/log"
}

# The names: of a kernel with all that batches below have, then keywords, then macros.
: >"$work/none"
: >"$work/refused"
printf 'zr1\nzr2\nzr3\nzr4\nzr5\nzr6\nzr7\nzr8\n' >"$work/tensors"
echo zs >"$work/scalars"
echo zd >"$work/dims"
spec zk "$work/scalars" "$work/dims" "$work/tensors"
"$tilewright" gen "$work/spec.lua" -o "$work/first" >/dev/null || exit 1
"${CC:-cc}" -dM -E -I"$work/first" "$work/first/zk.c" | awk '{ sub(/[(].*/, "", $2); print $2 }' >"$work/macros"
cat "$work"/first/*.cu "$work"/first/*.h >"$work/text"
sed 's/"[^"]*"//g; s|//.*||' "$work/first/zk.c" >>"$work/text"
grep -o '[A-Za-z_][A-Za-z0-9_]*' "$work/text" | sort -u >"$work/identifiers"
# What ends before a _ may begin a name that is made of a tensor's.
awk '{ print; for (i = 2; i < length($0); i++) if (substr($0, i, 1) == "_") print substr($0, 1, i - 1) }' \
    "$work/identifiers" | sort -u >"$work/beginnings"
tr ' ' '\n' >"$work/keywords" <<'END'
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if import inline int long module mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local __device__
__global__ __shared__ __constant__ __managed__ __host__ __restrict__ __forceinline__ __noinline__ __grid_constant__
threadIdx blockIdx blockDim gridDim warpSize e_ v A_map INLINE expf lgamma j0 y1 printf cudaStream_t float4 dim3 _ __
END
sed -i '/^$/d' "$work/keywords"
sort -u "$work/beginnings" "$work/keywords" "$work/macros" |
    grep -vxE '(z[a-zA-Z][0-9]?|A|B|C|D|alpha|beta)' | grep -v '^z[a-z][0-9]*_' >"$work/names"

# Names that say a field of a kernel are none of a scalar or tensor.
grep -vxE 'arch|axes|bench|cache|cluster|direction|epilogue|family|grid|l2_promotion|launch|like|max_registers|pipeline|program|reference|rings|run|schedule|shared|split|template|threads|tile|tune|via|ahead|allow_spills' \
    "$work/names" >"$work/operands"

# Scalars and dims are members alone, fifty of each at once. What is refused as one is refused as the other.
split -l 300 "$work/operands" "$work/all."
for part in "$work"/all.??; do
    split -l 50 "$part" "$part."
    {
        echo 'local M, N, K = dims "zM zN zK"'
        for fifty in "$part".*; do
            echo 'kernel "k'"${fifty##*.}"'" { family = "gemm", A = tensor { M, K, dtype = "bf16" },'
            echo '  B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },'
            sed 's/.*/  ["&"] = scalar "fp32",/' "$fifty"
            echo '}'
        done
    } >"$work/spec.lua"
    "$tilewright" check "$work/spec.lua" --kernel kaa >/dev/null 2>"$work/err"
    told >>"$work/refused"
done
grep -vxFf "$work/refused" "$work/operands" >"$work/members"
[ -s "$work/members" ]
ok $? "of $(wc -l <"$work/operands") names $(wc -l <"$work/refused") are refused as members"
split -l 100 "$work/members" "$work/part."
for part in "$work"/part.*; do
    head -n 50 "$part" >"$work/scalars"
    tail -n +51 "$part" | grep -vx sm_count >"$work/dims"
    spec zk "$work/scalars" "$work/dims" "$work/none"
    compiles "scalars and dims $(head -n 1 "$part") to $(tail -n 1 "$part")" sm_80
done

# Tensors begin names: what the emitted text's own names begin with, before a _.
awk '{ for (i = 2; i < length($0); i++) if (substr($0, i, 1) == "_") print substr($0, 1, i - 1) }' "$work/identifiers" |
    sort -u | grep -v '^z' | grep -vxFf "$work/refused" | grep -xFf "$work/operands" >"$work/tensors.all"
split -l 10 "$work/tensors.all" "$work/tensors."
for part in "$work"/tensors.a[a-z]; do
    spec zk "$work/none" "$work/none" "$part"
    compiles "tensors $(head -n 1 "$part") to $(tail -n 1 "$part")" sm_80 sm_90a
done

# Kernels: all that are not refused as entry points behind one text, and one whole for its C.
sed 's/.*/kernel "&" { like = base }/' "$work/names" >"$work/kernels"
spec zk "$work/none" "$work/none" "$work/tensors"
cp "$work/spec.lua" "$work/base.lua"
: >"$work/refused"
split -l 300 "$work/kernels" "$work/kernels."
for part in "$work"/kernels.*; do
    cat "$work/base.lua" "$part" >"$work/spec.lua"
    "$tilewright" check "$work/spec.lua" --kernel zk >/dev/null 2>"$work/err"
    told >>"$work/refused"
done
grep -vxFf "$work/refused" "$work/names" >"$work/entries"
ok $? "of $(wc -l <"$work/names") names $(wc -l <"$work/refused") are refused for kernels"
spec zk "$work/none" "$work/none" "$work/tensors"
{
    cat "$work/first/zk.sm_80.cu"
    sed 's/.*/extern "C" __global__ void &(const __grid_constant__ arguments args) {}/' "$work/entries"
} >"$work/entries.cu"
"$tilewright" run "$work/spec.lua" --device none --arch sm_80 --source "$work/entries.cu" >"$work/log" 2>&1
ok $? "all others are entry points" "$work/log"
spec load "$work/none" "$work/none" "$work/tensors"
compiles "a kernel called load" sm_90a

echo "1..$count"
[ "$failed" -eq 0 ]
