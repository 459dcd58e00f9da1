"""The cost of the repaired functions on a GPU: ``python -m benchmarks.cuda_cost --device cuda --out cost.json``.

    rotary    the function that hotfix puts in place in 4.49.0, and the one that upstream put there in 4.50.0
    decoder   the forward of a decoder on a left-padded batch: with the stock check, which then costs a synchronization
              and passes, and with hotfix

Each variant is timed in fresh interpreters, in turns; the first is timed once more in each turn, and the ratio of those
two is the noise. Times are medians over calls, by CUDA events, after a warm-up, on inputs that take turns so that they
do not stay in the cache. Counted are the operations, the bytes that they read and write (against the fewest possible),
the launches and synchronizations that the profiler sees, and the peak of memory above what was there before the call.
``--device cpu`` goes through all of it with tiny sizes and shows only that the script works.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tools.studies.parity import plan

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed


class Place(Protocol):
    """Where runs run: `tools.studies.parity.runner.Place`."""

    def run(self, run: plan.Run) -> Any:
        """Run it, and return what came of it."""


ROTARY, PADDING = "flash-rotary-dtype", "fa2-right-padding-check"
SIZES: dict[str, dict[str, Any]] = {
    "real": {
        "turns": 3,
        "rotary": {"shape": [1, 5632, 16, 80], "sets": 8, "warmup": 30, "calls": 200},
        "decoder": {"batches": [1, 2, 4, 8, 16, 32], "length": 512, "sets": 2, "warmup": 5, "calls": 40},
    },
    "tiny": {
        "turns": 1,
        "rotary": {"shape": [1, 8, 2, 16], "sets": 2, "warmup": 1, "calls": 3},
        "decoder": {"batches": [1, 2], "length": 8, "sets": 2, "warmup": 1, "calls": 3},
    },
}
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")
SYNCHRONISATIONS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


def measure(place: Place, size: str) -> dict[str, Any]:
    """Time everything.

    Args:
        place: where runs run.
        size: a key of `SIZES`.
    """
    sizes = SIZES[size]
    given = {**sizes["rotary"], "dtype": "bfloat16"}
    rotary = plan.Run("tools.studies.parity.cost:rotary", given, flash_attn=plan.FLASH_ATTN)
    given = {**sizes["decoder"], "dtype": "bfloat16", "config": plan.SIZES[size]["decoder"]["config"]}
    decoder = plan.Run("tools.studies.parity.cost:decoder", given, "4.49.0", plan.FLASH_ATTN)
    return {
        "rotary": _compared(
            place,
            {"upstream": _with(rotary, "4.50.0"), "patched": _with(rotary, "4.49.0", ROTARY)},
            sizes["turns"],
        ),
        "decoder": _compared(place, {"stock": decoder, "patched": _with(decoder, "4.49.0", PADDING)}, sizes["turns"]),
    }


def rotary(testbed: Testbed, given: Any) -> dict[str, torch.Tensor]:
    """The rotary function of Qwen2.5-VL's vision encoder, on queries and keys of (1, patches, heads, head width)."""
    import torch

    function = import_module("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl").apply_rotary_pos_emb_flashatt
    dtype = getattr(torch, given.dtype)
    _, patches, _, width = given.shape
    sets = []
    for number in range(given.sets):
        q, k = (testbed.randn(*given.shape, dtype=dtype, seed=seed) for seed in (3 * number, 3 * number + 1))
        angles = testbed.randn(patches, width // 2, seed=3 * number + 2).repeat(1, 2)
        sets.append((q, k, angles.cos().to(dtype), angles.sin().to(dtype)))
    q, _, cos, _ = sets[0]
    # Queries and keys are read and written once; of cos and sin each angle is needed once, and they hold it twice.
    least = 4 * q.numel() * q.element_size() + cos.numel() * cos.element_size()
    return {"least bytes": torch.tensor(least), **_measured(testbed, given, lambda index: function(*sets[index]))}


def decoder(testbed: Testbed, given: Any) -> dict[str, torch.Tensor]:
    """The forward of a decoder, without gradients and with a cache, at each size of the batch."""
    import torch
    from transformers import Qwen2Config, Qwen2Model

    model = testbed.model(Qwen2Model, Qwen2Config(**given.config), dtype=getattr(torch, given.dtype))
    results: dict[str, torch.Tensor] = {}
    for batch in given.batches:
        ids = [testbed.randint(3, 64, batch, given.length, seed=seed) for seed in range(given.sets)]
        padding = (torch.arange(batch) * given.length // (2 * batch))[:, None]
        mask = (torch.arange(given.length) >= padding).long().to(testbed.device)

        def forward(index: int, ids: list[torch.Tensor] = ids, mask: torch.Tensor = mask) -> Any:
            return model(input_ids=ids[index], attention_mask=mask, use_cache=True)

        with torch.no_grad():
            measured = _measured(testbed, given, forward)
        results |= {f"{batch}: {name}": value for name, value in measured.items()}
    testbed.assert_flash()
    return results


# ---------------------------------------------------------------------------------------------------------------------


def _with(run: plan.Run, transformers: str, hotfix: str = "") -> plan.Run:
    return plan.Run(run.case, run.given, transformers, run.flash_attn, run.xformers, hotfix)


def _measured(testbed: Testbed, given: Any, call: Callable[[int], Any]) -> dict[str, torch.Tensor]:
    """Time and count one function, called with the index of a set of inputs."""
    import torch

    cuda = testbed.device == "cuda"
    for number in range(given.warmup):
        call(number % given.sets)
    totals = {"operations": 0, "bytes": 0}
    with _Traffic(totals):
        call(0)
    if cuda:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call(0)
        torch.cuda.synchronize()
        totals["peak bytes"] = torch.cuda.max_memory_allocated() - before
        profiled, idle = _profiled(lambda: call(0)), _profiled(lambda: None)
        for name, keys in (("launches", LAUNCHES), ("synchronisations", SYNCHRONISATIONS)):
            totals[name] = sum(profiled.get(key, 0) - idle.get(key, 0) for key in keys)
    times, host = (_events if cuda else _clock)(given, call)
    counted = {name: torch.tensor(value) for name, value in totals.items()}
    return {**counted, "milliseconds": torch.tensor(times), "host milliseconds": torch.tensor(host)}


def _profiled(call: Callable[[], Any]) -> dict[str, int]:
    """How often each function of the CUDA runtime was called, along with what the profile itself calls."""
    import torch

    with torch.profiler.profile() as profile:
        call()
        torch.cuda.synchronize()
    return {event.key: event.count for event in profile.key_averages()}


def _events(given: Any, call: Callable[[int], Any]) -> tuple[list[float], list[float]]:
    """Milliseconds on the device, and until the call returned, of each call."""
    import torch

    pairs, host = [], []
    for number in range(given.calls):
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        torch.cuda.synchronize()
        began = time.perf_counter()
        pair[0].record()
        call(number % given.sets)
        pair[1].record()
        host.append((time.perf_counter() - began) * 1000)
        pairs.append(pair)
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in pairs], host


def _clock(given: Any, call: Callable[[int], Any]) -> tuple[list[float], list[float]]:
    times = []
    for number in range(given.calls):
        began = time.perf_counter()
        call(number % given.sets)
        times.append((time.perf_counter() - began) * 1000)
    return times, times


def _Traffic(totals: dict[str, int]) -> Any:  # noqa: N802
    """Count the operations inside of the block, and the bytes of what they read and write; views cost nothing."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    rotary: Any = import_module("flash_attn.layers.rotary")

    def size(tensors: Any) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    def tensors(value: Any) -> list[torch.Tensor]:
        return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]

    class Traffic(TorchDispatchMode):  # type: ignore[misc]
        def __enter__(self) -> Any:
            self.kernel = rotary.apply_rotary
            rotary.apply_rotary = self.rotated  # Triton's launch is no operation of torch
            return super().__enter__()

        def __exit__(self, *error: Any) -> None:
            rotary.apply_rotary = self.kernel
            super().__exit__(*error)

        def rotated(self, x: Any, cos: Any, sin: Any, *args: Any, **kwargs: Any) -> Any:
            before = dict(totals)  # what the wrapper of the kernel does is not counted with it
            out = self.kernel(x, cos, sin, *args, **kwargs)
            totals.update(before)
            totals["operations"] += 1
            totals["bytes"] += size([x, cos, sin, out])
            return out

        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = operation(*args, **(kwargs or {}))
            given, made = tensors([args, kwargs]), tensors(result)
            held = {tensor.untyped_storage().data_ptr() for tensor in given}
            fresh = [tensor for tensor in made if tensor.untyped_storage().data_ptr() not in held]
            name = operation.__name__.partition(".")[0]
            if (fresh or name.endswith("_")) and not name.startswith("empty"):
                totals["operations"] += 1
                totals["bytes"] += size(given) + size(fresh or made[:1])
            return result

    return Traffic()


def _compared(place: Place, variants: dict[str, plan.Run], turns: int) -> dict[str, Any]:
    """Time two variants in turns, the first of them twice in each; results of one part have its name before a colon."""
    first, second = variants
    order = (first, second, f"{first} again")
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name in order}
    results: dict[str, Any] = {}
    for _ in range(turns):
        for name in order:
            done = place.run(variants[name.removesuffix(" again")])
            if done.error:
                raise RuntimeError(f"{name}: {done.error}")
            samples[name].append(done.tensors)
            results[name] = {"versions": done.results["versions"], "kernels": done.results["kernels"]}
    names = list(samples[first][0])
    parts = dict.fromkeys(name.rpartition(": ")[0] for name in names)
    result: dict[str, Any] = {"variants": results, "given": dict(variants[first].given), "turns": turns, "parts": {}}
    for part in parts:
        prefix = f"{part}: " if part else ""
        own = {name.removeprefix(prefix) for name in names if name.rpartition(": ")[0] == part}
        numbers: dict[str, Any] = {}
        for variant in order:
            numbers[variant] = {
                name: int(samples[variant][0][prefix + name]) for name in sorted(own) if "milli" not in name
            }
            for clock in ("milliseconds", "host milliseconds"):
                calls = [value for sample in samples[variant] for value in sample[prefix + clock].tolist()]
                deciles = statistics.quantiles(calls, n=10) if len(calls) > 1 else calls * 9
                numbers[variant][clock] = {
                    "median": statistics.median(calls),
                    "tenth": deciles[0],
                    "ninetieth": deciles[-1],
                    "calls": len(calls),
                }
        medians = {variant: numbers[variant]["milliseconds"]["median"] for variant in order}
        # The medians of each turn: how far the same code is from itself.
        pairs = [
            [float(sample[prefix + "milliseconds"].median()) for sample in turn]
            for turn in zip(samples[first], samples[f"{first} again"])
        ]
        numbers["ratio"] = medians[second] / statistics.mean([medians[first], medians[f"{first} again"]])
        numbers["noise"] = max(abs(first / other - 1) for first, other in pairs)
        result["parts"][part or "call"] = numbers
    return result
