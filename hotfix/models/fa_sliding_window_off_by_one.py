"""Under flash attention the sliding window is one token too wide.

Symptom   Silent: past the window each query sees one key more than ``config.sliding_window``, and than eager and SDPA
          attention show it; logits, losses and gradients differ from theirs in every layer.
Cause     flash-attn counts the keys to the left of the query, the query itself not among them; a configuration counts
          all the keys that a query sees. The number of the one is passed as that of the other.
Releases  4.36.0 to 4.55.4: the table below. Up to 4.42.4 in the attention of each model, then in one function for all.
Upstream  transformers#39408, transformers#40163 (fixed in 4.56.0)
Here      ``window_size`` is one less on both sides. Each query sees exactly ``sliding_window`` keys, itself among them.
          What Mistral and Gemma2 compute with one common function is bitwise equal to 4.56.0, gradients from 4.48.0 on
          (before, those of embeddings and norms are rounded otherwise); older releases round otherwise in many places.
          A model that was trained with one of these releases was trained with one key more.
          Idefics2 in 4.43.0 to 4.43.4 asks for a window of ``False``, which was one of 0 keys to either side in its
          perceiver. It is none now, as from 4.44.0 on.

Not here  Idefics2 (4.40.0 to 4.42.4) and Gemma2 (4.42.0 to 4.42.4) have the line in a function of their own and never
          come to it. Continuous batching has a window of its own, which upstream has fixed in 4.57.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._windows import decoder, keys_seen

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="fa-sliding-window-off-by-one",
    title="Flash attention sees one key more than sliding_window",
    kind="silent",
    upstream=("transformers#39408", "transformers#40163"),
    fixed_in="4.56.0",
    order=1,
    prefilter="window_size",
    exempt={
        "transformers.models.gemma2.modeling_gemma2:Gemma2FlashAttention2._flash_attention_forward": (
            "it asks for the window where cache_position is past it, and is never passed a cache_position"
        ),
        "transformers.models.gemma2.diff_gemma2:Gemma2FlashAttention2._flash_attention_forward": (
            "what modeling_gemma2 was generated from; nobody imports it"
        ),
        "transformers.models.idefics2.modeling_idefics2:Idefics2PerceiverFlashAttention2._flash_attention_forward": (
            "its only caller asks for no window"
        ),
    },
)

UTILS = "transformers.modeling_flash_attention_utils"


def _own(name: str, classname: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{classname}._flash_attention_forward", releases


# A model's own function has the line twice: for batches with padding and for those without.
OWN = (
    _own("jamba", "JambaFlashAttention2", ">=4.40.0,<=4.42.4"),
    _own("mistral", "MistralFlashAttention2", ">=4.36.0,<=4.42.4"),
    _own("mixtral", "MixtralFlashAttention2", ">=4.36.0,<=4.42.4"),
    _own("phi3", "Phi3FlashAttention2", ">=4.41.0,<=4.42.4"),
    _own("qwen2", "Qwen2FlashAttention2", ">=4.37.0,<=4.42.4"),
    _own("qwen2_moe", "Qwen2MoeFlashAttention2", ">=4.40.0,<=4.42.4"),
    _own("starcoder2", "Starcoder2FlashAttention2", ">=4.39.0,<=4.42.4"),
)
COMMON = (
    (f"{UTILS}:_flash_attention_forward", ">=4.43.0,<=4.55.0"),
    (f"{UTILS}:_process_flash_attention_kwargs", ">=4.55.1,<=4.55.4"),
)


@FIX.edits(*OWN, count=2)
@FIX.edits(*COMMON)
def keys_besides_the_query(node: ast.AST) -> Optional[ast.Tuple]:
    """Where the window of the configuration is passed for both sides, pass one less."""
    if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
        return None
    left, right = node.elts
    if ast.dump(left) != ast.dump(right) or ast.unparse(left).rpartition(".")[2] != "sliding_window":
        return None
    sides: list[ast.expr] = [ast.BinOp(side, ast.Sub(), ast.Constant(1)) for side in node.elts]
    return ast.Tuple(sides, ast.Load())


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The window of the configuration is passed for both sides."""
    return any(keys_besides_the_query(node) is not None for node in ast.walk(function))


@FIX.case(oracles={"*": "4.56.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A decoder sees a sample of twelve tokens, and a batch with padding; and which tokens one layer of it has seen."""
    import torch

    family = "mistral" if target.module == UTILS else target.module.rpartition(".modeling_")[2]
    model = decoder(testbed, family).train()
    ids = testbed.randint(3, 64, 2, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    alone = model(ids[:1], use_cache=False).logits
    padded = model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
    (alone.float().logsumexp(-1).mean() + padded.float().logsumexp(-1).mean()).backward()
    testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    seen = keys_seen(decoder(testbed, family, layers=1), ids[:1])
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters() if one.ndim > 1}
    return {"alone": alone, "padded": padded, "keys seen": seen, **gradients}
