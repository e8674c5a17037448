#!/usr/bin/env python3
"""What Tilewright claims of its speed on an H200: how each claim is measured, and whether measured rows hold it.

    python3 tests/bench/claims.py measure OUT [STEP...] [--program build/tilewright] [--seconds 540]
    python3 tests/bench/claims.py table FILE.json... [--newer FILE.json...] [--missing]

measure runs steps, those named or all, each into OUT/STEP.json and OUT/STEP.log; kernels and their peers of one step
stand next to each other on one machine. A step whose rows are there already is left out, and so is one that needs more
than what is left of --seconds: a machine that is lent for minutes takes several calls. A step that fails says so, and
the next one runs. It needs a GPU with its driver, NVRTC and a C compiler; attention's and convolution's peers need
torch. table prints each claim beside its bound as Markdown; with --missing those without rows too. A claim that the
files behind --newer have rows for is of these alone: what two runs measured is not compared. Status 1: a step failed,
or a claim is missed.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

# Tensors of gigabytes: their memory in large pages.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", **os.environ}
HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
# Of sparse attention, of which others have published figures: by fla, by XunhaoLai.
SHORT = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
LONG = (2048, 4096, 8192, 16384, 32768, 65536)
BLOCKS = [word for n, k in ((4096, 4096), (7168, 2048), (24576, 1536), (2112, 7168))
          for word in ("--set", f"M=4096,N={n},K={k}")]  # with block scales


def bench(spec, *more):
    return ["{program}", "bench", spec, "--json", "{json}", *more]


def attention(head, what, lengths, mode="both"):
    heads = 2048 // head
    return [sys.executable, "tests/bench/peers_attention.py", "--what", what, "--backends", "cudnn", "--mode", mode,
            "--rounds", "3", *(f"{16384 // s},{heads},{s},{s},{head}" for s in lengths)]


def sizes(heads, lengths):
    return [word for s in lengths for word in ("--set", f"B={16384 // s},H={heads},R={s},S={s}")]


def forward(head, lengths):
    """Ours, and cuDNN right behind. Head size 128 is that of specs/attention.lua."""
    spec = "specs/attention.lua" if head == 128 else "specs/attention_heads.lua"
    name = "attention_fwd" if head == 128 else f"attention_fwd_d{head}"
    rounds = ["--rounds", "3", "--peer", "none"]
    return [*(bench(spec, "--kernel", name + mask, *sizes(2048 // head, lengths), *rounds) for mask in ("", "_causal")),
            attention(head, "fwd", lengths)]


def backward(lengths):
    parts = ["delta", "dkdv", "dq", "dkdv_causal", "dq_causal"]
    rounds = ["--rounds", "5", "--mode", "burst", "--peer", "none"]
    return [*(bench("specs/attention_bwd.lua", "--kernel", "attention_bwd_" + part, *rounds,
                    *(w if part != "delta" else w.rsplit(",", 1)[0] for w in sizes(16, lengths))) for part in parts),
            attention(128, "bwd", lengths, "burst")]


# Sizes of specs/conv.lua, N, H, W, C, K: 3x3 layers of ResNet-50 and of a diffusion U-Net.
LAYERS = ((32, 56, 56, 64, 64), (32, 28, 28, 128, 128), (32, 14, 14, 256, 256), (32, 7, 7, 512, 512),
          (32, 64, 64, 320, 320), (32, 32, 32, 640, 640), (32, 16, 16, 1280, 1280))


def convolution():
    layers = [",".join(map(str, layer)) for layer in LAYERS]
    ours = [word for layer in LAYERS for word in ("--set", ",".join(f"{d}={x}" for d, x in zip("NHWCK", layer)))]
    return [bench("specs/conv.lua", "--kernel", "conv_3x3", *ours, *BURST, "--peer", "none"),
            [sys.executable, "tests/bench/peers_torch.py", "--conv", "conv_3x3", "--mode", "burst", "--rounds", "6",
             *layers]]


def sparse(names, *more):
    return [bench("specs/nsa.lua", "--kernel", name, *BURST, "--peer", "none", *more) for name in names]


BURST = ("--mode", "burst", "--rounds", "6")  # beside cuBLASLt where there is a product
ONE = (*sizes(16, (4096,)), "--mode", "burst", "--rounds", "9", "--peer", "none")
# Name: seconds it takes, commands. Those that print rows have no --json.
STEPS = {
    "gemm": (420, [bench("specs/gemm.lua", "--kernel", "gemm_bf16", "--config", "tests/bench/shapes.json")]),
    "fp8": (140, [bench("specs/gemm_types.lua", "--kernel", "gemm_fp8", "--config", "tests/bench/shapes.json")]),
    "blocks": (30, [bench("specs/gemm_types.lua", "--kernel", kernel, *BLOCKS, "--mode", "burst", "--rounds", "7", *peer)
                    for kernel, *peer in (("gemm_fp8_blocks", "--peer", "none"), ("gemm_fp8",))]),
    "epilogues": (60, [bench("tests/bench/gemm_epilogues.lua", "--mode", "burst", "--rounds", "9", "--peer", "none")]),
    "grouped": (60, [bench("specs/gemm_grouped.lua", "--kernel", "gemm_grouped_" + kernel, *BURST)
                     for kernel in ("contiguous", "masked")]),
    "forward_64": (220, forward(64, LENGTHS)),
    "forward_128": (220, forward(128, LENGTHS)),
    "forward_256": (160, forward(256, (2048, 8192, 16384))),
    "scores": (40, [bench("specs/attention.lua", "--kernel", "attention_fwd", *ONE),
                    bench("specs/attention.lua", "--kernel", "attention_fwd_causal", *ONE),
                    bench("specs/attention_mods.lua", "--kernel", "attention_fwd_alibi", *ONE),
                    bench("specs/attention_mods.lua", "--kernel", "attention_fwd_softcap", *ONE)]),
    "documents": (40, [bench("specs/attention.lua", "--kernel", "attention_fwd", *sizes(16, (16384,)), *BURST),
                       bench("specs/attention_mods.lua", "--kernel", "attention_fwd_documents", *BURST),
                       bench("specs/attention_mods.lua", "--kernel", "attention_fwd_documents_all", *BURST)]),
    "decode": (60, [bench("tests/bench/read.lua", "--peer", "none"),
                    bench("specs/attention_decode.lua", "--kernel", "attention_decode", "--peer", "none"),
                    bench("specs/attention_decode.lua", "--kernel", "attention_decode_split_16", "--peer", "none")]),
    "backward": (200, backward((2048, 4096, 8192, 16384))),
    "sparse": (120, sparse(("nsa_fwd", "nsa_fwd_two", "nsa_union", "nsa_fwd_union", "nsa_fwd_near", "nsa_union_near",
                            "nsa_fwd_union_near", "nsa_fwd_union_two", "nsa_union_pairs", "nsa_fwd_union_pairs"))),
    "sparse_shapes": (75, [*sparse(("nsa_fwd_d64_b32", "nsa_fwd_d32_b32", "nsa_fwd_d64_b64", "nsa_fwd_b32",
                                    "nsa_fwd_b128")),
                           *sparse(("nsa_fwd_d64_b32", "nsa_fwd_d32_b32"), "--hot"),
                           *sparse(("nsa_fwd",), *(word for t in SHORT for word in ("--set", f"B=4,T={t},G=4,S=16")),
                                   *(word for t in LONG for word in ("--set", f"B=1,T={t},G=4,S=16"))),
                           bench("specs/nsa_branches.lua", "--kernel", "nsa_window", *BURST, "--peer", "none",
                                 *(word for t in SHORT for word in ("--set", f"B=4,T={t},G=4,H=64,C={t}")))]),
    "sparse_heads": (95, [*sparse(("nsa_fwd_h1", "nsa_fwd_h4")),
                           *(bench("specs/nsa_kv.lua", "--kernel", f"nsa_{part}_{heads}", *BURST, "--peer", "none")
                             for heads in ("h1", "h4") for part in ("places", "kv", "combine"))]),
    "deformable": (140, [bench("specs/deform_attn.lua", "--kernel", "deform_attn_" + kernel, *BURST, "--peer", "none")
                         for kernel in ("fp16", "fp16_uniform", "fp16_softmax", "fp16_softmax_uniform", "fp32_heads",
                                        "fp32_heads_uniform")]),
    "copies": (200, [bench(f"specs/tile_{name}.lua", "--config", f"tests/bench/{of}.json", *BURST, "--peer", "none")
                     for name, of in (("copy", "copies"), ("copy_boxes", "copies_boxes"))]),
    "convolution": (120, convolution()),
}


def measure(options):
    out, program = pathlib.Path(options.out), str(pathlib.Path(options.program).resolve())
    out.mkdir(parents=True, exist_ok=True)
    unknown = [name for name in options.steps if name not in STEPS]
    if unknown:
        sys.exit(f"claims: no step is called {unknown[0]}; there are {', '.join(STEPS)}")
    until, failed = time.monotonic() + options.seconds, []
    for name in options.steps or STEPS:
        seconds, commands = STEPS[name]
        rows = out / f"{name}.json"
        if rows.exists():
            continue
        if time.monotonic() + seconds > until:
            print(f"{name}: not run, it takes some {seconds} s", flush=True)
            continue
        began = time.monotonic()
        found = run(commands, program, out, name, until)
        if found:
            rows.write_text(json.dumps(found, indent=1) + "\n")
        else:
            failed.append(name)
        print(f"{name}: {len(found)} rows, {time.monotonic() - began:.0f} s{'' if found else ', FAILED'}", flush=True)
    return 1 if failed else 0


def run(commands, program, out, name, until):
    """The rows of a step's commands, none where one of them fails or takes longer than there is time."""
    rows = []
    with open(out / f"{name}.log", "w") as log:
        for command in commands:
            part = out / f"{name}.part"
            part.unlink(missing_ok=True)
            words = [word.format(program=program, json=part) for word in command]
            print("$", *words, file=log, flush=True)
            try:
                text = subprocess.run(words, cwd=TOP, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=log, check=True,
                                      text=True, timeout=max(1, until - time.monotonic())).stdout
                rows += json.loads(part.read_text() if part.exists() else text)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                print(error, file=log)
                return []
            finally:
                part.unlink(missing_ok=True)
    return rows


