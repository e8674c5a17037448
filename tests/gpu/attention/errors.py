#!/usr/bin/env python3
"""Largest and mean error of attention in torch at the same dtype, against double precision, on the inputs of dumps.

They become tests/emu/attention_errors.json, by which tests/emu/attention_errors.sh judges kernels on machines without
torch. Before, for each spec and kernel of tests/emu/attention_errors.list:
    build/tilewright run specs/SPEC.lua --kernel KERNEL --arch sm_90a --inputs normal --rows padded --dump DIR
(the inputs depend on neither device nor machine); then, from the top of the tree:

usage: errors.py DIR [-o FILE] [--device cuda|cpu]
fp8 is the computation on dequantised fp32, its weights relative to the largest and rounded to e4m3.
"""
import argparse
import glob
import json
import os

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8_e4m3": torch.float8_e4m3fn}


def tensors(folder):
    """The case and its tensors by name, on the host."""
    with open(os.path.join(folder, "case.json"), encoding="ascii") as file:
        case = json.load(file)
    got = {}
    for t in case["tensors"]:
        if t["dtype"] in DTYPES and not t["out"]:
            with open(os.path.join(folder, t["name"]), "rb") as file:
                held = bytearray(file.read())
            raw = torch.frombuffer(held, dtype=torch.uint8) if held else torch.empty(0, dtype=torch.uint8)
            got[t["name"]] = raw.view(DTYPES[t["dtype"]]).reshape(t["extent"])
    return case, got


def by_head(q, k, v, layout, shared):
    """All as [batch, heads, sequence, head size]."""
    if layout == "latent":
        k, v = (x[:, None].expand(-1, q.shape[2], -1, -1) for x in (k, v))
        return q.transpose(1, 2), k, v
    if layout == "bhsd":
        return q, k, v
    v = v.transpose(2, 3) if layout == "turned" else v.transpose(1, 2)
    return q.transpose(1, 2), *(x.repeat_interleave(shared, 1) for x in (k.transpose(1, 2), v))


def attention(q, k, v, visible, fp8=False):
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(2, 3)
    rows, keys = scores.shape[2:]
    row, key = torch.arange(rows, device=q.device)[:, None], torch.arange(keys, device=q.device)
    hidden = {"full": key < 0, "causal": key > row, "end": key > row + keys - rows}[visible].expand(rows, keys)
    scores = scores.masked_fill(hidden, float("-inf"))
    if not fp8:
        return torch.softmax(scores, -1).masked_fill(hidden.all(-1, keepdim=True), 0).to(v.dtype) @ v
    most = scores.max(-1, keepdim=True).values
    weights = torch.exp(scores - most).nan_to_num(0)
    rounded = (256 * weights).to(torch.float8_e4m3fn).to(weights.dtype) / 256
    return (rounded @ v / weights.sum(-1, keepdim=True).clamp_min(1e-30)).bfloat16()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("-o", default="tests/emu/attention_errors.json")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    lines = []
    with open("tests/emu/attention_errors.list", encoding="ascii") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    for _, kernel, dtype, layout, visible, _, _, shared in rows:
        for folder in sorted(glob.glob(os.path.join(glob.escape(options.folder), kernel + ".*.normal"))):
            case, got = tensors(folder)
            if "S=0" in case["sizes"]:
                continue
            got = by_head(*(got[name].to(options.device) if dtype != "fp8" else got[name].float().to(options.device)
                            for name in "QKV"), layout, int(shared))
            exact = attention(*(x.double() for x in got), visible)
            error = (attention(*got, visible, dtype == "fp8").double() - exact).abs()
            lines.append(f'"{kernel} {case["sizes"]}": {{"max": {error.max().item():.6g}, '
                         f'"mean": {error.mean().item():.6g}}}')
    with open(options.o, "w", encoding="ascii") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
