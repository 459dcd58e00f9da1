"""``AdamW`` is gone from transformers.

Symptom   ``ImportError: cannot import name 'AdamW' from 'transformers'``.
Cause     The class was removed in favour of torch's. That one is another optimizer by default: weight decay 0.01 (here
          0), epsilon 1e-8 (here 1e-6). It decays before the step, adds epsilon after the bias correction, and has no
          ``correct_bias``.
Releases  4.50.0 and later
Upstream  transformers#36954 (not put back)
Here      A class with the defaults, the order of operations and the state of 4.49.0. Results are bitwise equal, and
          each loads the other's saved state. There is no deprecation warning; ``no_deprecation_warning`` is ignored.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'AdamW' from 'transformers'",
    kind="removed-api",
    upstream=("transformers#36954",),
    group="removed-names",
)


@FIX.adds_made(
    ("transformers.optimization:AdamW", ">=4.50.0"),
    exported_by=("transformers",),
    only_needed=True,  # programs that do without it choose another optimizer, with other defaults
)
def adamw(optimization: Any) -> type:
    """The class; built here, so that nothing imports torch earlier."""
    import torch

    class AdamW(torch.optim.Optimizer):  # type: ignore[misc,name-defined,unused-ignore]
        """Adam with decoupled weight decay, as transformers had it up to 4.49.0.

        Args:
            params: the parameters, or groups of them.
            lr: the learning rate.
            betas: the decay rates of the first and second moment.
            eps: added to the root of the second moment.
            weight_decay: the part of a weight, times the learning rate, that a step removes.
            correct_bias: whether to correct the moments for starting at zero.
            no_deprecation_warning: ignored.
        """

        def __init__(
            self,
            params: Any,
            lr: float = 1e-3,
            betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-6,
            weight_decay: float = 0.0,
            correct_bias: bool = True,
            no_deprecation_warning: bool = False,
        ) -> None:
            if lr < 0:
                raise ValueError(f"lr is {lr}; it must not be negative")
            if not all(0 <= beta < 1 for beta in betas[:2]):
                raise ValueError(f"betas are {betas}; each must be at least 0 and less than 1")
            if not eps >= 0:
                raise ValueError(f"eps is {eps}; it must not be negative")
            defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, correct_bias=correct_bias)
            super().__init__(params, defaults)

        @torch.no_grad()  # type: ignore[untyped-decorator,unused-ignore]
        def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:  # type: ignore[override,unused-ignore]
            """Change the parameters once; returns the result of the closure."""
            loss = closure() if closure is not None else None
            for group in self.param_groups:
                for weight in group["params"]:
                    if weight.grad is not None:
                        self._change(weight, group)
            return loss

        def _change(self, weight: torch.Tensor, group: dict[str, Any]) -> None:
            first, second, steps = self._moments(weight, *group["betas"])
            weight.addcdiv_(first, second.sqrt().add_(group["eps"]), value=-_rate(group, steps))
            if group["weight_decay"] > 0:
                weight.add_(weight, alpha=-group["lr"] * group["weight_decay"])

        def _moments(self, weight: torch.Tensor, keep_first: float, keep_second: float) -> tuple[Any, Any, int]:
            """Both moments after this step, each of the weight's shape, and the number of steps."""
            gradient = weight.grad
            assert gradient is not None
            if gradient.is_sparse:
                raise RuntimeError("AdamW takes no sparse gradients; torch.optim.SparseAdam does")
            state = self.state[weight]
            if not state:
                state.update(step=0, **{name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")})
            state["step"] += 1
            first = state["exp_avg"].mul_(keep_first).add_(gradient, alpha=1.0 - keep_first)
            second = state["exp_avg_sq"].mul_(keep_second).addcmul_(gradient, gradient, value=1.0 - keep_second)
            return first, second, state["step"]

    return AdamW


def _rate(group: dict[str, Any], steps: int) -> Any:
    """The learning rate of a step; with ``correct_bias`` for moments that started at zero."""
    if not group["correct_bias"]:
        return group["lr"]
    seen_first, seen_second = (1.0 - beta**steps for beta in group["betas"])
    return group["lr"] * math.sqrt(seen_second) / seen_first
