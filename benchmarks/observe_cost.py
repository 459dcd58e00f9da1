"""The time that HOTFIX_MODE=observe adds to training.

    python benchmarks/observe_cost.py [--pairs N] [--steps N] [--release R] [--instructions]

A Llama of two small layers takes optimizer steps of one micro-batch in the Trainer, in one process: some observed,
and as many after `hotfix.revert`, in turn. Measured is the processor time of `Trainer.train` alone, and what a call of
an observed function costs. A small model is the worst case: its steps are short. At most 1.03 is the goal.

Processor time varies by more than the difference to be measured. The number of instructions that the processor has
executed does not, and four pairs of 200 steps are enough (``--instructions``: on Linux, where a process may count its
own).
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

from tools.testbed.run import run_script

CLOCK = "from time import process_time as now\n"
COUNTER = """
import ctypes, os, struct
attributes = bytearray(112)
struct.pack_into("<IIQ", attributes, 0, 0, 112, 1)  # of the hardware: instructions
struct.pack_into("<Q", attributes, 40, 1 << 5 | 1 << 6)  # without the kernel's
number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]  # of perf_event_open
libc = ctypes.CDLL(None, use_errno=True)
opened = libc.syscall(number, (ctypes.c_char * 112).from_buffer(attributes), 0, -1, -1, 0)
assert opened >= 0, os.strerror(ctypes.get_errno())
def now(): return struct.unpack("q", os.read(opened, 8))[0] / 1e9
"""
TRAIN = """
import json, sys, tempfile
import hotfix, torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
torch.set_num_threads(1)
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0
)
tokens = torch.randint(3, 64, (64, 32))
samples = [{"input_ids": one, "labels": one} for one in tokens]
steps = int(sys.argv[2])
with tempfile.TemporaryDirectory() as folder:
    def trained(number):
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=4, max_steps=number, report_to=[], save_strategy="no", use_cpu=True,
            disable_tqdm=True, logging_strategy="no", dataloader_pin_memory=False,
        )
        trainer = Trainer(LlamaForCausalLM(config), arguments, train_dataset=samples)
        begun = now()
        trainer.train()
        return now() - begun
    trained(20)
    times = {"observed": [], "bare": []}
    calls = 0
    for number in range(int(sys.argv[1])):
        for kind in ("observed", "bare") if number % 2 else ("bare", "observed"):
            handle = hotfix.apply() if kind == "observed" else None
            trained(3)
            times[kind].append(trained(steps))
            if handle:
                calls = sum(one.calls for one in hotfix.report().observed)
                handle.revert()
print(json.dumps({**times, "calls": calls / (steps + 3)}))
"""
CALL = """
import json, time
from hotfix.observing import counter as observing
from hotfix.trigger import Trigger
trigger = Trigger("x", when="w", wrong="x")
trigger.strikes()(lambda call: call.get("number") is None)
counter = observing.Counter("x", "m:f", trigger, ("self", "model", "inputs", "number"), True, "", lambda *_: None)
import sys
sys.modules["hotfix.observing.counter"].seen_here = getattr(observing, counter.name)
def bare(self, model, inputs, number=3): return None
def observed(self, model, inputs, number=3):
    from hotfix.observing.counter import seen_here as _hotfix_seen
    _hotfix_seen(self, model, inputs, number)
    del _hotfix_seen
    return None
def each(function, number=300_000):
    begun = time.process_time()
    for _ in range(number): function(1, 2, 3)
    return (time.process_time() - begun) / number
each(observed)
print(json.dumps({"call": 1e6 * (each(observed) - each(bare))}))
"""


def main() -> None:
    """Train in turn, and print the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="20 tell no 3 %% apart: a part alone varies by 5 %%")
    parser.add_argument("--steps", type=int, default=25, help="of each part; the default makes 5,000 of either kind")
    parser.add_argument("--release", default="4.48.0")
    parser.add_argument("--instructions", action="store_true", help="in place of processor time")
    options = parser.parse_args()
    words = [str(options.pairs), str(options.steps)]
    times = _run(
        (COUNTER if options.instructions else CLOCK) + TRAIN, words, options.release, {"HOTFIX_MODE": "observe"}
    )
    ratios = [observed / other for observed, other in zip(times["observed"], times["bare"])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    steps, each = options.pairs * options.steps, 1000 * statistics.median(times["bare"]) / options.steps
    unit = "million instructions" if options.instructions else "ms"
    print(f"{steps} steps observed and as many without, on {options.release}; {each:.2f} {unit} a step without")
    print(
        f"{middle:.3f} times that observed (median of {options.pairs} pairs; the middle half {low:.3f} to {high:.3f})"
    )
    print(f"{times['calls']:.1f} calls a step are counted")
    call = _run(CALL, [], options.release, {})["call"]
    print(f"a call of an observed function takes {call:.2f} microseconds more")


def _run(script: str, words: list[str], release: str, env: dict[str, str]) -> dict[str, Any]:
    extras = ["accelerate==1.15.0"]
    done = run_script(
        "-c", [script, *words], transformers=release, flash_attn=None, extras=extras, env=env, timeout=1800
    ).require()
    times: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return times


if __name__ == "__main__":
    main()
