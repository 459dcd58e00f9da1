"""A module in the place of a decoder layer has no ``attention_type``.

Symptom   ``AttributeError: 'Catcher' object has no attribute 'attention_type'`` in the forward pass, from code that
          puts a module of its own in the place of a layer to collect its inputs: GPTQ, AWQ, SparseGPT, Wanda, FP-Quant.
Cause     The model asks each layer for the kind of its mask. To 4.52 it had one mask for all layers; since 5.4.0 it
          looks into ``config.layer_types``.
Releases  4.53.0 to 5.3.0
Upstream  FP-Quant#20; since 5.4.0
Here      A module without the attribute gets the kind of the layer inside of it; without such a layer, the kind that
          ``config.layer_types`` has for its place, as in 5.4.0. A program that handles the AttributeError gets it. A
          compiled model is left alone.
"""

from __future__ import annotations

import ast
import copy
import sys
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import compiling, scope
from hotfix.pattern import Rewrite, occurs

_OTHERS = "layers of this model are rarely replaced"

FIX = Fix(
    title="AttributeError: 'Catcher' object has no attribute 'attention_type'",
    kind="crash",
    upstream=("FP-Quant#20",),
    fixed_in="5.4.0",
    everyone="only a module in the place of a layer that has no such attribute, which would raise",
    errors=("AttributeError: '…' object has no attribute 'attention_type'",),
    prefilter="decoder_layer.attention_type",
    exempt={
        f"transformers.models.{folder}.modeling_{folder}:{name}.forward": _OTHERS
        for folder, name in (
            ("afmoe", "AfmoeModel"),
            ("cwm", "CwmModel"),
            ("dory", "DoryModel"),
            ("dots1", "Dots1Model"),
            ("gemma3n", "Gemma3nTextModel"),
            ("inkling2", "Inkling2TextModel"),
            ("inkling2_loop", "Inkling2LoopTextModel"),
            ("llama4", "Llama4TextModel"),
            ("modernbert_decoder", "ModernBertDecoderModel"),
            ("qwen2_5_omni", "Qwen2_5OmniTalkerModel"),
            ("qwen2_5_omni", "Qwen2_5OmniThinkerTextModel"),
            ("qwen3_omni_moe", "Qwen3OmniMoeCode2WavTransformerModel"),
            ("qwen3_omni_moe", "Qwen3OmniMoeTalkerCodePredictorModel"),
            ("vaultgemma", "VaultGemmaModel"),
        )
    },
)

_KIND = "decoder_layer.attention_type"

# The folder of each model, its class, and its first release.
MODELS = {
    "cohere2": ("Cohere2Model", "4.53.0"),
    "gemma2": ("Gemma2Model", "4.53.0"),
    "gemma3": ("Gemma3TextModel", "4.53.0"),
    "gpt_oss": ("GptOssModel", "4.55.0"),
    "ministral": ("MinistralModel", "4.57.1"),
    "qwen2": ("Qwen2Model", "4.53.0"),
    "qwen2_5_vl": ("Qwen2_5_VLTextModel", "4.53.0"),
    "qwen2_vl": ("Qwen2VLTextModel", "4.53.0"),
    "qwen3": ("Qwen3Model", "4.53.0"),
    "smollm3": ("SmolLM3Model", "4.53.0"),
}


@FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}.forward", f">={first},<=5.3.0")
        for folder, (name, first) in MODELS.items()
    )
)
def with_kinds(node: ast.AST) -> Optional[list[ast.stmt]]:
    """The loop over the layers, which asks `kind_of` for each."""
    if not isinstance(node, ast.For) or not occurs(_KIND, node):
        return None
    loop = Rewrite(_KIND, "kind_of(decoder_layer, self)").apply(copy.deepcopy(node))[0]
    return [ast.ImportFrom(__name__, [ast.alias("kind_of")], 0), loop]


@FIX.recognises
def asks_the_layer(function: ast.AST) -> bool:
    """Whether a loop over layers takes the kind of each from the layer."""
    return any(isinstance(node, ast.For) and occurs(_KIND, node) for node in ast.walk(function))


def kind_of(layer: Any, model: Any) -> Any:
    """The kind of attention of a layer, or of what is in its place.

    Args:
        layer: the module.
        model: the model that has it among its `layers`.

    Raises:
        AttributeError: as the release does, if the kind is not certain or the program handles the error.
    """
    if compiling.is_compiling():  # handlers of the program cannot be traced
        return layer.attention_type
    try:
        return layer.attention_type
    except AttributeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        kind = _inside(layer) or _at_its_place(layer, model)
        if kind is None or scope.is_handled(FIX.id, AttributeError, sys._getframe(1)):
            raise
        return kind


def _inside(layer: Any) -> Any:
    """The kind of the layer that a module wraps; None if there is none, or several."""
    kinds = {module.attention_type for module in layer.modules() if hasattr(module, "attention_type")}
    return kinds.pop() if len(kinds) == 1 else None


def _at_its_place(layer: Any, model: Any) -> Any:
    """The kind that the configuration has for the place of a module; None if it is in places of several kinds."""
    kinds = getattr(model.config, "layer_types", None) or ()
    at = {kind for kind, other in zip(kinds, model.layers) if other is layer}
    return at.pop() if len(at) == 1 else None
