#!/usr/bin/env python3
"""Attention by torch's back ends cuDNN and FlashAttention, timed as `tilewright bench` times its own, as the same JSON
rows: the forward (attention_fwd, attention_fwd_causal) and the backward alone (attention_bwd, attention_bwd_causal), of
bf16, [batch, sequence, heads, head size] in memory.

    python3 tests/bench/peers_attention.py [--what fwd,bwd] [--masks full,causal] [--backends cudnn,flash]
                                           [--shared 4] [--mode burst] B,H,R,S[,D]... >rows.json

Operations are those of all pairs of a query and a key, 4 D a pair forward and 10 D backward, whatever the mask. What a
version of torch or a GPU does not have is a line on stderr, and so is a result that is wrong; neither is timed.
"""
import argparse
import sys

import measure

BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
# Parameters of backward operators by what forward operators of some versions call them.
OTHER_NAMES = {"philox_seed": "rng_state", "philox_offset": "unused"}
ROWS = 64


def operands(size, shared):
    """A set of inputs as torch wants them, [batch, heads, sequence, head size]: Q, K, V and the gradient of O."""
    import torch
    b, h, r, s, d = size
    shapes = (b, r, h, d), (b, s, h // shared, d), (b, s, h // shared, d), (b, r, h, d)
    return [torch.randn(shape, device="cuda").to(torch.bfloat16).transpose(1, 2) for shape in shapes]


def forward(backend, causal, shared):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    wanted = getattr(SDPBackend, BACKENDS[backend])
    more = {"enable_gqa": True} if shared > 1 else {}

    def launch(q, k, v, _):
        with sdpa_kernel([wanted]):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, **more)
    return launch


def call(operator, known):
    """The operator, each of its parameters by name from what is known; others keep their defaults."""
    given = {}
    for parameter in operator._schema.arguments:
        name = parameter.name if parameter.name in known else OTHER_NAMES.get(parameter.name)
        if name in known:
            given[parameter.name] = known[name]
        elif not parameter.has_default_value():
            raise NotImplementedError("%s wants %s, which is not known here" % (operator, parameter.name))
    return operator(**given)


def backward(backend, causal, shared, inputs):
    """A function without parameters that launches the backward alone: its operator, with what the forward's gave."""
    import torch
    if shared > 1:
        raise NotImplementedError("the operators of the backward share no heads")
    base = "_scaled_dot_product_%s_attention" % ("cudnn" if backend == "cudnn" else "flash")
    there, back = getattr(torch.ops.aten, base).default, getattr(torch.ops.aten, base + "_backward").default
    q, k, v, gradient = inputs
    known = {"query": q, "key": k, "value": v, "dropout_p": 0.0, "is_causal": causal, "return_debug_mask": False,
             "attn_bias": None, "compute_log_sumexp": True, "scale": None}
    results = call(there, known)
    known.update(zip((result.name for result in there._schema.returns), results))
    names = "out", "output"
    known.update({name: results[0] for name in names}, logsumexp=results[1], grad_out=gradient)
    return lambda: call(back, known)


def by_hand(size, causal, shared, inputs):
    """The first rows of the first head in double precision: O and the gradient of Q."""
    import torch
    heads = [x[0, 0].double() for x in inputs]
    q, k, v, gradient = heads[0][:ROWS], heads[1], heads[2], heads[3][:ROWS]
    scores = q @ k.t() * size[4] ** -0.5
    if causal:
        rows, columns = (torch.arange(n, device="cuda") for n in scores.shape)
        scores = scores.masked_fill(columns[None, :] > rows[:, None], float("-inf"))
    p = scores.softmax(-1)
    o = p @ v
    ds = p * (gradient @ v.t() - (gradient * o).sum(-1, keepdim=True))
    return o, ds @ k * size[4] ** -0.5


def away(got, want):
    return ((got[0, 0, :ROWS].double() - want).norm() / want.norm()).item()


def candidates(what, size, causal, shared, backends):
    import torch
    b, h, r, s, d = size
    moved = 2 * b * d * (2 * h * r + 2 * (h // shared) * s) * (1 if what == "fwd" else 2)
    inputs = [operands(size, shared) for _ in range(measure.count_sets(moved))]
    found = []
    for backend in backends:
        label = "%s %s%s %s" % (backend, what, " causal" if causal else "", ",".join(map(str, size)))
        try:
            if what == "fwd":
                one = forward(backend, causal, shared)
                launches = [lambda one=one, x=x: one(*x) for x in inputs]
                error = away(launches[0](), by_hand(size, causal, shared, inputs[0])[0])
            else:
                launches = [backward(backend, causal, shared, x) for x in inputs]
                error = away(launches[0]()[0], by_hand(size, causal, shared, inputs[0])[1])
            torch.cuda.synchronize()
            if not error <= 1e-2:
                print("%s: wrong result, %g" % (label, error), file=sys.stderr)
                continue
            found.append(measure.Candidate("torch_" + backend, lambda i, launches=launches: launches[i](),
                                           len(launches)))
        except (RuntimeError, AttributeError, NotImplementedError, TypeError) as error:
            print("%s: %s" % (label, str(error).splitlines()[0]), file=sys.stderr)
    return found, moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="fwd,bwd", help="fwd, bwd")
    parser.add_argument("--masks", default="full,causal", help="full, causal")
    parser.add_argument("--backends", default=",".join(BACKENDS), help=", ".join(BACKENDS))
    parser.add_argument("--shared", type=int, default=1, help="heads of Q that share one of K and V")
    parser.add_argument("--mode", default="both", choices=["burst", "sustained", "both"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("sizes", nargs="+", metavar="B,H,R,S[,D]")
    options = parser.parse_args()
    import torch
    modes = [mode for mode in measure.ROUNDS if options.mode in (mode, "both")]
    out = []
    for given in measure.sizes(options.sizes):
        b, h, r, s, d = size = given if len(given) == 5 else given + (128,)
        for what in options.what.split(","):
            for mask in options.masks.split(","):
                kernel = "attention_%s%s%s" % (what, "" if d == 128 else "_d%d" % d,
                                               "_causal" if mask == "causal" else "")
                if options.shared > 1:
                    kernel += "_grouped"
                found, moved = candidates(what, size, mask == "causal", options.shared, options.backends.split(","))
                measure.measure(found, modes, options.rounds)
                seen = sum(min(q + 1, s) for q in range(r)) if mask == "causal" else r * s
                flops = (4.0 if what == "fwd" else 10.0) * b * h * seen * d
                out += measure.rows(kernel, {"B": b, "H": h, "R": r, "S": s}, found, flops, moved)
                del found
                torch.cuda.empty_cache()
    measure.print_rows(out)
    return 0 if out else 1


if __name__ == "__main__":
    sys.exit(main())
