"""``LossKwargs`` is gone from ``transformers.utils``, and ``KwargsForCausalLM`` from the models.

Symptom   ``ImportError: cannot import name 'LossKwargs' from 'transformers.utils'`` from remote code of
          Phi-4-multimodal, Phi-3.5, Kimi-VL and Baichuan-M, which annotate ``**kwargs`` with a class that inherits from
          it.
Cause     ``TransformersKwargs``, with more keys, replaced both.
Releases  4.54.0 and later
Upstream  not put back
Here      A TypedDict with the one key (``total=False``), and in Llama, Mistral, Phi-3, Qwen2 and Qwen3 the class with
          this key and those of the release's ``FlashAttentionKwargs``.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'LossKwargs' from 'transformers.utils'",
    kind="removed-api",
    group="removed-names",
)

LACKING = ">=4.54.0"
GENERIC = "transformers.utils.generic"
MODELS = ("llama", "mistral", "phi3", "qwen2", "qwen3")


@FIX.adds_made((f"{GENERIC}:LossKwargs", LACKING), exported_by=("transformers.utils",))
def loss_kwargs(generic: Any) -> Any:
    """The keyword arguments of a loss function."""
    import typing

    make: Any = typing.TypedDict  # not as a class: its annotations would be read among the names of the other module
    reference: Any = typing.ForwardRef  # torch is not imported for an annotation
    tensor = reference("torch.Tensor") if hasattr(generic, "torch") else reference("Tensor", module="torch")
    return make("LossKwargs", {"num_items_in_batch": Optional[tensor]}, total=False)


@FIX.adds_made(*((f"transformers.models.{model}.modeling_{model}:KwargsForCausalLM", LACKING) for model in MODELS))
def kwargs_for_causal_lm(modeling: Any) -> Any:
    """The additional keyword arguments of a language model's forward."""
    from importlib import import_module

    flash = import_module("transformers.modeling_flash_attention_utils").FlashAttentionKwargs
    generic = import_module(GENERIC)
    loss = getattr(generic, "LossKwargs", None) or loss_kwargs(generic)  # hotfix may be armed after this module

    class KwargsForCausalLM(flash, loss):  # type: ignore[misc, valid-type]
        pass

    return KwargsForCausalLM
