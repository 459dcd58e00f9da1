"""Phi drops the bias of its head.

Symptom   Silent. Logits of Phi-1, Phi-1.5 and Phi-2 are off: the bias of the checkpoint is dropped as unexpected.
Cause     The head is made without a bias.
Releases  4.48.0
Upstream  transformers#35625, transformers#35650 (fixed in 4.48.1)
Here      The head gets a bias when a checkpoint that has one is loaded, by ``from_pretrained`` or ``load_state_dict``,
          and then equals 4.48.1. A Phi that is trained from the beginning in this release has none, and stays so: what
          it saves, and the state of its optimizer, fit with and without hotfix. Where a hook or a function of the
          program's may change what the head returns, the head has no bias in the forward, as in the release: the hook
          may add it. Off by default: a copied or replaced head is not seen, and a state without the bias, as this
          release saves it, does not fit a head that has got one.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.models import _projections
from hotfix.pattern import occurs

MODULE = "transformers.models.phi.modeling_phi"
INIT = f"{MODULE}:PhiForCausalLM.__init__"

_HEAD = "self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)"
_MODEL = "self.model = PhiModel(config)"

FIX = Fix(
    title="Phi-1, Phi-1.5, Phi-2: the bias of the head is dropped from the checkpoint",
    kind="silent",
    upstream=("transformers#35625", "transformers#35650"),
    fixed_in="4.48.1",
    optin="a program that loads weights without a bias, or adds the bias to a copy of the head, would get other logits",
    everyone="only for a head that the library has made, and a checkpoint that has its bias: the new code tests it",
    prefilter=_MODEL,
)

FIX.edits(
    (INIT, "==4.48.0"),
    old=_HEAD,
    new=f"""
        {_HEAD}
        import hotfix.models.phi_lm_head_bias as _phi
        _phi.watch(self)
        """,
    beside=_MODEL,
)

FIX.edits(
    (f"{MODULE}:PhiForCausalLM.forward", "==4.48.0"),
    old="logits = self.lm_head(__STATES)",
    new="""
        import hotfix.models.phi_lm_head_bias as _phi
        logits = _phi.logits(self.lm_head, __STATES)
        """,
    beside=(_HEAD, _MODEL),
    fingerprint_of=("PhiForCausalLM.forward", "PhiForCausalLM.__init__"),
)


@FIX.wraps(("transformers.modeling_utils:PreTrainedModel._load_pretrained_model", "==4.48.0"), fingerprint_of=(INIT,))
def with_a_bias(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give the head of a Phi a bias before its checkpoint is read, if the checkpoint has one."""

    def _load_pretrained_model(
        cls: Any, model: Any, state_dict: Any, loaded_keys: Iterable[str], *args: Any, **kwargs: Any
    ) -> Any:
        if getattr(model, "lm_head", None) in _heads and "lm_head.bias" in loaded_keys:
            add_bias(model.lm_head)
        return original(cls, model, state_dict, loaded_keys, *args, **kwargs)

    return _load_pretrained_model


_heads: weakref.WeakSet[Any] = weakref.WeakSet()  # heads that the library made without a bias


def watch(model: Any) -> None:
    """Give the head of a model a bias when `load_state_dict` has one for it."""
    _heads.add(model.lm_head)
    model._register_load_state_dict_pre_hook(_Hook(), with_module=True)


def add_bias(head: Any) -> None:
    """Give a linear layer without a bias one, of zeros."""
    import torch

    if head.bias is None:
        weight = head.weight
        bias = torch.zeros(head.out_features, dtype=weight.dtype, device=weight.device)
        head.bias = torch.nn.Parameter(bias, requires_grad=weight.requires_grad)


def logits(head: Any, states: Any) -> Any:
    """What a head returns: without the bias that it got here, if code of the program's own takes part."""
    if _projections.are_known(FIX.id, head) or head not in _heads or head.bias is None:
        return head(states)
    bias, head.bias = head.bias, None
    try:
        return head(states)
    finally:
        head.bias = bias


@FIX.recognises
def is_broken(*functions: ast.AST) -> bool:
    """Whether a constructor makes a head without a bias next to the library's Phi."""
    return all(any(occurs(piece, function) for function in functions) for piece in (_HEAD, _MODEL))


class _Hook:
    """A hook that runs before a state is loaded. Unpickled, it is a built-in function that has no effect."""

    def __call__(self, model: Any, state: Any, prefix: str, *others: Any) -> None:
        if getattr(model, "lm_head", None) in _heads and f"{prefix}lm_head.bias" in state:
            add_bias(model.lm_head)

    def __deepcopy__(self, memo: Any) -> _Hook:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, ("", "format")
