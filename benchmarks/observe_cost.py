"""What HOTFIX_MODE=observe adds to training.

    python benchmarks/observe_cost.py [--pairs N] [--steps N] [--release R]

A Llama of two small layers takes optimizer steps of one micro-batch in the Trainer, in fresh processes, observed and
without hotfix, in turn. Measured is the processor time of `Trainer.train` alone, and, of one process more, what a call
of an observed function costs. A small model is the worst case: its steps are short. At most 1.03 is the goal.
"""

from __future__ import annotations

import argparse
import json
import statistics

from tools.testbed.run import run_script

TRAIN = """
import sys
if sys.argv[1] == "observe":
    import hotfix.auto
import json, tempfile, time
import torch
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
        begun = time.process_time()
        trainer.train()
        return time.process_time() - begun
    trained(20)
    took = trained(steps)
calls = 0
if sys.argv[1] == "observe":
    import hotfix
    calls = sum(one.calls for one in hotfix.report().observed)
print(json.dumps({"seconds": took, "calls": calls}))
"""
CALL = """
import json, time
from hotfix import observing
from hotfix.trigger import Trigger
trigger = Trigger("x", when="w", wrong="x")
trigger.strikes()(lambda call: call.get("number") is None)
counter = observing.Counter("x", "m:f", trigger, ("self", "model", "inputs", "number"), True, "", lambda *_: None)
import sys
sys.modules["hotfix.observing"].seen_here = getattr(observing, counter.name)
def bare(self, model, inputs, number=3): return None
def observed(self, model, inputs, number=3):
    from hotfix.observing import seen_here as _hotfix_seen
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
    """Train in turn, and print medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--release", default="4.48.0")
    options = parser.parse_args()
    ratios, told = [], {"observe": dict[str, float](), "bare": dict[str, float]()}
    seconds: dict[str, list[float]] = {"observe": [], "bare": []}
    for number in range(options.pairs):
        for kind in ("observe", "bare") if number % 2 else ("bare", "observe"):
            told[kind] = _run(TRAIN, [kind, str(options.steps)], options.release, {"HOTFIX_MODE": "observe"})
            seconds[kind].append(told[kind]["seconds"])
        ratios.append(told["observe"]["seconds"] / told["bare"]["seconds"])
        print(f"pair {number + 1}: {seconds['bare'][-1]:.2f} s bare, {ratios[-1]:.3f} times that observed", flush=True)
    call = _run(CALL, [], options.release, {})["call"]
    bare, observed = (statistics.median(seconds[kind]) for kind in ("bare", "observe"))
    print(f"{options.steps} steps on {options.release}: {bare:.2f} s without hotfix, {observed:.2f} s observed")
    print(f"median of the ratios {statistics.median(ratios):.3f}; {told['observe']['calls']:.0f} calls were counted")
    print(f"a call of an observed function takes {call:.2f} microseconds more")


def _run(script: str, words: list[str], release: str, env: dict[str, str]) -> dict[str, float]:
    extras = ["accelerate==1.15.0"]
    done = run_script(
        "-c", [script, *words], transformers=release, flash_attn=None, extras=extras, env=env, timeout=1800
    ).require()
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


if __name__ == "__main__":
    main()
