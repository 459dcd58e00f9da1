"""Where a proof case runs: a device, seeded weights, and a count of the kernels that really ran.

A case is a function `case(testbed, target) -> {name: tensor}`. It builds the smallest model that shows
a bug, runs it, and returns what came out. It never names a device, a seed or an attention kernel:
those it gets from the `Testbed`, so that the same case runs in the tests (CPU, real flash-attn Python
code over a kernel written for the CPU), in `hotfix verify` on a user's node (CUDA), and on two
releases whose results are then compared.

    def case(testbed, target):
        from transformers import Qwen2Config, Qwen2ForCausalLM

        model = testbed.model(Qwen2ForCausalLM, Qwen2Config(vocab_size=64, hidden_size=32))
        logits = model(testbed.randint(0, 64, 2, 9, seed=1)).logits
        testbed.assert_flash()
        return {"logits": logits}

A proof imports torch and the types of its arguments, `Target` and `Testbed`, at its top; what the release has,
`transformers` included, it imports in the case. This module is importable without torch.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
from collections import Counter
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable

from ..fix import Target

if TYPE_CHECKING:
    from types import TracebackType

    import torch

__all__ = ["Target", "Testbed", "collect"]

# The counted callables: the object that each call looks it up in, and its name there. The first
# four are the compiled kernels themselves, below every function that model code may have
# imported by name; `None` means the kernel module, whose name depends on the release.
_KERNELS: tuple[tuple[str, str | None, str], ...] = (
    ("flash_attn_func", None, "fwd"),
    ("flash_attn_varlen_func", None, "varlen_fwd"),
    ("flash_attn_func backward", None, "bwd"),
    ("flash_attn_varlen_func backward", None, "varlen_bwd"),
    ("apply_rotary_emb", "flash_attn.layers.rotary", "apply_rotary"),
)
_ATTENTION = ("flash_attn_func", "flash_attn_varlen_func")


class Testbed:
    """Gives a case its device, its numbers and its evidence.

    Args:
        device: "cpu" or "cuda"; by default "cuda" where there is one.

    Attributes:
        device: the device that `model`, `fill`, `randn` and `randint` put their tensors on.
        flash_calls: how often each flash-attn kernel has run to its end since the testbed was made,
            by the name of its public entry point; a kernel that cannot be imported is left out.

    The counting replaces five attributes of flash-attn's modules; `close()`, or leaving the testbed as
    a context manager, puts the originals back.
    """

    device: str
    flash_calls: dict[str, int]

    def __init__(self, device: str | None = None) -> None:
        import torch

        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.flash_calls = {}
        self._flash_missing: str | None = None
        self._originals: list[tuple[Any, str, Any]] = []
        self._count_flash()

    def __enter__(self) -> Testbed:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop counting and put flash-attn's own functions back. May be called twice."""
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)

    # -- models ------------------------------------------------------------------------------

    def model(
        self,
        cls: Any,
        config: Any,
        attn: str = "flash_attention_2",
        dtype: torch.dtype | None = None,
        seed: int = 0,
    ) -> Any:
        """Build a `transformers` model as `from_pretrained(torch_dtype=dtype)` would, seeded.

        Args:
            cls: a `PreTrainedModel` class.
            config: its configuration; it is copied, so one configuration serves several models.
            attn: "flash_attention_2", "sdpa" or "eager".
            dtype: of the weights, `torch.bfloat16` by default. Buffers that a model computes in
                float32 (rotary frequencies) stay so, as in `from_pretrained`; call
                `.to(dtype)` on the result to cast them as well.
            seed: passed to `fill`.

        Returns:
            The model in evaluation mode, filled, on the testbed's device.

        Raises:
            RuntimeError: the release took another attention than the one asked for.
        """
        import torch
        from packaging.version import Version

        transformers = importlib.import_module("transformers")
        # The keyword was renamed in 4.56.0; the old one is accepted later, with a warning.
        keyword = "dtype" if Version(transformers.__version__) >= Version("4.56.0") else "torch_dtype"
        model = cls._from_config(
            copy.deepcopy(config),
            attn_implementation=attn,
            **{keyword: torch.bfloat16 if dtype is None else dtype},
        )
        chosen = model.config._attn_implementation
        if chosen != attn:
            raise RuntimeError(f"{cls.__name__} took attention {chosen!r} instead of {attn!r}")
        return self.fill(model, seed=seed).to(self.device).eval()

    def fill(self, module: Any, seed: int = 0, scale: float = 1.0) -> Any:
        """Overwrite every parameter with seeded numbers that do not depend on the release.

        Each parameter has a generator of its own, keyed by the end of its name, from the last
        number on ("3.self_attn.q_proj.weight", else the last two parts, "lm_head.weight"), by its
        shape, and by how many parameters before it had the same key. So two releases that differ in
        prefixes (`model.layers` or `model.language_model.layers`), in the order of submodules, or
        in a parameter that only one of them has, still get equal weights everywhere else. Releases
        that split or fuse a parameter do not.

        Matrices are drawn with standard deviation `scale / sqrt(fan_in)`, vectors called `weight`
        (norms) are `1 + 0.1 * scale * normal`, other vectors (biases) `0.1 * scale * normal`:
        a network filled so is well-conditioned. Numbers are made on the CPU in float32 and cast.

        Args:
            module: any `torch.nn.Module`; changed in place. Shared parameters are filled once.
            seed: another seed, other weights.
            scale: multiplies all that is random.

        Returns:
            `module`.
        """
        import torch

        seen: Counter[str] = Counter()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                shape = tuple(parameter.shape)
                key = f"{_tail(name)} {shape}"
                generator = _generator(f"{seed} {key} {seen[key]}")
                seen[key] += 1
                values = torch.randn(shape, generator=generator, dtype=torch.float32)
                if len(shape) > 1:
                    owner = module.get_submodule(name.rpartition(".")[0])
                    conv = isinstance(owner, torch.nn.modules.conv._ConvNd)
                    fan_in = parameter[0].numel() if conv else shape[-1]
                    values *= scale * max(fan_in, 1) ** -0.5
                else:
                    values = 0.1 * scale * values + (1.0 if name.endswith("weight") else 0.0)
                parameter.copy_(values)
        return module

    # -- inputs and results ------------------------------------------------------------------

    def randn(self, *shape: int, dtype: torch.dtype | None = None, seed: int = 0) -> torch.Tensor:
        """Return seeded normal numbers on the testbed's device, the same on every device.

        Args:
            *shape: of the tensor.
            dtype: float32 by default; numbers are made in float32 and cast.
            seed: another seed, other numbers.
        """
        import torch

        values = torch.randn(shape, generator=_generator(f"randn {seed}"), dtype=torch.float32)
        return values.to(device=self.device, dtype=dtype or torch.float32)

    def randint(self, low: int, high: int, *shape: int, seed: int = 0) -> torch.Tensor:
        """Return seeded int64 numbers from `low` up to, not including, `high`."""
        import torch

        values = torch.randint(low, high, shape, generator=_generator(f"randint {seed}"))
        return values.to(self.device)

    @staticmethod
    def gradients(module: Any, vectors: bool = True) -> dict[str, torch.Tensor]:
        """Return the gradient of each parameter that has one, as ``gradient of NAME``: copies, as they are now.

        Args:
            module: any `torch.nn.Module`, after a backward pass.
            vectors: whether parameters of one dimension are among them. Releases round the gradients of norms and
                biases, which are sums over all tokens, more differently than those of matrices.
        """
        return {
            f"gradient of {name}": parameter.grad.clone()
            for name, parameter in module.named_parameters()
            if parameter.grad is not None and (vectors or parameter.ndim > 1)
        }

    # -- evidence ----------------------------------------------------------------------------

    def assert_flash(self, *names: str) -> None:
        """Fail unless flash-attn really ran: newer releases fall back without a word.

        Args:
            *names: keys of `flash_calls` that must all have run; without any, one of the two
                attention functions must have.

        Raises:
            AssertionError: says what ran instead.
        """
        if self._flash_missing is not None:
            raise AssertionError(f"flash-attn cannot be imported: {self._flash_missing}")
        ran = [name for name in names or _ATTENTION if self.flash_calls.get(name)]
        if len(ran) < (len(names) or 1):
            wanted = " and ".join(names) or " or ".join(_ATTENTION)
            raise AssertionError(f"{wanted} did not run; kernel calls so far: {self.flash_calls}")

    def _count_flash(self) -> None:
        try:
            interface = importlib.import_module("flash_attn.flash_attn_interface")
        except ImportError as error:
            self._flash_missing = str(error)
            return
        # The name of the compiled module inside flash-attn: since 2.7.0, and before.
        kernels = getattr(interface, "flash_attn_gpu", None) or interface.flash_attn_cuda
        for counted, module_name, name in _KERNELS:
            try:
                owner = kernels if module_name is None else importlib.import_module(module_name)
            except ImportError:
                continue  # The rotary kernel needs triton and einops; attention does without.
            original = getattr(owner, name)
            self.flash_calls[counted] = 0
            self._originals.append((owner, name, original))
            setattr(owner, name, _counting(original, self.flash_calls, counted))


def collect(results: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return what a case returned as tensors of their own: detached, contiguous, on the CPU.

    Raises:
        TypeError: names the entry that is not a tensor.
    """
    import torch

    collected = {}
    for name, value in results.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"a case returns tensors, but {name!r} is {type(value).__name__}")
        collected[name] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
    return collected


def _counting(original: Callable[..., Any], calls: dict[str, int], name: str) -> Callable[..., Any]:
    @wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        calls[name] += 1
        return result

    return counted


def _generator(key: str) -> torch.Generator:
    import torch

    digest = hashlib.sha256(key.encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def _tail(name: str) -> str:
    parts = name.split(".")
    numbers = [index for index, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[numbers[-1] :] if numbers else parts[-2:])
