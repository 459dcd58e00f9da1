"""Rotary embeddings are no longer called with a length.

Symptom   ``TypeError: LlamaRotaryEmbedding.forward() got an unexpected keyword argument 'seq_len'``, or
          ``AttributeError: 'int' object has no attribute 'shape'``, from patched attention layers of 4.37 and earlier
          (VILA, AutoGPTQ, axolotl, ColossalAI, TOVA): ``cos, sin = self.rotary_emb(value_states, seq_len=kv_seq_len)``.
Cause     They take the positions. The rows of these positions had been looked up by ``apply_rotary_pos_emb``, which
          has ignored its ``position_ids`` since then.
Releases  4.38.0 and later for Llama; 4.42.0 and later for Mistral; 4.45.0 and later for others; 4.48.0 for Mixtral
Upstream  axolotl#1423, AutoGPTQ#606, ColossalAI#5555, VILA#126 (not put back)
Here      After the error, cosine and sine of the positions below the length, of shape ``(length, head size)``, as
          before. ``apply_rotary_pos_emb`` looks rows up in these and, as soon as a program has got them, in every
          table of two dimensions: it may have copied or cut them. A length passed together with positions has no
          effect, as it had none before.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.rotary_by_dimension import makes_its_table
from hotfix.pattern import occurs

_OTHERS = """
    apertus arcee aria bamba bitnet blt chameleon cohere cohere2 csm dbrx deepseek_v3 dia diffllama doge dots1
    efficientloftr emu3 ernie4_5 ernie4_5_moe evolla exaone4 falcon_h1 flex_olmo gemma gemma2 gemma3 glm glm4
    glm4_moe gpt_neox_japanese gpt_oss granite granitemoe granitemoehybrid granitemoeshared helium hunyuan_v1_dense
    hunyuan_v1_moe jetmoe kyutai_speech_to_text lfm2 lightglue mimi minimax ministral mllama modernbert
    modernbert_decoder moonshine moshi nemotron olmo olmo2 olmo3 olmoe openai_privacy_filter phi3 phi4_multimodal
    pixtral qwen2_5_omni qwen3 qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe recurrent_gemma seed_oss
    smollm3 t5gemma vaultgemma zamba2
"""
_CHANGED = """
    efficientloftr:EfficientLoFTR gemma3:Gemma3 modernbert:ModernBert modernbert_decoder:ModernBertDecoder olmo3:Olmo3
