"""Gemma2 under FlashAttention-2 has no sliding window, or cannot see past it where there is padding.

Symptom   4.43.0 to 4.44.0: silent; the layers with a sliding window attend to the whole context. 4.44.0: a batch with
          padding that is longer than the window raises ``ValueError: too many values to unpack (expected 4)``. 4.44.1
          to 4.46.3: with a cache only, in `generate` and, from 4.45.0 on, in evaluation. That is what becomes of it
          under flash-attn 2.7; under an earlier one the outputs are silently those of other queries and keys.
Cause     The window is not passed to the attention. Later the decoder layer cuts the padding mask to the window, which
          a step of decoding needs, for whole prompts and in training, too; the keys are then cut to the first ones.
Releases  4.43.0 to 4.46.3
Upstream  transformers#32522 (window, fixed in 4.44.1), transformers#35681 (mask, fixed in 4.48.2)
Here      The window is passed, and the mask keeps at least a column for each query. Bitwise equal to 4.48.2. There, as
          here, the window is one key too wide, which ``fa-sliding-window-off-by-one`` repairs.

Not here  `generate` in 4.43.0 to 4.44.0 prepares a mask that FlashAttention-2 cannot take. In 4.42 and 4.47 Gemma2
          cannot run under it at all, or runs without soft cap. In 4.48.0 and 4.48.1 the cache is not told of the
          window, under every attention.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.models._windows import decoder, keys_seen
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="gemma2-fa2-no-window",
    title="Gemma2 under FlashAttention-2 has no sliding window, or fails past it where there is padding",
    kind="silent",
    upstream=("transformers#32522", "transformers#35681"),
    fixed_in="4.44.1, 4.48.2",
    prefilter="self.sliding_window",
)

ATTENTION = "transformers.models.gemma2.modeling_gemma2:Gemma2FlashAttention2.forward"
LAYER = "transformers.models.gemma2.modeling_gemma2:Gemma2DecoderLayer.forward"


@FIX.edits((ATTENTION, ">=4.43.0,<=4.44.0"))
def with_the_window(node: ast.AST) -> Optional[ast.Call]:
    """Pass the window on to the attention."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "_flash_attention_forward":
        return None
    if any(keyword.arg == "sliding_window" for keyword in node.keywords):
        return None
    [window] = code.statements("self.sliding_window", at=node)
    assert isinstance(window, ast.Expr)
    return ast.Call(node.func, node.args, [*node.keywords, ast.keyword("sliding_window", window.value)])


# A decoder layer is judged together with the attention under it, which has to be the one that cuts the keys.
@FIX.edits((LAYER, ">=4.44.0,<=4.46.3"), fingerprint_of=(LAYER, ATTENTION))
def mask_of_all_queries(node: ast.AST) -> Optional[ast.If]:
    """Where the mask is cut to the window under flash attention, leave at least a column for each query."""
    if (
        not isinstance(node, ast.If)
        or ast.unparse(node.test) != "self.config._attn_implementation == 'flash_attention_2'"
    ):
        return None
    [cut, *more] = node.body
    if isinstance(cut, ast.If) and ast.unparse(cut.test) == "past_key_value is not None" and not cut.orelse:
        [cut, *more] = [*cut.body, *more]
    if more or ast.unparse(cut) != "attention_mask = attention_mask[:, -self.sliding_window:]":
        return None
    wide = "attention_mask = attention_mask[:, -max(hidden_states.shape[1], self.sliding_window):]"
    return ast.If(node.test, code.statements(wide, at=cut), node.orelse)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """A decoder layer cuts the mask; or an attention that knows of a window does not pass it on."""
    nodes = list(ast.walk(functions[0]))
    if len(functions) > 1:
        return any(mask_of_all_queries(node) is not None for node in nodes)
    knows = any(isinstance(node, ast.Attribute) and node.attr == "sliding_window" for node in nodes)
    return knows and any(with_the_window(node) is not None for node in nodes)


@FIX.case(oracles={"*": "4.48.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Training on twelve tokens, and which of them the first layer has seen; then a batch with padding, and a cache."""
    import torch

    model = decoder(testbed, "gemma2").train()
    ids = testbed.randint(3, 64, 3, 12, seed=1)
    alone = model(ids, use_cache=False).logits
    alone.float().logsumexp(-1).mean().backward()
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters() if one.ndim > 1}
    told = {"alone": alone, "keys seen": keys_seen(decoder(testbed, "gemma2", layers=1), ids[:1]), **gradients}
    if f"{target.module}:{target.qualname}" == LAYER:
        mask = torch.ones_like(ids)
        mask[1, :5] = mask[2, :9] = 0
        with torch.no_grad():
            told["padded"] = model.eval()(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
            told["with a cache"] = continued(model, ids, mask, 9)[mask.bool()]
    testbed.assert_flash("flash_attn_func")
    return told


def continued(model: Any, ids: torch.Tensor, mask: torch.Tensor, prompt: int) -> torch.Tensor:
    """Logits of tokens of which the first `prompt` are computed at once and the others one by one, with a cache."""
    import torch
    from transformers import HybridCache

    cache = HybridCache(model.config, len(ids), ids.shape[1], ids.device, model.dtype)
    steps, end = [], 0
    for length in (prompt, *(1 for _ in range(prompt, ids.shape[1]))):
        start, end = end, end + length
        output = model(
            ids[:, start:end],
            attention_mask=mask[:, :end],
            past_key_values=cache,
            cache_position=torch.arange(start, end, device=ids.device),
            use_cache=True,
        )
        steps.append(output.logits)
    return torch.cat(steps, dim=1)