class Rows:
    """Measured rows. Where there are several of one kernel, back end, sizes and mode, the last one counts. Those of one
    set of inputs, which lies in the L2, are of "KERNEL hot"."""

    def __init__(self, files):
        self.found = {}
        for file in files:
            rows = json.loads(pathlib.Path(file).read_text())
            for row in rows["rows"] if isinstance(rows, dict) else rows:
                size = tuple(sorted(row["problem_size"].items()))
                kernel = row["kernel"] + (" hot" if row.get("sets") == 1 else "")
                self.found.setdefault((kernel, row["mode"]), {})[row["backend"], size] = row

    def of(self, kernel, mode, backend="tilewright"):
        """Rows by their sizes, as sorted pairs."""
        return {size: row for (who, size), row in self.found.get((kernel, mode), {}).items() if who == backend}

    def ms(self, kernel, mode, backend="tilewright", **size):
        for at, row in self.of(kernel, mode, backend).items():
            if all(dict(at).get(key) == value for key, value in size.items()):
                return row["latency_ms"]
        return None


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def over(a, b):
    return a / b if a and b else None


def products(rows, kernel, mode, peer="cublaslt"):
    """Ratios to the peer by M, N, K."""
    best = rows.of(kernel, mode, peer)
    return {tuple(dict(size)[d] for d in "MNK"): best[size]["latency_ms"] / row["latency_ms"]
            for size, row in rows.of(kernel, mode).items() if size in best}