"""
_CODE2WAV = "transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe"
_NEVER = "its embeddings have never taken a length without positions"

FIX = Fix(
    title="TypeError: LlamaRotaryEmbedding.forward() got an unexpected keyword argument 'seq_len'",
    kind="removed-api",
    upstream=("axolotl#1423", "AutoGPTQ#606", "ColossalAI#5555", "VILA#126"),
    group="removed-names",
    exempt={
        "transformers.models.*:*RotaryEmbedding.forward": _NEVER,
        "transformers.models.*:apply_rotary_pos_emb": _NEVER,
        f"{_CODE2WAV}:Qwen3OmniMoeCode2WavRotatoryEmbedding.forward": _NEVER,
        **{
            f"transformers.models.{folder}.modeling_{folder}:apply_rotary_pos_emb": _NEVER for folder in _OTHERS.split()
        },
        **{
            f"transformers.models.{folder}.modeling_{folder}:{name}RotaryEmbedding.forward": _NEVER
            for folder, _, name in (_class.partition(":") for _class in _CHANGED.split())
        },
    },
    errors=(
        "TypeError: …RotaryEmbedding.forward() got an unexpected keyword argument 'seq_len'",
        "TypeError: …dynamic_rope_update.<locals>.wrapper() got an unexpected keyword argument 'seq_len'",
    ),
)

CLASSES = {
    "falcon:Falcon": "4.45.0",
    "gpt_neox:GPTNeoX": "4.45.0",
    "llama:Llama": "4.38.0",
    "mistral:Mistral": "4.42.0",
    "mixtral:Mixtral": "4.48.0",
    "persimmon:Persimmon": "4.45.0",
    "phi:Phi": "4.45.0",
    "qwen2:Qwen2": "4.45.0",
    "qwen2_moe:Qwen2Moe": "4.45.0",
    "stablelm:StableLm": "4.45.0",
    "starcoder2:Starcoder2": "4.45.0",
}
"""Folder and name of each class, and the first release in which it takes positions."""
_MODULES = {
    f"transformers.models.{folder}.modeling_{folder}": (f"{name}RotaryEmbedding", first)
    for (folder, _, name), first in ((_class.partition(":"), first) for _class, first in CLASSES.items())
}
_LLAMA = "transformers.models.llama.modeling_llama"
_SCALED = ("LinearScaling", "DynamicNTKScaling")
MARK = "_hotfix_of_all_positions"
_given: list[bool] = []  # not empty as soon as the program has got rows


def are_rows(cosines: Any, queries: Any, positions: Any, axis: int = 1) -> bool:
    """Whether rows of positions are to be looked up: in a tensor from `by_length`, and in one that may be a copy."""
    if getattr(cosines, MARK, False):
        return True
    is_plain = bool(_given) and axis == 1 and (cosines.dim(), queries.dim()) == (2, 4)
    return is_plain and getattr(positions, "ndim", 0) == 2


@FIX.wraps(
    *((f"{module}:{name}.forward", f">={first}") for module, (name, first) in _MODULES.items()),
    *((f"{_LLAMA}:Llama{kind}RotaryEmbedding.forward", ">=4.38.0,<4.43.0") for kind in _SCALED),
    on_error=(
        "TypeError: …() got an unexpected keyword argument 'seq_len'",
        "TypeError: …forward() missing 1 required positional argument: 'position_ids'",
        "AttributeError: 'int' object has no attribute 'shape'",
        "TypeError: 'int' object is not subscriptable",
    ),
)
def by_length(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take a length for the positions below it."""

    def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        names = ("x", "position_ids", "seq_len")
        given = {**dict(zip(names, args)), **kwargs}
        is_known = len(given) == len(args) + len(kwargs) and "x" in given and given.keys() <= set(names)
        if not is_known or makes_its_table(self):
            return original(self, *args, **kwargs)
        x, positions, length = given["x"], given.get("position_ids"), given.get("seq_len")
        if isinstance(positions, int) and length is None:
            positions, length = None, positions
        if positions is not None or length is None:
            return original(self, x, positions)
        import torch

        cos, sin = original(self, x, torch.arange(int(length), device=x.device)[None])
        cos, sin = cos[0], sin[0]
        setattr(cos, MARK, True)
        if not _given:
            _given.append(True)
        return cos, sin

    return forward


FIX.edits(
    *((f"{module}:apply_rotary_pos_emb", f">={first},<5.0.0") for module, (_, first) in _MODULES.items()),
    old="cos = cos.unsqueeze(unsqueeze_dim)",
    new="""
        cos, sin = cos[position_ids], sin[position_ids]
        cos = cos.unsqueeze(unsqueeze_dim)
        """,
    unless="cos[position_ids]",
    when="""
        import hotfix.names.rotary_by_length as _hotfix_rows
        position_ids is not None and _hotfix_rows.are_rows(cos, q, position_ids, unsqueeze_dim)
        """,
)


@FIX.recognises
def takes_positions(function: Any) -> bool:
    """A forward of positions, or a function that does not use them."""
    names = [argument.arg for argument in function.args.args]
    if function.name == "apply_rotary_pos_emb":
        return names[4:5] == ["position_ids"] and not occurs("cos[position_ids]", function)
    by_positions = names in (["self", "x", "position_ids"], ["self", "x", "position_ids", "seq_len"])
    is_scaled = any(
        occurs(f"super().forward({given})", function) for given in ("x, position_ids", "x, position_ids, seq_len")
    )
    return function.name == "forward" and by_positions and (is_scaled or occurs("self.inv_freq", function))
