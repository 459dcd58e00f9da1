"""The time that hotfix adds to loading a sharded checkpoint of one gigabyte that another release has written.

    python benchmarks/loading_cost.py [--pairs N] [--release R]

A Llama of 267 million parameters in float32, written by 5.8.1 in shards of 256 MB, is loaded in bfloat16, in fresh
processes, with hotfix armed and without, in turn. Measured are `from_pretrained` alone (wall clock and processor time)
and the peak of resident memory of the whole process. Without hotfix the older release takes another rotary base; the
weights are read all the same. At most 1.02 is the goal. The results are in ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

from tools.testbed import overlay
from tools.testbed.run import environment, run_script

WRITER = "5.8.1"
WRITE = """
import sys, torch, transformers
config = transformers.LlamaConfig(
    vocab_size=32000, hidden_size=1024, intermediate_size=4096, num_hidden_layers=12, num_attention_heads=16,
    rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
)
torch.manual_seed(0)
transformers.LlamaForCausalLM(config).save_pretrained(sys.argv[1], max_shard_size="256MB")
"""
READ = """
import sys
if sys.argv[2] == "armed":
    import hotfix.auto
import json, resource, time
import transformers, transformers.models.llama.modeling_llama
wall, processor = time.perf_counter(), time.process_time()
# Another dtype than that of the file, so that all of it is read.
model = transformers.LlamaForCausalLM.from_pretrained(sys.argv[1], torch_dtype="bfloat16")
took = time.perf_counter() - wall, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall": took[0], "processor": took[1], "peak MB": peak, "base": model.config.rope_theta}))
"""


def main() -> None:
    """Load in turn, and print medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--release", default="4.57.6")
    options = parser.parse_args()
    own = environment([overlay.overlay(options.release)], {})
    with tempfile.TemporaryDirectory() as folder:
        run_script("-c", [WRITE, folder], transformers=WRITER, flash_attn=None, timeout=600).require()
        measured: dict[str, list[dict[str, float]]] = {"armed": [], "bare": []}
        for number in range(options.pairs + 1):
            for kind in ("armed", "bare") if number % 2 else ("bare", "armed"):
                done = subprocess.run(
                    [sys.executable, "-c", READ, folder, kind], env=own, capture_output=True, text=True, check=True
                )
                if number:  # the first pair brings files and bytecode into the cache
                    measured[kind].append(json.loads(done.stdout.splitlines()[-1]))
    bases = {kind: {entry["base"] for entry in several} for kind, several in measured.items()}
    print(
        f"{options.release}, {options.pairs} pairs; rotary base {bases['bare']} without hotfix, {bases['armed']} with"
    )
    for what in ("wall", "processor", "peak MB"):
        armed, bare = (statistics.median(entry[what] for entry in measured[kind]) for kind in ("armed", "bare"))
        print(f"{what}: {armed / bare:.3f}x  ({armed:.3f} against {bare:.3f})")


if __name__ == "__main__":
    main()