def gemm(pick, statistic):
    def value(rows, mode):
        ratios = [r for size, r in products(rows, "gemm_bf16", mode).items() if pick(*size)]
        return statistic(ratios) if ratios else None
    return value


def fp8(rows, mode):
    return mean(list(products(rows, "gemm_fp8", mode).values()))


def blocks(rows, mode):
    """Beside cuBLASLt's product with one scale."""
    peer = rows.of("gemm_fp8", mode, "cublaslt")
    return mean([peer[size]["latency_ms"] / row["latency_ms"] for size, row in
                 rows.of("gemm_fp8_blocks", mode).items() if size in peer])


def beside(kernel, plain, **size):
    """How long a kernel takes, by what another takes at the same size."""
    return lambda rows, mode: over(rows.ms(kernel, mode, **size), rows.ms(plain, mode, **size))


PLAIN = ("plain", "plain_whole", "plain_first", "late", "late_first")


def epilogue(kernels):
    """How long the quickest of these takes, by what the quickest plain kernel takes."""
    return lambda rows, mode: over(*(min(filter(None, (rows.ms(k, mode, **P4096) for k in names)), default=None)
                                     for names in (kernels, PLAIN)))


def gated(rows, mode):
    """Products a second of the pair, which has twice those of plain."""
    took = epilogue(("gated",))(rows, mode)
    return 2 / took if took else None


