#!/usr/bin/env python3
"""select.py GOLDENS_NN OUT: the cases of the reference set that are committed. Whole tensors, bytes unchanged."""
import json
import os
import struct
import sys

HIDDEN = "blocks.0."  # activations of the first block, and of what lies around the blocks


def near(name):
    part = name.split("/", 1)[1]
    return part.startswith(HIDDEN) or not part.startswith("blocks.")


KEEP = {
    "olmo2_h3": lambda n: n.startswith(("tokens", "loss", "logits", "grad/")) or (n.startswith(("act/", "dact/")) and near(n)),
    "olmo2_h6": lambda n: n in ("tokens", "loss", "logits") or n.startswith("grad/blocks.1.attn"),
    "llama_tied": lambda n: n.startswith(("tokens", "loss", "logits", "grad/")) or (n.startswith(("act/", "dact/")) and near(n)),
    "llama_untied": lambda n: n in ("tokens", "loss", "logits", "grad/head", "grad/embed", "grad/final_norm.gain"),
    "gptneox": lambda n: n in ("tokens", "loss", "logits") or (n.startswith(("act/", "dact/")) and near(n)),
    "gptneox_rot4": lambda n: n.startswith(("tokens", "loss", "logits", "grad/")),
    "olmo2_tiny_d6": lambda n: n in ("tokens", "loss", "logits", "v", "Hv") or n.startswith("grad/"),
    "olmo2_tiny_d12": lambda n: n in ("tokens", "loss", "logits", "v", "Hv") or n.startswith("grad/"),
    "olmo2_h3_quant": lambda n: n.startswith(("w4/", "loss/", "ste_grad")) or n in ("logits/w4/blocks", "logits/w4a4/blocks_head_lookup",
                                "abc/w4a4/h/0", "abc/w4a4/h/1", "abc/w4a4/hq/1", "abc/w4a4/h/6", "abc/w4a4/hq/6"),
}


def select(source, target, keep):
    raw = open(source, "rb").read()
    size, = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + size])
    head.pop("__metadata__", None)
    out, body = {}, b""
    for name, entry in sorted(head.items(), key=lambda e: e[1]["data_offsets"]):
        if keep(name):
            begin, end = entry["data_offsets"]
            out[name] = dict(entry, data_offsets=[len(body), len(body) + end - begin])
            body += raw[8 + size + begin:8 + size + end]
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    open(target, "wb").write(struct.pack("<Q", len(text)) + text + body)


def main(source, target):
    for name in KEEP:
        select(f"{source}/{name}.safetensors", f"{target}/{name}.safetensors", KEEP[name])
        train = f"{source}/{name}_train.safetensors"
        if os.path.exists(train):
            select(train, f"{target}/{name}_train.safetensors",
                   lambda n: n == "tokens" or n.split("/")[-1] in ("loss_curve", "lr", "grad_norm", "clip_coef", "after_summary"))
        if name != "olmo2_h3_quant":
            index = json.load(open(f"{source}/{name}.json"))
            for part in ("files", "error_propagation", "measured_deviation"):
                index.pop(part, None)
            json.dump(index, open(f"{target}/{name}.json", "w"), separators=(",", ":"))


main(sys.argv[1], sys.argv[2])
