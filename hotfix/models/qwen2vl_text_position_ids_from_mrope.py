"""Qwen's multimodal decoders take the temporal positions of the rotary embedding for the positions in the text.

Symptom   Silent. In a forward without an attention mask and without a cache, as in training, the tokens of an image
          attend to nothing but themselves, and the text behind it does not see what stands before: under eager and
          sdpa attention, whether the three rows of positions are passed or the model makes them itself. Under
          FlashAttention-2 the same happens with one sample whose first token is that of an image, cache or not.
Cause     Positions that do not go up by one mean packed sequences, which must not see each other. The decoder looks for
          them in a row of text positions that may come before the three rows of the rotary embedding. Where there is
          no such row it takes the first of the three, the temporal one, in which all tokens of an image are equal.
Releases  Qwen2-VL, Qwen2.5-VL and Qwen2.5-Omni: 4.54.0 to 4.56.2. Qwen3-VL and Qwen3-Omni: 4.57.1 to 5.2.0.
          Qwen3.5: 5.2.0.
Upstream  transformers#40490 (fixed in 4.57.0), and for Qwen3-VL, Qwen3-Omni and Qwen3.5 in 5.3.0
Here      Without a row of text positions, there are none. Bitwise equal to 4.57.1 and 5.3.0. Positions in one plane,
          (batch, tokens), are text positions in the releases that are repaired, and stay so, as in Qwen3-VL 5.3.0;
          4.57.1 forgets them, and no longer keeps packed texts apart that come with such positions.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="qwen2vl-text-position-ids-from-mrope",
    title="Image tokens of Qwen's multimodal models are masked as if they were sequences of their own",
    kind="silent",
    upstream=("transformers#40154", "transformers#40490"),
    fixed_in="4.57.0, 5.3.0",
    prefilter="text_position_ids = position_ids[0]",
)


def _model(name: str, owner: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{owner}.forward", releases


QWEN2, QWEN3 = ">=4.54.0,<=4.56.2", ">=4.57.1,<=5.2.0"
TABLE = (
    _model("qwen2_vl", "Qwen2VLTextModel", QWEN2),
    _model("qwen2_5_vl", "Qwen2_5_VLTextModel", QWEN2),
    _model("qwen2_5_omni", "Qwen2_5OmniThinkerTextModel", QWEN2),
    _model("qwen2_5_omni", "Qwen2_5OmniTalkerModel", QWEN2),
    _model("qwen3_vl", "Qwen3VLTextModel", QWEN3),
    _model("qwen3_vl_moe", "Qwen3VLMoeTextModel", QWEN3),
    _model("qwen3_omni_moe", "Qwen3OmniMoeThinkerTextModel", QWEN3),
    _model("qwen3_omni_moe", "Qwen3OmniMoeTalkerModel", QWEN3),
    _model("qwen3_5", "Qwen3_5TextModel", "==5.2.0"),
    _model("qwen3_5_moe", "Qwen3_5MoeTextModel", "==5.2.0"),
)

_ARE_FOUR_ROWS = "position_ids.ndim == 3 and position_ids.shape[0] == 4"
_FIRST_ROW = "text_position_ids = position_ids[0]"
_THREE_ROWS_OF_ONE = "position_ids = position_ids[None, ...].expand(3, position_ids.shape[0], -1)"


@FIX.edits(*TABLE, count=2)
def only_text_positions_are(node: ast.AST) -> Any:
    """Two changes: of three rows none is the text's, and of one plane four rows are made, the first for the text."""
    if _takes_any_first_row(node):
        assert isinstance(node, ast.If)
        none = code.statements("text_position_ids = None", at=node.orelse[0])
        return ast.If(test=node.test, body=node.body, orelse=none)
    if isinstance(node, ast.Assign) and ast.unparse(node) == _THREE_ROWS_OF_ONE:
        return code.statements(_THREE_ROWS_OF_ONE.replace("expand(3", "expand(4"), at=node)
    return None


def _takes_any_first_row(node: ast.AST) -> bool:
    if not isinstance(node, ast.If) or ast.unparse(node.test) != _ARE_FOUR_ROWS:
        return False
    return [ast.unparse(one) for one in node.orelse] == [_FIRST_ROW]


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The first row is taken of three, too."""
    return any(_takes_any_first_row(node) for node in ast.walk(function))


# ---------------------------------------------------------------------------------------------------------------------
# Below: the proof.


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A decoder sees 3 words, an image of 2 x 3 tokens and 3 words; under flash attention the image comes first.

    Qwen3.5 hands the positions of the rotary embedding on to flash attention until 5.3.0, which is another bug.
    """
    import torch

    runs = [("sdpa", torch.float32, 3), ("flash_attention_2", torch.bfloat16, 0)]
    told = {}
    for attn, dtype, before in runs[:1] if "qwen3_5" in target.module else runs:
        positions = with_image(before).to(testbed.device)
        model = decoder(testbed, target, attn, dtype).train()
        embeddings = testbed.randn(1, positions.shape[-1], 64, dtype=dtype, seed=1)
        output = model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state
        output.float().square().mean().backward()
        trained = {name: one for name, one in model.named_parameters() if not _is_of_an_expert(name)}
        gradients = {name: one.grad for name, one in trained.items() if one.grad is not None}
        told[f"{attn}: output"] = output
        told.update({f"{attn}: gradient of {name}": gradient for name, gradient in gradients.items()})
        if attn == "flash_attention_2":
            testbed.assert_flash()
    return told


def with_image(before: int = 3) -> torch.Tensor:
    """Positions of words, an image of 2 x 3 tokens and 3 words: time, height and width, (3, 1, tokens).

    Args:
        before: how many words there are before the image.
    """
    import torch

    image = torch.meshgrid(torch.arange(1), torch.arange(2), torch.arange(3), indexing="ij")
    words = torch.arange(before + 6).expand(3, -1)
    return torch.cat([words[:, :before], torch.stack(image).flatten(1) + before, words[:, -3:]], dim=1)[:, None]


def decoder(testbed: Testbed, target: Target, attn: str, dtype: Optional[torch.dtype] = None) -> Any:
    """A small one of the class to which the target belongs."""
    cls = getattr(import_module(target.module), target.qualname.partition(".")[0])
    rope = {"rope_type": "default", "type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    hybrid = {"layer_types": ["linear_attention", "full_attention"]} if "qwen3_5" in target.module else {}
    config_class = getattr(cls.config_class, "sub_configs", {}).get("text_config", cls.config_class)
    config = config_class(
        vocab_size=64,
        hidden_size=64,
        embedding_size=64,
        head_dim=16,
        intermediate_size=96,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        num_experts=4,
        num_experts_per_tok=2,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        rope_theta=10000.0,
        rope_scaling={**rope, "partial_rotary_factor": 1.0},
        pad_token_id=0,
        **hybrid,
    )
    model = testbed.model(cls, config, attn=attn, dtype=dtype)
    for name, one in model.named_parameters():
        if _is_of_an_expert(name):
            one.data.zero_()
    return model


def _is_of_an_expert(name: str) -> bool:
    """5.0 lays the weights of experts out anew: they are zero here, and not compared."""
    return ".experts." in name