def faster(plain, kernel, **size):
    return beside(plain, kernel, **size)


def grouped(rows, mode):
    ratios = []
    for kernel in ("gemm_grouped_contiguous", "gemm_grouped_masked"):
        best = rows.of(kernel, mode, "cublaslt")
        ratios += [best[s]["latency_ms"] / r["latency_ms"] for s, r in rows.of(kernel, mode).items() if s in best]
    return min(ratios, default=None)


def forward_ratios(rows, mode):
    """Beside the better of cuDNN, measured with it, and FlashAttention-3, by its ratio to cuDNN on that shape."""
    ratios = []
    for row in json.loads((HERE / "results" / "attention_flash3.json").read_text())["rows"]:
        head, s = row["head_size"], row["sequence"]
        mask = "" if row["mask"] == "full" else "_causal"
        ours = "attention_fwd" + ("" if head == 128 else f"_d{head}") + mask
        size = {"B": 16384 // s, "H": 2048 // head, "S": s}
        took = rows.ms(ours, mode, **size)
        for peer in ("attention_fwd" + mask, ours):  # torch's rows are of the plain name, whatever the head size
            cudnn = rows.ms(peer, mode, "torch_cudnn", **size)
            if cudnn and took:
                ratios.append(cudnn / max(1, row["flash3"] / row["cudnn"]) / took)
                break
    return ratios


def forward_of(statistic):
    def value(rows, mode):
        ratios = forward_ratios(rows, mode)
        return statistic(ratios) if ratios else None
    return value


def read_rate(kernel, **size):
    def value(rows, mode):
        best = max((row["gbs"] for row in rows.of("read_rows", mode).values()), default=None)
        mine = [row["gbs"] for at, row in rows.of(kernel, mode).items()
                if all(dict(at)[key] == v for key, v in size.items())]
        return over(mine[0], best) if mine else None
    return value


def backward_ratio(rows, mode):
    ratios = []
    for mask in ("", "_causal"):
        for s in (2048, 4096, 8192, 16384):
            size = {"B": 16384 // s, "H": 16, "R": s}
            parts = [rows.ms("attention_bwd_delta", mode, **size),
                     *(rows.ms(f"attention_bwd_{part}{mask}", mode, S=s, **size) for part in ("dkdv", "dq"))]
            cudnn = rows.ms("attention_bwd" + mask, mode, "torch_cudnn", S=s, **size)
            if cudnn and all(parts):
                ratios.append(cudnn / sum(parts))
    return min(ratios, default=None)


def sparse_rate(*ways, length):
    """TFLOP/s of the quickest way; a way is kernels that run one after the other. 64 heads of 128, 1,024 keys each."""
    def value(rows, mode):
        times = [[rows.ms(kernel, mode, B=1, T=length, G=4) for kernel in way] for way in ways]
        took = min((sum(way) for way in times if all(way)), default=None)
        return over(4e-9 * 64 * 128 * 1024 * length, took)
    return value


def milliseconds(kernel):
    return lambda rows, mode: rows.ms(kernel, mode)


def launch(kernel, **size):
    """Milliseconds of a launch of one of sparse attention's small shapes."""
    return lambda rows, mode: rows.ms(kernel, mode, **size)


def copy_ratio(rows, mode):
    """The quickest copy of 64 x 64 boxes, of the quickest by threads, from memory: 268 MB."""
    size = {"H": 8192, "W": 8192}
    plain = [rows.ms(kernel, mode, **size) for kernel in ("tile_copy_direct", "tile_copy_blocks")]
    bulk = [rows.ms(kernel, mode, **size) for kernel in ("tile_copy", "tile_copy_128B", "tile_copy_resident")]
    return over(min(filter(None, plain), default=None), min(filter(None, bulk), default=None))


def convolution_ratio(rows, mode):
    best = rows.of("conv_3x3", mode, "cudnn")
    return min((best[size]["latency_ms"] / row["latency_ms"] for size, row in rows.of("conv_3x3", mode).items()
                if size in best), default=None)


FOUR = {(4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048), (4096, 24576, 1536)}
P4096 = {"M": 4096, "N": 4096, "K": 4096}
A4096, A16384 = {"B": 4, "H": 16, "S": 4096}, {"B": 1, "H": 16, "S": 16384}
BOTH, ONLY = ("burst", "sustained"), ("burst",)
RANDOM = ("nsa_fwd",), ("nsa_fwd_two",), ("nsa_union", "nsa_fwd_union")
NEAR = ("nsa_fwd_near",), ("nsa_union_near", "nsa_fwd_union_near"), ("nsa_union_near", "nsa_fwd_union_two"), (
    "nsa_union_pairs", "nsa_fwd_union_pairs")
# What, at least or at most, bound, modes, value(rows, mode).
CLAIMS = [
    ("gemm_bf16, twenty shapes, mean", ">=", 1.03, BOTH, gemm(lambda *_: True, mean)),
    ("gemm_bf16, least but 512^3", ">=", 0.98, BOTH, gemm(lambda m, n, k: (m, n, k) != (512, 512, 512), min)),
    ("gemm_bf16, 512^3", ">=", 0.95, BOTH, gemm(lambda m, n, k: (m, n, k) == (512, 512, 512), min)),
    ("gemm_bf16, least of four large", ">=", 1.00, BOTH, gemm(lambda *size: size in FOUR, min)),
    ("gemm_bf16, M at most 128, mean", ">=", 1.12, BOTH, gemm(lambda m, n, k: m <= 128, mean)),
    ("gemm_fp8, one scale, mean", ">=", 1.00, BOTH, fp8),
    ("gemm_fp8_blocks of one scale, mean", ">=", 0.90, ONLY, blocks),
    ("bias and gelu_tanh_approx, time of plain", "<=", 1.03, ONLY, epilogue(
        ("with_bias_approx", "late_bias_approx", "late_bias_approx_first"))),
    ("residual too, time of plain", "<=", 1.06, ONLY, epilogue(
        ("with_bias_approx_R", "bulk_bias_approx_R", "bulk_bias_approx_R_first"))),
    ("gated pair, rate of plain", ">=", 0.95, ONLY, gated),
    ("grouped of one product, least", ">=", 0.95, ONLY, grouped),
    ("attention forward, mean", ">=", 0.97, BOTH, forward_of(mean)),
    ("attention forward, least", ">=", 0.88, BOTH, forward_of(min)),
    ("ALiBi, time of causal", "<=", 1.10, ONLY, beside("attention_fwd_alibi", "attention_fwd_causal", **A4096)),
    ("soft cap, time of full", "<=", 1.25, ONLY, beside("attention_fwd_softcap", "attention_fwd", **A4096)),
    ("eight documents, causal, times as fast as full", ">=", 6.0, ONLY,
     faster("attention_fwd", "attention_fwd_documents", **A16384)),
    ("eight documents, times as fast as full", ">=", 6.0, ONLY,
     faster("attention_fwd", "attention_fwd_documents_all", **A16384)),
    ("decode, 32 x 4096, of the read rate", ">=", 0.90, BOTH, read_rate("attention_decode", B=32, S=4096)),
    ("decode, one of 65536, of the read rate", ">=", 0.80, BOTH, read_rate("attention_decode_split_16", B=1, S=65536)),
    ("attention backward, head size 128, least", ">=", 0.80, ONLY, backward_ratio),
    ("sparse attention, 8192, random lists, TFLOP/s", ">=", 130, ONLY, sparse_rate(*RANDOM, length=8192)),
    ("sparse attention, 65536, random lists, TFLOP/s", ">=", 115, ONLY, sparse_rate(*RANDOM, length=65536)),
    ("sparse attention, 8192, lists of neighbours, TFLOP/s", ">=", 220, ONLY, sparse_rate(*NEAR, length=8192)),
    *((f"sparse attention, a launch of {words}, {where}, ms", "<=", 0.004, ONLY,
       launch(kernel + of, B=2, T=length, G=1))
      for kernel, length, words in (("nsa_fwd_d32_b32", 1024, "2 x 1024, one block of 32"),
                                    ("nsa_fwd_d64_b32", 512, "2 x 512, eight of 32"))
      for where, of in (("in the L2", " hot"), ("from memory", ""))),
    *((f"deformable attention, {words}, {where}, ms", "<=", bound, ONLY, milliseconds("deform_attn_" + name + of))
      for name, words, bounds in (("fp16", "fp16", (2.9, 3.3)), ("fp16_softmax", "fp16, softmax inside", (2.9, 3.3)),
                                  ("fp32_heads", "fp32", (5.37, 5.9)))
      for (where, of), bound in zip((("near", ""), ("uniform", "_uniform")), bounds)),
    ("copies of 64 x 64, 268 MB, of the best by threads", ">=", 0.97, ONLY, copy_ratio),
    ("convolution 3x3 of cuDNN's best, least", ">=", 0.85, ONLY, convolution_ratio),
]


def table(options):
    rows, newer, missed = Rows(options.files), Rows(options.newer), 0
    print("| claim | bound |", " | ".join(BOTH), "|\n| --- | --- | --- | --- |")
    for what, sense, bound, modes, value in CLAIMS:
        cells = []
        of = newer if any(value(newer, mode) is not None for mode in modes) else rows
        for mode in BOTH:
            found = value(of, mode) if mode in modes else None
            held = found is not None and (found >= bound if sense == ">=" else found <= bound)
            missed += found is not None and not held
            digits = 3 if found is None or found >= 0.1 else 5  # milliseconds of a launch are few
            cells.append("" if found is None else f"{found:.{digits}f}" + ("" if held else ", missed"))
        if any(cells) or options.missing:
            print(f"| {what} | {sense} {bound:g} |", " | ".join(cells), "|")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("out")
    one.add_argument("steps", nargs="*", metavar="STEP")
    one.add_argument("--program", default=str(TOP / "build" / "tilewright"))
    one.add_argument("--seconds", type=float, default=86400)
    one.set_defaults(do=measure)
    one = commands.add_parser("table")
    one.add_argument("files", nargs="+", metavar="FILE.json")
    one.add_argument("--newer", nargs="+", default=[], metavar="FILE.json")
    one.add_argument("--missing", action="store_true")
    one.set_defaults(do=table)
    options = parser.parse_args()
    return options.do(options)


if __name__ == "__main__":
    sys.exit(main())
