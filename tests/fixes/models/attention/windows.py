"""Cases for the fixes of sliding windows under flash attention."""

from __future__ import annotations

from types import CodeType, FunctionType

from hotfix.proofs.zoo import WINDOW, windowed


def common(testbed, target):
    """The function that all models share, and attention in float32 over the window, under ``expected …``."""
    from types import SimpleNamespace

    import torch
    from transformers.modeling_flash_attention_utils import _flash_attention_forward

    tokens, lengths = 12, (12, 7)
    q, k, v = (
        testbed.randn(2, tokens, heads, 16, dtype=torch.bfloat16, seed=seed) for seed, heads in enumerate((4, 2, 2))
    )
    mask = torch.stack([torch.arange(tokens) < length for length in lengths]).long()
    keys, values = (states.float().repeat_interleave(2, dim=2) for states in (k, v))
    scores = torch.einsum("bihd,bjhd->bhij", q.float(), keys) / 4
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    module = SimpleNamespace(config=SimpleNamespace(sliding_window=WINDOW))
    results = {}
    for name, is_causal in ("causal", True), ("to both sides", False):
        options = {"is_causal": is_causal, "sliding_window": module.config.sliding_window}
        whole = _flash_attention_forward(q[:1], k[:1], v[:1], None, tokens, **options)
        padded = _flash_attention_forward(q, k, v, mask, tokens, **options)
        results[name] = torch.cat([whole[0], padded[0], padded[1, : lengths[1]]])

        # To both sides, the window is the number of keys on each side.
        hidden = (distance >= WINDOW) | (distance < 0) if is_causal else distance.abs() > WINDOW
        expected = []
        for sample, length in (0, tokens), (0, tokens), (1, lengths[1]):
            weights = scores[sample, :, :length, :length].masked_fill(hidden[:length, :length], -torch.inf).softmax(-1)
            expected.append(torch.einsum("hij,jhd->ihd", weights, values[sample, :length]))
        results[f"expected {name}"] = torch.cat(expected)
    testbed.assert_flash("flash_attn_func", "flash_attn_varlen_func")
    return results


def together(testbed, target):
    """A batch without padding in 4.54.0 to 4.55.0: with both fixes, with one taken out, then with none."""
    import torch
    from transformers import modeling_flash_attention_utils as utils

    import hotfix

    hotfix.revert()
    pristine = _codes(utils)
    model, ids = windowed(testbed, "mistral"), testbed.randint(3, 64, 3, 12, seed=1)

    def logits():
        with torch.no_grad():
            return model(ids, use_cache=False).logits

    results = {"neither": logits()}
    window = hotfix.apply(only=["fa-sliding-window-off-by-one"])
    results["window"] = logits()
    batch = hotfix.apply(only=["fa2-posids-varlen-unpadded-batch"])
    results["both"] = logits()
    window.revert()
    results["batch"] = logits()
    batch.revert()
    results["reverted"] = logits()
    results["as it was"] = torch.tensor(pristine.items() <= _codes(utils).items())  # flash-attn's have come meanwhile
    return results


def plain(testbed, target):
    """The cases of `with_fixes`, without hotfix."""
    import torch

    with torch.no_grad():
        return {"logits": windowed(testbed, "mistral")(testbed.randint(3, 64, 3, 12, seed=1), use_cache=False).logits}


def _codes(module) -> dict[str, tuple[int, CodeType]]:
    functions = {name: function for name, function in vars(module).items() if isinstance(function, FunctionType)}
    return {name: (id(function), function.__code__) for name, function in functions.items()}


def right_padded(testbed, target):
    """A right-padded batch of Mistral with a cache, which needs the other fix, and without one."""
    import torch

    model, ids = windowed(testbed, "mistral"), testbed.randint(3, 64, 2, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    results = {}
    for name, use_cache in ("with a cache", True), ("without", False):
        with torch.no_grad():
            results[name] = model(ids, attention_mask=mask, use_cache=use_cache).logits[mask.bool()]
    return results


def continued(testbed, target):
    """Mistral continues a batch past the window: logits of one token after the other, of a part of several, and whole.

    ``whole`` is what a forward without a cache gives: of ``by one`` the same tokens, and of ``by several`` those of a
    batch without padding.
    """
    import torch

    model, ids = windowed(testbed, "mistral"), testbed.randint(3, 64, 3, 12, seed=1)
    padded = torch.ones_like(ids)
    padded[1, :2] = padded[2, :4] = 0
    results = {}
    for name, mask, lengths in (
        ("by one", padded, (6, *6 * (1,))),
        ("by several", torch.ones_like(padded), (2, 6, 4)),
    ):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        with torch.no_grad():
            steps, cache, end = [], None, 0
            for length in lengths:
                start, end = end, end + length
                output = model(
                    ids[:, start:end],
                    attention_mask=mask[:, :end] if mask is padded else None,
                    position_ids=positions[:, start:end],
                    past_key_values=cache,
                    use_cache=True,
                )
                cache = output.past_key_values
                steps.append(output.logits)
            whole = model(ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
        results[name] = torch.cat(steps, dim=1)[mask.bool()]
        results[f"{name} whole"] = whole[mask.bool()]
    return results


def gemma2(testbed, target):
    """The results of Gemma2's fix in its case of padded batches, next to attention in float32 without a cache."""
    import torch

    from hotfix.proofs.models.gemma2_fa2_no_window import continued

    ids = testbed.randint(3, 64, 3, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :5] = mask[2, :9] = 0
    results = {}
    with torch.no_grad():
        model = windowed(testbed, "gemma2")
        results["padded"] = model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
        results["with a cache"] = continued(model, ids, mask, 9)[mask.bool()]
        testbed.assert_flash("flash_attn_varlen_func")
        eager = windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)
        rows = [eager(row[None, kept.bool()], use_cache=False).logits[0] for row, kept in zip(ids, mask)]
    return {**results, "eager": torch.cat(rows)}
